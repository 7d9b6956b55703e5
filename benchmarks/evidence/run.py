"""How far `calibrated`, `mle`, `laplace` and `pseudo` are from the exact posterior, cell by cell.

    python benchmarks/evidence/run.py [--results benchmarks/evidence/results/cells.csv] [--reinis reinis.csv]
                                      [--only text] [--seconds 3600]

Every cell (`cells.py`) draws theta and data from its own seed. The reference is Hamiltonian Monte Carlo on the exact
posterior (`hamiltonian.py`): it uses the likelihood, its gradient and, as a metric, the information at the mode, and
nothing of the coins; its Monte-Carlo error stands in every row. `mle` and `calibrated` have their moments in closed
form; `laplace` and `pseudo` are sampled by the same sampler with their own likelihoods under the uniform prior. One row
a method is appended to the file; cells already there are left alone, so that a run can be stopped and continued.
`summary.py` makes the table and the pictures.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from cells import Cell, cells
from hamiltonian import Factor, Moments, moments, run_chain
from rows import append_rows, compare, mle_row, uniform_prior

import mrfbayes as mb
from mrfbayes.base.random_streams import child, generator
from mrfbayes.calibration.copula import theta_moments
from mrfbayes.calibration.full import calibrate, exact_mode
from mrfbayes.calibration.matching import match
from mrfbayes.estimation.pseudolikelihood import PseudoObjective
from mrfbayes.exact.quantities import moments_w, sample_exact
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior

HERE = Path(__file__).parent
REFERENCE_DRAWS = 20_000
OWN_DRAWS = 5_000  # of laplace and pseudo


def exact_target(model, statistics):
    """The log posterior."""
    counts, n = statistics.counts, statistics.n

    def target(w):
        log_z, mean = moments_w(model, w)
        prior, slope = uniform_prior(w)
        return counts @ w - n * log_z + prior, counts - n * mean + slope

    return target


def laplace_target(problem, fisher):
    """Its quadratic under the uniform prior, with the quadratic's own centre and matrix."""
    view = method_row("laplace").prepare(problem, fisher=fisher).view
    p = problem.model.n_parameters
    information = np.zeros((p, p))
    for i in range(p):
        row = view.half[view.start[i] : view.start[i + 1]]
        information[i, i : i + row.size] = row
    information += information.T  # the diagonal is stored halved

    def target(w):
        d = w - view.centre
        pull = information @ d
        prior, slope = uniform_prior(w)
        return (view.slope - pull / 2) @ d + prior, view.slope - pull + slope

    return target, view.centre.copy(), information


def pseudo_target(problem):
    """The pseudolikelihood under the uniform prior."""
    objective = PseudoObjective(problem.model, problem.statistics, None)

    def target(w):
        value, gradient = objective.value_gradient(w)
        prior, slope = uniform_prior(w)
        return value + prior, gradient + slope

    return target


def run_cell(cell: Cell):
    """Rows of one cell."""
    model = cell.model
    seed = child(np.random.SeedSequence(11), cell.name)
    data = cell.data
    if data is None:
        data = sample_exact(model, model.chart.log_odds(cell.theta), cell.n, child(seed, "data"))
    statistics = mb.Data(data).count(model)
    base = {"cell": cell.name, "kind": cell.kind, "p": model.n_parameters, "n": int(statistics.n)}
    problem = Problem(model, statistics, Prior(model, "uniform"), child(seed, "calibrated"), progress=False)
    started = time.process_time()
    mode, _, _ = exact_mode(problem)
    target, factor = exact_target(model, statistics), Factor.dense(mode.covariance)
    chain = run_chain(target, mode.w, factor, REFERENCE_DRAWS, generator(seed, "hamiltonian"))
    reference: Moments = moments(chain)
    note = f"acceptance {chain.acceptance:.2f}; plain noise {reference.plain_mean_error:.4f} "
    note += f"{reference.plain_sd_error:.4f}"
    yield compare(base, "exact", reference.mean, reference.sd, reference, time.process_time() - started, note)

    started = time.process_time()
    found = calibrate(problem)
    own = theta_moments(found.coins)
    note = "; ".join(f"{key} {found.details[key]:g}" for key in ("clipped", "loops_kept") if found.details.get(key))
    yield compare(base, "calibrated", *own, reference, time.process_time() - started, note)
    coins = match(
        found.joint.mode.w, np.diag(found.joint.mode.covariance), found.joint.order.third, found.joint.order.shift
    )
    note = f"clipped {coins.clipped}" if coins.clipped else ""
    yield compare(base, "calibrated (order)", *theta_moments(coins), reference, 0.0, note)

    yield mle_row(base, problem, reference)

    for label in ("laplace (bethe)", "laplace (exact)", "pseudo"):
        started = time.process_time()
        try:
            if label == "pseudo":
                target, centre, metric = pseudo_target(problem), mode.w, factor
            else:
                target, centre, information = laplace_target(problem, label[9:-1])
                curvature = np.diag(0.5 / np.cosh(centre / 2) ** 2)
                metric = Factor.dense(np.linalg.inv(information + curvature))
            chain = run_chain(target, centre, metric, OWN_DRAWS, generator(seed, label))
            own = moments(chain)
            note = f"acceptance {chain.acceptance:.2f}"
            yield compare(base, label, own.mean, own.sd, reference, time.process_time() - started, note, own)
        except mb.InputError as refused:
            yield base | {"method": label, "note": f"refused: {refused}"[:120]}


def main():
    """Run the cells that are not in the file yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "cells.csv")
    parser.add_argument("--reinis", type=Path, help="CSV of the reinis data, which do not come with the package")
    parser.add_argument("--only", default="", help="cells whose name has this text in it")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done = set()
    if options.results.exists():
        with options.results.open() as file:
            done = {row["cell"] for row in csv.DictReader(file)}
    started = time.monotonic()
    for cell in cells(options.reinis):
        if cell.name in done or options.only not in cell.name or time.monotonic() - started > options.seconds:
            continue
        rows = list(run_cell(cell))
        append_rows(options.results, rows)
        own = next(row for row in rows if row["method"] == "calibrated")
        print(
            f"{cell.name}: mean {own['mean_error']:.2%} (noise {own['noise_mean']:.2%}), sd {own['sd_error']:.2%} "
            f"(noise {own['noise_sd']:.2%})",
            flush=True,
        )


if __name__ == "__main__":
    main()
