r"""Coordinates in which parameters that few data inform are nearly Gaussian.

A state that never occurs leaves its threshold to the prior on the left, and puts a wall of height :math:`n p e^t` on
the right. Steps of a Gaussian metric overshoot at such a wall. The walk therefore moves u = (L y)_j, with w_j = c_j +
phi(u); phi turns a normal distribution into the density of w_j alone,

.. math:: \log f(t) = N_1 t - N \log(1 + p (e^t - 1)) + \log \text{prior}(c + t e_j), \qquad
          \phi(u) = F^{-1}(\Phi(u \sqrt{-(\log f)''(0)})),

where N_1 of the N tosses of the parameter's coin were observed, and p is their probability at the mode c. How well f
fits decides how fast the walk mixes, not what it converges to: the Jacobian of phi is part of the target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.estimation.dense_mode import DenseMode
from mrfbayes.priors import Prior

FEW_TOSSES = 8.0  # expected outcomes of either kind below which a parameter may need other coordinates
LEAST_SKEWNESS = 0.5  # of f, from which it gets them: a guess
MOST_TIED = 1.5  # ratio of its sd to that given all others, up to which f describes a parameter: a guess
MAX_TABLE_SDS = 12.0  # sds up to which phi is tabulated; it is linear beyond
WARP_CELLS = 2_048  # of a table
OFFSET_POINTS, MAX_OFFSET_SDS = 4_001, 1e6  # values of t, up to so many sds of the Gaussian at the mode


@dataclass(frozen=True, eq=False)
class Warp:
    """phi of the parameters in ``columns`` (m,), the identity for all others.

    Attributes
    ----------
    scale : (m,) standard deviations of f per unit of u
    tables : (3, m, WARP_CELLS + 1) phi, its derivative, and the derivative of the logarithm of that, in sds
    """

    columns: np.ndarray
    scale: np.ndarray
    tables: np.ndarray

    def evaluate(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Phi, its derivative, and the derivative of the logarithm of that, at u (..., m)."""
        v = u * self.scale
        inside = np.clip(v, -MAX_TABLE_SDS, MAX_TABLE_SDS)
        place = (inside + MAX_TABLE_SDS) * (WARP_CELLS / (2 * MAX_TABLE_SDS))
        cell = np.minimum(place.astype(np.int64), WARP_CELLS - 1)
        share, row = place - cell, np.arange(self.columns.size)
        value, slope, bend = ((1 - share) * table[row, cell] + share * table[row, cell + 1] for table in self.tables)
        return value + slope * (v - inside), slope * self.scale, np.where(v == inside, bend, 0.0) * self.scale

    def offsets(self, u: np.ndarray) -> np.ndarray:
        """W - c (k, p) at u (k, p)."""
        if not self.columns.size:
            return u
        out = u.astype(float)
        out[:, self.columns] = self.evaluate(out[:, self.columns])[0]
        return out

    def gradients(self, u: np.ndarray, gradient: np.ndarray, difference: np.ndarray | None = None) -> None:
        """Turn a gradient (k, p) with respect to w, and a difference of two, into those with respect to u."""
        if not self.columns.size:
            return
        _, slope, bend = self.evaluate(u[:, self.columns].astype(float))
        gradient[:, self.columns] = gradient[:, self.columns] * slope + bend
        if difference is not None:
            difference[:, self.columns] *= slope

    def normal_moments(self, variance: np.ndarray) -> np.ndarray:
        """(3, p) expected powers 1 to 3 of w - c where u is normal with mean 0 and ``variance`` (p,)."""
        out = np.stack([np.zeros_like(variance), variance, np.zeros_like(variance)])
        if self.columns.size:
            z = np.linspace(-9.0, 9.0, 1_001)
            weight = np.exp(-(z**2) / 2)
            weight /= weight.sum()
            value = self.evaluate(z[:, None] * np.sqrt(variance[self.columns]))[0]
            out[:, self.columns] = [weight @ value**power for power in (1, 2, 3)]
        return out


IDENTITY = Warp(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((3, 0, WARP_CELLS + 1)))


