"""Generated files of every kind that the package reads: no traceback, no hang, no flood of memory, nothing written.

    python benchmarks/trust/fuzz.py --files 10000 --seconds 3600

A unit is a batch of files of one kind, read by a process of its own. Half of the files are damaged.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

BATCH = 200  # a process needs two seconds before it reads anything
HANG_SECONDS = 5.0
MOST_BYTES = 2**30
ENDINGS = {
    "excel": "xlsx",
    "spss": "sav",
    "edges": "csv",
    "image": "png",
    "array": "npy",
    "result": "nc",
    "checkpoint": "run",
}
KINDS = (
    "csv",
    "tsv",
    "excel",
    "spss",
    "parquet",
    "edges",
    "graphml",
    "uai",
    "toml",
    "image",
    "array",
    "result",
    "checkpoint",
)
CELLS = (
    *(
        "0",
        "1",
        "2",
        "-1",
        "1.0",
        "0.5",
        "",
        "NA",
        "NaN",
        "inf",
        "-9",
        "999",
        "1e400",
        "yes",
        "no",
        "Yes ",
        "high",
        "low",
    ),
    *("=cmd|x", "\x1b[31m", "a,b", 'say "x"', '"', "'", "\x00", "\ufeff", "数", "é", "1,5", " 1", "1 ", "0x1", "1_0"),
    *("18446744073709551615", "-9223372036854775808", "9" * 400, "[" * 50, "2020-01-01", "True", "null", "a--b", "<b>"),
)


def text_cells(rng: np.random.Generator) -> list[list[str]]:
    """A table of text, mostly of zeros and ones, with names of columns."""
    n, p = int(rng.integers(0, 25)), int(rng.integers(1, 6))
    odd = rng.choice([0.0, 0.05, 0.5])
    pick = lambda: str(rng.choice(CELLS)) if rng.random() < odd else str(rng.integers(0, 2))  # noqa: E731
    head = [str(rng.choice(CELLS)) if rng.random() < odd else f"v{j}" for j in range(p)]
    rows = [[pick() for _ in range(p + int(rng.random() < odd / 10))] for _ in range(n)]
    return [head, *rows]


def delimited(rng: np.random.Generator, mark: str) -> bytes:
    """Text with separators, quoted or not, in some encoding."""
    quoted = rng.random() < 0.3
    cell = (lambda text: '"' + text.replace('"', '""') + '"') if quoted else str
    end = str(rng.choice(["\n", "\r\n", "\r"], p=[0.8, 0.15, 0.05]))
    text = end.join(mark.join(map(cell, row)) for row in text_cells(rng)) + end * int(rng.random() < 0.8)
    return text.encode(
        str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"], p=[0.85, 0.05, 0.05, 0.05])), "replace"
    )


def excel(rng: np.random.Generator) -> bytes:
    """A workbook with one sheet, sometimes with a part that unpacks to much more."""
    import xlsxwriter

    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for i, row in enumerate(text_cells(rng)):
            for j, cell in enumerate(row):
                sheet.write(i, j, int(cell) if cell in ("0", "1") and i else cell)
    if rng.random() < 0.1:
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/media/bomb", bytes(20_000_000))
    return file.getvalue()


def spss(rng: np.random.Generator) -> bytes:
    """A system file with numbers, texts and value labels; or only the head of one, and noise."""
    if rng.random() < 0.2:
        head = b"$FL2" + b"@(#) SPSS DATA FILE".ljust(60) + struct.pack("<5i", 2, int(rng.integers(0, 9)), 0, 0, -1)
        return head + struct.pack("<d", 100.0) + rng.bytes(int(rng.integers(0, 300)))
    import pandas as pd
    import pyreadstat

    n = int(rng.integers(1, 25))
    table = {f"v{j}": rng.integers(0, 2, n).astype(float) for j in range(int(rng.integers(1, 6)))}
    if rng.random() < 0.3:
        table["text"] = [str(rng.choice(CELLS)).replace("\x00", "") for _ in range(n)]
    labels = {"v0": {0: "no", 1: "yes"}} if rng.random() < 0.5 else None
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "file.sav"
        pyreadstat.write_sav(pd.DataFrame(table), path, variable_value_labels=labels)
        return path.read_bytes()


def parquet(rng: np.random.Generator) -> bytes:
    """A table with columns of several types."""
    import polars as pl

    n = int(rng.integers(0, 30))
    makers: list[Callable[[], object]] = [
        lambda: rng.integers(0, 2, n),
        lambda: rng.integers(0, 2, n).astype(float),
        lambda: [str(rng.choice(CELLS)) for _ in range(n)],
        lambda: rng.integers(0, 2, n).astype(bool),
        lambda: [[1, 2]] * n,
        lambda: pl.Series([None] * n, dtype=pl.Int64),
        lambda: pl.Series([0] * n, dtype=pl.Date),
        lambda: np.full(n, np.iinfo(np.uint64).max),
    ]
    weights = np.array([4, 4, 1, 2, 0.3, 0.3, 0.3, 0.3])
    columns = {f"v{j}": makers[int(rng.choice(8, p=weights / weights.sum()))]() for j in range(int(rng.integers(1, 6)))}
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def random_pairs(rng: np.random.Generator, names: list[str]) -> list[tuple[str, str]]:
    """Pairs of names, mostly without repeats and loops."""
    pairs = [(a, b) for k, a in enumerate(names) for b in names[:k] if rng.random() < 0.4]
    if rng.random() < 0.1 and names:
        pairs.append((names[0], str(rng.choice(names))))
    return pairs


def edges(rng: np.random.Generator) -> bytes:
    """An edge list."""
    odd = rng.choice([0.0, 0.2])
    names = [str(rng.choice(CELLS)) if rng.random() < odd else f"v{k}" for k in range(int(rng.integers(0, 8)))]
    return ("from,to\n" + "".join(f"{a},{b}\n" for a, b in random_pairs(rng, names))).encode()


def graphml(rng: np.random.Generator) -> bytes:
    """A graph as XML, sometimes with what a parser must not follow."""
    head = str(
        rng.choice(
            [
                "",
                '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>',
                '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
            ],
            p=[0.8, 0.1, 0.1],
        )
    )
    n = int(rng.integers(0, 9))
    states = rng.choice(["2", "3", "x", "-1", "99999"], n, p=[0.7, 0.2, 0.04, 0.03, 0.03])
    nodes = "".join(f'<node id="v{k}"><data key="states">{r}</data></node>' for k, r in enumerate(states))
    ends = random_pairs(rng, [f"v{k}" for k in range(n)])
    pairs = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in ends)
    kind = str(rng.choice(["undirected", "directed", ""], p=[0.8, 0.1, 0.1]))
    key = '<key id="states" for="node" attr.name="states" attr.type="int"/>'
    body = f'{key}<graph edgedefault="{kind}">{nodes}{pairs}{"&b;" if "ENTITY" in head else ""}</graph>'
    start = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    return f'<?xml version="1.0"?>{head}{start}{body}</graphml>'.encode()


def uai(rng: np.random.Generator) -> bytes:
    """A Markov network of two or three variables."""
    d = int(rng.integers(1, 4))
    states = rng.integers(1, 4, d)
    words = ["MARKOV" if rng.random() < 0.9 else "BAYES", d, *states, d]
    words += [word for k in range(d) for word in (1, k if rng.random() < 0.95 else 10**9)]
    for r in states.tolist():
        words += [r if rng.random() < 0.95 else 10**12, *np.round(rng.random(r), 3)]
    if rng.random() < 0.2:
        words[int(rng.integers(0, len(words)))] = str(rng.choice(CELLS))
    return " ".join(map(str, words)).encode()


def toml(rng: np.random.Generator) -> bytes:
    """Settings of a command."""
    names = ("draws", "chains", "method", "data", "grid", "levels", "nonsense", "rng", "complete", "weights")
    values = (
        "1",
        "-1",
        "true",
        '"x"',
        "[1, 2]",
        "1e999",
        '"' + "a" * 1000 + '"',
        "{a = 1}",
        "nan",
        "2020-01-01",
        "[[[[]]]]",
    )
    lines = [f"{rng.choice(names)} = {rng.choice(values)}" for _ in range(int(rng.integers(0, 5)))]
    return ("[info]\n" + "\n".join(lines) + "\n").encode()


def image(rng: np.random.Generator) -> bytes:
    """A small picture."""
    from PIL import Image

    shape = tuple(int(length) for length in rng.integers(1, 20, 2))
    levels = rng.integers(0, int(rng.choice([2, 4, 256])), shape).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(levels * np.uint8(rng.choice([1, 255]))).save(file, "PNG")
    return file.getvalue()


def array(rng: np.random.Generator) -> bytes:
    """An array of some type and number of axes."""
    shape = tuple(int(length) for length in rng.integers(0, 6, int(rng.integers(0, 4))))
    dtype = str(rng.choice(["uint8", "int64", "float64", "bool", "uint64", "complex128", "U3", "datetime64[s]"]))
    file = io.BytesIO()
    np.save(file, rng.integers(0, 2, shape).astype(dtype), allow_pickle=False)
    return file.getvalue()


def result(rng: np.random.Generator) -> bytes:
    """A result of a small run, sealed anew after damage in every second file."""
    return _sound_result()


def checkpoint(rng: np.random.Generator) -> bytes:
    """A checkpoint with a few segments."""
    from mrfbayes.run.store import Checkpoint

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with Checkpoint(path, {"model": "m"}) as store:
            for value in range(int(rng.integers(0, 4))):
                store.append({"value": value}, {"a": np.arange(value, dtype=float)})
        return path.read_bytes()


_SOUND: dict[str, bytes] = {}


def _sound_result() -> bytes:
    if not _SOUND:
        import mrfbayes as mb

        model = mb.graph([("a", "b"), ("b", "c")], fields=True)
        x = np.random.default_rng(1).integers(0, 2, (40, 3))
        with tempfile.TemporaryDirectory() as folder:
            mb.sample(model, x, "calibrated", draws=20, chains=1, progress=False).save(Path(folder) / "r.nc")
            _SOUND["result"] = (Path(folder) / "r.nc").read_bytes()
    return _SOUND["result"]


GENERATORS: dict[str, Callable[[np.random.Generator], bytes]] = {
    "csv": lambda rng: delimited(rng, str(rng.choice([",", ";"], p=[0.8, 0.2]))),
    "tsv": lambda rng: delimited(rng, "\t"),
    **{f.__name__: f for f in (excel, spss, parquet, edges, graphml, uai, toml, image, array, result, checkpoint)},
}


def damaged(content: bytes, kind: str, rng: np.random.Generator) -> bytes:
    """``content`` cut, flipped, doubled or filled with noise; every second time as it is."""
    if rng.random() < 0.5 and kind != "result":
        return content
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(0, len(changed) + 1))
        match int(rng.integers(0, 5)):
            case 0:
                del changed[place:]
            case 1 if place < len(changed):
                changed[place] ^= 1 << int(rng.integers(0, 8))
            case 2:
                changed[place:place] = rng.bytes(int(rng.integers(1, 40)))
            case 3:
                changed[place:place] = changed[: int(rng.integers(0, 200))]
            case 4:
                changed[place : place + int(rng.integers(1, 30))] = b""
    if kind == "result" and rng.random() < 0.3:
        from mrfbayes.base.digests import seal

        changed = changed[:-82] + seal(bytes(changed[:-82]))
    return bytes(changed)


def command(*arguments: object) -> str:
    """What a command says in this process: "read" or "refused"; its problems are raised."""
    from mrfbayes import cli

    quiet = io.StringIO()
    words = mock.patch.object(sys, "argv", ["mrfbayes", *map(str, arguments)])
    with words, contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        try:
            cli.main()
        except SystemExit as ended:
            if ended.code not in (0, 2, 3):
                raise RuntimeError(f"status {ended.code}: {quiet.getvalue()[-200:]}") from None
            return "read" if ended.code == 0 else "refused"
    raise RuntimeError("the command ended without a status")


def read_data(path: Path) -> str:
    """Read a data file in the way that every entry point does."""
    return command("info", path)


def read(kind: str, path: Path) -> str:
    """Read a file of some kind: "read" or "refused"; anything else is raised."""
    import mrfbayes as mb
    from mrfbayes.bridges import read_uai
    from mrfbayes.run.store import Checkpoint

    if kind in ("csv", "tsv", "excel", "spss", "parquet", "image", "array"):
        return read_data(path)
    if kind == "toml":
        (path.parent / "good.csv").write_text("a,b\n0,1\n1,1\n1,0\n0,0\n")
        return command("info", path.parent / "good.csv", "--settings", path)
    try:
        if kind in ("edges", "graphml"):
            mb.graph(path)
        elif kind == "uai":
            read_uai(path)
        elif kind == "result":
            mb.load(path)
        else:
            with Checkpoint(path, {"model": "m"}) as store:
                for number, (fields, arrays) in enumerate(store.segments):
                    if fields != {"value": number} or not np.array_equal(arrays["a"], np.arange(number)):
                        raise RuntimeError(f"segment {number} was read as {fields}")
    except (mb.InputError, mb.CostError):
        return "refused"
    return "read"


def hang(*_: object) -> None:
    """The clock rang."""
    raise RuntimeError(f"still reading after {HANG_SECONDS:g} s of processor time")


def run_batch(kind: str, first: int, n: int) -> dict[str, object]:
    """Read ``n`` files and count what came of them; failures with the number that makes the file again."""
    counts: Counter[str] = Counter()
    failures: list[dict[str, object]] = []
    signal.signal(signal.SIGPROF, hang)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for index in range(first - 1, first + n):  # the first one imports and compiles what reading needs
            rng = np.random.default_rng([KINDS.index(kind), max(index, first)])
            content = damaged(GENERATORS[kind](rng), kind, rng)
            place = Path(folder) / f"c{index}"
            place.mkdir()
            path = place / f"file.{ENDINGS.get(kind, kind)}"
            path.write_bytes(content)
            outcome, problem = "failed", ""
            signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS if index >= first else 120.0)  # of processor time
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    outcome = read(kind, path)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                last = traceback.extract_tb(error.__traceback__)[-1]
                problem = f"{type(error).__name__}: {str(error)[:150]} ({Path(last.filename).name}:{last.lineno})"
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            if index < first:
                continue
            names = {entry.name for entry in place.iterdir()} - {"good.csv"}
            if outcome == "refused" and (names != {path.name} or path.read_bytes() != content):
                outcome, problem = "failed", f"wrote {sorted(names - {path.name}) or 'into the file'} and refused"
            counts[outcome] += 1
            if problem:
                failures.append({"index": index, "problem": problem})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if peak > MOST_BYTES:
        failures.append({"index": first, "problem": f"{peak} bytes of memory"})
    return {**counts, "peak_mb": round(peak / 2**20), "failures": failures}


def in_process(kind: str, first: int, n: int) -> dict[str, object]:
    """`run_batch` in a process of its own, which may crash or hang."""
    code = [sys.executable, __file__, "--batch", kind, str(first), str(n)]
    begin = time.monotonic()
    try:
        done = subprocess.run(code, capture_output=True, text=True, timeout=300 + n * HANG_SECONDS)
    except subprocess.TimeoutExpired:
        return {"failures": [{"index": first, "problem": f"no end after {time.monotonic() - begin:.0f} s"}]}
    if done.returncode:
        return {"failures": [{"index": first, "problem": f"status {done.returncode}: {done.stderr[-300:]}"}]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Run what is missing, and say what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000, help="in all, over all kinds")
    parser.add_argument("--seconds", type=float, default=3_600.0, help="time to spend in this call")
    parser.add_argument("--again", action="store_true", help="repeat what ran on other commits")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.batch:
        print(json.dumps(run_batch(asked.batch[0], int(asked.batch[1]), int(asked.batch[2]))))
        return
    from units import RESULTS, Record

    kinds = KINDS if asked.kind is None else (asked.kind,)
    batches = -(-asked.files // (BATCH * len(KINDS)))
    record = Record(asked.record or RESULTS / "fuzz.jsonl")
    record.run(
        (
            (f"{kind} {b * BATCH}", lambda kind=kind, b=b: in_process(kind, b * BATCH, BATCH))
            for b in range(batches)
            for kind in kinds
        ),
        asked.seconds,
        asked.again,
    )
    total = Counter(
        {name: sum(int(row.get(name, 0)) for row in record.rows.values()) for name in ("read", "refused", "failed")}
    )
    print(f"{sum(total.values())} files: {total['read']} read, {total['refused']} refused, {total['failed']} failed")
    sys.exit(any(row["failures"] for row in record.rows.values()))


if __name__ == "__main__":
    main()
