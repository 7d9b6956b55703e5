"""The compiled Metropolis-Hastings chain, generic over methods, resumable after any step.

Everything that the next step depends on lives in the arrays of `ChainState` (and in the view of a method that carries
particles): a chain cut into chunks at any place gives the same draws, and a checkpoint is a copy of those arrays.

The log posterior density of the log-odds w inside chains, and of many points at once.

A call from Python into a kernel with a view costs 36 us: hence functions of many points.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.contracts import (
    log_likelihood,
    log_likelihood_gradient,
    log_likelihood_w,
    log_ratio,
    on_accept,
)
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import cholesky, copy_into
from mrfbayes.kernels.base.random import fill_normal, uniform
from mrfbayes.kernels.calibration.copula import theta_into
from mrfbayes.kernels.priors import is_inside, log_prior, log_prior_w

# Places in ChainState.counters
STEP, ACCEPTED, WARM_ACCEPTED, OUTSIDE, KEPT, WINDOW_END, WINDOW_COUNT, FAILED, NOISE_COUNT, STAYED = range(10)
UNCOMPUTED = 10  # proposals that were rejected because their density could not be computed
N_COUNTERS = 11
# Places in ChainState.numbers
LOG_TARGET, LOG_SCALE, NOISE_SUM, LOG_LIKELIHOOD = range(4)  # a target of nan has not been evaluated yet
N_NUMBERS = 4
# Values of FAILED
FINE, NOT_A_NUMBER = range(2)

# Values of is_adaptive
NOTHING, ALL, SHAPE = range(3)

FIRST_WINDOW = 200  # steps before the covariance is first learned; windows then grow by half
TARGET_ACCEPTANCE = 0.234  # Roberts, Gelman & Gilks (1997)
NEGLIGIBLE_NATS = 25.0  # below the chain's density: what is that improbable need not be computed


class ChainSettings(NamedTuple):
    """What does not change during a run."""

    n_warmup: int
    n_thin: int
    is_adaptive: int  # NOTHING, ALL or SHAPE of the proposal adapts during warm-up
    is_dense: int  # whether the proposal has a full covariance
    keeps_log_odds: int = 0  # whether the chain moves in w, and w are the draws that it keeps


class ChainState(NamedTuple):
    """What changes from step to step. A chain that moves in theta does not use the log-odds."""

    theta: np.ndarray  # (p,) where the chain is
    proposal: np.ndarray  # (p,) theta of the proposal
    log_odds: np.ndarray  # (p,) w where the chain is
    log_odds_proposal: np.ndarray  # (p,) w of the proposal
    normals: np.ndarray  # (p,) scratch
    proposal_factor: np.ndarray  # (1, p) standard deviations, or (p, p) transposed Cholesky factor: see is_dense
    window_mean: np.ndarray  # (p,) of the current warm-up window
    window_square: np.ndarray  # (1, p) or (p, p) sums of squares about it
    mean: np.ndarray  # (p,) running mean over all steps after warm-up but the last STAYED ones, which are at theta
    square: np.ndarray  # (p,) sums of squares about it
    numbers: np.ndarray  # (N_NUMBERS,) float64
    counters: np.ndarray  # (N_COUNTERS,) int64
    random: np.ndarray  # (4,) uint64


class KeptDraws(NamedTuple):
    """Where a chunk puts its draws; row 0 is the chain's draw number ``first``."""

    draws: np.ndarray  # (rows, p) theta or w: see keeps_log_odds
    log_likelihood: np.ndarray  # (rows,)
    first: int


@kernel(inline="always")  # a call that hands over all these arrays takes longer than what it does
def propose(settings, state, current, proposal):
    """Gaussian random walk in the chain's coordinate: ``proposal`` = ``current`` + scale * proposal_factor * z."""
    p = current.size
    fill_normal(state.random, state.normals)
    scale = math.exp(state.numbers[LOG_SCALE])
    copy_into(proposal, current)
    if settings.is_dense:
        # Along rows of the transposed factor, four at a time (what lies before the diagonal is zero), on slices that
        # start at zero: so that it vectorises.
        whole = p - p % 4
        for j in range(0, whole, 4):
            a, b = scale * state.normals[j], scale * state.normals[j + 1]
            c, d = scale * state.normals[j + 2], scale * state.normals[j + 3]
            row_a, row_b = state.proposal_factor[j, j:], state.proposal_factor[j + 1, j:]
            row_c, row_d = state.proposal_factor[j + 2, j:], state.proposal_factor[j + 3, j:]
            moved = proposal[j:]
            for i in range(moved.size):
                moved[i] += (a * row_a[i] + b * row_b[i]) + (c * row_c[i] + d * row_d[i])
        for j in range(whole, p):
            for i in range(j, p):
                proposal[i] += scale * state.normals[j] * state.proposal_factor[j, i]
    else:
        for i in range(p):
            proposal[i] += scale * state.proposal_factor[0, i] * state.normals[i]


