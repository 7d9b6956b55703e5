r"""The die in a magnetic field as a distribution on the simplex: the coin of `mrfbayes.coins.coin` with K outcomes.

.. math:: f(\theta) \propto \frac{\prod_k \theta_k^{\alpha_k}}{(\sum_k \eta_k\theta_k)^{n}}

under the uniform prior on the simplex (``form="printed"``), or with power n + K (``form="gbd"``), where
:math:`\lambda_k \propto \eta_k\theta_k` is Dirichlet(alpha + 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, generator, seed_sequence

if TYPE_CHECKING:
    from mrfbayes.kernels.coins.die import Die

FORMS = ("printed", "gbd")
Numbers = float | np.ndarray  # as many as were asked for
CHEBYSHEV_DIGITS = 33.0  # e^-33 = 5e-15
MAX_CHEBYSHEV = 400
FLAT = 1e-6  # widening of an interval of log C that would have no width


def check_form(form: object, name: str = "form") -> str:
    """``form`` itself, or an `InputError`."""
    if not isinstance(form, str) or form not in FORMS:
        raise InputError(f"{name} = {form!r}: choose 'printed' (power n, Eq. 3) or 'gbd' (power n + 2).")
    return form


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
    form : "printed" (power n in the denominator) or "gbd" (power n + K)

    ``theta`` may be given as all K weights or as the first K - 1, on the last axis. `mean`, `sd`, `covariance` and
    `mode` are for all K.
    """

    def __init__(self, alpha: object, log_eta: object, form: str = "printed") -> None:
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
        self.form = check_form(form)

    def __repr__(self) -> str:
        return f"DieMarginal({self.sides} outcomes, n={self.n:g}, {self.form!r})"

    @property
    def sides(self) -> int:
        """K."""
        return int(self.alpha.size)

    @cached_property
    def die(self) -> Die:
        """The die as the kernels take it."""
        from mrfbayes.kernels.coins.coin import COIN_FIELDS, complete_coins
        from mrfbayes.kernels.coins.die import Die, fill_tables

        a, log_c = self.alpha + 1.0, -self.log_eta
        sticks = np.zeros((self.sides - 1, COIN_FIELDS))
        sticks[:, 0], sticks[:, 1] = a[:-1], np.cumsum(a[::-1])[::-1][1:]
        complete_coins(sticks)
        low, high = float(log_c.min()) - FLAT, float(log_c.max()) + FLAT
        half = 0.5 * (high - low)
        rate = math.log((math.pi + math.hypot(math.pi, half)) / half)  # singularities at distance pi
        chebyshev = np.zeros((self.sides - 1, min(4 + int(CHEBYSHEV_DIGITS / rate), MAX_CHEBYSHEV)))
        power = 0.0
        if self.form == "printed":
            power = float(self.sides)
            fill_tables(a, log_c, low, high, chebyshev)
        return Die(a, log_c, sticks, chebyshev, power, low, high)

    def _log_theta(self, theta: object) -> tuple[np.ndarray, tuple[int, ...], np.ndarray]:
        """Log weights (rows, K), the leading shape, and which rows lie inside the simplex."""
        try:
            array = np.array(theta, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"theta = {theta!r}: give numbers.") from None
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
        _, density = self._scores(logs)
        out = np.where(inside, density - logs.sum(axis=1), -math.inf).reshape(shape)
        return float(out) if shape == () else out

    def pdf(self, theta: object) -> Numbers:
        """Density on the simplex."""
        value = self.logpdf(theta)
        return math.exp(value) if isinstance(value, float) else np.exp(value)

    def _scores(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from mrfbayes.kernels.coins.die import many_die_scores

        scores, density = np.empty((len(logs), self.sides - 1)), np.empty(len(logs))
        many_die_scores(self.die, np.ascontiguousarray(logs), scores, density)
        return scores, density

    def normal_scores(self, theta: object) -> np.ndarray:
        """Normal scores (..., K-1) of the sticks of lambda, from the last to the first given those after it.

        Under this distribution they are independent standard normals (Rosenblatt's transformation): by them the die
        enters the copula.
        """
        logs, shape, inside = self._log_theta(theta)
        scores, _ = self._scores(logs)
        scores[~inside] = math.nan
        return scores.reshape(*shape, self.sides - 1)

    def from_normal(self, z: object) -> np.ndarray:
        """All K weights (..., K) from normal scores (..., K-1): the inverse of `normal_scores`."""
        from mrfbayes.kernels.coins.die import many_die_from_scores

        try:
            array = np.array(z, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"z = {z!r}: give numbers.") from None
        if array.ndim == 0 or array.shape[-1] != self.sides - 1:
            raise InputError(f"z has shape {array.shape}: its last axis must hold {self.sides - 1} normal scores.")
        rows = np.ascontiguousarray(array.reshape(-1, self.sides - 1))
        logs = np.empty((len(rows), self.sides))
        many_die_from_scores(self.die, rows, logs)
        return np.exp(logs).reshape(*array.shape[:-1], self.sides)

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean (K,) and E[theta_k theta_l] / (mean_k mean_l) - 1, from integrals over one variable.

        theta_k is c_k g_k / sum(c g) for independent Gamma variables g; each factor 1 / sum(c g) raises the power.
        """
        from mrfbayes.kernels.coins.die import log_power_integral

        a, log_c = self.alpha + 1.0, -self.log_eta
        power = self.sides if self.form == "printed" else 0
        base = log_power_integral(a, log_c, float(power)) - math.lgamma(power) if power else 0.0
        log_mean, log_second = np.empty(self.sides), np.empty((self.sides, self.sides))
        for k in range(self.sides):
            one = a.copy()
            one[k] += 1.0
            integral = log_power_integral(one, log_c, power + 1.0) - math.lgamma(power + 1)
            log_mean[k] = log_c[k] + math.log(a[k]) + integral - base
            for other in range(k + 1):
                two = one.copy()
                two[other] += 1.0
                integral = log_power_integral(two, log_c, power + 2.0) - math.lgamma(power + 2)
                value = log_c[k] + log_c[other] + math.log(a[k]) + math.log(one[other]) + integral - base
                log_second[k, other] = log_second[other, k] = value
        return np.exp(log_mean), np.expm1(log_second - log_mean[:, None] - log_mean[None, :])

    @property
    def mean(self) -> np.ndarray:
        """Expectation of the K weights."""
        return self._moments[0]

    @property
    def covariance(self) -> np.ndarray:
        """Covariance (K, K) of the weights; relative error about n * 1e-14."""
        mean, ratio = self._moments
        return np.asarray(ratio * np.outer(mean, mean))

    @property
    def sd(self) -> np.ndarray:
        """Standard deviations of the K weights."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance)))

    @cached_property
    def log_total(self) -> float:
        """Log integral over the simplex of prod lambda^alpha, times |d lambda / d theta| where the form is "gbd"."""
        at = np.full(self.sides, 1.0 / self.sides)
        log_field = float(np.log(np.exp(self.log_eta) @ at))
        value = float(self.alpha @ (np.log(at) + self.log_eta - log_field))
        if self.form == "gbd":
            value += float(self.log_eta.sum()) - self.sides * log_field
        return value - float(self.logpdf(at))

    @cached_property
    def mode(self) -> np.ndarray:
        """The weights of largest density; in the printed form the maximum likelihood estimate ("mode mapping")."""
        log_lambda = np.log(np.maximum(self.alpha, 1e-300))
        weight = np.exp(log_lambda - self.log_eta - (log_lambda - self.log_eta).max())
        weight[self.alpha == 0] = 0.0
        if self.form == "printed":
            return np.asarray(weight / weight.sum())
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
        """Independent draws (size, K) of the weights: exact, from Gamma variables (see `mrfbayes.kernels.coins.die`).

        Parameters
        ----------
        size : leading shape of the result; None for a single vector
        rng : an int, a `numpy.random.SeedSequence` or a `numpy.random.Generator`; None for fresh randomness
        """
        source = rng if isinstance(rng, np.random.Generator) else generator(seed_sequence(rng), "die")
        try:
            shape = () if size is None else np.empty(size, dtype=np.int8).shape
        except (TypeError, ValueError):
            raise InputError(f"size = {size!r}: give a whole number >= 0, a shape, or None.") from None
        return self.from_gammas(source, math.prod(shape)).reshape(*shape, self.sides)

    def from_gammas(self, source: np.random.Generator, count: int) -> np.ndarray:
        """(count, K) draws.

        The factor (sum c g)^-K of the printed form is an integral over s of s^(K-1) exp(-s sum(c g)): draw s from what
        is left when g is integrated out, then the Gamma variables with rates 1 + c s.
        """
        log_weight = np.log(source.standard_gamma(self.alpha + 1.0, (count, self.sides))) - self.log_eta
        if self.form == "printed":
            log_s = _log_concave_draws(self._log_s_density, source, count)
            log_weight -= np.logaddexp(0.0, log_s[:, None] - self.log_eta)
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def _log_s_density(self, x: np.ndarray) -> np.ndarray:
        """Unnormalised log density of x = log s: s^K prod (1 + c_k s)^(-alpha_k - 1)."""
        return np.asarray(self.sides * x - np.logaddexp(0.0, x[..., None] - self.log_eta) @ (self.alpha + 1.0))


def _log_concave_draws(
    log_density: Callable[[np.ndarray], np.ndarray], source: np.random.Generator, count: int
) -> np.ndarray:
    """Exact draws from a log-concave density on the line: rejection under a flat top with two exponential flanks."""
    from scipy.optimize import brentq, minimize_scalar

    def value(x: float) -> float:
        return float(log_density(np.array(x)))

    centre = float(minimize_scalar(lambda x: -value(x)).x)
    top = value(centre)
    flanks = []
    for sign in (-1.0, 1.0):
        reach = 1e-6
        while value(centre + sign * reach) > top - 1.0:
            reach *= 2.0
        away = float(brentq(lambda r, sign=sign: value(centre + sign * r) - top + 1.0, 0.0, reach))
        # The chord from the top through this point lies above the density beyond it; it meets the flat top at once.
        flanks.append(away)
    left, right = flanks
    areas = np.array([left + right, left / math.e, right / math.e])
    out = np.empty(0)
    while out.size < count:
        need = int(1.6 * (count - out.size)) + 16
        part = source.choice(3, size=need, p=areas / areas.sum())
        u, tail = source.random(need), source.standard_exponential(need)
        x = np.select(
            [part == 0, part == 1], [centre - left + u * (left + right), centre - left - tail * left],
            centre + right + tail * right,
        )  # fmt: skip
        envelope = np.where(part == 0, 0.0, -1.0 - tail)
        accept = np.log1p(-source.random(need)) <= log_density(x) - top - envelope
        out = np.concatenate([out, x[accept]])
    return out[:count]
