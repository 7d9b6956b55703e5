"""Faults inside one process: Ctrl-C at random points, every byte damaged, full disks, clocks that jump, threads, forks.

A unit is a process of its own, `python benchmarks/trust/faults.py KIND NUMBER`, which prints one line of JSON;
`chaos.py` runs them and keeps the record.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import numpy as np

BYTES_AT_ONCE = 400  # of a file, that one unit damages
POINTS_AT_ONCE = 50  # Ctrl-C of one unit
ANSWER_SECONDS = 2.0
EDGES = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]


def rows() -> np.ndarray:
    """80 rows of four variables, two of which agree."""
    x = np.random.default_rng(5).integers(0, 2, (80, 4))
    x[:50, 1] = x[:50, 0]
    return x


def sample(draws: int = 2_000, **options: object) -> np.ndarray:
    """Draws of a small run."""
    import mrfbayes as mb

    model = mb.graph(EDGES, fields=True)
    call = {"method": "exact", "engine": "mh", "chains": 2, "rng": 3, "progress": False, **options}
    return np.asarray(mb.sample(model, rows(), draws=draws, **call).draws)  # type: ignore[arg-type]


def digest(*arrays: np.ndarray) -> str:
    """Of all bytes."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


# Ctrl-C


def interruptible() -> dict[str, Callable[[Path], np.ndarray]]:
    """Calls that are interrupted: their draws, (draws, ...) in the order in which they were made."""
    import mrfbayes as mb

    model, x = mb.graph(EDGES, fields=True), rows()
    quiet = {"rng": 3, "progress": False}

    def chains(method: str, draws: int, **more: object) -> Callable[[Path], np.ndarray]:
        def call(folder: Path) -> np.ndarray:
            found = mb.sample(model, x, method, draws=draws, chains=2, **quiet, **more)  # type: ignore[arg-type]
            return np.swapaxes(found.draws, 0, 1)

        return call

    def search(folder: Path) -> np.ndarray:
        return np.swapaxes(mb.select(model, x, draws=3_000, thin=1, chains=2, **quiet).log_odds, 0, 1)  # type: ignore[arg-type]

    def groups(folder: Path) -> np.ndarray:
        found = mb.compare_groups(model, {"a": x[:40], "b": x[40:]}, draws=1_500, thin=1, chains=2, **quiet)  # type: ignore[arg-type]
        return np.swapaxes(found.coordinates, 0, 1)

    def many(folder: Path) -> np.ndarray:
        options = {"draws": 3_000, "chains": 1, "engine": "mh", **quiet}
        fits = mb.sample_many(model, [x[k : k + 40] for k in range(0, 40, 4)], method="exact", **options)  # type: ignore[arg-type]
        return np.stack([fits[str(k)].draws[0] for k in range(len(fits))])

    return {
        "random walk": chains("exact", 6_000, engine="mh", thin=10),
        "hmc": chains("exact", 1_500, engine="hmc"),
        "independence": chains("exact", 3_000, engine="independence", thin=10),
        "exchange-exact": chains("exchange-exact", 2_000, thin=10),
        "pseudo": chains("pseudo", 4_000),
        "persistent": chains("persistent", 400, thin=10),
        "select": search,
        "compare_groups": groups,
        "sample_many": many,
    }


