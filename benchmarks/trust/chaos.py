"""Faults at random points: whatever is killed, interrupted or damaged, the next run ends with the same numbers.

    python benchmarks/trust/chaos.py --faults 1000 --seconds 36000
    python benchmarks/trust/chaos.py --only kill

Units: `kill` (SIGKILL at up to three random moments, then the same command again: results identical to those of a run
that nobody killed), `ctrl-c` (the same with one Ctrl-C: an answer within two seconds), `dask` (workers killed in
mid-run), `scheduler` (a scheduler killed, and the same call on the next one), and those of `faults.py`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import faults
from units import RESULTS, ROOT, Record

ANSWER_SECONDS = 2.0
START = """
import sys, hashlib, warnings
import numpy as np
import mrfbayes as mb
warnings.simplefilter("ignore")
x = np.random.default_rng(5).integers(0, 2, (80, 4))
x[:50, 1] = x[:50, 0]
model = mb.graph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], fields=True)
def digest(*arrays):
    print("digest", hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest(), flush=True)
"""
SAMPLE = (
    "post = mb.sample(model, x, {method!r}, draws={draws}, thin={thin}, chains=2, checkpoint='run', "
    "progress=False, rng=3{more})\ndigest(post.draws)"
)
COMMAND = (
    "from mrfbayes import cli\nsys.argv = 'mrfbayes {arguments}'.split()\n"
    "try:\n    cli.main()\nexcept SystemExit as ended:\n    assert ended.code == 0, ended.code\n"
)
# What runs in a folder of its own; each prints a digest at its end.
SCRIPTS = {
    "exchange-exact": SAMPLE.format(method="exchange-exact", draws=2_000, thin=30, more=""),
    "exact-mh": SAMPLE.format(method="exact", draws=2_000, thin=30, more=", engine='mh'"),
    "pseudo": SAMPLE.format(method="pseudo", draws=2_000, thin=30, more=""),
    "persistent": SAMPLE.format(method="persistent", draws=2_000, thin=3, more=""),
    "select": (
        "found = mb.select(model, x, rng=3, progress=False, draws=20_000, checkpoint='run')\n"
        "digest(found.inclusion, found.log_odds)"
    ),
    "groups": (
        "groups = {'a': x[:40], 'b': x[40:]}\n"
        "found = mb.compare_groups(model, groups, rng=3, progress=False, draws=8_000, checkpoint='run')\n"
        "digest(found.inclusion, found.coordinates)"
    ),
    "hmc": SAMPLE.format(method="exact", draws=4_000, thin=1, more=", engine='hmc'"),
    "independence": SAMPLE.format(method="exact", draws=5_000, thin=20, more=", engine='independence'"),
    "langevin": SAMPLE.format(method="langevin", draws=1_000, thin=4, more="").replace("chains=2", "chains=4"),
    "many": (
        "fits = mb.sample_many(model, [x[k:k + 40] for k in range(20)], method='exact', engine='mh', draws=5_000,\n"
        "                      rng=3, progress=False, folder='fits')\n"
        "digest(*(fits[str(k)].draws for k in range(20)))"
    ),
    "printed": SAMPLE.format(method="exact", draws=2_000, thin=30, more=", engine='mh', proposal='printed'"),
    "direct": SAMPLE.format(method="mle", draws=20_000, thin=1, more=""),
    "fit": (
        "np.savetxt('x.csv', x, '%d', ',', header='a,b,c,d', comments='')\n"
        + COMMAND.format(arguments="fit x.csv --out out --overwrite --rng 3")
        + "tables = [np.fromfile(f'out/{name}.csv', np.uint8) for name in ('summary', 'edges')]\n"
        "digest(mb.load('out/posterior.nc').draws, *tables)"
    ),
    "reproduce": (
        COMMAND.format(arguments="reproduce --only table1 --grid 4x4 --replications 1 --no-render --out out")
        + "import json, pathlib\n"
        "rows = [json.loads(line) for path in pathlib.Path('out/results').glob('*.jsonl') for line in path.open()]\n"
        "kept = sorted(json.dumps({k: v for k, v in row.items() if k not in ('seconds', 'made')}) for row in rows)\n"
        "digest(np.frombuffer('\\n'.join(kept).encode(), np.uint8))"
    ),
}
# A server looks for modules where its environment says, not where this process does.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), str(ROOT / "src")])
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["imported"])


def work(name: str, folder: str, said: str) -> None:
    """What a process does: a script in its folder, its words in a file."""
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let processes in the background ignore it
    words = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(words, 1)
    os.dup2(words, 2)
    exec(compile(START + SCRIPTS[name], name, "exec"), {"__name__": "script"})


class Running:
    """A script in a process that is forked from a server in which everything is imported.

    Parameters
    ----------
    name : str
        The script.
    folder : Path
        Where it runs.
    """

    def __init__(self, name: str, folder: Path) -> None:
        handle, self.said = tempfile.mkstemp()
        os.close(handle)
        self.process = FORKS.Process(target=work, args=(name, str(folder), self.said))
        self.process.start()

    def send(self, fault: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.process.is_alive():
            assert self.process.pid is not None
            os.kill(self.process.pid, fault)

    def finish(self) -> tuple[str, str]:
        """The digest that was printed, empty where there is none, and the end of what the script said."""
        self.process.join(1_800)
        self.process.kill()
        self.process.join()
        words = Path(self.said).read_text(encoding="utf-8", errors="replace")
        os.unlink(self.said)
        digests = [line.split()[1] for line in words.splitlines() if line.startswith("digest")]
        return (digests[-1] if digests else ""), words[-300:]


class Sound:
    """What each script gives when nobody disturbs it, and how long that takes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, float]] = {}

    def of(self, name: str) -> tuple[str, float]:
        """Digest and seconds; run twice, since the first one may compile."""
        if name not in self._known:
            found = []
            for _ in range(2):
                with tempfile.TemporaryDirectory() as folder:
                    begin = time.monotonic()
                    digest, said = Running(name, Path(folder)).finish()
                    if not digest:
                        raise RuntimeError(f"{name}: {said}")
                    found.append((digest, time.monotonic() - begin))
            if found[0][0] != found[1][0]:
                raise RuntimeError(f"{name}: two undisturbed runs differ")
            self._known[name] = found[1]
        return self._known[name]


