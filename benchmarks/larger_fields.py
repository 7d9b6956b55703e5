"""Beyond the paper's sizes: the paper's methods against the exact posterior from 24 to 1,984 parameters.

    python benchmarks/larger_fields.py [--only NAME] [--seconds S] [--records paper/larger_fields.jsonl]

One unit is a field with one data set. Its record has a row for each method: the mean over parameters, the standard
deviation and the count of each measure, and the commit of the package that made it. Units that the file already has are
skipped, so the command can be stopped and started again. `make paper` draws the figure and writes the table.

The reference is ``mrfbayes.sample(..., "exact")``: log Z by the planar determinant on grids and strips, by tables of
states on complete graphs. Measures are corrected for the Monte-Carlo variance of the reference and of the method's own
draws, which is known from their effective sample sizes. Laplace-L has the exact information matrix at the estimate (the
favourable reading of the paper), MLE-L its closed-form marginals for rho = 0 and independent draws for the other rho.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy import special

import mrfbayes as mb

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "paper" / "larger_fields.jsonl"
RANGES = {"weak": (0.5, 0.8), "strong": (0.6, 0.9)}  # of theta
DENSE_RANGE = (0.4, 0.65)  # of theta on complete graphs: those of the grids would order them
N = 1_000  # observations of simulated fields
REFERENCE_DRAWS, DRAWS, WALK_STEPS = 4_000, 2_000, 300_000
PERSISTENT_PARAMETERS = 120  # above these PersistMC has fewer than 100 effective draws in WALK_STEPS
TAILS = (0.05, 0.95)


@dataclass(frozen=True)
class Unit:
    """A field with one data set; ``strength`` names the range of its parameters."""

    family: str
    name: str
    strength: str
    replication: int

    @property
    def key(self) -> str:
        return f"{self.family} {self.name} {self.strength} {self.replication}"


def units() -> list[Unit]:
    """One data set of every field, the cheap fields first, then more data sets of the small ones."""
    found = [Unit("grid", f"{k}x{k}", s, 0) for k in (4, 8) for s in RANGES]
    found += [Unit("complete", f"{k} nodes", "mixed", 0) for k in (4, 8, 12)]
    found += [Unit("strip", "4x16", s, 0) for s in RANGES]
    found += [Unit("questionnaire", "adhd, 12 items", "real", 0)]
    found += [Unit("grid", f"{k}x{k}", s, 0) for k in (16, 32) for s in RANGES]
    found += [Unit("strip", "4x64", s, 0) for s in RANGES] + [Unit("complete", "16 nodes", "mixed", 0)]
    found += [Unit("grid", f"{k}x{k}", s, 0) for k in (12, 24) for s in RANGES]
    found += [Unit("strip", "4x250", s, 0) for s in RANGES]
    return found + [
        unit
        for r in (1, 2)
        for unit in (
            *(Unit("grid", f"{k}x{k}", s, r) for k in (4, 8) for s in RANGES),
            *(Unit("complete", f"{k} nodes", "mixed", r) for k in (4, 8, 12)),
        )
    ]


def seed(unit: Unit, purpose: str) -> np.random.SeedSequence:
    """The stream of a unit for one purpose."""
    return np.random.SeedSequence([int.from_bytes(f"{purpose} {unit.key}".encode(), "little") % 2**128])


def observe(unit: Unit) -> tuple[mb.Model, np.ndarray, np.ndarray | None]:
    """The model, the data and the parameters that made them."""
    if unit.family == "questionnaire":
        x = mb.datasets.load_adhd().x[:, :12]
        return mb.graph(list(combinations(range(12), 2)), fields=True, coupling="both-one"), x, None
    if unit.family == "complete":
        model = mb.graph(list(combinations(range(int(unit.name.split()[0])), 2)))
    else:
        model = mb.grid(*map(int, unit.name.split("x")))
    rng = np.random.Generator(np.random.PCG64(seed(unit, "theta")))
    theta = rng.uniform(*RANGES.get(unit.strength, DENSE_RANGE), model.n_parameters)
    return model, mb.simulate(model, theta, N, sampler="exact", rng=seed(unit, "data"), progress=False), theta


@dataclass(frozen=True)
class Marginals:
    """Mean, sd and 90 % interval of every parameter; ``draws`` (p,) are effective draws behind them, inf for none."""

    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray
    draws: np.ndarray


def sampled(model: mb.Model, statistics: mb.Statistics, method: str, **options: object) -> Marginals:
    """The marginals of a sampled posterior."""
    post = mb.sample(model, statistics, method, prior="uniform", chains=1, progress=False, **options)
    draws = post.draws[0]
    low, high = np.quantile(draws, TAILS, axis=0)
    return Marginals(draws.mean(axis=0), draws.std(axis=0), low, high, np.asarray(post.ess, dtype=float))


def closed_form(model: mb.Model, statistics: mb.Statistics, estimate: mb.Estimate) -> Marginals:
    """MLE-L's own marginals."""
    likelihood = mb.likelihood(model, statistics, "mle", estimate=estimate, rho=0.0)
    coins = [likelihood.marginal(j) for j in range(model.n_parameters)]
    low, high = (np.array([float(c.ppf(q)) for c in coins]) for q in TAILS)
    mean, sd = np.array([float(c.mean) for c in coins]), np.array([float(c.sd) for c in coins])
    return Marginals(mean, sd, low, high, np.full(mean.size, np.inf))


