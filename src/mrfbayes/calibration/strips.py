"""Calibration of long, thin fields: exact moments for thousands of parameters, in bands (`mrfbayes.exact.banded`).

What `calibration.local` takes from particles is exact here: the mode, the information, third cumulants and mean shifts.
Loops are taken window by window (`calibration.windows`) where some windows show that they are worth it; else coins are
matched order to order. They are joined by the same regressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.failures import calibrating
from mrfbayes.base.random_streams import child
from mrfbayes.calibration.blocks import local_blocks
from mrfbayes.calibration.local import WORTHWHILE, Expansion, LocalJoint, Regressions, prior_part
from mrfbayes.calibration.matching import Coins, Targets, coin_moments, match, match_loop, skewness_doubts
from mrfbayes.calibration.result import Calibration
from mrfbayes.calibration.windows import MIDDLE, loop_ratios
from mrfbayes.estimation.estimate import estimate
from mrfbayes.exact.banded import Bands, covariance_band_w, parameter_levels, third_order_band_w
from mrfbayes.exact.quantities import is_feasible
from mrfbayes.exact.recursions import recursion
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from mrfbayes.estimation.problem import Problem

BAND_TOLERANCE = 1e-6  # of a variance: covariances below it at a distance are left out
DISTANCE = 2  # steps that the regressions reach
TYPICAL_REACH = 40  # levels, for the cost
PROBED = 6  # windows on which the worth of loops is measured
STRIP_CELLS = 1e11  # table cells of all directional derivatives, some minutes


@dataclass(frozen=True)
class BandedInverse:
    """S, the inverse of a banded information matrix, by its action.

    Attributes
    ----------
    order : (p,) parameters from one end to the other
    factor : (bandwidth + 1, p) lower Cholesky factor of the information in that order, in LAPACK's band form
    """

    order: np.ndarray
    factor: np.ndarray

    def solve(self, v: np.ndarray) -> np.ndarray:
        """S v."""
        from scipy.linalg import cho_solve_banded

        out = np.empty_like(v)
        out[self.order] = cho_solve_banded((self.factor, True), v[self.order])
        return out

    def half_solve(self, v: np.ndarray) -> np.ndarray:
        """F v with FF' = S: F is the inverse of the transposed factor, in the given order."""
        out = np.empty_like(v)
        out[self.order] = self._triangular(v[self.order], "T")
        return out

    def half_solve_transposed(self, v: np.ndarray) -> np.ndarray:
        """F'v."""
        return np.asarray(self._triangular(v[self.order], "N"))

    def _triangular(self, v: np.ndarray, transpose: str) -> np.ndarray:
        found, _ = self._tbtrs(self.factor, v[:, None], uplo="L", trans=transpose)
        return np.asarray(found[:, 0])

    @cached_property
    def _tbtrs(self):  # type: ignore[no-untyped-def]
        from scipy.linalg import get_lapack_funcs

        return get_lapack_funcs("tbtrs", (self.factor,))


@dataclass(frozen=True)
class StripMode:
    """The posterior mode (p,), what correlates with what, and S there."""

    w: np.ndarray
    bands: Bands
    inverse: BandedInverse


def is_strip(model: Model) -> bool:
    """Whether exact calibration in bands is worth its cost."""
    if not is_feasible(model, "series") or not model.chart.all_coins:
        return False
    try:
        level = parameter_levels(model)
    except InputError:
        return False
    widest = int(np.bincount(level).max())
    directions = 6 * min(level.size, widest * (2 * TYPICAL_REACH + 1))
    return bool(directions * recursion(model).n_bytes("series") / 8 < STRIP_CELLS)