def make_warp(prior: Prior, n: float, counts: np.ndarray, expected: np.ndarray, mode: DenseMode) -> Warp:
    """The coordinates of a walk around ``mode``.

    ``counts`` and ``expected`` (p,) are the statistics of ``n`` observations, and those that the mode expects.
    """
    from scipy.linalg import solve_triangular

    chart = prior.chart
    tosses = n * chart.tosses[chart.block_of]
    expected = np.clip(expected, 1e-9 * tosses, (1 - 1e-9) * tosses)
    few = np.minimum(expected, tosses - expected) < FEW_TOSSES
    columns = np.flatnonzero(few & chart.is_counted[chart.block_of])
    if not columns.size:
        return IDENTITY
    p = (expected / tosses)[columns]
    unit = np.zeros((mode.w.size, columns.size))
    unit[columns, np.arange(columns.size)] = 1.0
    scale = np.linalg.norm(solve_triangular(mode.factor, unit), axis=0)  # square roots of the diagonal of S^-1
    end = np.arcsinh(MAX_OFFSET_SDS)
    x = np.linspace(-end, end, OFFSET_POINTS)
    t = np.sinh(x)[:, None] / scale  # (OFFSET_POINTS, m)
    log_f = counts[columns] * t - tosses[columns] * np.logaddexp(np.log1p(-p), np.log(p) + t)
    log_f += _prior_along(prior, mode.w, columns, t)
    log_f -= log_f.max(axis=0)
    mass = np.exp(log_f) * np.cosh(x)[:, None]  # per unit of x
    mass /= mass.sum(axis=0)
    mean = (mass * t).sum(axis=0)
    skewness = (mass * (t - mean) ** 3).sum(axis=0) / (mass * (t - mean) ** 2).sum(axis=0) ** 1.5
    is_alone = mode.sd[columns] * scale < MOST_TIED  # sds given nothing and given all other parameters
    chosen = np.flatnonzero(is_alone & (np.abs(skewness) > LEAST_SKEWNESS))
    tables = [_table(t[:, j], mass[:, j]) for j in chosen]
    return Warp(columns[chosen], scale[chosen], np.stack(tables, axis=1)) if tables else IDENTITY


def _prior_along(prior: Prior, mode: np.ndarray, columns: np.ndarray, t: np.ndarray) -> np.ndarray:
    """(points, m) log prior where one parameter of ``columns`` is moved from the mode by ``t`` (points, m)."""
    chart = prior.chart
    position = columns - chart.offset[chart.block_of[columns]]
    slope = np.empty_like(t)
    for number in np.unique(position):  # blocks are independent: one parameter of each is moved at a time
        moved = np.flatnonzero(position == number)
        w = np.tile(mode, (len(t), 1))
        w[:, columns[moved]] += t[:, moved]
        slope[:, moved] = prior.gradient_w(w)[:, columns[moved]]
    steps = 0.5 * (slope[1:] + slope[:-1]) * np.diff(t, axis=0)
    return np.concatenate([np.zeros((1, t.shape[1])), np.cumsum(steps, axis=0)])


def _table(t: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """(3, WARP_CELLS + 1) phi and its derivatives, of the density with ``mass`` at ``t``."""
    from scipy.interpolate import CubicSpline
    from scipy.special import ndtri

    inner = 0.5 * (mass[1:] + mass[:-1])
    below = np.concatenate([[0.0], np.cumsum(inner)])
    above = np.concatenate([np.cumsum(inner[::-1])[::-1], [0.0]])
    v = np.where(below < above, ndtri(below), -ndtri(above))
    kept = np.flatnonzero(np.isfinite(v) & (np.abs(v) < MAX_TABLE_SDS + 1))
    kept = kept[np.concatenate([[True], np.diff(np.maximum.accumulate(v[kept])) > 1e-6])]
    spline = CubicSpline(v[kept], t[kept])
    grid = np.linspace(-MAX_TABLE_SDS, MAX_TABLE_SDS, WARP_CELLS + 1)
    inside = np.clip(grid, v[kept[0]], v[kept[-1]])
    slope = spline(inside, 1)
    value = spline(inside) + slope * (grid - inside)
    return np.stack([value, slope, np.where(grid == inside, spline(inside, 2) / slope, 0.0)])