def interrupt(number: int) -> dict[str, object]:
    """Ctrl-C at random moments of one call: what was drawn is a beginning of the whole run, within two seconds."""
    calls = interruptible()
    name = list(calls)[number % len(calls)]
    source = random.Random(f"interrupt {number}")
    counts: Counter[str] = Counter()
    problems, slowest = [], 0.0
    with tempfile.TemporaryDirectory() as place:
        call = calls[name]
        call(Path(place))  # compiles
        begin = time.monotonic()
        whole = call(Path(place))
        seconds = time.monotonic() - begin
        signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let processes in the background ignore it
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        for _ in range(POINTS_AT_ONCE):
            moment = max(source.uniform(0, seconds), 1e-4)
            found: np.ndarray | None = None
            begin = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, moment)
            try:
                found = call(Path(place))
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                counts["stopped"] += 1
            except Exception as error:
                counts["failed"] += 1
                problems.append(f"{type(error).__name__}: {str(error)[:120]} at {moment:.3f} s")
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            answer = time.monotonic() - begin - moment
            slowest = max(slowest, answer if found is None or len(found) < len(whole) else 0.0)
            if found is not None:
                kind = "whole" if len(found) == len(whole) else "partial"
                is_right = len(found) <= len(whole) and np.array_equal(found, whole[: len(found)])
                counts[kind if is_right else "failed"] += 1
                if not is_right:
                    problems.append(f"other draws at {moment:.3f} s")
    if counts["partial"] + counts["stopped"] == 0:
        problems.append("no Ctrl-C came through")
    outcome = "identical" if not problems and slowest < ANSWER_SECONDS else "DIFFERENT"
    return {"outcome": outcome, "call": name, **counts, "slowest": round(slowest, 2), "problems": problems[:5]}


# Damage


def damaged(content: bytes, at: int, is_cut: bool) -> bytes:
    """``content`` cut at a byte, or with one of its bits flipped."""
    if is_cut:
        return content[:at]
    return content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :]


def every_byte(content: bytes, number: int, check: Callable[[bytes], str]) -> dict[str, object]:
    """Damage part ``number`` of all bytes in both ways, and count what ``check`` says of them."""
    places = range(number * BYTES_AT_ONCE, min((number + 1) * BYTES_AT_ONCE, len(content)))
    counts: Counter[str] = Counter()
    problems = []
    for at in places:
        for is_cut in (True, False):
            try:
                word = check(damaged(content, at, is_cut))
            except Exception as error:
                word = "failed"
                problems.append(f"{'cut' if is_cut else 'flip'} at {at}: {type(error).__name__}: {str(error)[:100]}")
            counts[word] += 1
            if word == "wrong":
                problems.append(f"{'cut' if is_cut else 'flip'} at {at}: other numbers")
    outcome = "DIFFERENT" if problems else "identical"
    return {"outcome": outcome, **counts, "bytes": len(content), "problems": problems[:5]}


def checkpoint_bytes(number: int) -> dict[str, object]:
    """A checkpoint with a damaged byte: refused, or continued to the same draws."""
    import mrfbayes as mb

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "run"
        whole = digest(sample(10, warmup=20, thin=4, checkpoint=path))
        content = path.read_bytes()

        def check(damage: bytes) -> str:
            path.write_bytes(damage)
            try:
                return "same" if digest(sample(10, warmup=20, thin=4, checkpoint=path)) == whole else "wrong"
            except mb.InputError:
                return "refused"

        return every_byte(content, number, check)


def result_bytes(number: int) -> dict[str, object]:
    """A result with a damaged byte is refused."""
    import mrfbayes as mb

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "result.nc"
        found = mb.sample(mb.graph(EDGES), rows(), "exact", draws=20, warmup=20, chains=1, rng=1, progress=False)
        found.save(path)
        content = path.read_bytes()

        def check(damage: bytes) -> str:
            path.write_bytes(damage)
            try:
                return "same" if np.array_equal(mb.load(path).draws, found.draws) else "wrong"
            except mb.InputError:
                return "refused"

        return every_byte(content, number, check)


COMPILED = """
import hashlib, numpy as np, mrfbayes as mb
model = mb.graph([("a", "b"), ("b", "c")])
print("digest", repr(float(mb.log_partition(model, np.array([.7, .4])))))
"""


