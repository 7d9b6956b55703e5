"""The long strip: thousands of parameters, exactly solvable, with everything in bands."""

from __future__ import annotations

import time

import numpy as np
from hamiltonian import Factor, moments, run_chain
from rows import compare, mle_row, uniform_prior

import mrfbayes as mb
from mrfbayes.base.random_streams import child, generator
from mrfbayes.calibration.blocks import local_blocks
from mrfbayes.calibration.strips import BAND_TOLERANCE, calibrate_strip, strip_mode
from mrfbayes.estimation.pseudolikelihood import PseudoObjective
from mrfbayes.exact.banded import Bands, covariance_band_w
from mrfbayes.exact.quantities import moments_w
from mrfbayes.methods.laplace.bethe import bethe
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior

DRAWS = 1_500
OWN_DRAWS = 500  # of laplace and pseudo
WARM_UP = 120
DECAYED = 40  # levels past which the inverse of a metric is nothing
METRIC_TOLERANCE = 1e-2  # of a variance: a metric may leave out what the posterior does not


def quadratic(centre, slope, information):
    """A Laplace approximation under the uniform prior."""

    def target(w):
        d = w - centre
        pull = information @ d
        prior, gradient = uniform_prior(w)
        return (slope - pull / 2) @ d + prior, slope - pull + gradient

    return target


def diagonal(mode):
    """Of FF', the metric's own: Stein's identities need it to be right. One solution serves several far apart."""
    bands = Bands(mode.bands.level, DECAYED)
    out = np.empty(mode.w.size)
    for colour in bands.colours():
        out[colour] = mode.inverse.solve(np.bincount(colour, minlength=out.size).astype(float))[colour]
    return out


def strip_rows(cell, statistics, seed, base):
    """Rows of one strip."""
    model, counts, n = cell.model, statistics.counts, statistics.n
    problem = Problem(model, statistics, Prior(model, "uniform"), child(seed, "calibrated"), progress=False)
    started = time.process_time()
    calibrated = calibrate_strip(problem)
    calibrated_seconds = time.process_time() - started
    mode = strip_mode(problem, METRIC_TOLERANCE)
    blocks = local_blocks(model, 1)
    near = [blocks.member[blocks.offset[j] : blocks.offset[j + 1]] for j in range(model.n_parameters)]
    metric = Factor(mode.inverse.half_solve, mode.inverse.half_solve_transposed, diagonal(mode))

    def exact(w):
        log_z, mean = moments_w(model, w)
        prior, slope = uniform_prior(w)
        return counts @ w - n * log_z + prior, counts - n * mean + slope

    def sampled(target, centre, draws, label):
        chain = run_chain(target, centre, metric, draws, generator(seed, label), WARM_UP)
        return moments(chain, near), f"acceptance {chain.acceptance:.2f}"

    started = time.process_time()
    reference, note = sampled(exact, mode.w, DRAWS, "hamiltonian")
    note += f"; plain noise {reference.plain_mean_error:.4f} {reference.plain_sd_error:.4f}"
    yield compare(base, "exact", reference.mean, reference.sd, reference, time.process_time() - started, note)
    note = f"reach {calibrated.details['reach']}; loops change sds by {calibrated.details['loop_gain']:.2%}"
    own = calibrated.expansion.theta_moments()
    yield compare(base, "calibrated", *own, reference, calibrated_seconds, note)
    if calibrated.details["calibration"] != "order":
        own = calibrate_strip(problem, "order").expansion.theta_moments()
    yield compare(base, "calibrated (order)", *own, reference, 0.0, "")

    yield mle_row(base, problem, reference)

    centre = np.asarray(problem.estimate.log_odds)
    slope = np.tanh(centre / 2) if problem.estimate.penalised else np.zeros_like(centre)
    objective = PseudoObjective(model, statistics, None)

    def pseudo(w):
        value, gradient = objective.value_gradient(w)
        prior, extra = uniform_prior(w)
        return value + prior, gradient + extra

    def information(fisher):
        if fisher == "exact":
            return n * covariance_band_w(model, centre, BAND_TOLERANCE)[0].tocsr()
        found = bethe(model, centre).covariance
        if not hasattr(found, "tocsr"):
            raise mb.InputError("the linear response of belief propagation is a full matrix here: not sampled")
        return n * found.tocsr()

    for label in ("laplace (bethe)", "laplace (exact)", "pseudo"):
        started = time.process_time()
        try:
            target = pseudo if label == "pseudo" else quadratic(centre, slope, information(label[9:-1]))
            found, note = sampled(target, mode.w if label == "pseudo" else centre, OWN_DRAWS, label)
            seconds = time.process_time() - started
            yield compare(base, label, found.mean, found.sd, reference, seconds, note, found)
        except (mb.InputError, mb.CostError) as refused:
            yield base | {"method": label, "note": f"refused: {refused}"[:120]}
