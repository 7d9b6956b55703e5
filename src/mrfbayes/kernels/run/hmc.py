r"""Split Hamiltonian Monte Carlo in whitened log-odds, compiled and resumable after any step.

With H = L L' minus the second derivatives of the log posterior at its mode m, the chain lives in y = L'(w - m), where
the posterior is nearly N(0, I). Its potential is |y|^2 / 2 + R(y). Under the first part the motion is a rotation,
y cos e + v sin e and v cos e - y sin e, which is made exactly; R, what is not Gaussian about the posterior, only kicks
the velocity v by -grad R = L^{-1} grad log p(w) + y before and after. So a leap may be as long as R allows, not as the
posterior's narrowest direction does; a quarter turn in all makes the draws of a Gaussian posterior independent. The
decision at the end of a trajectory makes the draws those of the posterior, whatever m, H and the gradient are: bad ones
are only slow.

A trajectory is `begin`, then `leap` and `pull` around every gradient, then `decide`. The compiled chain puts a method's
own kernel between; a gradient that is a Python function is put there by `mrfbayes.run.hmc`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.contracts import log_likelihood_gradient
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import copy_into, dot, theta_into
from mrfbayes.kernels.base.random import fill_normal, normal, uniform
from mrfbayes.kernels.priors import log_prior_gradient
from mrfbayes.kernels.run.chain import (
    LOG_LIKELIHOOD,
    LOG_SCALE,
    LOG_TARGET,
    N_COUNTERS,
    N_NUMBERS,
    STEP,
    UNCOMPUTED,
    book_step,
    move_to_proposal,
)

# Places in HmcState.numbers, after those of every chain; LOG_SCALE is the logarithm of the leaps per trajectory
KINETIC, NEW_TARGET, NEW_LIKELIHOOD, ANGLE = range(N_NUMBERS, N_NUMBERS + 4)
N_HMC_NUMBERS = N_NUMBERS + 4
# Places in HmcState.counters, after those of every chain
GRADIENTS = N_COUNTERS
N_HMC_COUNTERS = N_COUNTERS + 1

TURN = 0.6 * math.pi  # of a trajectory: a quarter turn, and a fifth more, for posteriors are wider than at their mode
TURN_JITTER = 0.1  # share by which a trajectory's length varies, so that no direction keeps returning to where it was
HMC_ACCEPTANCE = 0.9  # measured to give the most effective draws a gradient, or nearly, on all fields tried
MOST_LOG_LEAPS = math.log(128.0)
STRETCHES = 0.6  # share of steps that are stretches where tails are heavy: they take one gradient each
STRETCH_SD = 1.5  # of the log of a stretch: tails of a Cauchy are exponential on that scale, with rate one
# Trajectories serve the other directions; in far tails none is accepted.
MOST_LOG_LEAPS_BETWEEN_STRETCHES = math.log(8.0)


class HmcSettings(NamedTuple):
    """What does not change during a run."""

    n_warmup: int
    n_thin: int
    keeps_log_odds: int = 1  # as in ChainSettings


class Metric(NamedTuple):
    """The Gaussian at the mode.

    ``factor`` is U = L'^{-1}, upper triangular, in single precision: whatever U is, the posterior is exact, and half
    the bytes are twice the speed where U does not fit into the cache. A diagonal U is one row, of its diagonal entries.
    """

    mode: np.ndarray  # (p,) m
    factor: np.ndarray  # (p, p) or (1, p) float32
    heavy: np.ndarray  # (k, p) unit vectors y along which the tails are those of a Cauchy prior: see `begin`


class HmcState(NamedTuple):
    """What changes from step to step."""

    theta: np.ndarray  # (p,) where the chain is
    proposal: np.ndarray  # (p,) theta at the end of the trajectory
    position: np.ndarray  # (p,) y where the chain is
    residual: np.ndarray  # (p,) -grad R there
    moved: np.ndarray  # (p,) y on the trajectory
    push: np.ndarray  # (p,) -grad R there
    velocity: np.ndarray  # (p,)
    log_odds: np.ndarray  # (p,) w where the chain is
    log_odds_proposal: np.ndarray  # (p,) w on the trajectory
    gradient: np.ndarray  # (p,) of the log posterior in w there
    mean: np.ndarray  # (p,) as in ChainState
    square: np.ndarray  # (p,)
    numbers: np.ndarray  # (N_HMC_NUMBERS,) float64
    counters: np.ndarray  # (N_HMC_COUNTERS,) int64
    random: np.ndarray  # (4,) uint64


@kernel
def _square(vector):
    """|v|^2."""
    total = 0.0
    for value in vector:
        total += value * value
    return total


@kernel(fastmath={"contract"})
def _add_row(out, scale, row):
    """``out`` += scale row."""
    for k in range(out.size):
        out[k] += scale * row[k]


@kernel
def to_log_odds(metric, position, out):
    """``out`` = w = m + U y."""
    factor, p = metric.factor, position.size
    for i in range(p):
        if factor.shape[0] == 1:
            out[i] = metric.mode[i] + factor[0, i] * position[i]
        else:
            out[i] = metric.mode[i] + dot(position[i:], factor[i, i:])


@kernel
def whiten(metric, gradient, out):
    """``out`` = U' g, the derivatives in y."""
    factor, p = metric.factor, gradient.size
    for i in range(p):
        out[i] = factor[0, i] * gradient[i] if factor.shape[0] == 1 else 0.0
    if factor.shape[0] > 1:
        for i in range(p):
            _add_row(out[i:], gradient[i], factor[i, i:])


