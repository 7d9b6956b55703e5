"""Dense fields: Gibbs updates a second, the mode, and the posterior by `langevin`, in processor seconds.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_dense.py [--quick] [--part gibbs|posterior] [--only 'binary 20' ...]

Compilation is left out: every size is run once on a small scale first. Errors are root mean squares over parameters:
of means in posterior sds, of sds relative; from the difference of two seeds (divided by sqrt 2) where two were run,
else from the scatter of the replicas.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from pathlib import Path

import numpy as np

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.estimation.dense_mode import DensePosterior, dense_mode
from mrfbayes.model.natural_form import dense_layout
from mrfbayes.particles.dense import DenseEnsemble
from mrfbayes.priors import Prior

RESULTS = Path(__file__).parent / "results"
PRIOR = "normal(0, 1)"
# (name, d, n, states, coupling, seeds, seconds that issue 15 asks for: mode, whole)
CASES = (
    ("binary", 20, 1_000, 2, "both-one", 2, (0.3, 2.0)),
    ("binary", 40, 1_000, 2, "both-one", 2, (0.8, 4.0)),
    ("binary", 64, 1_000, 2, "both-one", 2, (3.5, 13.0)),
    ("binary", 100, 1_000, 2, "both-one", 1, (15.0, 45.0)),
    ("ordered, 5 levels", 17, 350, 5, "score", 2, (None, 3.0)),
    ("ordered, 5 levels", 30, 350, 5, "score", 2, (None, 10.0)),
    ("agreement, 3 states", 40, 1_000, 3, "agreement", 1, (None, 12.0)),
    ("binary agreement", 40, 1_000, 2, "agreement", 1, (None, 12.0)),
)
TODAY = {("binary", 20): "11", ("binary", 40): "95", ("binary", 64): "refused", ("binary", 100): "refused"}


def complete(d: int, states: int, coupling: str) -> mb.Model:
    """A complete graph with node factors."""
    return mb.graph(list(itertools.combinations(range(d), 2)), states=states, fields=True, coupling=coupling)


def truth(model: mb.Model, seed: int = 0) -> np.ndarray:
    """Log-odds with couplings of sd 1.2 / sqrt(d) (per product of standardised levels), and means not at the ends."""
    rng = np.random.default_rng(seed)
    d, m, r = model.n_nodes, model.n_edges, int(model.states[0])
    w = 0.3 * rng.normal(size=model.n_parameters)
    scale = 1.2 / np.sqrt(d)
    w[:m] = scale * rng.normal(size=m)
    layout = dense_layout(model)
    if layout.coupling == "product" and r > 2:
        w[:m] /= (r - 1) ** 2 / 3
    if layout.coupling == "product":
        # Fields that undo the couplings' pull where all variables are in the middle.
        pull = np.zeros(d)
        np.add.at(pull, model.edges.ravel(), np.repeat((layout.forward @ w)[:m], 2))
        level = np.tile(np.arange(1, r), d)
        w[m:] -= np.repeat(pull, r - 1) * level * (r - 1) / 2
    return w


def data(model: mb.Model, n: int, seed: int = 1) -> np.ndarray:
    """Rows after 300 sweeps from random states."""
    layout = dense_layout(model)
    means = np.repeat(1.0 / layout.states, layout.states - 1)
    ensemble = DenseEnsemble(layout, means, 1, n, kernel_state(seed_sequence(seed), "data"))
    rng = np.random.default_rng(seed)
    ensemble.start(rng.integers(layout.states, size=(ensemble.n_chains, model.n_nodes)))
    ensemble.set_parameters(layout.forward @ truth(model))
    ensemble.sweep(300)
    return ensemble.rows()[:n]


def gibbs_rows() -> list[str]:
    """Updates a second without and with the sums, all replicas of one field."""
    rows = ["| d | states | updates a second | with Rao-Blackwellised sums |", "|---|---|---|---|"]
    for states, coupling in ((2, "both-one"), (3, "score"), (5, "score"), (7, "score"), (3, "agreement")):
        for d in (20, 60, 100, 200):
            layout = dense_layout(complete(d, states, coupling))
            means = np.repeat(1.0 / layout.states, layout.states - 1)
            ensemble = DenseEnsemble(layout, means, 8, 256, kernel_state(seed_sequence(0), "bench"))
            ensemble.start(np.random.default_rng(0).integers(layout.states, size=(ensemble.n_chains, d)))
            ensemble.set_parameters(0.05 * np.random.default_rng(1).normal(size=layout.n_natural))
            ensemble.moments(1, 1)
            sweeps = max(1, int(4e7 / (d * ensemble.n_chains)))
            speeds = []
            for call in (ensemble.sweep, lambda n, e=ensemble: e.moments(0, n)):
                best = np.inf
                for _ in range(3):
                    started = time.process_time()
                    call(sweeps)
                    best = min(best, time.process_time() - started)
                speeds.append(sweeps * d * ensemble.n_chains / best)
            rows.append(f"| {d} | {states}, {coupling} | {speeds[0]:.2g} | {speeds[1]:.2g} |")
            print(rows[-1], flush=True)
    return rows


def posterior_rows(cases: tuple) -> list[str]:
    """One row per case: seconds and errors."""
    rows = [
        "| field | d | p | n | mode, s (bar) | mode error, sds | whole, s (bar) | before | mean error | sd error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, d, n, states, coupling, seeds, (mode_bar, bar) in cases:
        model = complete(d, states, coupling)
        x = data(model, n)
        statistics = mb.Data(x).count(model)
        # Compiles, on few of the variables.
        mb.sample(complete(4, states, coupling), x[:, :4], "langevin", draws=4, warmup=4, progress=False)
        posterior = DensePosterior(dense_layout(model), statistics, Prior(model, PRIOR))
        started = time.process_time()
        mode = dense_mode(posterior, seed_sequence(5))
        mode_seconds, mode_error = time.process_time() - started, mode.error
        del posterior, mode
        runs, seconds = [], []
        for seed in range(seeds):
            started = time.process_time()
            runs.append(mb.sample(model, statistics, "langevin", prior=PRIOR, rng=seed, progress=False))
            seconds.append(time.process_time() - started)
        mean_error, sd_error = runs[0].details["mean_error"], runs[0].details["sd_error"]
        how = " (replicas)"
        if seeds == 2:
            a, b = runs
            mean_error = np.sqrt(np.mean(((a.mean - b.mean) / b.sd) ** 2) / 2)
            sd_error = np.sqrt(np.mean((a.sd / b.sd - 1) ** 2) / 2)
            how = ""
        told = f"{mode_seconds:.2f}" + (f" ({mode_bar})" if mode_bar else "")
        before = TODAY.get((name, d), "no result")
        rows.append(
            f"| {name} | {d} | {model.n_parameters} | {n} | {told} | {mode_error:.3f} | {min(seconds):.1f} ({bar:g}) "
            f"| {before} | {mean_error:.4f}{how} | {sd_error:.4f}{how} |"
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run what was asked for, and write benchmarks/results/dense.md."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small fields only, nothing written")
    parser.add_argument("--part", choices=("gibbs", "posterior"), help="one part only, nothing written")
    parser.add_argument("--only", nargs="*", help="fields such as 'binary 20', nothing written")
    given = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    if given.only:
        posterior_rows(tuple(case for case in CASES if f"{case[0]} {case[1]}" in given.only))
        return
    gibbs = gibbs_rows() if given.part != "posterior" else []
    cases = CASES[:1] + CASES[4:5] if given.quick else CASES
    posterior = posterior_rows(cases) if given.part != "gibbs" else []
    if given.quick or given.part:
        return
    text = [
        "# Dense fields",
        "",
        "`OPENBLAS_NUM_THREADS=1 python benchmarks/bench_dense.py`; processor seconds on one core of a shared machine.",
        "",
        *(line.strip() for line in (__doc__ or "").splitlines()[4:]),
        "",
        *posterior,
        "",
        *gibbs,
        "",
    ]
    (RESULTS / "dense.md").write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
