r"""Log Z of a field with one agreement coupling w for all edges, as a curve over an interval of w.

.. math:: A(w) = \log \sum_x e^{w S(x)}, \qquad A'(w) = E_w[S]

Where a recursion is quick the curve is exact: A and A' at points that are halved until the cubic polynomials between
them are right. Elsewhere chains at a ladder of couplings give the density of states by the multiple-histogram method
(Ferrenberg & Swendsen 1989; Shirts & Chodera 2008), and leaving out one chain after another gives its error.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.random_streams import child, kernel_state
from mrfbayes.exact.choice import predicted_seconds
from mrfbayes.exact.quantities import moments_w
from mrfbayes.kernels.particles.cluster import potts_chains
from mrfbayes.model.build import grid
from mrfbayes.model.field import Model

EXACT_CURVE_SECONDS = 0.3  # of A and A' at one coupling, up to which the curve is exact; sampled it takes some seconds
MAX_CURVE_ERROR = 2e-3  # of log Z halfway between two points of an exact curve; it is 1/16 of that after halving
MAX_MEAN_ERROR, MAX_SD_ERROR = 0.04, 0.006  # of a posterior, in its sds, with which a sampled curve is good enough
REFINED_SDS = 2.0  # posterior sds to both sides of the mean within which it has to be
REGION_SDS = 7.0  # posterior sds to both sides of the mean that a curve covers, before rounding
N_CHAINS = 8  # of each coupling on the ladder, half of them started from one colour
LADDER_SDS = 1.5  # distance of neighbouring couplings on the ladder, in sds of S
ROUND_SWEEPS = 64  # per chain and coupling between two looks at the error
MAX_ROUNDS = 40
POINTS_PER_SD = 2.5  # of the table of a sampled curve, in sds of S: its polynomials are right to 1e-4
PILOT_SIDE = 32  # rows and columns of the grid whose curve tells about where a larger one is needed
KEPT_CURVES = 32
_CURVES: OrderedDict[tuple[object, ...], LogZCurve] = OrderedDict()


class Region(NamedTuple):
    """An interval of couplings, and the mean and sd of the posterior that a curve is needed for, about."""

    low: float
    high: float
    mean: float
    sd: float

    @classmethod
    def around(cls, mean: float, sd: float, low: float, high: float) -> Region:
        """The couplings within `REGION_SDS` of the mean, both rounded so that similar posteriors share a curve.

        The rounded sd is within a fifth of the given one, the rounded mean within a quarter of that.
        """
        unit = math.sqrt(2.0 ** round(2 * math.log2(sd)))
        middle, reach = unit / 2 * round(2 * mean / unit), unit * REGION_SDS
        return cls(max(middle - reach, low), min(middle + reach, high), middle, unit)


@dataclass(frozen=True, eq=False)
class LogZCurve:
    """A(w) on an interval.

    Attributes
    ----------
    w, log_z, mean : (k,) ascending couplings, A and A' = E[S] there; between them A is a cubic polynomial
    leave_one_out : curves from all chains but one, for errors of what the curve leads to; empty where it is exact
    """

    w: np.ndarray
    log_z: np.ndarray
    mean: np.ndarray
    leave_one_out: tuple[LogZCurve, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether no samples were used."""
        return not self.leave_one_out

    def scaled(self, factor: float) -> LogZCurve:
        """The curve of a field that is ``factor`` times as large, about."""
        others = tuple(other.scaled(factor) for other in self.leave_one_out)
        return LogZCurve(self.w, factor * self.log_z, factor * self.mean, others)

    def errors(self, mean: float, sd: float, n: float = 1.0) -> tuple[float, float]:
        """Standard errors of a normal posterior's mean and sd, in its sds, that the curve of n observations causes."""
        if self.is_exact:
            return 0.0, 0.0
        y = np.linspace(-4.0, 4.0, 161)
        w = np.clip(mean + sd * y, self.w[0], self.w[-1])
        density = np.exp(-0.5 * y**2 + n * (self(w) - np.array([other(w) for other in self.leave_one_out])))
        density /= density.sum(axis=1, keepdims=True)
        means = density @ y
        sds = np.sqrt(density @ y**2 - means**2)
        jackknife = math.sqrt(len(means) - 1)
        return float(jackknife * means.std()), float(jackknife * sds.std())

    def __call__(self, w: np.ndarray, derivative: int = 0) -> np.ndarray:
        """A or a derivative of it at w, by the cubic polynomials."""
        from scipy.interpolate import CubicHermiteSpline

        return np.asarray(CubicHermiteSpline(self.w, self.log_z, self.mean)(w, derivative))


