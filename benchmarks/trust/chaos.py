"""Faults at random points: whatever is killed, interrupted or damaged, the next run ends with the same numbers.

    python benchmarks/trust/chaos.py --faults 1000 --seconds 36000
    python benchmarks/trust/chaos.py --only kill

Units: `kill` (SIGKILL at a random moment, then the same command again: results identical to those of a run that nobody
killed), `interrupt` (Ctrl-C at a random moment: an answer within two seconds, nothing completed lost), `damage` (a
checkpoint cut or flipped at some byte: refused, or continued to identical draws), `dask` (workers killed in mid-run).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

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
print("ready", flush=True)
"""
SAMPLE = (
    "post = mb.sample(model, x, {method!r}, draws={steps}, chains=2, checkpoint='run', progress=False, rng=3{more})\n"
)
# What runs in a folder of its own; each prints "ready" once everything is imported and a digest at its end.
SCRIPTS = {
    "exchange-exact": SAMPLE.format(method="exchange-exact", draws=2_000, thin=30, more="") + "digest(post.draws)",
    "exact-mh": SAMPLE.format(method="exact", draws=2_000, thin=30, more=", engine='mh'") + "digest(post.draws)",
    "pseudo": SAMPLE.format(method="pseudo", draws=2_000, thin=30, more="") + "digest(post.draws)",
    "persistent": SAMPLE.format(method="persistent", draws=2_000, thin=3, more="") + "digest(post.draws)",
    "select": "found = mb.select(model, x, rng=3, progress=False)\ndigest(found.inclusion, found.log_odds)",
    "groups": (
        "found = mb.compare_groups(model, {'a': x[:40], 'b': x[40:]}, rng=3, progress=False)\n"
        "digest(found.inclusion, found.coordinates)"
    ),
    "fit": (
        "import os\nnp.savetxt('x.csv', x, '%d', ',', header='a,b,c,d', comments='')\n"
        "from mrfbayes import cli\nsys.argv = 'mrfbayes fit x.csv --out out --overwrite --rng 3'.split()\n"
        "try:\n    cli.main()\nexcept SystemExit as ended:\n    assert ended.code == 0, ended.code\n"
        "tables = [np.fromfile(f'out/{name}.csv', np.uint8) for name in ('summary', 'edges')]\n"
        "digest(mb.load('out/posterior.nc').draws, *tables)"
    ),
}


def start(name: str, folder: Path) -> subprocess.Popen[str]:
    """The script as a process in ``folder``."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", START + SCRIPTS[name]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    """The digest that a process printed, empty where it printed none, and the end of what it said."""
    out, err = process.communicate(timeout=1_800)
    digests = [line.split()[1] for line in out.splitlines() if line.startswith("digest")]
    return (digests[-1] if digests else ""), err[-300:]


class Sound:
    """What each script gives when nobody disturbs it, and how long that takes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, float]] = {}

    def of(self, name: str) -> tuple[str, float]:
        """Digest and seconds from "ready" to the end; run twice, since the first one may compile."""
        if name not in self._known:
            found = []
            for _ in range(2):
                with tempfile.TemporaryDirectory() as folder:
                    process = start(name, Path(folder))
                    assert process.stdout is not None
                    process.stdout.readline()
                    begin = time.monotonic()
                    digest, said = finish(process)
                    if not digest:
                        raise RuntimeError(f"{name}: {said}")
                    found.append((digest, time.monotonic() - begin))
            if found[0][0] != found[1][0]:
                raise RuntimeError(f"{name}: two undisturbed runs differ")
            self._known[name] = found[1]
        return self._known[name]


def disturb(name: str, folder: Path, fault: signal.Signals, moment: float) -> tuple[str, float, str]:
    """Start a script, send it a signal ``moment`` seconds after it is ready: its digest, seconds to its end, words."""
    process = start(name, folder)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(moment)
    process.send_signal(fault)
    begin = time.monotonic()
    digest, said = finish(process)
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
        digest, said = finish(start(name, folder))
    return {"outcome": "identical" if digest == wanted else "DIFFERENT", "at": times, "said": "" if digest else said}


