"""Trials of what goes out and comes back: damaged and hostile files, full disks, bad targets, Ctrl-C, kills.

Each trial is a name and a function that raises AssertionError where the program does not keep its word: a damaged file
is refused in one line or costs steps, never numbers; a failed write leaves what was there and names the way out; a
target that cannot be written is refused before anything is computed; what was drawn is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import mrfbayes as mb
from mrfbayes.base.atomic_files import check_targets, write_text
from mrfbayes.run.store import Checkpoint
from run import NotTried, refusal

ROOT = Path(__file__).resolve().parents[2]
OLD = ROOT / "tests" / "results" / "format1.nc"  # written before files had checksums
IDENTITY = {"model": "m", "data": "d"}
X = np.random.default_rng(1).integers(0, 2, (60, 3))
X[:40, 1] = X[:40, 0]
MODELS: dict[str, Any] = {
    "both-one": lambda: mb.graph([("a", "b"), ("b", "c")], fields=True, coupling="both-one"),
    "agreement": lambda: mb.graph([("a", "b"), ("b", "c"), ("a", "c")]),
    "table": lambda: mb.graph([("a", "b"), ("b", "c")], coupling="table"),
    "tied": lambda: mb.graph([("a", "b"), ("b", "c")], tied=True),
    "names": lambda: mb.graph([("=cmd|x", "<b>"), ("<b>", "\x1b[31mc")]),
}
PRIORS: dict[str, Any] = {
    "uniform": "uniform",
    "normal": "normal(0.123456789, 1)",
    "edges": {"edges": "normal(0, 1)"},
    "cauchy": "cauchy(0, 2.5)",
    "logistic": "logistic(0, 2)",
}


def draw(model: Any = None, method: str = "exact", **settings: Any) -> mb.Posterior:
    """A short run without words."""
    model = MODELS["both-one"]() if model is None else model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        return mb.sample(model, X, method, **{"steps": 200, "chains": 2, "progress": False, "rng": 3} | settings)


@cache
def saved() -> bytes:
    """The bytes of a result."""
    with tempfile.TemporaryDirectory() as folder:
        posterior = draw()
        posterior.edges()
        posterior.save(Path(folder) / "r.nc")
        return (Path(folder) / "r.nc").read_bytes()


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """An empty folder."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def refused(call: Callable[[], Any], kinds: tuple[type[Exception], ...] = (mb.InputError,)) -> str:
    """The one line in which a call is refused."""
    text = refusal(call, kinds)
    assert len(text.splitlines()) == 1, f"several lines: {text}"
    return text


def damaged(content: bytes, way: str, generator: np.random.Generator) -> bytes:
    """``content`` with damage of one kind at a random place."""
    place = int(generator.integers(0, len(content)))
    if way == "flip":
        return content[:place] + bytes([content[place] ^ (1 << int(generator.integers(8)))]) + content[place + 1 :]
    if way == "cut":
        return content[:place]
    if way == "zeros":
        return content[:place] + bytes(min(512, len(content) - place)) + content[place + 512 :]
    if way == "lost":
        return content[:place] + content[place + 1 + int(generator.integers(64)) :]
    return content[:place] + generator.bytes(1 + int(generator.integers(64))) + content[place:]


def damage_result(way: str, count: int) -> None:
    """Any damage to a result is noticed."""
    generator = np.random.default_rng(17)
    with folder() as where:
        for _ in range(count):
            content = damaged(saved(), way, generator)
            if content != saved():
                (where / "r.nc").write_bytes(content)
                refused(lambda: mb.load(where / "r.nc"))


def damage_old_result(way: str, count: int) -> None:
    """An old result has no checksum: an answer with a warning, or one line."""
    generator = np.random.default_rng(19)
    with folder() as where:
        for _ in range(count):
            (where / "r.nc").write_bytes(damaged(OLD.read_bytes(), way, generator))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                text = ""
                try:
                    assert "no checksum" in mb.load(where / "r.nc").warnings[-1]
                except mb.InputError as error:
                    text = str(error)
                except Exception as error:
                    raise AssertionError(f"{type(error).__name__}: {error}") from None
                assert len(text.splitlines()) <= 1, text


