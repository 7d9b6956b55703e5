r"""The die in a magnetic field as a distribution on the simplex: the coin of `mrfbayes.coins.coin` with K outcomes.

.. math:: f(\theta) \propto \frac{\prod_k \theta_k^{\alpha_k}}{(\sum_k \eta_k\theta_k)^{n + K}}

so that :math:`\lambda_k \propto \eta_k\theta_k` is Dirichlet(alpha + 1): the generalisation of the form "gbd" of a
coin. Sticks :math:`\mu_k = \lambda_k / (\lambda_k + \dots + \lambda_K)` are then independent Betas, that is coins,
whose normal scores are the coordinates by which a die enters the copula.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, generator, seed_sequence
from mrfbayes.coins.coin import Numbers, as_scalar, coin_rows, each, numbers_of, shape_of

INTEGRATION_STEP, TAIL_NATS = 0.2, 42.0  # of log s: the trapezoidal rule's error is e^-49, the tails' e^-42


def _vector(values: object, name: str) -> np.ndarray:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {values!r}: give a list of numbers, one per outcome.") from None
    if array.ndim != 1 or array.size < 2:
        raise InputError(f"{name} has shape {array.shape}: give one number per outcome, at least two.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] = {array[bad[0]]:g}: give finite numbers.")
    array.setflags(write=False)
    return array


class DieMarginal:
    """Marginal likelihood of a die's weights, as a distribution on the simplex.

    Parameters
    ----------
    alpha : (K,) counts of the outcomes, >= 0, fractional where observations are weighted; their sum n must be > 0
    log_eta : (K,) logs of the external effects, up to a common constant

    ``theta`` may be given as all K weights or as the first K - 1, on the last axis. `mean`, `sd`, `covariance` and
    `mode` are for all K.
    """

    def __init__(self, alpha: object, log_eta: object) -> None:
        self.alpha = _vector(alpha, "alpha")
        bad = np.flatnonzero(self.alpha < 0)
        if bad.size:
            raise InputError(f"alpha[{bad[0]}] = {self.alpha[bad[0]]:g}: a count is a number >= 0.")
        self.n = float(self.alpha.sum())
        if not self.n > 0:
            raise InputError("alpha: the counts are all zero; at least one toss is needed.")
        log_eta = _vector(log_eta, "log_eta")
        if log_eta.shape != self.alpha.shape:
            raise InputError(f"log_eta has {log_eta.size} numbers, alpha has {self.alpha.size}: give one per outcome.")
        if np.ptp(log_eta) > 700:
            raise InputError("log_eta: its numbers are more than 700 apart; such effects cannot be represented.")
        self.log_eta = log_eta - np.logaddexp.reduce(log_eta)

    def __repr__(self) -> str:
        return f"DieMarginal({self.sides} outcomes, n={self.n:g})"

    @property
    def sides(self) -> int:
        """K."""
        return int(self.alpha.size)

    @cached_property
    def sticks(self) -> np.ndarray:
        """The sticks (K-1, COIN_FIELDS) as coins, in the place of theta their share mu_k."""
        rest = np.cumsum(self.alpha[::-1] + 1.0)[::-1][1:]
        return coin_rows(self.alpha[:-1], rest - 1.0, np.zeros(self.sides - 1), "gbd")

    def _log_theta(self, theta: object) -> tuple[np.ndarray, tuple[int, ...], np.ndarray]:
        """Log weights (rows, K), the leading shape, and which rows lie inside the simplex."""
        array = numbers_of(theta, "theta")
        if array.ndim == 0 or array.shape[-1] not in (self.sides, self.sides - 1):
            raise InputError(
                f"theta has shape {array.shape}: its last axis must hold the {self.sides} weights or the first "
                f"{self.sides - 1} of them."
            )
        if array.shape[-1] == self.sides - 1:
            array = np.concatenate([array, 1.0 - array.sum(axis=-1, keepdims=True)], axis=-1)
        elif np.abs(array.sum(axis=-1) - 1.0).max(initial=0.0) > 1e-8:
            raise InputError("theta: the K weights of a die sum to one.")
        rows = array.reshape(-1, self.sides)
        inside = np.asarray((rows > 0.0).all(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(inside[:, None], np.log(rows), 0.0)
        return logs, array.shape[:-1], inside

    def logpdf(self, theta: object) -> Numbers:
        """Log density on the simplex, with respect to the first K - 1 weights; minus infinity outside."""
        logs, shape, inside = self._log_theta(theta)
        density = self._each_stick("log_density", self._stick_log_odds(logs)).sum(axis=1) - logs.sum(axis=1)
        return as_scalar(np.where(inside, density, -math.inf).reshape(shape))

    def pdf(self, theta: object) -> Numbers:
        """Density on the simplex."""
        return as_scalar(np.exp(np.asarray(self.logpdf(theta))))

    def normal_scores(self, theta: object) -> np.ndarray:
        """Normal scores (..., K-1) of the sticks of lambda: under this distribution independent standard normals."""
        logs, shape, inside = self._log_theta(theta)
        scores = self._each_stick("normal_score", self._stick_log_odds(logs))
        scores[~inside] = math.nan
        return scores.reshape(*shape, self.sides - 1)

    def from_normal(self, z: object) -> np.ndarray:
        """All K weights (..., K) from normal scores (..., K-1): the inverse of `normal_scores`."""
        array = numbers_of(z, "z")
        if array.ndim == 0 or array.shape[-1] != self.sides - 1:
            raise InputError(f"z has shape {array.shape}: its last axis must hold {self.sides - 1} normal scores.")
        log_odds = self._each_stick("quantile", array.reshape(-1, self.sides - 1))
        return self.from_sticks(log_odds).reshape(*array.shape[:-1], self.sides)

    def _each_stick(self, name: str, values: np.ndarray) -> np.ndarray:
        """The kernel ``name`` of every stick on its column of ``values`` (rows, K-1)."""
        return np.stack([each(name, *pair) for pair in zip(self.sticks, values.T, strict=True)], axis=1)

    def _stick_log_odds(self, log_theta: np.ndarray) -> np.ndarray:
        log_lambda = log_theta + self.log_eta
        rest = np.logaddexp.accumulate(log_lambda[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(log_lambda[:, :-1] - rest[:, 1:])

    def from_sticks(self, log_odds: np.ndarray) -> np.ndarray:
        """All K weights (rows, K) from the log-odds (rows, K-1) of the sticks."""
        log_lambda = np.zeros((len(log_odds), self.sides))
        log_lambda[:, :-1] = -np.logaddexp(0.0, -log_odds)
        log_lambda[:, 1:] -= np.cumsum(np.logaddexp(0.0, log_odds), axis=1)
        return self._normalised(log_lambda)

    def _normalised(self, log_lambda: np.ndarray) -> np.ndarray:
        """Theta (rows, K) from lambda up to a factor."""
        weight = log_lambda - self.log_eta
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (K,) and E[theta_k theta_l], from integrals over one variable.

        theta_k is c_k g_k / sum(c g) for independent Gamma variables g and c = 1 / eta. Each factor 1 / sum(c g) is an
        integral over s of exp(-s sum(c g)), and the means over g are products; log s runs over the real line, where the
        trapezoidal rule converges exponentially.
        """
        a, log_c = self.alpha + 1.0, -self.log_eta
        first = -np.logaddexp.reduce(np.log(a) + log_c) - TAIL_NATS
        x = np.arange(first, -log_c.min() + TAIL_NATS, INTEGRATION_STEP)[:, None] + log_c
        share = 1.0 / (1.0 + np.exp(-x))
        weight = INTEGRATION_STEP * np.exp(-np.logaddexp(0.0, x) @ a)
        rate = a * share
        second = rate.T @ (weight[:, None] * rate)
        second[np.diag_indices_from(second)] += weight @ (rate * share)
        return weight @ rate, second

    @property
    def mean(self) -> np.ndarray:
        """Expectation of the K weights."""
        return self._moments[0]

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (K, K) of the weights; relative error about n * 1e-14."""
        mean, second = self._moments
        return np.asarray(second - np.outer(mean, mean))

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations of the K weights."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))

    @cached_property
    def mode(self) -> np.ndarray:
        """The weights of largest density."""
        # Stationary: theta_k = alpha_k / ((n + K) eta_k / E - K), E = sum eta theta, found so that theta sums to one.
        from scipy.optimize import brentq

        eta, n, sides = np.exp(self.log_eta), self.n, self.sides
        used = self.alpha > 0
        top = float((n + sides) * eta[used].min() / sides)

        def weights(e: float) -> np.ndarray:
            return np.where(used, self.alpha / np.where(used, (n + sides) * eta / e - sides, 1.0), 0.0)

        root = brentq(lambda e: float(weights(e).sum()) - 1.0, top * 1e-12, top * (1 - 1e-12), xtol=1e-300, rtol=1e-15)
        if not used.all():
            # An outcome without counts stays at zero unless E exceeds this: then it takes what the others leave.
            k = int(np.argmin(np.where(used, math.inf, eta)))
            limit = float((n + sides) * eta[k] / sides)
            if root > limit:
                found = weights(limit)
                found[k] = 1.0 - found.sum()
                return np.asarray(found)
        found = weights(float(root))
        return np.asarray(found / found.sum())

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: Seed | None = None) -> np.ndarray:
        """Independent draws (size, K) of the weights, from Gamma variables.

        Parameters
        ----------
        size : leading shape of the result; None for a single vector
        rng : an int, a `numpy.random.SeedSequence` or a `numpy.random.Generator`; None for fresh randomness
        """
        source = rng if isinstance(rng, np.random.Generator) else generator(seed_sequence(rng), "die")
        shape = shape_of(size)
        return self.from_gammas(source, math.prod(shape)).reshape(*shape, self.sides)

    def from_gammas(self, source: np.random.Generator, count: int) -> np.ndarray:
        """(count, K) draws."""
        return self._normalised(np.log(source.standard_gamma(self.alpha + 1.0, (count, self.sides))))
