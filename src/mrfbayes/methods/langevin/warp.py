r"""Coordinates in which parameters that few data inform are nearly Gaussian.

A state that never occurs leaves its threshold to the prior on the left, and puts a wall of height :math:`n p e^t` on
the right. Steps of a Gaussian metric overshoot at such a wall. It stands across the log-odds of the state, to which the
couplings of its variable contribute: :math:`\eta = a^T w`, the gradient of the state's log-odds at the mode c, with
a_j = 1. The walk therefore moves u = L y, with

.. math:: w = c + u + e_j \big(\phi(a^T u) - a^T u\big),

which changes eta alone: the couplings are those of u. phi turns a normal distribution into the density of eta where all
couplings are those of the mode,

.. math:: \log f(t) = N_1 t - N \log(1 + p (e^t - 1)) + \log \text{prior}(c + t e_j), \qquad
          \phi(v) = F^{-1}(\Phi(v \sqrt{-(\log f)''(0)})),

where N_1 of the N tosses of the parameter's coin were observed, and p is their probability at the mode. How well f
fits decides how fast the walk mixes, not what it converges to: the Jacobian of phi is part of the target.

The whitening map of a walk: a triangular factor, and a rotation that puts a few directions first.

.. math:: w - c = L Q y, \qquad L L^T = S, \quad Q \text{ orthogonal with the chosen directions } U
          \text{ as its first columns}

L is upper triangular and kept in single precision, as it is: its products with a handful of vectors are limited by
memory, and half of a square is half of the time. Q is never written out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from mrfbayes.estimation.dense_mode import DenseMode
from mrfbayes.methods.problem import Problem
from mrfbayes.model.field import Model
from mrfbayes.particles.moments import row_statistics
from mrfbayes.particles.sweeps import in_threads
from mrfbayes.priors import Prior

FEW_TOSSES = 8.0  # expected outcomes of either kind below which a parameter may need other coordinates
LEAST_SKEWNESS = 0.5  # of f, from which it gets them: a guess
MOST_TIED = 1.5  # ratio of its sd to that given all others, up to which f describes a parameter: a guess
MAX_TABLE_SDS = 12.0  # sds up to which phi is tabulated; it is linear beyond
WARP_CELLS = 2_048  # of a table
FORM_ROWS = 256  # particles that the gradient of a state's log-odds is found from
OFFSET_POINTS, MAX_OFFSET_SDS = 4_001, 1e6  # values of t, up to so many sds of the Gaussian at the mode
PANEL = 512  # rows or columns of the factor that are multiplied at a time


@dataclass(frozen=True, eq=False)
class Warp:
    """phi of the parameters in ``columns`` (m,), the identity for all others.

    Attributes
    ----------
    forms : (m, p) a of every column; 0 in all other columns
    scale : (m,) standard deviations of f per unit of u
    tables : (3, m, WARP_CELLS + 1) phi, its derivative, and the derivative of the logarithm of that, in sds
    """

    columns: np.ndarray
    forms: sparse.csr_array
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
        eta = (self.forms @ out.T).T
        out[:, self.columns] += self.evaluate(eta)[0] - eta
        return out

    def gradients(self, u: np.ndarray, gradient: np.ndarray, difference: np.ndarray | None = None) -> None:
        """Turn a gradient (k, p) with respect to w, and a difference of two, into those with respect to u."""
        if not self.columns.size:
            return
        _, slope, bend = self.evaluate((self.forms @ u.T.astype(float)).T)
        gradient += (gradient[:, self.columns] * (slope - 1) + bend) @ self.forms
        if difference is not None:
            difference += (difference[:, self.columns] * (slope - 1)) @ self.forms

    def normal_moments(self, metric: Whitening, unit_variances: np.ndarray) -> np.ndarray:
        """(3, p) expected powers 1 to 3 of w - c for normal y with mean 0 and variances ``unit_variances`` (p,)."""
        variance = metric.variances(unit_variances)
        out = np.stack([np.zeros_like(variance), variance, np.zeros_like(variance)])
        if self.columns.size:
            form = metric.back(self.forms.toarray())
            own = metric.back(np.equal.outer(self.columns, np.arange(variance.size)))
            of_form, shared = form**2 @ unit_variances, (form * own) @ unit_variances
            z = np.linspace(-9.0, 9.0, 1_001)
            weight = np.exp(-(z**2) / 2)
            weight /= weight.sum()
            eta = z[:, None] * np.sqrt(of_form)
            # u_j is what eta tells of it, and a rest that is independent of eta and normal.
            value = self.evaluate(eta)[0] + eta * (shared / of_form - 1)
            rest = np.maximum(variance[self.columns] - shared**2 / of_form, 0.0)
            mean, square, cube = (weight @ value**power for power in (1, 2, 3))
            out[:, self.columns] = [mean, square + rest, cube + 3 * rest * mean]
        return out


IDENTITY = Warp(np.zeros(0, dtype=np.int64), sparse.csr_array((0, 0)), np.zeros(0), np.zeros((3, 0, WARP_CELLS + 1)))


def make_warp(problem: Problem, counts: np.ndarray, expected: np.ndarray, mode: DenseMode) -> Warp:
    """The coordinates of a walk around ``mode``.

    ``counts`` and ``expected`` (p,) are the statistics of all observations, and those that the mode expects.
    """
    from scipy.linalg import solve_triangular

    prior, chart = problem.prior, problem.model.chart
    tosses = problem.statistics.n_all * chart.tosses[chart.block_of]
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
    skewed = np.flatnonzero(np.abs(skewness) > LEAST_SKEWNESS)
    forms = _forms(problem.model, mode, columns[skewed], p[skewed] < 0.5)
    sd = np.linalg.norm(sparse.csr_array(forms) @ mode.factor, axis=1)
    is_alone = sd * scale[skewed] < MOST_TIED  # sds of eta given nothing and given all other parameters
    chosen = skewed[is_alone]
    if not chosen.size:
        return IDENTITY
    forms = forms[is_alone]
    forms[:, columns[chosen]] = np.eye(chosen.size)
    tables = np.stack([_table(t[:, j], mass[:, j]) for j in chosen], axis=1)
    return Warp(columns[chosen], sparse.csr_array(forms), scale[chosen], tables)


def _forms(model: Model, mode: DenseMode, columns: np.ndarray, is_rare: np.ndarray) -> np.ndarray:
    """(m, p) gradients at the mode of the log-odds of what hardly occurs, with 1 in its own column.

    That is a high value of the statistic of a column where ``is_rare`` (m,), a low one elsewhere. Couplings have no
    log-odds but themselves.
    """
    rows = mode.rows[:: -(-len(mode.rows) // FORM_ROWS)]
    before = row_statistics(model, rows)
    forms = np.zeros((columns.size, mode.w.size))
    forms[np.arange(columns.size), columns] = 1.0
    offset, block = model.chart.offset, model.chart.block_of[columns]
    for group in (group for group in model.groups if group.arity == 1):
        for number in np.flatnonzero(np.isin(block, group.block)):
            node = group.scope[group.block == block[number], 0]
            statistic = group.statistics[columns[number] - offset[block[number]]]
            moved = rows.copy()
            moved[:, node] = statistic.argmax() if is_rare[number] else statistic.argmin()
            change = row_statistics(model, moved) - before
            change = change[change[:, columns[number]] != 0]
            if len(change) and node.size == 1:
                logit = change @ mode.w
                total = np.exp(logit - logit.max()) @ change
                forms[number] = total / total[columns[number]]
    return forms


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


class Whitening:
    """``factor`` (p, p) upper triangular and ``directions`` (p, m) orthonormal, m may be 0; products in ``threads``."""

    def __init__(self, factor: np.ndarray, directions: np.ndarray, threads: int = 1) -> None:
        self._threads = threads
        self.factor = np.ascontiguousarray(factor, dtype=np.float32)
        self.directions = directions
        m = directions.shape[1]
        # With U rotated within its span so that its upper square is symmetric and not negative, and E the first m unit
        # vectors, H = B (I + E^T U)^-1 B^T - I with B = U + E is orthogonal, symmetric, and sends E to the span of U.
        left, _, right = np.linalg.svd(directions[:m])
        own = directions @ (right.T @ left.T)
        self._b = own.copy()
        self._b[:m] += np.eye(m)
        self._inner = np.linalg.inv(np.eye(m) + (own[:m] + own[:m].T) / 2) @ self._b.T
        self.first = np.concatenate(
            [self.factor[k : k + PANEL, k:] @ directions[k:].astype(np.float32) for k in range(0, len(factor), PANEL)]
        )  # (p, m): the first columns of L Q

    def turn(self, rows: np.ndarray) -> np.ndarray:
        """``rows`` (k, p) times Q."""
        m = self.directions.shape[1]
        if not m:
            return rows
        out = (rows @ self._b) @ self._inner - rows
        out[:, :m] = rows @ self.directions
        return np.asarray(out)

    def turn_back(self, rows: np.ndarray) -> np.ndarray:
        """``rows`` (k, p) times Q^T."""
        m = self.directions.shape[1]
        if not m:
            return rows
        rest = rows.copy()
        rest[:, :m] = 0.0
        return np.asarray(rows[:, :m] @ self.directions.T + (rest @ self._b) @ self._inner - rest)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """L Q y for rows y (k, p), in single precision."""
        z = self.turn_back(y).astype(np.float32)

        def product(k: int) -> np.ndarray:
            return np.asarray(z[:, k:] @ self.factor[k : k + PANEL, k:].T)

        return np.concatenate(in_threads(product, range(0, z.shape[1], PANEL), self._threads), axis=1)

    def back(self, gradient: np.ndarray) -> np.ndarray:
        """Q^T L^T g for rows g (k, p)."""
        g = gradient.astype(np.float32)

        def product(k: int) -> np.ndarray:
            return np.asarray(g[:, : k + PANEL] @ self.factor[: k + PANEL, k : k + PANEL])

        parts = in_threads(product, range(0, g.shape[1], PANEL), self._threads)
        return self.turn(np.concatenate(parts, axis=1).astype(float))

    def back_first(self, gradient: np.ndarray) -> np.ndarray:
        """The first m coordinates of `back`."""
        return np.asarray(gradient.astype(np.float32) @ self.first)

    def variances(self, unit_variances: np.ndarray) -> np.ndarray:
        """(p,) diagonal of (L Q) diag(unit_variances) (L Q)^T."""
        found = [
            self.turn(self.factor[k : k + PANEL].astype(float)) ** 2 @ unit_variances
            for k in range(0, len(self.factor), PANEL)
        ]
        return np.concatenate(found)