def interrupt(sound: Sound, name: str, number: int) -> dict[str, object]:
    """Ctrl-C at a random moment: a quick answer, no damage, and the same numbers afterwards."""
    wanted, seconds = sound.of(name)
    source = random.Random(f"interrupt {name} {number}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        moment = round(source.uniform(0, seconds), 3)
        _, answer, _ = disturb(name, folder, signal.SIGINT, moment)
        digest, said = finish(start(name, folder))
    outcome = "identical" if digest == wanted else "DIFFERENT"
    slow = {"slow": round(answer, 2)} if answer > ANSWER_SECONDS else {}
    return {"outcome": outcome, "at": moment, **slow, "said": "" if digest else said}


def damage(sound: Sound, name: str, number: int) -> dict[str, object]:
    """A checkpoint cut or flipped at a random byte, after a kill: refused, or continued to the same draws."""
    wanted, seconds = sound.of(name)
    source = random.Random(f"damage {name} {number}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        disturb(name, folder, signal.SIGKILL, source.uniform(0.3, 1.0) * seconds)
        path = folder / "run"
        content = bytearray(path.read_bytes() if path.exists() else b"")
        at = source.randrange(len(content)) if content else 0
        if source.random() < 0.5:
            del content[at:]
        elif content:
            content[at] ^= 1 << source.randrange(8)
        path.write_bytes(content)
        digest, said = finish(start(name, folder))
    is_refusal = not digest and "InputError" in said
    outcome = "identical" if digest == wanted else "refused" if is_refusal else "DIFFERENT"
    return {"outcome": outcome, "at": at, "said": "" if digest else said.strip().splitlines()[-1][:200]}


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
        draws = b"".join(np.ascontiguousarray(post.draws).tobytes() for post in fits.values())
        print("digest", hashlib.sha256(draws).hexdigest())
if __name__ == "__main__":
    main()
"""


def dask(number: int) -> dict[str, object]:
    """Workers killed in mid-run: the same result as without kills."""
    digests = []
    for seed in (0, number + 1):
        with tempfile.TemporaryDirectory() as place:
            script = Path(place) / "run.py"
            script.write_text(DASK, encoding="utf-8")
            environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
            done = subprocess.run(
                [sys.executable, script, str(seed)],
                cwd=place,
                env=environment,
                capture_output=True,
                text=True,
                timeout=1_800,
            )
            words = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("digest")]
            digests.append(
                words[-1] if words else hashlib.sha256(done.stderr.encode()).hexdigest()[:8] + done.stderr[-200:]
            )
    return {
        "outcome": "identical" if digests[0] == digests[1] else "DIFFERENT",
        "said": "" if len(digests[1]) == 64 else digests[1],
    }


def main() -> None:
    """Run what is missing, and say what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=1_000, help="kills and interruptions, each")
    parser.add_argument("--seconds", type=float, default=36_000.0, help="time to spend in this call")
    parser.add_argument("--again", action="store_true", help="repeat what ran on other commits")
    parser.add_argument("--only", default="", help="part of the names of units to run")
    asked = parser.parse_args()
    sound, record = Sound(), Record(RESULTS / "chaos.jsonl")
    with_checkpoint = [name for name, script in SCRIPTS.items() if "checkpoint" in script]
    units = []
    for k in range(-(-asked.faults // len(SCRIPTS))):
        for name in SCRIPTS:
            units.append((f"kill {name} {k}", lambda name=name, k=k: kill(sound, name, k)))
            units.append((f"interrupt {name} {k}", lambda name=name, k=k: interrupt(sound, name, k)))
        units += [(f"damage {name} {k}", lambda name=name, k=k: damage(sound, name, k)) for name in with_checkpoint]
        units.append((f"dask {k}", lambda k=k: dask(k)))
    record.run([unit for unit in units if asked.only in unit[0]], asked.seconds, asked.again)
    print(json.dumps(Counter(f"{unit.split()[0]}: {row['outcome']}" for unit, row in record.rows.items()), indent=1))
    sys.exit(any(row["outcome"] == "DIFFERENT" for row in record.rows.values()))


if __name__ == "__main__":
    main()