def strip_mode(problem: Problem, tolerance: float = BAND_TOLERANCE) -> StripMode:
    """The mode by quasi-Newton ascent of the exact posterior, and the banded information there."""
    from scipy.linalg import cholesky_banded

    statistics, prior = problem.statistics, problem.prior
    seed = child(problem.seed, "mode")
    found = estimate(problem.model, statistics, algorithm="exact", rng=seed, prior=prior, progress=problem.progress)
    w = np.asarray(found.log_odds, dtype=float)
    covariance, bands = covariance_band_w(problem.model, w, tolerance)
    order = np.argsort(bands.level, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    entries = covariance.tocoo()
    row, column = place[entries.row], place[entries.col]
    below = row >= column
    depth = row[below] - column[below]
    band = np.zeros((int(depth.max(initial=0)) + 1, order.size))
    band[depth, column[below]] = statistics.n * entries.data[below]
    band[0] -= prior.hessian_w(w)[order]
    with calibrating("the banded information is not positive definite at the mode"):
        return StripMode(w, bands, BandedInverse(order, cholesky_banded(band, lower=True)))


def calibrate_strip(problem: Problem, variance: str = "relative") -> Calibration[LocalJoint]:
    """Calibrate thousands of coins to exact moments; ``variance`` as in `mrfbayes.calibration.full.calibrate`."""
    model, n, prior = problem.model, problem.statistics.n, problem.prior
    mode = strip_mode(problem)
    bands = Bands(mode.bands.level, min(2 * mode.bands.reach, int(mode.bands.level.max(initial=0))))
    inverse = mode.inverse
    blocks = local_blocks(model, DISTANCE)
    spread = _rows_within(blocks.offset, blocks.member, bands, inverse)
    squared_sd = spread[blocks.offset[:-1]]
    cubes, mixed = third_order_band_w(model, mode.w, bands, inverse.solve, inverse.half_solve)
    third = prior.third_w(mode.w)
    cube, _ = prior_part(prior, mode.w, spread, squared_sd, blocks.offset, blocks.member)
    shift = 0.5 * (-n * mixed + inverse.solve(squared_sd * third))
    targets = Targets(mode.w, squared_sd, -n * cubes + cube, shift)
    if variance == "order":
        coins, gain = match(*targets), 0.0
    else:
        coins, gain = _with_loops(problem, bands.level, targets, variance == "relative")
    regressions = Regressions.of(blocks, spread, 1)
    details = {
        "calibration": variance if gain > WORTHWHILE else "order",
        "moments": "exact",
        "loop_gain": gain,
        "reach": mode.bands.reach,
        "clipped": coins.clipped,
        "cut_regressions": regressions.dropped,
    }
    warnings = skewness_doubts(targets.spread, targets.third)
    joint = LocalJoint(Expansion.of(coins), regressions)
    return Calibration(coins, joint, None, None, details, tuple(warnings))


def _with_loops(problem: Problem, level: np.ndarray, targets: Targets, relative: bool) -> tuple[Coins, float]:
    """The coins, and by what share loops change the sds of some on average; with loops where that is worth it."""
    where = (problem.model, targets.mode, problem.statistics.n, problem.prior, level, child(problem.seed, "loops"))
    ratios = loop_ratios(*where, every=max(1, (int(level.max(initial=0)) + 1) // (PROBED * MIDDLE)))
    probed = np.flatnonzero(np.isfinite(ratios))
    own = Targets(*(target[probed] for target in targets))
    changed = coin_moments(match_loop(*own, own.spread * ratios[probed], relative))[1]
    gain = float(np.abs(np.sqrt(changed / coin_moments(match(*own))[1]) - 1).mean()) if probed.size else 0.0
    if gain <= WORTHWHILE:
        return match(*targets), gain
    ratios = loop_ratios(*where)
    return match_loop(*targets, targets.spread * np.where(np.isfinite(ratios), ratios, 1.0), relative), gain


def _rows_within(offset: np.ndarray, member: np.ndarray, bands: Bands, inverse: BandedInverse) -> np.ndarray:
    """S_jb for every b in the block of every j; far apart, one solution serves several j."""
    spread = np.empty(member.size)
    p = bands.level.size
    for colour in bands.colours():
        columns = inverse.solve(np.bincount(colour, minlength=p).astype(float))
        for j in colour.tolist():
            block = slice(offset[j], offset[j + 1])
            spread[block] = columns[member[block]]
    return spread
