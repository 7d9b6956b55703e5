"""Coverage of the 90 % intervals of `mrfbayes.segment` over simulated images, resumable.

    python benchmarks/hidden_coverage.py run greys_32     # one image after another, a line each in the results
    python benchmarks/hidden_coverage.py table            # benchmarks/results/hidden_coverage.md

Images are drawn by 600 Swendsen-Wang sweeps from a random start, then noise is added.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.particles.cluster import potts_chains
from mrfbayes.particles.log_z_curve import TiedField

RESULTS = Path(__file__).parent / "results"
LINES = RESULTS / "hidden_coverage.jsonl"
SWEEPS = 600
CASES = {  # name: side, states, coupling, emission, truth of the emission parameters, images
    "greys_32": (32, 3, 0.9, "gaussian", [0.0, 1.0, 2.0, 0.5, 0.5, 0.5], 200),
    "labels_32": (32, 2, 0.75, "misclassification", [0.9, 0.1, 0.15, 0.85], 200),
    "greys_128": (128, 3, 0.95, "gaussian", [0.0, 1.0, 2.0, 0.5, 0.5, 0.5], 20),
}


def simulate(side: int, q: int, w: float, emission: str, truth: list[float], seed: int) -> np.ndarray:
    """A noisy image."""
    field, random = TiedField.on_grid(side, side, q), np.random.default_rng(seed)
    x = random.integers(0, q, (1, side * side)).astype(np.uint8)
    state = kernel_state(seed_sequence(seed), "image")[None]
    potts_chains((field.pairs, field.neighbours), q, w, x, SWEEPS, state, np.zeros((1, 1), np.int32))
    x = x.reshape(side, side).astype(int)
    if emission == "gaussian":
        means, sds = np.array(truth).reshape(2, q)
        return np.asarray(random.normal(means[x], sds[x]))
    shares = np.cumsum(np.array(truth).reshape(q, q), axis=1)
    return np.asarray((random.random(x.shape)[..., None] > shares[x]).sum(axis=2))


def run(name: str) -> None:
    """Segment the images of a case that have no line yet."""
    side, q, w, emission, truth, n = CASES[name]
    known = {(line["case"], line["image"]) for line in read()}
    for k in range(n):
        if (name, k) in known:
            continue
        image = simulate(side, q, w, emission, truth, 1000 + k)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mb.MRFWarning)
            result = mb.segment(image, states=q, emission=emission, chains=2, rng=k, progress=False)
        table = result.summary()
        line = {
            "case": name,
            "image": k,
            "cpu_seconds": round(time.process_time() - began, 2),
            "ess": round(float(table["ess_bulk"].min())),
            "r_hat": round(float(table["r_hat"].max()), 4),
            "log_z_error": round(result.log_z_error, 4),
            "names": list(result.parameters),
            "truth": [w, *truth],
        } | {key: [round(float(v), 5) for v in table[key]] for key in ("mean", "sd", "q5", "q95")}
        with LINES.open("a") as file:
            file.write(json.dumps(line) + "\n")


def read() -> list[dict]:
    """All lines so far."""
    return [json.loads(text) for text in LINES.read_text().splitlines()] if LINES.exists() else []


def table() -> str:
    """Coverage by case and parameter."""
    rows = [
        "# Coverage of the 90 % intervals of `segment`\n",
        "`python benchmarks/hidden_coverage.py run <case>`; z is (mean - truth) / sd over the images.\n",
        "| case | parameter | images | truth | coverage | mean of z | sd of z | median cpu s | worst R-hat |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in CASES:
        lines = [line for line in read() if line["case"] == name]
        if not lines:
            continue
        get = {key: np.array([line[key] for line in lines]) for key in ("truth", "mean", "sd", "q5", "q95")}
        inside = ((get["q5"] <= get["truth"]) & (get["truth"] <= get["q95"])).mean(axis=0)
        z = (get["mean"] - get["truth"]) / get["sd"]
        seconds = np.median([line["cpu_seconds"] for line in lines])
        r_hat = max(line["r_hat"] for line in lines)
        for j, parameter in enumerate(lines[0]["names"]):
            rows.append(
                f"| {name} | {parameter} | {len(lines)} | {get['truth'][0, j]:g} | {inside[j]:.3f} | "
                f"{z[:, j].mean():.2f} | {z[:, j].std():.2f} | {seconds:.1f} | {r_hat:.3f} |"
            )
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2])
    else:
        (RESULTS / "hidden_coverage.md").write_text(table())
        print(table())