def damage_checkpoint(way: str, count: int) -> None:
    """Damage to a checkpoint costs steps or is refused; no number in it changes."""
    generator = np.random.default_rng(23)
    with folder() as where:
        path = where / "run"
        with Checkpoint(path, IDENTITY) as store:
            for value in (3, 5, 8):
                store.append({"value": value}, {"a": np.arange(value, dtype=float)})
        content = path.read_bytes()
        for _ in range(count):
            path.write_bytes(damaged(content, way, generator))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", mb.MRFWarning)
                try:
                    with Checkpoint(path, IDENTITY) as store:
                        segments = list(store.segments)
                except mb.InputError:
                    continue
                except Exception as error:
                    raise AssertionError(f"{type(error).__name__}: {error}") from None
            for (fields, arrays), value in zip(segments, (3, 5, 8), strict=False):
                assert fields["value"] == value
                np.testing.assert_array_equal(arrays["a"], np.arange(value, dtype=float))


def forged_checkpoint(header: bytes) -> None:
    """A segment with a right checksum and strange contents is refused."""
    with folder() as where:
        path = where / "run"
        Checkpoint(path, IDENTITY).close()
        frame = struct.pack("<4sQQ32s", b"SEG\n", len(header), 0, hashlib.sha256(header).digest())
        with path.open("ab") as file:
            file.write(frame + header)
        refused(lambda: Checkpoint(path, IDENTITY))


def foreign(name: str, content: bytes) -> None:
    """A file of another kind is refused as a result and as a checkpoint, and left alone."""
    with folder() as where:
        path = where / name
        path.write_bytes(content)
        refused(lambda: mb.load(path))
        if content:
            refused(lambda: draw(engine="mh", checkpoint=path))
        assert path.read_bytes() == content


def edges_come_back(model: str, prior: str, asked: bool) -> None:
    """edges() and summary() after loading are those before saving."""
    live = draw(MODELS[model](), prior=PRIORS[prior])
    if asked:
        live.edges()
    with folder() as where, warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        live.save(where / "r.nc")
        again = mb.load(where / "r.nc")
        for name in ("edges", "summary"):
            left, right = getattr(live, name)(), getattr(again, name)()
            assert left.equals(right), f"{name} differs"
            assert left.attrs == right.attrs
        assert not live.edges()["log_bf10"].isna().any()


def summaries_come_back(method: str) -> None:
    """summary() of any method after loading is that before saving."""
    live = draw(method=method)
    with folder() as where:
        live.save(where / "r.nc")
        assert live.summary().equals(mb.load(where / "r.nc").summary())


def bad_target(make: Callable[[Path], Any], says: str, write: Callable[[Any], Any]) -> None:
    """A target that cannot be written is refused in one line, and nothing is changed."""
    with folder() as where:
        (where / "file").write_text("precious")
        (where / "sub").mkdir()
        (where / "link").symlink_to("file")
        text = refused(lambda: write(make(where)), (mb.InputError, mb.OutputError))
        assert says in text, text
        assert (where / "file").read_text() == "precious"
        assert sorted(os.listdir(where)) == ["file", "link", "sub"]


TARGETS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing folder": (lambda where: where / "no" / "x.nc", "no"),
    "file as folder": (lambda where: where / "file" / "x.nc", "Not a directory"),
    "folder": (lambda where: where / "sub", "is a folder"),
    "link": (lambda where: where / "link", "is a link"),
    "existing": (lambda where: where / "file", "exists"),
    "long name": (lambda where: where / ("n" * 300), "File name too long"),
    "NUL": (lambda where: str(where / "a\0b"), "not the path"),
    "number": (lambda where: 5, "give the path"),
    "device": (lambda where: "/dev/null", "not a regular file"),
}
WRITERS: dict[str, Callable[[Any], Any]] = {
    "save": lambda path: small().save(path),
    "write_text": lambda path: write_text(path, "x"),
    "check_targets": lambda path: check_targets({"out": path}),
}


@cache
def small() -> mb.Posterior:
    """A result to be saved."""
    return draw()