def disturb(name: str, folder: Path, fault: signal.Signals, moment: float) -> tuple[str, float, str]:
    """Start a script, send it a signal after ``moment`` seconds: its digest, seconds to its end, words."""
    running = Running(name, folder)
    time.sleep(moment)
    running.send(fault)
    begin = time.monotonic()
    digest, said = running.finish()
    return digest, time.monotonic() - begin, said


def kill(sound: Sound, name: str, number: int) -> dict[str, object]:
    """Up to three kills of the same work, then a run to its end."""
    wanted, seconds = sound.of(name)
    source = random.Random(f"kill {name} {number}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        times = [round(source.uniform(0, seconds), 3) for _ in range(source.randint(1, 3))]
        for moment in times:
            disturb(name, folder, signal.SIGKILL, moment)
        digest, said = Running(name, folder).finish()
    return {"outcome": "identical" if digest == wanted else "DIFFERENT", "at": times, "said": "" if digest else said}


def ctrl_c(sound: Sound, name: str, number: int) -> dict[str, object]:
    """Ctrl-C at a random moment: a quick answer, no damage, and the same numbers afterwards."""
    wanted, seconds = sound.of(name)
    source = random.Random(f"ctrl-c {name} {number}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        moment = round(source.uniform(0, seconds), 3)
        own, answer, _ = disturb(name, folder, signal.SIGINT, moment)
        digest, said = Running(name, folder).finish()
    outcome = "identical" if digest == wanted else "DIFFERENT"
    slow = {"slow": round(answer, 2), "ran to its end": bool(own)} if answer > ANSWER_SECONDS else {}
    return {"outcome": outcome, "at": moment, **slow, "said": "" if digest else said}


DASK = """
import os, random, signal, sys, threading, time
import numpy as np, mrfbayes as mb, hashlib
from distributed import Client, LocalCluster
def main():
    data = [np.random.default_rng(k).integers(0, 2, (60, 4)) for k in range(12)]
    model = mb.graph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], fields=True)
    call = dict(method="exchange-exact", draws=20_000, chains=1, rng=3, progress=False)
    source = random.Random(int(sys.argv[1]))
    here = dict(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with LocalCluster(**here) as cluster, Client(cluster) as client:
        def killer():
            for _ in range(2):
                time.sleep(source.uniform(0.2, 3.0))
                names = list(cluster.workers)
                process = cluster.workers[source.choice(names)].process
                if process is not None and process.pid:
                    os.kill(process.pid, signal.SIGKILL)
        if int(sys.argv[1]):
            threading.Thread(target=killer, daemon=True).start()
        fits = mb.sample_many(model, data, workers=client, **call)
        draws = b"".join(np.ascontiguousarray(post.draws).tobytes() for post in (fits[str(k)] for k in range(12)))
        print("digest", hashlib.sha256(draws).hexdigest())
if __name__ == "__main__":
    main()
"""


def dask_digest(seed: int) -> tuple[str, str]:
    """The digest that the script prints, empty where there is none, and the end of what it said."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "run.py").write_text(DASK, encoding="utf-8")
        out, err = started("run.py", place, str(seed)).communicate(timeout=1_800)
    return digest_in(out), err[-200:]


def digest_in(words: str) -> str:
    """The last digest that a script printed."""
    return next((line.split()[1] for line in reversed(words.splitlines()) if line.startswith("digest")), "")


@cache
def undisturbed_dask() -> str:
    """The digest without kills."""
    return dask_digest(0)[0]


def dask(number: int) -> dict[str, object]:
    """Workers killed in mid-run: the same result as without kills."""
    digest, said = dask_digest(number + 1)
    is_same = digest == undisturbed_dask() != ""
    return {"outcome": "identical" if is_same else "DIFFERENT", "said": "" if digest else said}


SCHEDULER = """
import sys, hashlib
import numpy as np, mrfbayes as mb
data = [np.random.default_rng(k).integers(0, 2, (60, 4)) for k in range(12)]
model = mb.graph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], fields=True)
call = dict(method="exchange-exact", chains=1, rng=3, progress=False, folder="fits", workers=sys.argv[1])
fits = mb.sample_many(model, data, draws=2_000, thin=10, **call)
draws = b"".join(np.ascontiguousarray(fits[str(k)].draws).tobytes() for k in range(12))
print("digest", hashlib.sha256(draws).hexdigest())
"""
SERVE = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        time.sleep(3_600)
"""


