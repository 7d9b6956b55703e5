"""One-loop variances of long, thin fields, window by window.

What the loops add to a variance comes from near by. So windows of some levels are cut out of the field, each with the
log-odds of the mode; a window is a small field of its own, whose loops are known (`calibration.one_loop`). Its ends are
wrong, its middle is right: from there the ratio of the one-loop variance to the leading order is taken, window after
window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.failures import calibrating
from mrfbayes.base.random_streams import child
from mrfbayes.calibration.cumulants import ExactCumulants
from mrfbayes.calibration.expansion import Mode, coin_tensors, third_order
from mrfbayes.calibration.one_loop import Effort, one_loop, usable
from mrfbayes.exact.banded import node_levels
from mrfbayes.model.field import Model
from mrfbayes.model.subfields import sub_field, whole_blocks
from mrfbayes.priors import Prior

MIDDLE, MARGIN = 4, 4  # levels of a window that count, and on either side that do not
NOISE = 4e-3  # of a variance: 0.2 % of an sd
SAMPLES, PAIRS = 65_536, 4_096


@dataclass(frozen=True)
class Window:
    """A piece of the field.

    Attributes
    ----------
    model : the field of the window
    parameter : (q,) which parameter of the whole field each of the window's is
    middle : (q,) those that count
    """

    model: Model
    parameter: np.ndarray
    middle: np.ndarray


def windows(model: Model, level: np.ndarray, every: int = 1) -> Iterator[Window]:
    """Windows whose middles cover the field (or every so many of them); ``level`` is that of the parameters."""
    of_node = node_levels(model)
    for number, first in enumerate(range(0, int(level.max(initial=0)) + 1, MIDDLE)):
        if number % every != every // 2:
            continue
        nodes = np.flatnonzero((of_node >= first - MARGIN) & (of_node <= first + MIDDLE + MARGIN))
        piece = sub_field(model, nodes)
        if piece is None:
            continue
        parameter = model.chart.offset[whole_blocks(model, piece, nodes)]
        own = level[parameter]
        yield Window(piece, parameter, (own >= first) & (own < first + MIDDLE))


def loop_ratios(
    model: Model, w: np.ndarray, n: float, prior: Prior, level: np.ndarray, seed: np.random.SeedSequence, every: int = 1
) -> np.ndarray:
    """One-loop over leading-order variance (p,) of the log-odds at the mode ``w``; nan outside the windows taken."""
    ratios = np.full(w.size, np.nan)
    curvature, third, fourth = -prior.hessian_w(w), prior.third_w(w), prior.fourth_w(w)
    for window in windows(model, level, every):
        j = window.parameter
        cumulants = ExactCumulants(window.model, w[j])
        with calibrating("the information of a window is not positive definite"):
            spread = np.linalg.inv(n * cumulants.covariance + np.diag(curvature[j]))
            spread = (spread + spread.T) / 2
            mode = Mode(w[j], spread, np.linalg.cholesky(spread), cumulants, 0)
        order = third_order(mode, n, coin_tensors(third[j], fourth[j], spread))
        loops = one_loop(mode, n, order, child(seed, "window", int(j.min())), Effort(SAMPLES, PAIRS, NOISE))
        covariance, _ = usable(loops, spread)
        middle = window.middle
        ratios[j[middle]] = (np.diag(covariance) / np.diag(spread))[middle]
    return ratios