@dataclass(frozen=True, eq=False)
class TiedField:
    """A field in which all edges share one agreement coupling, on nodes with the same number of states.

    Attributes
    ----------
    model : the field
    pilot : a smaller field whose curve, scaled by the numbers of edges, resembles that of this one; None for itself
    """

    model: Model
    pilot: TiedField | None = None

    @classmethod
    def on_grid(cls, rows: int, columns: int, n_states: int, neighbours: int = 4) -> TiedField:
        """The field on a grid, with a smaller grid as its pilot."""
        model = grid(rows, columns, states=n_states, tied=True, neighbours=neighbours)
        if max(rows, columns) <= PILOT_SIDE:
            return cls(model)
        return cls(model, cls.on_grid(min(rows, PILOT_SIDE), min(columns, PILOT_SIDE), n_states, neighbours))

    @property
    def n_states(self) -> int:
        """States of every node."""
        return int(self.model.states[0])

    @cached_property
    def pairs(self) -> np.ndarray:
        """(m, 2) int32 ends of the edges."""
        return np.ascontiguousarray(self.model.edges, dtype=np.int32)

    @cached_property
    def neighbours(self) -> np.ndarray:
        """(n, k) int32 neighbours of every node, -1 where there are fewer than k."""
        ends = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        ends = ends[np.argsort(ends[:, 0], kind="stable")]
        degree = np.bincount(ends[:, 0], minlength=self.model.n_nodes)
        place = np.arange(len(ends)) - np.repeat(np.cumsum(degree) - degree, degree)
        found = np.full((self.model.n_nodes, max(int(degree.max(initial=0)), 1)), -1, dtype=np.int32)
        found[ends[:, 0], place] = ends[:, 1]
        return found

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what the curve depends on."""
        known = hashlib.sha256(f"{self.n_states} {self.model.n_nodes}".encode())
        known.update(self.pairs.data)
        return known.hexdigest()

    def moments(self, w: float) -> tuple[float, float]:
        """Exact A and A' at w."""
        value, mean = moments_w(self.model, np.array([w]))
        return value, float(mean[0])

    @cached_property
    def is_exact(self) -> bool:
        """Whether A and A' take little time at one coupling."""
        return predicted_seconds(self.model, "moments") < EXACT_CURVE_SECONDS


def pilot_curve(field: TiedField, low: float, high: float) -> LogZCurve:
    """A rough curve that shows where between ``low`` and ``high`` a better one is needed."""
    small = field.pilot or field
    curve = log_z_curve(small, Region(low, high, (low + high) / 2, high - low), 0.0)
    return curve.scaled(field.model.n_edges / max(small.model.n_edges, 1))


def log_z_curve(field: TiedField, region: Region, n: float = 1.0) -> LogZCurve:
    """The curve in a region; a sampled one as good as the posterior of ``n`` observations there needs it.

    The same call gives the same curve, whatever was asked before: it has random numbers of its own.
    """
    key = (field.digest, region[:2]) if field.is_exact else (field.digest, region, n)
    if key not in _CURVES:
        if field.is_exact:
            _CURVES[key] = _exact_curve(field, region.low, region.high)
        else:
            _CURVES[key] = _Ladder(field, region.low, region.high).curve(region, n)
        if len(_CURVES) > KEPT_CURVES:
            _CURVES.popitem(last=False)
    return _CURVES[key]


def _exact_curve(field: TiedField, low: float, high: float) -> LogZCurve:
    """A and A' at points that are halved until the middle of every interval is right."""
    known: dict[float, tuple[float, float]] = {}

    def at(w: float) -> tuple[float, float]:
        if w not in known:
            known[w] = field.moments(w)
        return known[w]

    open_ = [(low + (high - low) * k / 4, low + (high - low) * (k + 1) / 4) for k in range(4)]
    while open_:
        left, right = open_.pop()
        (a, slope_a), (b, slope_b), middle = at(left), at(right), (left + right) / 2
        guess = (a + b) / 2 + (right - left) * (slope_a - slope_b) / 8
        if abs(at(middle)[0] - guess) > MAX_CURVE_ERROR:
            open_ += [(left, middle), (middle, right)]
    w = np.array(sorted(known))
    values = np.array([known[v] for v in w.tolist()])
    return LogZCurve(w, values[:, 0], values[:, 1])