def limited(script: str, limit: int) -> None:
    """Run a script that may write files of so many bytes; the script's own assertions decide."""
    code = f"""
    import os, resource, sys
    import numpy as np
    import mrfbayes as mb
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    posterior = mb.load("good.nc")
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, hard))
    """
    with folder() as where:
        (where / "good.nc").write_bytes(saved())
        _script(textwrap.dedent(code) + textwrap.dedent(script), where)


def on_small_disk(script: str, options: str) -> None:
    """Run a script in a folder that is a disk of its own; where nobody may mount one, it is not tried."""
    with folder() as where:
        (where / "good.nc").write_bytes(saved())
        (where / "disk").mkdir()
        (where / "script.py").write_text(textwrap.dedent(script))
        command = f"mount -t tmpfs {options} tmpfs disk || exit 77; exec {sys.executable} script.py"
        if shutil.which("unshare") is None:
            raise NotTried("there is no unshare")
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", command], cwd=where, capture_output=True, text=True, timeout=300, env=_path()
        )
        if done.returncode == 77 or "unshare failed" in done.stderr or "Operation not permitted" in done.stderr:
            raise NotTried("nobody may mount a disk")
        assert done.returncode == 0, done.stderr[-500:]


def _path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def _script(code: str, where: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=where, capture_output=True, text=True, timeout=300, env=_path()
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


FULL_SAVE = """
import os
import mrfbayes as mb
posterior = mb.load("good.nc")
try:
    posterior.save("disk/r.nc")
    raise SystemExit("it fitted")
except mb.OutputError as error:
    assert "No space left" in str(error) and "still in memory" in str(error), error
assert os.listdir("disk") == []
posterior.save("elsewhere.nc")
assert (mb.load("elsewhere.nc").draws == posterior.draws).all()
"""
FULL_CHECKPOINT = """
import warnings
import numpy as np
import mrfbayes as mb
warnings.simplefilter("ignore")
from mrfbayes.run.store import Checkpoint
with Checkpoint("disk/run", {"a": "b"}) as store:
    store.append({"value": 1}, {"a": np.arange(10.0)})
    try:
        store.append({"value": 2}, {"a": np.arange(1e5)})
        raise SystemExit("it fitted")
    except mb.OutputError as error:
        assert "No space left" in str(error)
    store.append({"value": 3}, {"a": np.arange(10.0)})
with Checkpoint("disk/run", {"a": "b"}) as store:
    assert [fields["value"] for fields, _ in store.segments] == [1, 3]
"""
FULL_COMMANDS = """
import os, subprocess, sys
from pathlib import Path
Path("x.csv").write_text("a,b\\n" + "0,1\\n1,1\\n1,0\\n0,0\\n" * 20)
def run(*words):
    done = subprocess.run([sys.executable, "-m", "mrfbayes", *words], capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done
done = run("simulate", "0.7", "200000", "--grid", "2x2", "--out", "disk/big.csv")
assert done.returncode == 1 and "No space left" in done.stderr, done
assert os.listdir("disk") == []
done = run("sample", "x.csv", "--complete", "--method", "exact", "--steps", "4000", "--out", "disk/r.nc")
assert done.returncode == 1 and "instead" in done.stderr, done
assert os.listdir("disk") == []
other = done.stderr.split("saved to ")[1].split(" instead")[0]
assert run("summary", other).returncode == 0
os.remove(other)
"""
READ_ONLY = """
import subprocess, sys, time
from pathlib import Path
import mrfbayes as mb
posterior = mb.load("good.nc")
try:
    posterior.save("disk/r.nc")
    raise SystemExit("written on a read-only disk")
except mb.InputError as error:
    assert "Read-only file system" in str(error), error
Path("x.csv").write_text("a,b\\n" + "0,1\\n1,1\\n1,0\\n0,0\\n" * 20)
for words in (["--out", "disk/r.nc"], ["--checkpoint", "disk/run"]):
    done = subprocess.run([sys.executable, "-m", "mrfbayes", "sample", "x.csv", "--complete", *words],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "Read-only file system" in done.stderr and not done.stdout, done
"""
LIMITED_SAVE = """
try:
    posterior.save("r.nc")
    raise SystemExit("it fitted")
except mb.OutputError as error:
    assert "File too large" in str(error), error
assert os.listdir(".") == ["good.nc"], os.listdir(".")
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
posterior.save("r.nc")
"""
LIMITED_PICTURE = """
import matplotlib
matplotlib.use("Agg")
try:
    mb.plots.save(mb.plots.forest(posterior), "forest.svg")
    raise SystemExit("it fitted")
except mb.OutputError as error:
    assert "File too large" in str(error), error
assert os.listdir(".") == ["good.nc"], os.listdir(".")
"""


def killed_while_saving() -> None:
    """kill -9 at any moment of saving leaves the old file or the new one, whole."""
    code = """
    import mrfbayes as mb
    posterior = mb.load("good.nc")
    print("ready", flush=True)
    while True:
        posterior.save("r.nc", overwrite=True)
    """
    with folder() as where:
        (where / "good.nc").write_bytes(saved())
        (where / "r.nc").write_bytes(saved())
        for wait in (0.0, 0.013, 0.029, 0.041, 0.067):
            run = subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(code)], cwd=where, stdout=subprocess.PIPE, env=_path()
            )
            assert run.stdout is not None
            run.stdout.readline()
            time.sleep(0.2 + wait)
            run.kill()
            run.communicate()
            mb.load(where / "r.nc")


