"""Seconds, and accuracy against the exact curve, of the posterior of one coupling.

``python benchmarks/bench_one_coupling.py`` writes benchmarks/results/one_coupling.md. Compiled code is loaded before;
curves of log Z are not kept from one case to the next.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.particles.cluster import potts_chains
from mrfbayes.particles import log_z_curve as curves

CASES = [(64, 2, 0.8), (100, 2, 0.8), (24, 4, 0.9), *((48, 4, w) for w in (0.6, 0.9, 1.05, 1.1, 1.15, 1.2, 1.4))]


def image(side: int, q: int, w: float) -> np.ndarray:
    """One image by 600 Swendsen-Wang sweeps."""
    field = curves.TiedField.on_grid(side, side, q)
    x = np.random.default_rng(side).integers(0, q, (1, side * side)).astype(np.uint8)
    state = kernel_state(seed_sequence(side), "image")[None]
    potts_chains((field.pairs, field.neighbours), q, w, x, 600, state, np.zeros((1, 1), np.int32))
    return x


def run(side: int, q: int, w: float) -> tuple[mb.Posterior, float]:
    """The posterior, and the processor seconds that it took."""
    x = image(side, q, w)
    curves._CURVES.clear()
    began = time.process_time()
    post = mb.sample(mb.grid(side, side, states=q, tied=True), x, "calibrated", prior="uniform", rng=1, progress=False)
    return post, time.process_time() - began


def main() -> None:
    """All cases, and the sampled curve against the exact one on 32x32."""
    run(16, 2, 0.5)
    run(12, 4, 0.5)
    rows = ["| grid | states | coupling | processor s | mean | sd | stated error |", "|---|---|---|---|---|---|---|"]
    for side, q, w in CASES:
        post, seconds = run(side, q, w)
        rows.append(
            f"| {side}x{side} | {q} | {w} | {seconds:.2f} | {post.mean[0]:.5f} | {post.sd[0]:.5f} | "
            f"{post.facts.trust} |"
        )
    exact, _ = run(32, 2, 0.8)
    limit, curves.EXACT_CURVE_SECONDS = curves.EXACT_CURVE_SECONDS, 0.0
    sampled, _ = run(32, 2, 0.8)
    curves.EXACT_CURVE_SECONDS = limit
    text = (
        "32x32 binary, sampled log Z against exact: mean off by "
        f"{(sampled.mean[0] - exact.mean[0]) / exact.sd[0]:.3f} sd, sd by {sampled.sd[0] / exact.sd[0] - 1:.2%}."
    )
    page = ["# The posterior of one coupling\n", "`python benchmarks/bench_one_coupling.py`\n", *rows, "", text]
    (Path(__file__).parent / "results" / "one_coupling.md").write_text("\n".join(page) + "\n")
    print("\n".join(page))


if __name__ == "__main__":
    main()