class _Ladder:
    """Chains at a ladder of couplings from ``low`` to ``high``."""

    def __init__(self, field: TiedField, low: float, high: float) -> None:
        self.field, self.low, self.high = field, low, high
        key = child(np.random.SeedSequence(0), field.digest[:16], f"{low:.12g} {high:.12g}")
        self.states = np.stack([kernel_state(key, k) for k in range(N_CHAINS)])
        self.rungs: list[float] = []
        self.ends: list[np.ndarray] = []  # of each rung: where its chains are
        self.found: list[list[np.ndarray]] = []  # of each rung: S (chains, sweeps) of every round
        self._climb()

    def _run(self, w: float, x: np.ndarray, skipped: int, sweeps: int) -> np.ndarray:
        agreements = np.zeros((N_CHAINS, sweeps), dtype=np.int32)
        field = self.field
        potts_chains((field.pairs, field.neighbours), field.n_states, w, x, skipped, self.states, agreements)
        return agreements

    def _climb(self) -> None:
        """The first round: chains go up, each rung starting from the one below; so far apart that S overlaps."""
        n, q = self.field.model.n_nodes, self.field.n_states
        random = np.random.default_rng(int(self.field.digest[:12], 16))
        x = random.integers(0, q, (N_CHAINS, n)).astype(np.uint8)
        if self.low >= 0.0:
            x[::2] = 0
        w, skipped = self.low, 4 * ROUND_SWEEPS
        while True:
            budget().check("log Z of the field")
            agreements = self._run(w, x, skipped, ROUND_SWEEPS)
            self.rungs.append(w)
            self.ends.append(x.copy())
            self.found.append([agreements])
            if w >= self.high:
                return
            step = LADDER_SDS / max(float(agreements.std()), 0.5)
            w = self.high if w + 1.5 * step > self.high else w + step
            skipped = ROUND_SWEEPS // 4

    def curve(self, region: Region, n: float) -> LogZCurve:
        """The curve, from as many rounds near the posterior as its error needs."""
        rounds, reach = 1, REFINED_SDS * region.sd
        ends = [-math.inf, *self.rungs, math.inf]
        near = [b > region.mean - reach and a < region.mean + reach for a, b in zip(ends, ends[2:], strict=False)]
        while True:
            curve = self._solve()
            mean_error, sd_error = curve.errors(region.mean, region.sd, n)
            error = max(mean_error / MAX_MEAN_ERROR, sd_error / MAX_SD_ERROR)
            if error <= 1.0 or rounds >= MAX_ROUNDS:
                return curve
            more = min(max(math.ceil(rounds * min(error**2 - 1.0, 3.0)), 1), MAX_ROUNDS - rounds)
            for k in np.flatnonzero(near).tolist():
                budget().check("log Z of the field")
                self.found[k].append(self._run(self.rungs[k], self.ends[k], 0, more * ROUND_SWEEPS))
            rounds += more

    def _solve(self) -> LogZCurve:
        """The curve from all chains; its error from leaving out one after the other."""
        samples = [np.concatenate(found, axis=1) for found in self.found]
        rungs = np.array(self.rungs)
        whole = _Histogram(rungs, samples)
        largest = max(float(s.std()) for s in samples)
        w = np.linspace(self.low, self.high, max(8, math.ceil(POINTS_PER_SD * largest * (self.high - self.low))))
        log_z, mean = whole.at(w)
        others = tuple(
            LogZCurve(w, *_Histogram(rungs, [np.delete(s, k, axis=0) for s in samples], whole.log_z).at(w))
            for k in range(N_CHAINS)
        )
        return LogZCurve(w, log_z, mean, others)


class _Histogram:
    """The density of states from samples of S at several couplings."""

    def __init__(self, rungs: np.ndarray, samples: list[np.ndarray], start: np.ndarray | None = None) -> None:
        self.s, count = np.unique(np.concatenate([part.ravel() for part in samples]), return_counts=True)
        self.s = self.s.astype(float)
        size = np.array([part.size for part in samples], dtype=float)
        if start is None:
            means = np.array([part.mean() for part in samples])
            start = np.concatenate([[0.0], np.cumsum(np.diff(rungs) * (means[1:] + means[:-1]) / 2)])
        self.log_z = solve_weights(rungs * self.s[:, None], count.astype(float), size, start)
        mixture = rungs * self.s[:, None] - self.log_z + np.log(size)
        self.log_density = np.log(count) - log_sum(mixture)

    def at(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A and E[S] at each of ``w``; A is 0 at the first rung."""
        logs = w[:, None] * self.s + self.log_density
        log_z = log_sum(logs)
        return log_z, np.exp(logs - log_z[:, None]) @ self.s


def log_sum(logs: np.ndarray) -> np.ndarray:
    """(k,) logarithms of the sums of exp over the rows of ``logs`` (k, m)."""
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))


def solve_weights(rows: np.ndarray, count: np.ndarray, size: np.ndarray, log_z: np.ndarray) -> np.ndarray:
    """Log Z at several places, 0 at the first: where each gets as much of the pooled samples as it gave (Newton steps).

    ``rows`` (k, places) are the log weights of the samples at the places, ``count`` (k,) how often each occurs,
    ``size`` how many came from each place, ``log_z`` where to start.
    """
    log_z = log_z - log_z[0]
    for _ in range(100):
        logs = rows - log_z + np.log(size)
        share = np.exp(logs - log_sum(logs)[:, None])
        total = count @ share
        curvature = np.diag(total) - share.T @ (count[:, None] * share)
        step = np.zeros(size.size)
        step[1:] = np.linalg.solve(curvature[1:, 1:] + 1e-12 * np.eye(size.size - 1), (total - size)[1:])
        log_z = log_z + np.clip(step, -2.0, 2.0)
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    return log_z