@kernel
def begin(metric, state):
    """A new velocity; returns how many leaps the trajectory takes.

    Where some directions are heavy-tailed, most steps stretch the distance from the mode along one of them by a random
    factor: trajectories would take thousands of steps to a far tail and back. A stretch is decided on as a trajectory
    that turns by no angle; its Jacobian, the factor itself, is booked with the kinetic energy of its begin.
    """
    numbers = state.numbers
    fill_normal(state.random, state.velocity)
    numbers[KINETIC] = 0.5 * _square(state.velocity)
    # A whole number whose mean is the number of leaps that warm-up found; not depending on where the chain is.
    n_leaps = max(1, int(math.exp(numbers[LOG_SCALE]) + uniform(state.random)))
    turn = TURN * (1.0 + TURN_JITTER * (2.0 * uniform(state.random) - 1.0))
    numbers[ANGLE] = turn / n_leaps
    copy_into(state.moved, state.position)
    copy_into(state.push, state.residual)
    n_heavy = metric.heavy.shape[0]
    if n_heavy > 0 and uniform(state.random) < STRETCHES:
        direction = metric.heavy[min(int(n_heavy * uniform(state.random)), n_heavy - 1)]
        log_factor = STRETCH_SD * normal(state.random)
        along = 0.0
        for k in range(direction.size):
            along += direction[k] * state.moved[k]
        for k in range(direction.size):
            state.moved[k] += math.expm1(log_factor) * along * direction[k]
        numbers[KINETIC] += log_factor
        numbers[ANGLE] = 0.0
        return 1
    return n_leaps


@kernel
def leap(metric, state):
    """Half a kick and the rotation; leaves the log-odds to take the gradient at in ``state.log_odds_proposal``."""
    angle = state.numbers[ANGLE]
    cosine, sine = math.cos(angle), math.sin(angle)
    position, velocity, push = state.moved, state.velocity, state.push
    for k in range(position.size):
        kicked = velocity[k] + 0.5 * angle * push[k]
        velocity[k] = cosine * kicked - sine * position[k]
        position[k] = cosine * position[k] + sine * kicked
    to_log_odds(metric, position, state.log_odds_proposal)


@kernel
def pull(metric, prior, state, log_likelihood):
    """Take in a value and a gradient (in ``state.gradient``) of the log-likelihood: the second half of the kick."""
    numbers, push, angle = state.numbers, state.push, state.numbers[ANGLE]
    numbers[NEW_LIKELIHOOD] = log_likelihood
    numbers[NEW_TARGET] = log_likelihood + log_prior_gradient(prior, state.log_odds_proposal, state.gradient)
    whiten(metric, state.gradient, push)
    for k in range(push.size):
        push[k] += state.moved[k]
        state.velocity[k] += 0.5 * angle * push[k]
    state.counters[GRADIENTS] += 1


@kernel
def decide(metric, settings, prior, state, kept_draws):
    """Accept or reject the end of the trajectory, adapt, and book the step."""
    numbers, counters = state.numbers, state.counters
    kinetic = 0.5 * _square(state.velocity)
    log_alpha = (numbers[NEW_TARGET] - kinetic) - (numbers[LOG_TARGET] - numbers[KINETIC])
    theta_into(prior.offset, state.log_odds_proposal, state.proposal)
    is_computed = not math.isnan(log_alpha)
    acceptance = math.exp(min(0.0, log_alpha)) if is_computed else 0.0
    accepted = uniform(state.random) < acceptance
    counters[UNCOMPUTED] += not is_computed
    if accepted:
        numbers[LOG_TARGET] = numbers[NEW_TARGET]
        numbers[LOG_LIKELIHOOD] = numbers[NEW_LIKELIHOOD]
        copy_into(state.position, state.moved)
        copy_into(state.residual, state.push)
    move_to_proposal(settings, state, accepted)
    if counters[STEP] < settings.n_warmup and numbers[ANGLE] != 0.0:
        gain = 1.0 / math.sqrt(1.0 + 0.2 * counters[STEP])
        moved = numbers[LOG_SCALE] + gain * (HMC_ACCEPTANCE - acceptance)
        most = MOST_LOG_LEAPS if metric.heavy.shape[0] == 0 else MOST_LOG_LEAPS_BETWEEN_STRETCHES
        numbers[LOG_SCALE] = min(max(moved, 0.0), most)
    book_step(settings, state, accepted, kept_draws)


@kernel
def evaluate_start(metric, prior, state, log_likelihood):
    """Take in the value and gradient at the chain's own position, which ``state.log_odds`` holds: a start."""
    numbers = state.numbers
    numbers[LOG_LIKELIHOOD] = log_likelihood
    numbers[LOG_TARGET] = log_likelihood + log_prior_gradient(prior, state.log_odds, state.gradient)
    whiten(metric, state.gradient, state.residual)
    for k in range(state.residual.size):
        state.residual[k] += state.position[k]
    theta_into(prior.offset, state.log_odds, state.theta)


@kernel
def start_hmc(target, prior, state):
    """Evaluate the chain's position for a ``target`` (view, metric) whose view has a gradient."""
    target, prior, state = without_refcount((target, prior, state))
    view, metric = target
    to_log_odds(metric, state.position, state.log_odds)
    evaluate_start(metric, prior, state, log_likelihood_gradient(view, state.log_odds, state.gradient))


@kernel
def run_hmc(target, prior, settings, state, kept_draws, n_steps):
    """``n_steps`` trajectories from where `start_hmc`, or the chunk before, left the chain."""
    target, prior, settings, state, kept_draws = without_refcount((target, prior, settings, state, kept_draws))
    view, metric = target
    for _ in range(n_steps):
        for _ in range(begin(metric, state)):
            leap(metric, state)
            pull(metric, prior, state, log_likelihood_gradient(view, state.log_odds_proposal, state.gradient))
        decide(metric, settings, prior, state, kept_draws)
