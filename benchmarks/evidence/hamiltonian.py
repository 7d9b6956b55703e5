"""Reference moments that owe nothing to calibrated coins: Hamiltonian Monte Carlo with Stein control variates.

The chain moves in coordinates x with w = centre + F x, FF' = S being any symmetric matrix near the posterior's
covariance (here the inverse information at a mode: it sets the efficiency, not the result). Trajectories are about a
quarter of a period long, so that draws of a nearly normal posterior are nearly independent.

With g the gradient of the log posterior in w and h = S g, Stein's identities say that

    h_k,    d_k h_k + S_kk,    d_k^2 h_k + 2 d_k S_kk    (d = w - centre)

all have mean zero under the posterior. Regressing on them takes most of the noise away, and what is left is measured by
batch means: every reference comes with its own Monte-Carlo error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

QUARTER = np.pi / 2  # of a period of a standard normal
WANTED = 0.85  # acceptance
WARM_UP = 300
BATCHES = 40


@dataclass(frozen=True)
class Factor:
    """F and what it takes to use it: x -> F x, g -> F'g, and the diagonal of FF'."""

    forward: Callable[[np.ndarray], np.ndarray]
    backward: Callable[[np.ndarray], np.ndarray]
    diagonal: np.ndarray

    @classmethod
    def dense(cls, covariance: np.ndarray) -> Factor:
        """From a full matrix S."""
        factor = np.linalg.cholesky(covariance)
        columns = np.ascontiguousarray(factor.T)
        return cls(lambda x: factor @ x, lambda g: columns @ g, np.diag(covariance).copy())


@dataclass(frozen=True)
class Chain:
    """Draws of one chain, as deviations d (k, p) of w from the centre and scaled gradients h (k, p)."""

    centre: np.ndarray
    deviation: np.ndarray
    scaled_gradient: np.ndarray
    variance: np.ndarray  # (p,) diagonal of S
    acceptance: float
    gradients: int


def run_chain(
    target, centre: np.ndarray, factor: Factor, draws: int, rng: np.random.Generator, warm_up: int = WARM_UP
) -> Chain:
    """One chain of ``draws`` draws; ``target`` takes w to the log posterior density of w and its gradient."""
    p = centre.size

    def at(x):
        value, gradient = target(centre + factor.forward(x))
        return value, factor.backward(gradient)

    x = np.zeros(p)
    value, slope = at(x)
    log_step = np.log(0.9 / p**0.25)
    deviation, scaled = np.empty((draws, p)), np.empty((draws, p))
    accepted, gradients, tuned = 0, 0, []
    for k in range(-warm_up, draws):
        momentum = rng.standard_normal(p)
        length = QUARTER * rng.uniform(0.8, 1.2)
        n_steps = max(1, int(np.ceil(length / np.exp(log_step))))
        step = length / n_steps
        y, new_value, new_slope = x, value, slope
        energy = value - momentum @ momentum / 2
        for _ in range(n_steps):
            momentum = momentum + 0.5 * step * new_slope
            y = y + step * momentum
            new_value, new_slope = at(y)
            momentum = momentum + 0.5 * step * new_slope
        gradients += n_steps
        gain = new_value - momentum @ momentum / 2 - energy
        gain = -np.inf if np.isnan(gain) else min(0.0, gain)
        if np.log(rng.uniform()) < gain:
            x, value, slope = y, new_value, new_slope
            accepted += k >= 0
        if k < 0:  # the step size is frozen, at its average over the second half, before the first draw is kept
            log_step += (np.exp(gain) - WANTED) / (10 + (k + warm_up)) ** 0.6
            tuned.append(log_step)
            if k == -1:
                log_step = float(np.mean(tuned[warm_up // 2 :]))
        else:
            deviation[k], scaled[k] = factor.forward(x), factor.forward(slope)
    return Chain(centre, deviation, scaled, factor.diagonal, accepted / draws, gradients)


@dataclass(frozen=True)
class Moments:
    """Mean and sd (p,) of theta with the standard errors of both: mean_error in sds, sd_error relative."""

    mean: np.ndarray
    sd: np.ndarray
    mean_error: np.ndarray
    sd_error: np.ndarray
    plain_mean_error: float  # rms, without control variates, for comparison
    plain_sd_error: float


def moments(chain: Chain, near: list[np.ndarray] | None = None) -> Moments:
    """Mean and sd of every theta; ``near`` lists the parameters whose controls serve each (default: all serve all)."""
    theta = 1.0 / (1.0 + np.exp(-(chain.centre + chain.deviation)))
    d, h, s = chain.deviation, chain.scaled_gradient, chain.variance
    controls = [h / np.sqrt(s), d * h / s + 1.0, (d * d * h / s + 2.0 * d) / np.sqrt(s)]
    if near is None:
        shared = np.concatenate(controls, axis=1)
        first = _controlled(theta, shared)
        second = _controlled((theta - first[0]) ** 2, shared)
    else:
        parts = []
        for j, members in enumerate(near):
            own = np.concatenate([part[:, members] for part in controls], axis=1)
            one = _controlled(theta[:, [j]], own)
            two = _controlled((theta[:, [j]] - one[0]) ** 2, own)
            parts.append((*one, *two))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        first, second = tuple(columns[:2]), tuple(columns[2:])
    sd = np.sqrt(second[0])
    plain = theta.mean(axis=0)
    return Moments(
        first[0],
        sd,
        first[1] / sd,
        second[1] / second[0] / 2,
        _rms(_batch_error(theta) / sd),
        _rms(_batch_error((theta - plain) ** 2) / second[0] / 2),
    )


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _batch_error(values: np.ndarray) -> np.ndarray:
    """Standard error (q,) of the means of the columns of a chain's ``values`` (k, q), by batch means."""
    size = len(values) // BATCHES
    batches = values[: size * BATCHES].reshape(BATCHES, size, -1).mean(axis=1)
    return np.asarray(batches.std(axis=0, ddof=1) / np.sqrt(BATCHES))


def _controlled(values: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means (q,) of ``values`` (k, q) and their standard errors, by regression on ``controls`` (k, c) of mean zero."""
    k, c = controls.shape
    centred = controls - controls.mean(axis=0)
    gram = centred.T @ centred
    gram[np.diag_indices_from(gram)] *= 1.0 + 1e-8
    weights = np.linalg.solve(gram, centred.T @ values)
    rest = values - controls @ weights
    return rest.mean(axis=0), _batch_error(rest) * np.sqrt(k / max(k - c, 1))
