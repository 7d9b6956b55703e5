"""How the approximations do as a planar field grows: 16x16, 24x24 and 32x32 against the exact posterior.

    python benchmarks/evidence/planar.py [--only 32x32] [--keep DIR] [--results benchmarks/evidence/results/planar.csv]

No table of states holds the larger ones; the reference is split Hamiltonian Monte Carlo on the exact posterior, with
log Z and its gradient from the planar determinant and Stein's control variates on the draws (`hamiltonian.py`), so that
it knows nothing of coins. `laplace` and `pseudo` are sampled by the same sampler with their own likelihoods. One row a
method is appended to the file; ``--keep`` keeps the reference's moments, so that methods can be compared anew.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from cells import grid_cell
from hamiltonian import Chain, Moments, moments
from rows import append_rows, compare, mle_row, uniform_prior

import mrfbayes as mb
from mrfbayes.base.random_streams import child
from mrfbayes.calibration.blocks import local_blocks
from mrfbayes.exact.quantities import sample_exact
from mrfbayes.kernels.run.hmc import GRADIENTS, HmcSettings
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.run.hmc import HmcTask, initial_state, make_metric
from run import laplace_target, pseudo_target

HERE = Path(__file__).parent
DRAWS = {16: 1_000, 24: 600, 32: 400}  # with control variates these are many
OWN_DRAWS = 300  # of laplace and pseudo
WARM_UP = 60
N = 1_000
RANGES = ((0.5, 0.8), (0.6, 0.9))


def sampled(problem, gradient, mode, information, draws, label):
    """Moments of the posterior of a likelihood with a gradient, and what the sampling took."""
    seed, model = child(problem.seed, label), problem.model
    metric = make_metric(mode, information)
    task = HmcTask(problem.prior.view, HmcSettings(WARM_UP, 1), gradient, metric)
    begun = task.advance(initial_state(metric, seed), WARM_UP)
    start = time.process_time()
    chunk = task.advance(begun.state, draws)
    seconds = time.process_time() - start
    w = chunk.draws
    covariance = np.linalg.inv(information)
    slopes = np.array([gradient(one)[1] + uniform_prior(one)[1] for one in w])
    variance = np.diag(covariance).copy()
    chain = Chain(mode, w - mode, slopes @ covariance, variance, float("nan"), 0)
    blocks = local_blocks(model, 1)
    near = [blocks.member[blocks.offset[j] : blocks.offset[j + 1]] for j in range(model.n_parameters)]
    per_draw = (chunk.state["counters"][GRADIENTS] - begun.state["counters"][GRADIENTS]) / draws
    effective = effective_share(w)
    note = f"{1e3 * seconds / draws:.1f} ms and {per_draw:.1f} gradients a draw; "
    note += f"{1e3 * seconds / draws / np.median(effective):.1f} ms an effective draw (median), "
    note += f"{1e3 * seconds / draws / effective.min():.1f} (worst)"
    return moments(chain, near), note


def effective_share(w):
    """Effective draws a draw (p,), from the autocorrelations up to the first that is small (Geyer's sums of pairs)."""
    centred = w - w.mean(axis=0)
    variance = (centred**2).mean(axis=0)
    total, going = -np.ones(w.shape[1]), np.ones(w.shape[1], dtype=bool)
    for lag in range(0, 400, 2):
        pair = [(centred[: len(w) - k] * centred[k:]).sum(axis=0) / len(w) / variance for k in (lag, lag + 1)]
        going &= pair[0] + pair[1] > 0
        total[going] += 2 * (pair[0] + pair[1])[going]
        if not going.any():
            break
    return 1 / np.maximum(total, 0.3)


def reference(problem, size, keep, base):
    """The exact posterior's moments, kept; its row, its mode and information."""
    path = None if keep is None else keep / f"{base['cell']}.npz".replace(" ", "_")
    smooth = method_row("exact").prepare(problem).smooth()
    if path is not None and path.exists():
        kept = np.load(path)
        numbers = [kept[name] for name in ("mean", "sd", "mean_error", "sd_error")]
        return Moments(*numbers, *kept["plain"]), smooth, float(kept["seconds"]), str(kept["note"])
    started = time.process_time()
    found, note = sampled(problem, smooth.gradient, smooth.mode, smooth.information, DRAWS[size], "reference")
    note += f"; plain noise {found.plain_mean_error:.4f} {found.plain_sd_error:.4f}"
    seconds = time.process_time() - started
    if path is not None:
        plain = np.array([found.plain_mean_error, found.plain_sd_error])
        parts = {name: getattr(found, name) for name in ("mean", "sd", "mean_error", "sd_error")}
        np.savez(path, **parts, plain=plain, note=note, seconds=seconds)
    return found, smooth, seconds, note


def run_cell(size, low, high, keep, only_reference):
    """Rows of one cell."""
    cell = grid_cell(size, size, low, high, N)
    model, seed = cell.model, child(np.random.SeedSequence(11), cell.name)
    data = sample_exact(model, model.chart.log_odds(cell.theta), cell.n, child(seed, "data"))
    statistics = mb.Data(data).count(model)
    base = {"cell": cell.name, "kind": cell.kind, "p": model.n_parameters, "n": int(statistics.n)}
    problem = Problem(model, statistics, Prior(model, "uniform"), child(seed, "calibrated"), progress=False)
    truth, smooth, seconds, note = reference(problem, size, keep, base)
    yield compare(base, "exact", truth.mean, truth.sd, truth, seconds, note)
    if only_reference:
        return
    started = time.process_time()
    found = method_row("calibrated").prepare(problem)
    seconds = time.process_time() - started
    yield compare(base, "calibrated", *found.moments, truth, seconds, f"moments {found.details['moments']}")

    yield mle_row(base, problem, truth)

    for label in ("laplace (bethe)", "laplace (exact)", "pseudo"):
        started = time.process_time()
        try:
            if label == "pseudo":
                target, centre, information = pseudo_target(problem), smooth.mode, smooth.information
            else:
                target, centre, information = laplace_target(problem, label[9:-1])
                information = information + np.diag(0.5 / np.cosh(centre / 2) ** 2)

            def likelihood_alone(w, target=target):
                value, gradient = target(w)
                prior, slope = uniform_prior(w)
                return value - prior, gradient - slope

            own, note = sampled(problem, likelihood_alone, centre, information, OWN_DRAWS, label)
            yield compare(base, label, own.mean, own.sd, truth, time.process_time() - started, note, own)
        except mb.InputError as refused:
            yield base | {"method": label, "note": f"refused: {refused}"[:120]}


def main():
    """Run the cells."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "planar.csv")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", default="", help="cells whose name has this text in it")
    parser.add_argument("--reference", action="store_true", help="the reference alone, for --keep; no rows are written")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for size in DRAWS:
        for low, high in RANGES:
            if options.only not in f"{size}x{size} ({low:g},{high:g})":
                continue
            rows = list(run_cell(size, low, high, options.keep, options.reference))
            for row in rows:
                print({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}, flush=True)
            if options.reference:
                continue
            append_rows(options.results, rows)


if __name__ == "__main__":
    main()
