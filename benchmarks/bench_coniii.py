"""ConIII beside `mb.estimate` on the same spins: the maximum of the likelihood and of the pseudolikelihood.

    python benchmarks/bench_coniii.py PYTHON     # PYTHON of an environment that has ConIII

Written to benchmarks/results/coniii.md. ConIII 3.0.1 needs scipy 1.10, numpy 1.24 and Boost: apt-get install
libboost-python-dev libboost-numpy-dev, and CONDA_PREFIX=/usr to find it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from record import made_by

import mrfbayes as mb

RESULT = Path(__file__).parent / "results" / "coniii.md"
N_SPINS, N_ROWS = 8, 2_000
THEIRS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import coniii
spins = np.loadtxt("spins.txt", dtype=int)
answer = {"version": coniii.__version__}
for name in ("Enumerate", "Pseudo"):
    begun = time.process_time()
    multipliers = getattr(coniii, name)(spins, iprint=False).solve()
    answer[name] = [list(multipliers), time.process_time() - begun]
print(json.dumps(answer))
"""


def in_coniii(python: str, spins: np.ndarray) -> dict[str, list]:
    """Fields, then couplings, with the seconds of the processor, by solver; and the version."""
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "spins.txt", spins, fmt="%d")
        done = subprocess.run([python, "-c", THEIRS], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return json.loads(done.stdout.splitlines()[-1])


def main(python: str) -> None:
    """Run both sides and write the table."""
    model = mb.complete([f"s{k}" for k in range(N_SPINS)], fields=True)
    truth = np.random.default_rng(1).normal(0, 0.5, model.n_parameters)
    x = mb.simulate(model, model.chart.theta(truth), N_ROWS, rng=1, progress=False)
    theirs = in_coniii(python, np.where(x, 1, -1))
    lines = []
    for solver, algorithm in (("Enumerate", "exact"), ("Pseudo", "pseudo")):
        mb.estimate(model, x, algorithm=algorithm, progress=False)  # compiles
        begun = time.process_time()
        table = mb.estimate(model, x, algorithm=algorithm, progress=False).summary(scale="ising")
        seconds = time.process_time() - begun
        value = table.iloc[:, 0]
        ours = np.concatenate([value[list(model.nodes)], value.drop(list(model.nodes))])
        multipliers, their_seconds = theirs[solver]
        largest = abs(np.subtract(multipliers, ours)).max()
        lines.append(f"| `{solver}` | `{algorithm}` | {largest:.0e} | {their_seconds:.2f} | {seconds:.2f} |")
    RESULT.write_text(
        f"""# ConIII beside this package

```text
{made_by().replace(python, "PYTHON")}```

ConIII {theirs["version"]}, {N_SPINS} spins, {N_ROWS:,} simulated rows, {model.n_parameters} parameters. Differences are
of the fields and couplings of spins -1 and +1.

| ConIII | `algorithm=` of `mb.estimate` | largest difference | ConIII, processor s | here, processor s |
|---|---|---:|---:|---:|
"""
        + "\n".join(lines)
        + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(sys.argv[1])