def compiled_bytes(number: int) -> dict[str, object]:
    """Compiled code of which every file is damaged at a random byte: compiled anew, the same numbers."""
    source = random.Random(f"compiled {number}")
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "MRFBAYES_CACHE_DIR": place, "NUMBA_CACHE_DIR": place}
        run = lambda: subprocess.run([sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True)  # noqa: E731
        whole = run()
        files = list(Path(place).rglob("*.nbc"))
        for path in files:
            content = path.read_bytes()
            path.write_bytes(damaged(content, source.randrange(len(content)), source.random() < 0.5))
        again = run()
    is_same = whole.returncode == again.returncode == 0 and whole.stdout == again.stdout and bool(files)
    said = "" if is_same else (again.stderr or f"{len(files)} files of compiled code")[-300:]
    return {"outcome": "identical" if is_same else "DIFFERENT", "files": len(files), "said": said}


# Outputs


def command(*arguments: object) -> tuple[int, str]:
    """Status and words of a command in this process."""
    from mrfbayes import cli

    quiet = io.StringIO()
    words = mock.patch.object(sys, "argv", ["mrfbayes", *map(str, arguments)])
    with words, contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        try:
            cli.main()
        except SystemExit as ended:
            return int(ended.code or 0), quiet.getvalue()
    return -1, quiet.getvalue()


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones of ours left out."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def full_disk(number: int) -> dict[str, object]:
    """No file may grow past a random size while `fit --overwrite` runs: a plain refusal, and the old folder stays."""
    source = random.Random(f"full {number}")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        np.savetxt("x.csv", rows(), "%d", ",", header="a,b,c,d", comments="")
        call = ("fit", "x.csv", "--out", "out", "--overwrite", "--rng", 3)
        status, said = command(*call)
        if status:
            return {"outcome": "DIFFERENT", "said": said[-300:]}
        before = contents(Path("out"))
        largest = max(map(len, before.values()))
        limit = int(10 ** source.uniform(2, np.log10(largest)))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            status, said = command(*call)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        left = contents(Path("out"))
        is_kept = left == before and status not in (0, -1)
        outcome = "identical" if is_kept and "Traceback" not in said else "DIFFERENT"
        changed = [name for name in before if left.get(name) != before[name]][:3]
        return {"outcome": outcome, "limit": limit, "status": status, "changed": changed, "said": said[-200:]}


def unwritable(number: int) -> dict[str, object]:
    """Places that nobody can write to are refused before anything is computed."""
    problems = []
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        np.savetxt("x.csv", rows(), "%d", ",", header="a,b,c,d", comments="")
        Path("file").write_text("")
        for target in ("/proc/out", "file/out", "/dev/null/out", "missing/deep/out"):
            begin = time.monotonic()
            status, said = command("fit", "x.csv", "--out", target, "--rng", 3)
            if status not in (1, 2) or "Traceback" in said or (status == 2 and time.monotonic() - begin > 60):
                problems.append(f"{target}: status {status}, {said[-100:]}")
        if contents(Path(".")).keys() != {"x.csv", "file"}:
            problems.append(f"left {sorted(contents(Path('.')))}")
    return {"outcome": "DIFFERENT" if problems else "identical", "problems": problems}


TWICE = """
import sys
from mrfbayes import cli
sys.argv = "mrfbayes fit x.csv --out out --rng 3".split()
cli.main()
"""


def two_processes(number: int) -> dict[str, object]:
    """Two processes that write to one folder: one succeeds, the other is refused, and nothing is mixed."""
    with tempfile.TemporaryDirectory() as place:
        np.savetxt(Path(place) / "x.csv", rows(), "%d", ",", header="a,b,c,d", comments="")
        both = [
            subprocess.Popen([sys.executable, "-c", TWICE], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        ends = sorted(process.wait(timeout=600) for process in both)
        words = b"".join(pipe.read() for process in both if (pipe := process.stderr) is not None)
        names = set(os.listdir(Path(place) / "out"))
        for process in both:
            for pipe in (process.stdout, process.stderr):
                assert pipe is not None
                pipe.close()
    is_right = ends[0] == 0 and ends[1] in (1, 2) and "posterior.nc" in names and b"Traceback" not in words
    said = "" if is_right else words[-300:].decode()
    return {"outcome": "identical" if is_right else "DIFFERENT", "ends": ends, "said": said}


OVERWRITE = """
import sys
from mrfbayes import cli
sys.argv = "mrfbayes fit x.csv --out out --overwrite --draws 400 --rng {seed}".split()
cli.main()
"""


def half_written(number: int) -> dict[str, object]:
    """`fit --overwrite` killed at a random moment of its second half: all files of the folder are of one run."""
    import mrfbayes as mb

    source = random.Random(f"half-written {number}")
    with tempfile.TemporaryDirectory() as place:
        np.savetxt(Path(place) / "x.csv", rows(), "%d", ",", header="a,b,c,d", comments="")

        def start(seed: int) -> subprocess.Popen[bytes]:
            code = OVERWRITE.format(seed=seed)
            return subprocess.Popen(
                [sys.executable, "-c", code], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

        begin = time.monotonic()
        start(1).wait(timeout=600)
        seconds, out = time.monotonic() - begin, Path(place) / "out"
        before = contents(out)
        second = start(2)
        moment = round(source.uniform(0.5, 1.05) * seconds, 3)
        time.sleep(moment)
        second.kill()
        second.wait()
        after = contents(out)
        if after == before:
            found = "old"
        else:
            post = mb.load(out / "posterior.nc")
            settings = after["settings.toml"].decode()
            is_new = post.seed == 2 and "rng = 2" in settings and after.keys() == before.keys()
            found = (
                "new"
                if is_new and not any(after[name] == before[name] for name in ("summary.csv", "report.html"))
                else "mixed"
            )
    return {"outcome": "DIFFERENT" if found == "mixed" else "identical", "found": found, "at": moment}


# Clocks and concurrency


def clock(number: int) -> dict[str, object]:
    """The clock on the wall jumps by up to a day at every look: the same draws, budgets and all."""
    source = random.Random(f"clock {number}")
    whole = digest(sample(seconds=600))
    real = time.time
    jumping = mock.Mock(side_effect=lambda: real() + source.uniform(-86_400, 86_400))
    with mock.patch.object(time, "time", jumping), tempfile.TemporaryDirectory() as place:
        again = digest(sample(seconds=600, checkpoint=Path(place) / "run"))
    return {"outcome": "identical" if again == whole else "DIFFERENT"}


def threads(number: int) -> dict[str, object]:
    """Eight calls in four threads, and four in an event loop, give what a single call gives."""
    whole = digest(sample())
    with ThreadPoolExecutor(4) as pool:
        by_threads = {digest(draws) for draws in pool.map(lambda _: sample(), range(8))}

    async def gather() -> list[np.ndarray]:
        return list(await asyncio.gather(*(asyncio.to_thread(sample) for _ in range(4))))

    by_loop = {digest(draws) for draws in asyncio.run(gather())}
    is_same = by_threads == by_loop == {whole}
    return {"outcome": "identical" if is_same else "DIFFERENT", "left": threading.active_count() - 1}


def child(queue: multiprocessing.queues.Queue[str]) -> None:
    """What a forked or spawned process does."""
    queue.put(digest(sample()))


def processes(number: int) -> dict[str, object]:
    """Forked, spawned and served processes give what this one gives, after it has compiled and drawn."""
    whole = digest(sample())
    found = {}
    for way in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(way)
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        found[way] = queue.get(timeout=300) == whole
        process.join(60)
    return {"outcome": "identical" if all(found.values()) else "DIFFERENT", **found}


KINDS: dict[str, tuple[Callable[[int], dict[str, object]], int]] = {  # and the number of units at full size
    "interrupt": (interrupt, 27),
    "checkpoint-bytes": (checkpoint_bytes, 17),
    "result-bytes": (result_bytes, 81),
    "compiled-bytes": (compiled_bytes, 40),
    "full-disk": (full_disk, 30),
    "unwritable": (unwritable, 1),
    "two-processes": (two_processes, 20),
    "half-written": (half_written, 20),
    "clock": (clock, 5),
    "threads": (threads, 5),
    "processes": (processes, 3),
}


def run_unit(kind: str, number: int) -> dict[str, object]:
    """One unit in a process of its own."""
    folder = tempfile.mkdtemp()
    try:
        done = subprocess.run(
            [sys.executable, __file__, kind, str(number)], capture_output=True, text=True, timeout=3_600, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return {"outcome": "DIFFERENT", "said": "no end after an hour"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if done.returncode:
        return {"outcome": "DIFFERENT", "said": f"status {done.returncode}: {done.stderr[-300:]}"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(KINDS[sys.argv[1]][0](int(sys.argv[2]))))
