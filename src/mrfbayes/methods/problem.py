"""What a method is given (`Problem`), and what it gives back (`Prepared`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from mrfbayes.base.types import View
from mrfbayes.estimation.estimate import Problem as Problem

if TYPE_CHECKING:
    from mrfbayes.calibration.expansion import Accuracy
    from mrfbayes.coins.induced import Induced
    from mrfbayes.methods.langevin.walk import Walk


@dataclass(frozen=True)
class Smooth:
    """A log-likelihood with derivatives in the log-odds w, and the Gaussian that the posterior resembles.

    Attributes
    ----------
    gradient : a view whose kernel fulfils ``log_likelihood_gradient``, or a function from w (p,) to the log-likelihood
        there, up to a constant, and its gradient (p,); such a function travels to worker processes. It may raise an
        `ArithmeticError` where it cannot tell: such points are not visited
    mode : (p,) the w at which the posterior density of w is largest, or nearly
    information : (p, p) minus the second derivatives of the log posterior there, or (p,) their diagonal
    """

    gradient: View | Callable[[np.ndarray], tuple[float, np.ndarray]]
    mode: np.ndarray
    information: np.ndarray


@dataclass(frozen=True)
class Prepared:
    """A method ready to run.

    Attributes
    ----------
    view : the NamedTuple that its kernels take; every array in it contiguous and writable
    is_exact : whether an approximate method has the exact posterior here
    is_ratio : whether it fulfils ``log_ratio`` rather than ``log_likelihood``
    carry : makes the view's changing arrays for one chain from its seed and its start, or None
    draw : makes independent draws ``(n, seed) -> (n, p)`` of theta, where the method can do without a chain
    draw_log_odds : makes the same draws as log-odds, which keep what theta rounds away, where the method has them
    induced : the coins and their copula, where the likelihood is made of them, or None
    gradient : as in `Smooth`, where the likelihood has derivatives, or None; a function where there is no view
    smooth : makes what Hamiltonian Monte Carlo needs, where the likelihood has derivatives, or None
    keeps_noise : whether ratios stay noisy however small the step, so that no scale reaches a wanted acceptance: then
        only the proposal's shape is learned, and its scale is that which suits a normal target
    walk : makes the replicas of a method that walks by itself ``(chains, warmup, thin) -> Walk``, or None
    moments : mean and sd (p,) of theta where they are known without draws, or None
    quantile : makes the quantiles (p,) of the log-odds at a probability where they are known without draws, or None
    sd_error : relative Monte-Carlo standard error (p,) of the sds where they come from particles, or None
    accuracy : what bounds the error of a calibration from particles, or None
    uses_threads : whether the preparation ran in as many threads as ``workers`` says
    unused : options of the method that play no part here, each with the reason
    details : facts for the result (settings as used, figures found on the way)
    warnings : what the reader of the result has to know, said aloud
    notes : what is known of the method in general and only written down
    """

    view: View | None
    is_exact: bool = False
    is_ratio: bool = False
    carry: Callable[[np.random.SeedSequence, np.ndarray], dict[str, np.ndarray]] | None = None
    draw: Callable[[int, np.random.SeedSequence], np.ndarray] | None = None
    draw_log_odds: Callable[[int, np.random.SeedSequence], np.ndarray] | None = None
    induced: Induced | None = None
    gradient: View | Callable[[np.ndarray], tuple[float, np.ndarray]] | None = None
    smooth: Callable[[], Smooth] | None = None
    keeps_noise: bool = False
    walk: Callable[[int, int, int], Walk] | None = None
    moments: tuple[np.ndarray, np.ndarray] | None = None
    quantile: Callable[[float], np.ndarray] | None = None
    sd_error: np.ndarray | None = None
    accuracy: Accuracy | None = None
    uses_threads: bool = False
    unused: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def writable(array: object, dtype: DTypeLike = np.float64) -> np.ndarray:
    """A contiguous, writable copy: any other kind of array would compile the kernels anew."""
    return np.array(array, dtype=dtype, order="C", copy=True)