@kernel
def _learn_proposal(settings, state):
    """At the end of a warm-up window: the proposal's shape becomes that of the window's draws."""
    p = state.theta.size
    count = state.counters[WINDOW_COUNT]
    if settings.is_dense:
        # Shrink towards the diagonal: a window of few effective draws has a poor covariance.
        keep = count / (count + 10.0 * p)
        for i in range(p):
            for j in range(i + 1):
                value = state.window_square[i, j] / count
                state.window_square[i, j] = value if i == j else keep * value
        factor = np.zeros((p, p))
        if cholesky(state.window_square, p, 0.0, factor):
            for i in range(p):
                for j in range(p):
                    state.proposal_factor[i, j] = factor[j, i]
            state.numbers[LOG_SCALE] = math.log(2.38 / math.sqrt(p))
    else:
        for i in range(p):
            value = state.window_square[0, i] / count
            if value > 0.0:
                state.proposal_factor[0, i] = math.sqrt(value)
    state.window_mean[:] = 0.0
    state.window_square[:, :] = 0.0
    state.counters[WINDOW_COUNT] = 0


@kernel
def _adapt(settings, state, current, acceptance):
    """Warm-up: scale by Robbins-Monro at every step, shape at the end of every window."""
    p = state.theta.size
    counters = state.counters
    step = counters[STEP]
    gain = 1.0 / math.sqrt(1.0 + 0.05 * step)
    if settings.is_adaptive == ALL:
        state.numbers[LOG_SCALE] += gain * (acceptance - TARGET_ACCEPTANCE)
    counters[WINDOW_COUNT] += 1
    count = counters[WINDOW_COUNT]
    for i in range(p):
        delta = current[i] - state.window_mean[i]
        state.window_mean[i] += delta / count
        state.normals[i] = delta  # scratch: the proposal of this step is done with
    share = (count - 1.0) / count
    if settings.is_dense:
        for i in range(p):
            for j in range(i + 1):
                state.window_square[i, j] += share * state.normals[i] * state.normals[j]
    else:
        for i in range(p):
            state.window_square[0, i] += share * state.normals[i] ** 2
    if step + 1 >= counters[WINDOW_END]:
        # The last tenth of warm-up only tunes the scale, to the shape that stays.
        if step + 1 < 0.9 * settings.n_warmup and count > 20:
            _learn_proposal(settings, state)
        counters[WINDOW_END] = np.int64(1.5 * counters[WINDOW_END]) + 1


@kernel
def add_stay(theta, stayed, done, mean, square):
    """Running moments after ``done`` steps, the last ``stayed`` of which were at ``theta``: once a move, not a step."""
    if stayed > 0:
        share = stayed / done
        for i in range(theta.size):
            delta = theta[i] - mean[i]
            mean[i] += delta * share
            square[i] += stayed * delta * (theta[i] - mean[i])


@kernel(inline="always")
def move_to_proposal(settings, state, accepted):
    """Where the proposal was accepted, the chain moves there."""
    if accepted:
        counters = state.counters
        add_stay(state.theta, counters[STAYED], counters[STEP] - settings.n_warmup, state.mean, state.square)
        counters[STAYED] = 0
        copy_into(state.theta, state.proposal)
        if settings.keeps_log_odds:
            copy_into(state.log_odds, state.log_odds_proposal)


@kernel(inline="always")
def book_step(settings, state, accepted, kept_draws):
    """Count the step, and keep the draw where one is due."""
    counters = state.counters
    if counters[STEP] < settings.n_warmup:
        counters[WARM_ACCEPTED] += accepted
    else:
        counters[ACCEPTED] += accepted
        done = counters[STEP] - settings.n_warmup + 1
        counters[STAYED] += 1
        if done % settings.n_thin == 0:
            row = counters[KEPT] - kept_draws.first
            copy_into(kept_draws.draws[row], state.log_odds if settings.keeps_log_odds else state.theta)
            kept_draws.log_likelihood[row] = state.numbers[LOG_LIKELIHOOD]
            counters[KEPT] += 1
    counters[STEP] += 1


@kernel(inline="always")
def finish_step(settings, state, current, accepted, acceptance, kept_draws):
    """Book-keeping after the decision: position, adaptation, counters, moments, and the draw where one is due."""
    move_to_proposal(settings, state, accepted)
    if state.counters[STEP] < settings.n_warmup and settings.is_adaptive:
        _adapt(settings, state, current, acceptance)
    book_step(settings, state, accepted, kept_draws)


@kernel
def run_likelihood(view, prior, settings, state, kept_draws, n_steps):
    """``n_steps`` steps in theta of a method with a likelihood, as the paper has them; none evaluates the start."""
    view, prior, settings, state, kept_draws = without_refcount((view, prior, settings, state, kept_draws))
    counters, numbers = state.counters, state.numbers
    if math.isnan(numbers[LOG_TARGET]):
        numbers[LOG_LIKELIHOOD] = log_likelihood(view, state.theta)
        numbers[LOG_TARGET] = numbers[LOG_LIKELIHOOD] + log_prior(prior, state.theta)
    for _ in range(n_steps):
        propose(settings, state, state.theta, state.proposal)
        accepted, acceptance = False, 0.0
        if is_inside(prior.offset, state.proposal):
            log_value = log_likelihood(view, state.proposal)
            log_density = log_value + log_prior(prior, state.proposal)
            counters[UNCOMPUTED] += log_value == -math.inf
            log_alpha = log_density - numbers[LOG_TARGET]  # Eq. (10); the proposal is symmetric, Q cancels
            if math.isnan(log_alpha) or log_alpha == math.inf:
                counters[FAILED] = NOT_A_NUMBER
                return
            acceptance = math.exp(min(0.0, log_alpha))
            accepted = uniform(state.random) < acceptance
            if accepted:
                numbers[LOG_TARGET] = log_density
                numbers[LOG_LIKELIHOOD] = log_value
        else:
            counters[OUTSIDE] += 1
        finish_step(settings, state, state.theta, accepted, acceptance, kept_draws)


