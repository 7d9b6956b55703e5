r"""The coin in a magnetic field as a distribution of its parameter theta.

The marginal likelihood of the paper, Eq. (3), standardised under the uniform prior (``form="printed"``):

.. math:: f(\theta) \propto \frac{\theta^{\alpha}(1-\theta)^{n-\alpha}}{(\eta\theta+(1-\eta)(1-\theta))^{n}}

and its relative with power n + 2 in the denominator (``form="gbd"``), where
:math:`\lambda = \eta\theta / (\eta\theta+(1-\eta)(1-\theta))` is Beta(alpha + 1, n - alpha + 1) and theta has McDonald
and Xu's generalised beta distribution. The die with more than two outcomes is `mrfbayes.coins.die.DieMarginal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, generator, seed_sequence

FORMS = ("printed", "gbd")
Numbers = float | np.ndarray  # as many as were asked for


def check_form(form: object, name: str = "form") -> str:
    """``form`` itself, or an `InputError`."""
    if not isinstance(form, str) or form not in FORMS:
        raise InputError(f"{name} = {form!r}: choose 'printed' (power n, Eq. 3) or 'gbd' (power n + 2).")
    return form


def check_number(value: object, name: str, low: float = -math.inf, high: float = math.inf, what: str = "") -> float:
    """``value`` as a finite float in [low, high], or an `InputError`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{name} = {value!r} is a {type(value).__name__}: give a number{what}.")
    if not math.isfinite(value) or not low <= value <= high:
        raise InputError(f"{name} = {value:g}: give a finite number{what}.")
    return float(value)


def coin_rows(alpha: np.ndarray, other: np.ndarray, log_odds_eta: np.ndarray, form: str) -> np.ndarray:
    """Coins (p, COIN_FIELDS) as `mrfbayes.kernels.coins.coin` takes them, from counts (p,) of both outcomes."""
    from mrfbayes.kernels.coins.coin import COIN_FIELDS, complete_coins

    coins, extra = np.zeros((alpha.size, COIN_FIELDS)), 0.0 if form == "printed" else 1.0
    coins[:, 0], coins[:, 1] = alpha + extra, other + extra
    coins[:, 2:4] = 1.0 - extra
    coins[:, 4] = log_odds_eta
    complete_coins(coins)
    return coins