def started(script: str, place: str, *arguments: str) -> subprocess.Popen[str]:
    """A script in ``place`` as a process group of its own."""
    return subprocess.Popen(
        [sys.executable, script, *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def with_schedulers(kills: list[float]) -> tuple[str, bool, str]:
    """The digest of a call on a scheduler, after others that were killed; whether a call hung; the end of its words."""
    is_hung, out, err = False, "", ""
    with tempfile.TemporaryDirectory() as place:
        for script, content in (("call.py", SCHEDULER), ("serve.py", SERVE)):
            (Path(place) / script).write_text(content, encoding="utf-8")
        for moment in (*kills, None):
            server = started("serve.py", place)
            assert server.stdout is not None
            call = started("call.py", place, server.stdout.readline().strip())
            if moment is not None:
                time.sleep(moment)
                os.killpg(server.pid, signal.SIGKILL)
            try:
                out, err = call.communicate(timeout=1_800 if moment is None else 120)
            except subprocess.TimeoutExpired:
                call.kill()
                call.communicate()
                is_hung = True
            if moment is None:
                os.killpg(server.pid, signal.SIGKILL)
            server.communicate()
    return digest_in(out), is_hung, err[-200:]


@cache
def undisturbed_scheduler() -> str:
    """The digest without kills."""
    return with_schedulers([])[0]


def scheduler(number: int) -> dict[str, object]:
    """A scheduler that is killed with its workers: the call ends with an error, and goes on with the next scheduler."""
    kills = [round(random.Random(f"scheduler {number}").uniform(2.0, 12.0), 2)]
    digest, is_hung, said = with_schedulers(kills)
    is_same = digest == undisturbed_scheduler() != "" and not is_hung
    outcome = "identical" if is_same else "DIFFERENT"
    return {"outcome": outcome, "at": kills, "hung": is_hung, "said": "" if digest else said}


def units_of(n_faults: int, sound: Sound) -> list[tuple[str, Callable[[], dict[str, object]]]]:
    """All units: kills and Ctrl-C over all scripts, workers, schedulers, and the faults inside a process.

    All kinds go on side by side, each in proportion to its number.
    """
    units: list[tuple[float, str, Callable[[], dict[str, object]]]] = []

    def add(kind: str, number: int, make: Callable[[int], dict[str, object]]) -> None:
        units.extend((k / number, f"{kind} {k}", lambda k=k: make(k)) for k in range(number))

    for name in SCRIPTS:
        # Two kills in each, on average; most Ctrl-C are within a process, in faults.py.
        add(f"kill {name}", -(-n_faults // (2 * len(SCRIPTS))), lambda k, name=name: kill(sound, name, k))
        add(f"ctrl-c {name}", -(-n_faults // (20 * len(SCRIPTS))), lambda k, name=name: ctrl_c(sound, name, k))
    add("dask", -(-n_faults // 20), dask)  # two workers each
    add("scheduler", -(-n_faults // 100), scheduler)
    for kind, (_, count) in faults.KINDS.items():
        add(kind, max(1, round(count * min(n_faults / 1_000, 1.0))), lambda k, kind=kind: faults.run_unit(kind, k))
    return [(name, work) for _, name, work in sorted(units, key=lambda unit: unit[0])]


def main() -> None:
    """Run what is missing, and say what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=1_000, help="kills; the other kinds in proportion")
    parser.add_argument("--seconds", type=float, default=36_000.0, help="time to spend in this call")
    parser.add_argument("--again", action="store_true", help="repeat what ran on other commits")
    parser.add_argument("--only", default="", help="regular expression for the names of units to run")
    parser.add_argument("--record", type=Path, default=RESULTS / "chaos.jsonl")
    asked = parser.parse_args()
    record = Record(asked.record)
    units = [unit for unit in units_of(asked.faults, Sound()) if re.search(asked.only, unit[0])]
    record.run(units, asked.seconds, asked.again)
    print(json.dumps(Counter(f"{unit.split()[0]}: {row['outcome']}" for unit, row in record.rows.items()), indent=1))
    sys.exit(any(row["outcome"] == "DIFFERENT" for row in record.rows.values()))


if __name__ == "__main__":
    main()
