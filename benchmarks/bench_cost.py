"""Seconds that `mrfbayes.cost` states beside those measured.

``OPENBLAS_NUM_THREADS=1 python benchmarks/bench_cost.py`` writes benchmarks/results/cost.md. A call is made
once before it is timed, so that compiled code is loaded; curves of log Z are not kept from one call to the next.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from bench_one_coupling import image
from record import made_by

import mrfbayes as mb
from mrfbayes.methods.cost import COMPILE_SECONDS
from mrfbayes.particles import log_z_curve as curves


def grid(side: int) -> tuple[mb.Model, np.ndarray]:
    """A binary grid with a weight in (.5, .8) for each edge, and 1,000 rows."""
    model = mb.grid(side, side)
    theta = np.random.default_rng(side).uniform(0.5, 0.8, model.n_parameters)
    return model, mb.simulate(model, theta, 1_000, rng=1)


def items(d: int, levels: int) -> tuple[mb.Model, np.ndarray]:
    """A questionnaire: a complete graph of items that share a factor, and 1,000 rows."""
    rng = np.random.default_rng(d)
    latent = 0.7 * rng.normal(size=(1_000, 1)) + rng.normal(size=(1_000, d))
    x = np.digitize(latent, np.linspace(-1.2, 1.2, levels + 1)[1:-1])
    coupling = "both-one" if levels == 2 else "score"
    return mb.complete(range(d), states=levels, fields=True, coupling=coupling), x


def tied(side: int, q: int, w: float) -> tuple[mb.Model, np.ndarray]:
    """One image of a field with one coupling."""
    return mb.grid(side, side, states=q, tied=True), image(side, q, w)


def few(side: int) -> tuple[mb.Model, np.ndarray]:
    """One binary image of a field with one coupling and one threshold."""
    model = mb.grid(side, side, fields=True, tied=True)
    return model, mb.simulate(model, 0.62, 1, sampler="gibbs", rng=2)


CASES = [
    ("64x64 binary, tied", "calibrated", lambda: tied(64, 2, 0.8)),
    ("48x48, 4 colours, tied", "calibrated", lambda: tied(48, 4, 0.9)),
    ("24x24, 4 colours, tied", "calibrated", lambda: tied(24, 4, 0.9)),
    ("24x24 with fields, tied", "calibrated", lambda: few(24)),
    ("6x6", "calibrated", lambda: grid(6)),
    ("6x6", "mle", lambda: grid(6)),
    ("8x8", "exact", lambda: grid(8)),
    ("20x20, planar", "exact", lambda: grid(20)),
    ("20x20, planar", "calibrated", lambda: grid(20)),
    ("30x30, planar", "exact", lambda: grid(30)),
    ("30 binary items", "langevin", lambda: items(30, 2)),
    ("17 five-level items", "langevin", lambda: items(17, 5)),
]


def seconds(model: mb.Model, x: np.ndarray, method: str) -> float:
    """Processor seconds of a call: with defaults by replicas, else with 1,000 draws of one chain."""
    curves._CURVES.clear()
    length = {} if method == "langevin" else {"draws": 1_000, "chains": 1}
    began = time.process_time()
    mb.sample(model, x, method, **length, rng=1, progress=False)
    return time.process_time() - began


FIRST_CALL = """
import time, warnings
import mrfbayes as mb
warnings.simplefilter("ignore")
model, times = mb.grid(4, 4), []
x = mb.simulate(model, 0.6, 50, rng=1)
for _ in range(2):
    began = time.process_time()
    mb.sample(model, x, "METHOD", rng=1, progress=False)
    times.append(time.process_time() - began)
print(times[0] - times[1])
"""


def compile_seconds(method: str) -> float:
    """Processor seconds by which the first call on a 4x4 grid exceeds the second, in a process without stored code."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MRFBAYES_CACHE_DIR": folder}
        command = [sys.executable, "-c", FIRST_CALL.replace("METHOD", method)]
        return float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


def main() -> None:
    """All cases."""
    warnings.simplefilter("ignore", mb.MRFWarning)
    lines = [
        "# Stated and measured seconds of methods\n",
        *(f"    {line}" for line in made_by().splitlines()),
        "\nStated by `mrfbayes.cost`: preparation and 1,000 steps, for `langevin` a call with its defaults. Measured",
        "are processor seconds of such a call with compiled code; data have 1,000 rows, tied fields are one image.\n",
        "| field | method | stated preparation, s | stated 1,000 steps, s | measured, s | measured / stated |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for name, method, make in CASES:
        model, x = make()
        cost = mb.cost(model)
        before, stated = cost.preparation[method], cost.methods[method]
        seconds(model, x, method)
        measured = seconds(model, x, method)
        cells = f"{before:.2g} | {stated - before:.2g} | {measured:.2g} | {measured / stated:.2f}"
        lines.append(f"| {name} | `{method}` | {cells} |")
        print(lines[-1], flush=True)
    compiled = ", ".join(f"{compile_seconds(method):.0f} s (`{method}`)" for method in ("exact", "mle", "calibrated"))
    lines.append(f"\nCompilation, in the first call on a machine, is stated apart as {COMPILE_SECONDS} s: {compiled}.")
    print(lines[-1])
    (Path(__file__).parent / "results" / "cost.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
