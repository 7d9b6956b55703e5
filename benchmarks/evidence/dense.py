"""`langevin` against exact posteriors, and its coverage where none is at hand.

    python benchmarks/evidence/dense.py [exact] [ordered] [adhd] [slow] [large] [seeds] [calibration]

Rows are appended to benchmarks/evidence/results/dense_*.csv as they are done, so that a stopped run is not lost; a row
that is there is not made again. Errors are root mean squares over parameters: of means in sds, of sds relative.

- exact: complete graphs of 12, 14 and 16 binary variables, parameters drawn from the prior, against `exact`
- ordered: ordered and Potts variables against `exact`
- adhd: the items of the adhd data, all rows and fewer of them (p / n from 0.05 to 2)
- slow: twelve variables that are nearly all zero or all one, where Gibbs chains rarely cross, against `exact`
- large: 3,000 and 10,000 rows, where the gradient's noise is strongest: 20 variables against trajectories on the exact
  posterior with Stein control variates, 40 against a walk with steps a third as long and chains that sweep more
- seeds: the same data with two seeds, the difference of means and sds divided by sqrt 2
- calibration: parameters from the prior, normal(0, 2 / sqrt(d)) on edges, so that columns vary: coverage
"""

from __future__ import annotations

import csv
import itertools
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hamiltonian import Chain, moments

import mrfbayes as mb
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.estimation.newton import ExactObjective
from mrfbayes.model.natural_form import dense_layout
from mrfbayes.particles.dense import DenseEnsemble
from mrfbayes.priors import Prior

RESULTS = Path(__file__).parent / "results"


def complete(d: int, states: int = 2, coupling: str = "both-one") -> mb.Model:
    """A complete graph with node factors."""
    return mb.graph(list(itertools.combinations(range(d), 2)), states=states, fields=True, coupling=coupling)


def prior_of(d: int) -> dict[str, str]:
    """Wide enough to matter, narrow enough that columns vary."""
    return {"edges": f"normal(0, {2 / np.sqrt(d):.6f})", "nodes": "normal(0, 1)"}


def from_prior(model: mb.Model, rng: np.random.Generator) -> np.ndarray:
    """Log-odds drawn from `prior_of`."""
    w = rng.normal(size=model.n_parameters)
    w[: model.n_edges] *= 2 / np.sqrt(model.n_nodes)
    return w