@kernel
def run_walk(view, prior, settings, state, kept_draws, n_steps):
    """``n_steps`` steps in log-odds of a method with a likelihood; none at all evaluates the start."""
    view, prior, settings, state, kept_draws = without_refcount((view, prior, settings, state, kept_draws))
    counters, numbers = state.counters, state.numbers
    if math.isnan(numbers[LOG_TARGET]):
        numbers[LOG_LIKELIHOOD], log_prior_value = log_target(view, prior, state.log_odds, state.theta)
        numbers[LOG_TARGET] = numbers[LOG_LIKELIHOOD] + log_prior_value
    for _ in range(n_steps):
        propose(settings, state, state.log_odds, state.log_odds_proposal)
        log_value, log_prior_value = log_target(view, prior, state.log_odds_proposal, state.proposal)
        counters[UNCOMPUTED] += is_missed(log_value, log_prior_value, numbers[LOG_TARGET])
        log_density = log_value + log_prior_value
        log_alpha = log_density - numbers[LOG_TARGET]
        if math.isnan(log_alpha) or log_alpha == math.inf:
            counters[FAILED] = NOT_A_NUMBER
            return
        acceptance = math.exp(min(0.0, log_alpha))
        accepted = uniform(state.random) < acceptance
        if accepted:
            numbers[LOG_TARGET] = log_density
            numbers[LOG_LIKELIHOOD] = log_value
        finish_step(settings, state, state.log_odds, accepted, acceptance, kept_draws)


@kernel
def run_ratio(view, prior, settings, state, kept_draws, n_steps):
    """``n_steps`` steps of a method that estimates likelihood ratios and may carry particles in its view."""
    view, prior, settings, state, kept_draws = without_refcount((view, prior, settings, state, kept_draws))
    counters = state.counters
    if math.isnan(state.numbers[LOG_TARGET]):
        state.numbers[LOG_TARGET] = log_prior(prior, state.theta)
    for _ in range(n_steps):
        propose(settings, state, state.theta, state.proposal)
        accepted, acceptance = False, 0.0
        if is_inside(prior.offset, state.proposal):
            log_alpha, variance = log_ratio(view, state.theta, state.proposal, state.random)
            if counters[STEP] >= settings.n_warmup:
                state.numbers[NOISE_SUM] += variance
                counters[NOISE_COUNT] += 1
            log_alpha += log_prior(prior, state.proposal) - log_prior(prior, state.theta)  # Eq. (11), Eq. (10) again
            if math.isnan(log_alpha) or log_alpha == math.inf:
                counters[FAILED] = NOT_A_NUMBER
                return
            acceptance = math.exp(min(0.0, log_alpha))
            accepted = uniform(state.random) < acceptance
            on_accept(view, accepted)
        else:
            counters[OUTSIDE] += 1
        finish_step(settings, state, state.theta, accepted, acceptance, kept_draws)


@kernel
def log_target(view, prior, log_odds, theta):
    """Log-likelihood and log prior density of w (p,), both up to a constant; fills ``theta`` (p,)."""
    jacobian = theta_into(prior.offset, log_odds, theta)
    return log_likelihood_w(view, log_odds, theta), log_prior_w(prior, log_odds, theta, jacobian)


@kernel
def log_targets(view, prior, points, theta, out):
    """Fill ``out`` (k,) with the log posterior density of every row of ``points`` (k, p)."""
    for i in range(points.shape[0]):
        value, log_prior = log_target(view, prior, points[i], theta)
        out[i] = value + log_prior


@kernel(inline="always")
def is_missed(log_value, bound, log_current):
    """Whether a likelihood that could not be computed, at most 1, might have mattered; ``bound`` is all but it."""
    return log_value == -math.inf and bound > log_current - NEGLIGIBLE_NATS


@kernel
def log_likelihoods(view, thetas, out):
    """Fill ``out`` (k,) with the log-likelihood of every row of ``thetas`` (k, p)."""
    for i in range(thetas.shape[0]):
        out[i] = log_likelihood(view, thetas[i])


@kernel
def gradient_at(view, log_odds, gradient):
    """The log-likelihood at w (p,); its derivatives into ``gradient`` (p,)."""
    return log_likelihood_gradient(view, log_odds, gradient)


@kernel
def log_priors(prior, thetas, out):
    """The log prior density of many parameter vectors at once."""
    for i in range(thetas.shape[0]):
        out[i] = log_prior(prior, thetas[i])