class CoinMarginal:
    """Marginal likelihood of one coin's theta, as a distribution on (0, 1).

    Parameters
    ----------
    alpha : number of tosses that showed the first outcome, 0 <= alpha <= n; may be fractional (weights)
    n : number of tosses, > 0: observations times S for a score coin, times m for a block tied over m factors
    log_odds_eta : logit of the external effect eta, Eq. (5)
    form : "printed" (power n in the denominator) or "gbd" (power n + 2)

    Methods take scalars or arrays. ``logcdf`` and ``logsf`` keep their relative precision however far out theta is.
    """

    def __init__(self, alpha: float, n: float, log_odds_eta: float, form: str = "printed") -> None:
        self.n = check_number(n, "n", what=" > 0 of tosses")
        if not self.n > 0:
            raise InputError(f"n = {n:g}: give a number > 0 of tosses.")
        self.alpha = check_number(alpha, "alpha", 0.0, self.n, f" from 0 to n = {self.n:g}")
        self.log_odds_eta = check_number(log_odds_eta, "log_odds_eta", -700.0, 700.0, ", the logit of eta, within 700")
        self.form = check_form(form)

    def __repr__(self) -> str:
        return f"CoinMarginal(alpha={self.alpha:g}, n={self.n:g}, log_odds_eta={self.log_odds_eta:.6g}, {self.form!r})"

    @property
    def eta(self) -> float:
        """The external effect."""
        return 1.0 / (1.0 + math.exp(-self.log_odds_eta))

    @cached_property
    def row(self) -> np.ndarray:
        """The coin as the kernels take it."""
        counts = np.array([self.alpha]), np.array([self.n - self.alpha])
        row = np.asarray(coin_rows(*counts, np.array([self.log_odds_eta]), self.form)[0])
        row.setflags(write=False)
        return row

    def logpdf(self, theta: object) -> Numbers:
        """Log density in theta; minus infinity outside [0, 1]."""

        def inside(values: np.ndarray) -> np.ndarray:
            theta = _cut(values)
            out: np.ndarray = each("log_density", self.row, _logit(theta)) - (np.log(theta) + np.log1p(-theta))
            low, high = self.row[0] + self.row[2] - 1.0, self.row[1] + self.row[3] - 1.0
            out[(values == 0.0) & (low > 0.0)] = -math.inf
            out[(values == 1.0) & (high > 0.0)] = -math.inf
            return out

        return _apply(theta, inside, -math.inf, -math.inf)

    def pdf(self, theta: object) -> Numbers:
        """Density in theta."""
        return as_scalar(np.exp(np.asarray(self.logpdf(theta))))

    def _tails(self, values: np.ndarray) -> np.ndarray:
        """(k, 2) logs of the probabilities below and above."""
        tails = each("log_cdf_sf", self.row, _logit(_cut(values)))
        tails[values == 0.0], tails[values == 1.0] = (-math.inf, 0.0), (0.0, -math.inf)
        return tails

    def logcdf(self, theta: object) -> Numbers:
        """Log of the probability below theta."""
        return _apply(theta, lambda values: self._tails(values)[:, 0], -math.inf, 0.0)

    def logsf(self, theta: object) -> Numbers:
        """Log of the probability above theta."""
        return _apply(theta, lambda values: self._tails(values)[:, 1], 0.0, -math.inf)

    def cdf(self, theta: object) -> Numbers:
        """Probability below theta."""
        return as_scalar(np.exp(np.asarray(self.logcdf(theta))))

    def sf(self, theta: object) -> Numbers:
        """Probability above theta."""
        return as_scalar(np.exp(np.asarray(self.logsf(theta))))

    def normal_score(self, theta: object) -> Numbers:
        """Phi^-1(F(theta)), finite wherever 0 < theta < 1."""

        def inside(values: np.ndarray) -> np.ndarray:
            out = each("normal_score", self.row, _logit(_cut(values)))
            out[values == 0.0], out[values == 1.0] = -math.inf, math.inf
            return out

        return _apply(theta, inside, -math.inf, math.inf)

    def ppf(self, q: object) -> Numbers:
        """Quantile: the theta with probability ``q`` below it."""
        at = numbers_of(q, "q")
        bad = np.flatnonzero(~((at >= 0.0) & (at <= 1.0)))
        if bad.size:
            raise InputError(f"q = {at.ravel()[bad[0]]:g}: a probability lies between 0 and 1.")
        from scipy.special import ndtri

        theta = self.from_normal(np.where((at > 0.0) & (at < 1.0), ndtri(np.clip(at, 1e-300, None)), 0.0))
        return as_scalar(np.where(at == 0.0, 0.0, np.where(at == 1.0, 1.0, theta)))

    def from_normal(self, z: object) -> Numbers:
        """The theta whose normal score is ``z``: a standard normal z gives a draw."""
        return as_scalar(_sigmoid(each("quantile", self.row, numbers_of(z, "z"))))

    @cached_property
    def _moments(self) -> tuple[float, float]:
        from mrfbayes.kernels.coins.coin import moments

        mean, variance = moments(self.row.copy())
        return float(mean), float(variance)

    @property
    def mean(self) -> float:
        """Expectation of theta."""
        return self._moments[0]

    @property
    def sd(self) -> float:
        """Standard deviation of theta."""
        return math.sqrt(self._moments[1])

    @property
    def mode(self) -> float:
        """The theta of largest density; for the printed form the maximum likelihood estimate ("mode mapping")."""
        alpha, n, eta = self.alpha, self.n, self.eta
        if self.form == "printed":
            weights = alpha * math.exp(-0.5 * self.log_odds_eta), (n - alpha) * math.exp(0.5 * self.log_odds_eta)
            return weights[0] / sum(weights)
        # The derivative of the log density, times its denominators, is a theta^2 + b theta + alpha (1 - eta).
        a, b, c = 2.0 * (2.0 * eta - 1.0), (alpha - n - 2.0) * (2.0 * eta - 1.0) - n * (1.0 - eta), alpha * (1.0 - eta)
        root = math.sqrt(max(b * b - 4.0 * a * c, 0.0))
        return 2.0 * c / (root - b) if b < 0.0 else -(b + root) / (2.0 * a)

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: Seed | None = None) -> Numbers:
        """Independent draws.

        Parameters
        ----------
        size : shape of the result; None for a single number
        rng : an int, a `numpy.random.SeedSequence` or a `numpy.random.Generator`; None for fresh randomness
        """
        from mrfbayes.kernels.coins.scores import DRAWS, all_tables, thetas_of_normals

        source = rng if isinstance(rng, np.random.Generator) else generator(seed_sequence(rng), "coin")
        shape = shape_of(size)
        values = source.standard_normal((math.prod(shape), 1))
        coins = self.row[None, :].copy()
        thetas_of_normals(coins, *all_tables(coins, DRAWS)[:2], values)
        return as_scalar(values.reshape(shape))


def each(name: str, coin: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The function ``name`` of `mrfbayes.kernels.coins.coin` for one coin at every one of ``values``."""
    from mrfbayes.kernels.coins import coin as kernels

    function, row = getattr(kernels, name), coin.copy()  # kernels compile for writable arrays only
    found = np.array([function(row, value) for value in values.ravel().tolist()], dtype=float)
    return np.asarray(found.reshape((*values.shape, *found.shape[1:])))


def _cut(theta: np.ndarray) -> np.ndarray:
    """Theta inside (0, 1): at the very ends there are limits, reached long before the smallest double."""
    return np.asarray(np.clip(theta, 1e-300, 1.0 - 2.0**-53))


def _logit(theta: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(theta) - np.log1p(-theta))


def _sigmoid(log_odds: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds >= 0.0, 1.0, e) / (1.0 + e))


def numbers_of(values: object, name: str) -> np.ndarray:
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {values!r}: give a number or an array of numbers.") from None


def shape_of(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape of ``size`` draws."""
    try:
        return () if size is None else np.empty(size, dtype=np.int8).shape
    except (TypeError, ValueError):
        raise InputError(f"size = {size!r}: give a whole number >= 0, a shape, or None.") from None


def as_scalar(array: np.ndarray) -> Numbers:
    return float(array) if array.ndim == 0 else array


def _apply(theta: object, inside: Callable[[np.ndarray], np.ndarray], below: float, above: float) -> Numbers:
    """``inside`` on the elements in [0, 1], constants elsewhere, nan where theta is nan."""
    values = numbers_of(theta, "theta")
    out = np.where(values < 0.0, below, np.where(values > 1.0, above, np.nan))
    chosen = (values >= 0.0) & (values <= 1.0)
    if chosen.any():
        out[chosen] = inside(values[chosen])
    return as_scalar(out)
