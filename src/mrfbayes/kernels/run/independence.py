"""The chain that corrects independent draws of calibrated coins to a method's likelihood, and their weights."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.random import fill_normal, uniform
from mrfbayes.kernels.calibration.copula import CopulaView, draw_log_odds
from mrfbayes.kernels.run.chain import (
    FAILED,
    LOG_LIKELIHOOD,
    LOG_TARGET,
    NOT_A_NUMBER,
    UNCOMPUTED,
    finish_step,
    is_missed,
    log_target,
)

BATCH = 512  # proposals drawn at once
# Places in IndependenceView.sums: the largest log weight so far, and sums relative to it
TOP, TOTAL, TOTAL_SQUARE, N_WEIGHTS = range(4)
N_SUMS = 4


class SumsView(NamedTuple):
    """What a chain of independent proposals carries along; see `IndependenceView`."""

    log_weights: np.ndarray
    sums: np.ndarray
    weighted_mean: np.ndarray
    weighted_square: np.ndarray
    decisions: np.ndarray


class IndependenceView(NamedTuple):
    """A method's likelihood and the proposal that is corrected to it."""

    target: Any
    copula: CopulaView
    log_weights: np.ndarray  # (k,) of the first k proposals
    sums: np.ndarray  # (N_SUMS,)
    weighted_mean: np.ndarray  # (p,) of theta over all proposals
    weighted_square: np.ndarray  # (p,) about it
    decisions: np.ndarray  # (4,) random state of the decisions: apart, so that a batch of proposals can be drawn ahead


@kernel
def weighted_draws(target, copula, prior, random_state, log_odds, theta, log_values, log_weights):
    """Independent draws of w (k, p), also as theta, their log-likelihoods, and log likelihood times prior over q."""
    target, copula, prior, random_state = without_refcount((target, copula, prior, random_state))
    log_odds, theta = without_refcount((log_odds, theta))
    p = theta.shape[1]
    normals, scores = np.empty(p), np.empty(p)
    for i in range(theta.shape[0]):
        fill_normal(random_state, normals)
        log_q = draw_log_odds(copula, normals, scores, log_odds[i])
        value, log_prior = log_target(target, prior, log_odds[i], theta[i])
        log_weights[i] = value + log_prior - log_q
        # Where there is no value, the largest log weight that the draw can have stands in its place.
        log_values[i] = value if value > -math.inf else log_prior - log_q


@kernel
def _add_weight(view, log_weight, theta):
    """Importance-weighted moments over all proposals, accepted or not."""
    sums = view.sums
    if sums[N_WEIGHTS] < view.log_weights.size:
        view.log_weights[np.int64(sums[N_WEIGHTS])] = log_weight
    sums[N_WEIGHTS] += 1.0
    if log_weight == -math.inf:
        return
    if log_weight > sums[TOP]:
        shrink = math.exp(sums[TOP] - log_weight)
        sums[TOTAL] *= shrink
        sums[TOTAL_SQUARE] *= shrink * shrink
        for j in range(theta.size):
            view.weighted_square[j] *= shrink
        sums[TOP] = log_weight
    weight = math.exp(log_weight - sums[TOP])
    sums[TOTAL] += weight
    sums[TOTAL_SQUARE] += weight * weight
    share = weight / sums[TOTAL]
    for j in range(theta.size):
        delta = theta[j] - view.weighted_mean[j]
        view.weighted_mean[j] += share * delta
        view.weighted_square[j] += weight * delta * (theta[j] - view.weighted_mean[j])


@kernel
def decide(view, settings, state, proposals, log_values, log_weights, kept_draws):
    """Steps of independence Metropolis-Hastings through a batch of proposals: (w, theta), both (k, p)."""
    view, settings, state, proposals, kept_draws = without_refcount((view, settings, state, proposals, kept_draws))
    log_odds, theta = proposals
    counters, numbers = state.counters, state.numbers
    for i in range(log_weights.size):
        log_weight = log_weights[i]
        if math.isnan(log_weight) or log_weight == math.inf:
            counters[FAILED] = NOT_A_NUMBER
            return
        counters[UNCOMPUTED] += is_missed(log_weight, log_values[i], numbers[LOG_TARGET])
        state.proposal[:] = theta[i]
        state.log_odds_proposal[:] = log_odds[i]
        _add_weight(view, log_weight, state.proposal)
        acceptance = math.exp(min(0.0, log_weight - numbers[LOG_TARGET]))
        accepted = uniform(view.decisions) < acceptance
        if accepted:
            numbers[LOG_TARGET] = log_weight
            numbers[LOG_LIKELIHOOD] = log_values[i]
        finish_step(settings, state, state.log_odds, accepted, acceptance, kept_draws)


def run_independent(view, prior, settings, state, kept_draws, n_steps):
    """``n_steps`` steps of independence Metropolis-Hastings; none at all draws the start.

    Not a kernel itself: only `weighted_draws` depends on the method, so only that is compiled for each of them.
    """
    p = state.theta.size
    if math.isnan(state.numbers[LOG_TARGET]):
        values, weights = np.empty(1), np.empty(1)
        first = state.log_odds.reshape(1, p), state.theta.reshape(1, p)
        weighted_draws(view.target, view.copula, prior, state.random, *first, values, weights)
        state.numbers[LOG_TARGET], state.numbers[LOG_LIKELIHOOD] = weights[0], values[0]
    own = SumsView(view.log_weights, view.sums, view.weighted_mean, view.weighted_square, view.decisions)
    for start in range(0, n_steps, BATCH):
        size = min(BATCH, n_steps - start)
        proposals = np.empty((size, p)), np.empty((size, p))
        values, weights = np.empty(size), np.empty(size)
        weighted_draws(view.target, view.copula, prior, state.random, *proposals, values, weights)
        decide(own, settings, state, proposals, values, weights, kept_draws)
        if state.counters[FAILED] == NOT_A_NUMBER:
            return