def command(*words: Any, where: Path) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own; a traceback is a violation."""
    done = subprocess.run(
        [sys.executable, "-m", "mrfbayes", *map(str, words)],
        cwd=where,
        capture_output=True,
        text=True,
        timeout=300,
        env=_path(),
    )
    assert "Traceback" not in done.stderr, done.stderr[-500:]
    return done


def ends(status: int, says: str, *words: Any) -> None:
    """A command ends with a status and one line; its input is as it was."""
    with folder() as where:
        (where / "x.csv").write_text("a,b\n" + "0,1\n1,1\n1,0\n0,0\n" * 20)
        (where / "r.nc").write_bytes(saved())
        before = {path.name: path.read_bytes() for path in where.iterdir()}
        done = command(*words, where=where)
        assert done.returncode == status, (done.returncode, done.stderr[-300:])
        assert says in done.stderr, done.stderr[-300:]
        assert len(done.stderr.strip().splitlines()) <= 1, done.stderr
        assert {path.name: path.read_bytes() for path in where.iterdir()} == before


def interrupted(seconds: float) -> None:
    """Ctrl-C at any moment of a command ends it with 130, without a traceback, with a result that loads or none."""
    with folder() as where:
        (where / "x.csv").write_text("a,b,c\n" + "0,1,1\n1,1,0\n1,0,1\n0,0,0\n" * 20)
        words = ("sample", "x.csv", "--complete", "--method", "exact", "--steps", "100000000", "--out", "r.nc")
        run = subprocess.Popen(
            [sys.executable, "-m", "mrfbayes", *words],
            cwd=where,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_path(),
        )
        time.sleep(seconds)
        run.send_signal(signal.SIGINT)
        try:
            _, said = run.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            run.kill()
            raise AssertionError("it went on") from None
        assert run.returncode == 130, (run.returncode, said[-500:])
        if (where / "r.nc").exists():
            assert mb.load(where / "r.nc").partial


def _bytes_of(value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, value, allow_pickle=True)
    return file.getvalue()


SAMPLE = ("sample", "x.csv", "--complete", "--method", "exact", "--steps", "300", "--chains", "1")
ENDS: tuple[tuple[Any, ...], ...] = (
    (2, "there is no folder", *SAMPLE, "--out", "no/r.nc"),
    (2, "there is no folder", *SAMPLE, "--checkpoint", "no/run"),
    (2, "are the same file", *SAMPLE, "--out", "x.csv", "--overwrite"),
    (2, "are the same file", *SAMPLE, "--checkpoint", "x.csv"),
    (2, "are the same file", *SAMPLE, "--out", "same", "--checkpoint", "same"),
    (2, "are the same file", *SAMPLE, "--out", "./x.csv", "--overwrite"),
    (2, "exists", *SAMPLE, "--out", "r.nc"),
    (2, "not a checkpoint", *SAMPLE, "--checkpoint", "r.nc"),
    (2, "exists", "summary", "r.nc", "--csv", "x.csv"),
    (2, "are the same file", "summary", "r.nc", "--csv", "r.nc", "--overwrite"),
    (2, "exists", "edges", "r.nc", "--csv", "x.csv"),
    (2, "exists", "export", "r.nc", "--out", "x.csv"),
    (2, "exists", "report", "r.nc", "--out", "x.csv"),
    (2, "exists", "simulate", "0.7", "10", "--grid", "2x2", "--out", "x.csv"),
    (2, "not a result file", "summary", "x.csv"),
    (2, "not a result file", "edges", "x.csv"),
    (2, "no such file", "summary", "nowhere.nc"),
    (2, "--help", "summary"),
    (2, "--help", "sample", "x.csv", "--steps", "many"),
    (2, "--help", "no-such-command"),
    (2, "--help", "sample", "x.csv", "--no-such-option"),
    (3, "months", "sample", "x.csv", "--complete", "--steps", "1000000000000"),
)
WAYS = ("flip", "cut", "zeros", "lost", "inserted")
HEADERS = (
    b"[]",
    b"{}",
    b"no",
    b"[" * 9999,
    b'{"fields": {}, "arrays": {"a": ["object", [1]]}}',
    b'{"fields": [1], "arrays": 3}',
)
FOREIGN = {
    "empty": b"",
    "text.nc": b"my notes",
    "pickle.nc": b"cposix\nsystem\n(S'touch hacked'\ntR.",
    "array.npy": _bytes_of(np.array([{"a": 1}], dtype=object)),
    "hdf5 magic.nc": b"\x89HDF\r\n\x1a\n" + bytes(600),
    "zip.nc": b"PK\x03\x04" + bytes(100),
}

TRIALS: list[tuple[str, Callable[[], None]]] = [
    *((f"result damaged: {way}", partial(damage_result, way, 400 if way == "flip" else 60)) for way in WAYS),
    *((f"old result damaged: {way}", partial(damage_old_result, way, 40 if way == "flip" else 12)) for way in WAYS),
    *((f"checkpoint damaged: {way}", partial(damage_checkpoint, way, 400 if way == "flip" else 60)) for way in WAYS),
    *((f"checkpoint forged: {header[:30]!r}", partial(forged_checkpoint, header)) for header in HEADERS),
    *((f"foreign file: {name}", partial(foreign, name, content)) for name, content in FOREIGN.items()),
    *(
        (
            f"edges after load: {model}, {prior}, {'asked before' if asked else 'asked after'}",
            partial(edges_come_back, model, prior, asked),
        )
        for model, prior, asked in [
            *(("both-one", prior, asked) for prior in PRIORS for asked in (True, False)),
            *((model, "uniform", False) for model in MODELS if model != "both-one"),
        ]
    ),
    *(
        (f"summary after load: {method}", partial(summaries_come_back, method))
        for method in ("mle", "calibrated", "exact")
    ),
    *(
        (f"{writer} to a bad target: {name}", partial(bad_target, make, says, write))
        for writer, write in WRITERS.items()
        for name, (make, says) in TARGETS.items()
    ),
    ("limit on file sizes while saving", partial(limited, LIMITED_SAVE, 9_000)),
    ("limit on file sizes while a picture is saved", partial(limited, LIMITED_PICTURE, 9_000)),
    ("full disk while saving", partial(on_small_disk, FULL_SAVE, "-o size=16k")),
    ("full disk under a checkpoint", partial(on_small_disk, FULL_CHECKPOINT, "-o size=64k")),
    ("full disk under commands", partial(on_small_disk, FULL_COMMANDS, "-o size=64k")),
    ("read-only disk", partial(on_small_disk, READ_ONLY, "-o ro")),
    ("kill -9 while saving", killed_while_saving),
    *((f"status {words[0]}: {' '.join(map(str, words[2:]))}", partial(ends, *words)) for words in ENDS),
    *((f"Ctrl-C after {seconds} s", partial(interrupted, seconds)) for seconds in (1.5, 3.0, 6.0, 12.0)),
]
