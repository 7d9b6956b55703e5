"""Coverage of 50 % and 90 % intervals under repeated data.

    python benchmarks/evidence/intervals.py [--sets 200] [--results benchmarks/evidence/results/coverage.csv]

Every data set has its own theta, drawn from the prior, so that intervals of the exact posterior cover with exactly
their level. The share of parameters inside the equal-tailed intervals is counted for the exact posterior (importance
weights on calibrated draws), for `calibrated`, for `mle`, and for `laplace` (exact) and `pseudo` (Hamiltonian draws).
Standard errors are over data sets. Results are resumable, a row a data set and method.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from hamiltonian import Factor, run_chain
from scipy.special import ndtri

import mrfbayes as mb
from mrfbayes.base.random_streams import child, generator
from mrfbayes.calibration.copula import coin_quantiles
from mrfbayes.exact.quantities import sample_exact
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.targets.corrected import make_proposal
from run import laplace_target, pseudo_target

HERE = Path(__file__).parent
CELLS = ((4, 100), (6, 100))
LEVELS = (0.5, 0.9)
DRAWS = 5_000
OWN_DRAWS = 500
FIELDS = ["cell", "set", "method", "p", "cover50", "cover90"]


def tails(level):
    """Probabilities of the ends of an equal-tailed interval."""
    return np.array([(1 - level) / 2, (1 + level) / 2])


def weighted_quantiles(theta, log_weights, probabilities):
    """Quantiles (k, p) of weighted draws."""
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    order = np.argsort(theta, axis=0)
    levels = np.cumsum(weights[order], axis=0)
    place = np.array([[np.searchsorted(column, q) for column in levels.T] for q in probabilities])
    place = np.minimum(place, len(theta) - 1)
    return np.take_along_axis(np.take_along_axis(theta, order, axis=0), place, axis=0)


def intervals(problem):
    """Method and its quantiles: probabilities -> (k, p)."""
    model = problem.model
    proposal = make_proposal(problem, method_row("exact").prepare(problem), DRAWS)
    yield "exact", lambda q: weighted_quantiles(proposal.theta, proposal.log_weights, q)
    coins = proposal.calibration.coins
    yield "calibrated", lambda q: model.chart.theta(coin_quantiles(coins, ndtri(q))[0].T)
    likelihood = mb.likelihood(model, problem.statistics, "mle", estimate=problem.estimate)
    yield "mle", lambda q: np.array([likelihood.marginal(j).ppf(q) for j in range(model.n_parameters)]).T
    mode = proposal.calibration.joint.mode
    for label in ("laplace (exact)", "pseudo"):
        if label == "pseudo":
            target, centre, metric = pseudo_target(problem), mode.w, Factor.dense(mode.covariance)
        else:
            target, centre, information = laplace_target(problem, "exact")
            curvature = np.diag(0.5 / np.cosh(centre / 2) ** 2)
            metric = Factor.dense(np.linalg.inv(information + curvature))
        chain = run_chain(target, centre, metric, OWN_DRAWS, generator(problem.seed, label), warm_up=80)
        theta = model.chart.theta(chain.centre + chain.deviation)
        yield label, lambda q, theta=theta: np.quantile(theta, q, axis=0)


def main():
    """Run the data sets that are not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "coverage.csv")
    parser.add_argument("--sets", type=int, default=200)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = set()
    if options.results.exists():
        with options.results.open() as file:
            done = {(row["cell"], int(row["set"])) for row in csv.DictReader(file)}
    fresh = not options.results.exists()
    with options.results.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        for size, n in CELLS:
            model, cell = mb.grid(size, size), f"grid {size}x{size} n={n}"
            for number in range(options.sets):
                if (cell, number) in done:
                    continue
                seed = child(np.random.SeedSequence(29), cell, number)
                theta = generator(seed, "theta").uniform(0, 1, model.n_parameters)
                x = sample_exact(model, model.chart.log_odds(theta), n, child(seed, "data"))
                prior = Prior(model, "uniform")
                problem = Problem(model, mb.Data(x).count(model), prior, child(seed, "methods"), progress=False)
                for method, quantiles in intervals(problem):
                    row = {"cell": cell, "set": number, "method": method, "p": model.n_parameters}
                    for level in LEVELS:
                        low, high = quantiles(tails(level))
                        row[f"cover{100 * level:g}"] = f"{((low < theta) & (theta < high)).mean():.5g}"
                    writer.writerow(row)
                file.flush()
            print(cell, flush=True)


if __name__ == "__main__":
    main()
