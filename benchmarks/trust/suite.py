"""The whole test suite in random orders and under strain: a test that passes only sometimes is a mistake.

    python benchmarks/trust/suite.py --seconds 7200
    python benchmarks/trust/suite.py --only bounds

Each unit is one run of all tests in one process, in an order of its own. Needs pytest-randomly, which `make order`
brings along.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from units import RESULTS, ROOT, Record

ORDERS = 20
STRAINS = ("bounds of arrays checked", "one core", "beside two busy processes")
UNITS = (*STRAINS, *(f"order {k}" for k in range(1, ORDERS + 1)))
# The page of these checks follows its records later: every finished run would end the test that compares them.
COMMAND = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]
COMMAND += ["--deselect", "tests/test_trust_page.py", "--randomly-seed"]


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """``count`` processes that only compute."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def run(seed: int, strain: str) -> dict[str, object]:
    """All tests once: how many passed, and the names of those that failed, with what they said."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment |= {"NUMBA_BOUNDSCHECK": "1"} if strain == STRAINS[0] else {}
    pin = (lambda: os.sched_setaffinity(0, {0})) if strain == STRAINS[1] else None
    with busy(2 if strain == STRAINS[2] else 0):
        done = subprocess.run(
            [*COMMAND, str(seed)], cwd=ROOT, env=environment, preexec_fn=pin, capture_output=True, text=True
        )
    failed = [line[:300] for line in re.findall(r"^(?:FAILED|ERROR) (.+)", done.stdout, re.MULTILINE)]
    passed = re.search(r"(\d+) passed", done.stdout)
    return {
        "outcome": "passed" if done.returncode == 0 else "FAILED",
        "seed": seed,
        "passed": int(passed.group(1)) if passed else 0,
        "failed": failed,
        "said": "" if done.returncode in (0, 1) else (done.stdout + done.stderr)[-300:],
    }


def main() -> None:
    """Run what is missing, and say what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=36_000.0, help="time to spend in this call")
    parser.add_argument("--again", action="store_true", help="repeat what ran on other commits")
    parser.add_argument("--only", default="", help="regular expression for the names of units to run")
    parser.add_argument("--record", type=Path, default=RESULTS / "suite.jsonl")
    asked = parser.parse_args()
    record = Record(asked.record)
    units = [(name, lambda seed=seed, name=name: run(seed, name)) for seed, name in enumerate(UNITS, 1)]
    record.run([unit for unit in units if re.search(asked.only, unit[0])], asked.seconds, asked.again)
    failed = {name: row["failed"] for name, row in record.rows.items() if row["outcome"] != "passed"}
    print(f"{len(record.rows)} of {len(units)} runs", *(f"{name}: {tests}" for name, tests in failed.items()), sep="\n")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