def rows_of(model: mb.Model, w: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Data: chains of 2,000 sweeps from random states, one row each."""
    layout = dense_layout(model)
    means = np.repeat(1.0 / layout.states, layout.states - 1)
    ensemble = DenseEnsemble(layout, means, 1, n, kernel_state(seed_sequence(seed), "rows"))
    start = np.random.default_rng(seed).integers(layout.states, size=(ensemble.n_chains, model.n_nodes))
    ensemble.start(start)
    ensemble.set_parameters(layout.forward @ w)
    ensemble.sweep(2_000)
    return ensemble.rows()[:n]


class Table:
    """A CSV file that grows by rows; ``keys`` say which rows are the same."""

    def __init__(self, name: str, keys: tuple[str, ...]) -> None:
        self.path, self.keys = RESULTS / f"{name}.csv", keys
        self.rows: list[dict[str, Any]] = []
        if self.path.exists():
            with self.path.open(encoding="utf-8") as file:
                self.rows = list(csv.DictReader(file))

    def has(self, **key: Any) -> bool:
        """Whether a row with this key is there."""
        return any(all(row[name] == str(key[name]) for name in self.keys) for row in self.rows)

    def add(self, **row: Any) -> None:
        """Append a row."""
        self.rows.append({name: f"{v:.4g}" if isinstance(v, float) else str(v) for name, v in row.items()})
        with self.path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(self.rows[-1]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        print(self.path.stem, self.rows[-1], flush=True)


def compared(model: mb.Model, x: np.ndarray, prior: Any, seed: int = 0) -> dict[str, Any]:
    """Errors of langevin against exact, and what it said of itself."""
    exact = mb.sample(model, x, "exact", prior=prior, draws=1_666, thin=3, progress=False, rng=seed)
    started = time.process_time()
    found = mb.sample(model, x, "langevin", prior=prior, chains=8, progress=False, rng=seed)
    seconds = time.process_time() - started
    mean, sd = (found.mean - exact.mean) / exact.sd, found.sd / exact.sd - 1
    return {
        "p_over_n": model.n_parameters / len(x),
        "mean_error": float(np.sqrt(np.mean(mean**2))),
        "largest_mean_error": float(np.abs(mean).max()),
        "sd_error": float(np.sqrt(np.mean(sd**2))),
        "sd_bias": float(sd.mean()),
        "largest_sd_error": float(np.abs(sd).max()),
        "said_mean": float(found.details["mean_error"]),
        "said_sd": float(found.details["sd_error"]),
        "seconds": seconds,
        "reference": exact.engine,
        "reference_ess": float(exact.details.get("effective_proposals", np.min(exact.ess))),
        "warnings": len(found.warnings),
    }


def part_exact() -> None:
    """Binary fields with parameters from the prior."""
    table = Table("dense_exact", ("d", "n", "seed"))
    for d, n in ((12, 1_000), (12, 100), (12, 40), (14, 500), (16, 500)):
        for seed in range(2):
            if not table.has(d=d, n=n, seed=seed):
                model = complete(d)
                x = rows_of(model, from_prior(model, np.random.default_rng(seed)), n, seed)
                table.add(d=d, n=n, seed=seed, **compared(model, x, prior_of(d)))


def part_ordered() -> None:
    """Ordered variables and Potts."""
    table = Table("dense_ordered", ("coupling", "states", "d", "n"))
    for coupling, states, d, n in (
        ("score", 4, 5, 100),
        ("score", 4, 5, 500),
        ("score", 4, 5, 3_000),
        ("score", 3, 8, 300),
        ("score", 5, 8, 300),
        ("agreement", 3, 6, 300),
    ):
        if not table.has(coupling=coupling, states=states, d=d, n=n):
            model = complete(d, states, coupling)
            w = from_prior(model, np.random.default_rng(1)) * 0.5
            w[: model.n_edges] /= (states - 1) if coupling == "score" else 1
            x = rows_of(model, w, n, 3)
            row = compared(model, x, "normal(0, 1)")
            table.add(coupling=coupling, states=states, d=d, n=n, **row)


def part_adhd() -> None:
    """Five and nine items of the adhd data, and fewer and fewer of its rows."""
    table = Table("dense_adhd", ("items", "n"))
    data = mb.datasets.load_adhd().x
    for items, n in ((5, 300), (9, len(data)), (9, 180), (9, 90), (9, 45), (9, 23)):
        if not table.has(items=items, n=n):
            x = data[np.random.default_rng(0).permutation(len(data))[:n], :items].astype(np.uint8)
            table.add(items=items, n=n, **compared(complete(items), x, "normal(0, 1)"))


def part_slow() -> None:
    """Two phases: all couplings the same, beyond the critical one, and no field between them."""
    table = Table("dense_slow", ("coupling", "n"))
    model = complete(12)
    for coupling, n in ((0.36, 400), (0.5, 400), (0.6, 400), (0.7, 400)):
        if not table.has(coupling=coupling, n=n):
            w = np.full(model.n_parameters, coupling)
            w[model.n_edges :] = -coupling * (model.n_nodes - 1) / 2
            x = rows_of(model, w, n, 1)
            between = float(np.mean((x.sum(axis=1) > 3) & (x.sum(axis=1) < 9)))
            table.add(coupling=coupling, n=n, between=between, **compared(model, x, "normal(0, 1)"))


def controlled(model: mb.Model, statistics: Any, prior: Any) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Mean and sd of the exact posterior by trajectories and Stein control variates, and the errors of both."""
    settings = {"engine": "hmc", "chains": 2, "draws": 500, "thin": 1, "progress": False}
    draws = mb.sample(model, statistics, "exact", prior=prior, **settings).log_odds.reshape(-1, model.n_parameters)
    objective, centre = ExactObjective(model, statistics, Prior(model, prior)), draws.mean(axis=0)
    inverse = np.linalg.inv(objective.curvature(centre))
    gradients = np.stack([objective.value_gradient(w)[1] for w in draws])
    chain = Chain(centre, draws - centre, gradients @ inverse, np.diag(inverse), 1.0, len(draws))
    found = moments(chain, near=[np.array([j]) for j in range(model.n_parameters)])
    return found.mean, found.sd, *(float(np.sqrt(np.mean(e**2))) for e in (found.mean_error, found.sd_error))


def longer_walk(model: mb.Model, statistics: Any, prior: Any) -> tuple[np.ndarray, np.ndarray, float, float]:
    """The same where the exact posterior is out of reach: by short steps and chains that keep up with them."""
    settings = {"step": 0.1, "sweeps": 8, "draws": 700, "progress": False}
    found = mb.sample(model, statistics, "langevin", prior=prior, rng=9, **settings)
    return found.mean, found.sd, float(found.details["mean_error"]), float(found.details["sd_error"])


def part_large() -> None:
    """Many rows: chains grow with them."""
    table = Table("dense_large", ("d", "n"))
    for d, n, reference in (
        (20, 3_000, controlled),
        (20, 10_000, controlled),
        (40, 3_000, longer_walk),
        (40, 10_000, longer_walk),
    ):
        if table.has(d=d, n=n):
            continue
        model = complete(d)
        statistics = mb.Data(rows_of(model, from_prior(model, np.random.default_rng(3)), n, 3)).count(model)
        started = time.process_time()
        found = mb.sample(model, statistics, "langevin", prior=prior_of(d), progress=False)
        seconds = time.process_time() - started
        exact_mean, exact_sd, mean_noise, sd_noise = reference(model, statistics, prior_of(d))
        mean, sd = (found.mean - exact_mean) / exact_sd, found.sd / exact_sd - 1
        table.add(
            d=d,
            n=n,
            mean_error=float(np.sqrt(np.mean(mean**2))),
            sd_error=float(np.sqrt(np.mean(sd**2))),
            sd_bias=float(sd.mean()),
            largest_sd_error=float(np.abs(sd).max()),
            said_mean=float(found.details["mean_error"]),
            said_sd=float(found.details["sd_error"]),
            step_mean=float(found.details["step_mean_error"]),
            step_sd=float(found.details["step_sd_error"]),
            largest_correction=float(found.details["gradient_noise"]),
            chains=int(found.details["particles"]),
            seconds=seconds,
            reference=reference.__name__,
            reference_mean_error=mean_noise,
            reference_sd_error=sd_noise,
            warnings=len(found.warnings),
        )


def part_seeds() -> None:
    """Two seeds on the same data."""
    table = Table("dense_seeds", ("d", "n"))
    for d, n in ((12, 200), (40, 1_000), (64, 1_000)):
        if not table.has(d=d, n=n):
            model = complete(d)
            x = rows_of(model, from_prior(model, np.random.default_rng(0)), n, 0)
            a, b = (mb.sample(model, x, "langevin", prior=prior_of(d), progress=False, rng=seed) for seed in (1, 2))
            table.add(
                d=d,
                n=n,
                mean_error=float(np.sqrt(np.mean(((a.mean - b.mean) / b.sd) ** 2) / 2)),
                sd_error=float(np.sqrt(np.mean((a.sd / b.sd - 1) ** 2) / 2)),
                said_mean=float(a.details["mean_error"]),
                said_sd=float(a.details["sd_error"]),
                step_mean=float(a.details["step_mean_error"]),
                step_sd=float(a.details["step_sd_error"]),
            )


def part_calibration() -> None:
    """Coverage of 50 and 90 % intervals of the log-odds, parameters from the prior."""
    table = Table("dense_calibration", ("d", "n", "seed"))
    for d, n, repeats in ((12, 200, 60), (40, 1_000, 24), (64, 1_000, 16), (100, 1_000, 3)):
        for seed in range(repeats):
            if table.has(d=d, n=n, seed=seed):
                continue
            model = complete(d)
            w = from_prior(model, np.random.default_rng(100 + seed))
            x = rows_of(model, w, n, seed)
            started = time.process_time()
            found = mb.sample(model, x, "langevin", prior=prior_of(d), progress=False, rng=seed)
            seconds = time.process_time() - started
            draws = found.log_odds.reshape(-1, model.n_parameters)
            low90, low50, high50, high90 = np.quantile(draws, [0.05, 0.25, 0.75, 0.95], axis=0)
            z = (w - draws.mean(axis=0)) / draws.std(axis=0)
            table.add(
                d=d,
                n=n,
                seed=seed,
                cover50=float(np.mean((w > low50) & (w < high50))),
                cover90=float(np.mean((w > low90) & (w < high90))),
                z_square=float(np.mean(z**2)),
                said_mean=float(found.details["mean_error"]),
                said_sd=float(found.details["sd_error"]),
                seconds=seconds,
                warnings=len(found.warnings),
            )


def main() -> None:
    """Make what was asked for, or everything."""
    warnings.simplefilter("ignore", mb.MRFWarning)
    parts = {
        "exact": part_exact,
        "ordered": part_ordered,
        "adhd": part_adhd,
        "slow": part_slow,
        "large": part_large,
        "seeds": part_seeds,
        "calibration": part_calibration,
    }
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