def laplace(model: mb.Model, statistics: mb.Statistics, estimate: mb.Estimate) -> Marginals:
    """A normal in log-odds: exact information at the estimate, and the uniform prior to second order."""
    w = special.logit(estimate.theta)
    information = statistics.n * mb.fisher_information(model, estimate.theta)
    theta = special.expit(w)
    precision = information + np.diag(2 * theta * (1 - theta))  # of log theta (1 - theta), the prior's density in w
    covariance = np.linalg.inv(precision)
    gradient = statistics.counts - statistics.n * mb.expected_counts(model, estimate.theta)  # 0 at a finite MLE
    slope = gradient + 1 - 2 * theta
    centre, sd = w + covariance @ slope, np.sqrt(np.diag(covariance))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    values = special.expit(centre[:, None] + sd[:, None] * nodes)
    weights = weights / weights.sum()
    mean = values @ weights
    spread = np.sqrt((values - mean[:, None]) ** 2 @ weights)
    low, high = (special.expit(centre + sd * special.ndtri(q)) for q in TAILS)
    return Marginals(mean, spread, low, high, np.full(mean.size, np.inf))


def methods(unit: Unit, model: mb.Model, statistics: mb.Statistics) -> dict[str, Marginals]:
    """The marginals by every method; the exact ones first."""

    def rng(name: str) -> np.random.SeedSequence:
        return seed(unit, name)

    direct = {"draws": DRAWS, "thin": 1}
    estimate = mb.estimate(model, statistics, algorithm="exact", rng=rng("estimate"), progress=False)
    found = {"exact": sampled(model, statistics, "exact", draws=REFERENCE_DRAWS, thin=1, rng=rng("exact"))}
    found["mle-0"] = closed_form(model, statistics, estimate)
    for rho in (0.05, 0.1):
        options = {"rho": rho, "engine": "direct", "estimate": estimate, **direct}
        found[f"mle-{rho}"] = sampled(model, statistics, "mle", rng=rng(f"mle {rho}"), **options)
    found["laplace"] = laplace(model, statistics, estimate)
    found["pseudo"] = sampled(model, statistics, "pseudo", engine="hmc", warmup=100, rng=rng("pseudo"), **direct)
    if model.n_parameters <= PERSISTENT_PARAMETERS:
        walk = {"draws": WALK_STEPS // 30, "warmup": WALK_STEPS // 5, "thin": 30, "particles": 1_000, "source": "exact"}
        found["persistent"] = sampled(
            model, statistics, "persistent", estimate=estimate, start=estimate.theta, rng=rng("persistent"), **walk
        )
    found["calibrated"] = sampled(model, statistics, "calibrated", rng=rng("calibrated"), **direct)
    return found


def measure(method: Marginals, exact: Marginals, truth: np.ndarray | None) -> dict[str, list[float]]:
    """Mean over parameters, sd and count of: squared error of the mean (in sds), ratio of sds, covered share."""
    noise = 1 / exact.draws + 1 / method.draws
    squared = ((method.mean - exact.mean) / exact.sd) ** 2 - noise
    measures = {"squared_error": squared, "sd_ratio": method.sd / exact.sd}
    if truth is not None:
        measures["coverage"] = (method.low < truth) & (truth < method.high)
    else:  # the exact posterior's share of the interval, by the normal distribution with its moments
        tails = [special.ndtr((edge - exact.mean) / exact.sd) for edge in (method.low, method.high)]
        measures["coverage"] = tails[1] - tails[0]
    rows = {name: np.asarray(values, dtype=float) for name, values in measures.items()}
    return {name: [float(f"{v:.6g}") for v in (a.mean(), a.std())] + [a.size] for name, a in rows.items()}


def run(unit: Unit) -> dict[str, object]:
    """The record of a unit."""
    start = time.process_time()
    model, x, truth = observe(unit)
    found = methods(unit, model, mb.Data(x).count(model))
    commit = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=Path(mb.__file__).parent, capture_output=True, text=True
    ).stdout.strip()
    return {
        **{name: getattr(unit, name) for name in ("family", "name", "strength", "replication")},
        "parameters": model.n_parameters,
        "n": len(x),
        "methods": {name: measure(one, found["exact"], truth) for name, one in found.items()},
        "seconds": round(time.process_time() - start, 1),
        "commit": commit,
    }


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--only", default="", help="units whose name contains this text")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no unit after so many")
    options = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    lines = options.records.read_text(encoding="utf-8").splitlines() if options.records.exists() else []
    kept = [json.loads(line) for line in lines]
    done = {Unit(*(row[name] for name in ("family", "name", "strength", "replication"))) for row in kept}
    start = time.monotonic()
    for unit in units():
        if unit in done or options.only not in unit.key:
            continue
        if time.monotonic() - start > options.seconds:
            break
        record = run(unit)
        with options.records.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
        print(f"{unit.key}: {record['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
