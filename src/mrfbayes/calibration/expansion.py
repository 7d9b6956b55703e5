r"""The mode of the posterior in log-odds, and its derivatives there to third order.

With L the log posterior in log-odds w and S the inverse of minus its Hessian at the mode,

.. math::
    \kappa_j = L_{abc} S_{aj} S_{bj} S_{cj}, \qquad \delta_j = \tfrac12 S_{jc} L_{abc} S_{ab}

are the third cumulant of w_j and the shift of its mean from the mode. L's derivatives are -n times the field's
cumulants plus those of the prior; both come from directional derivatives of the expected statistics. The covariance
beyond S is in `mrfbayes.calibration.one_loop`, the coin with these cumulants in `mrfbayes.calibration.matching`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import CalibrationError, calibrating
from mrfbayes.calibration.cumulants import Cumulants, cumulants_at
from mrfbayes.estimation.optimise import newton
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.clamped import Observed
from mrfbayes.model.field import Model
from mrfbayes.priors import Prior

_TOLERANCE = 1e-9  # posterior sds
_DIFFERENCE = 1e-4  # log-odds, for derivatives of the Hessian of a die's prior


@dataclass(frozen=True)
class Mode:
    """The posterior mode in log-odds and the curvature there.

    Attributes
    ----------
    w : (p,) log-odds
    covariance : (p, p) S, the inverse of minus the Hessian
    factor : (p, p) lower Cholesky factor of S
    cumulants : the field's statistics at the mode
    steps : Newton steps taken
    """

    w: np.ndarray
    covariance: np.ndarray
    factor: np.ndarray
    cumulants: Cumulants
    steps: int

    @classmethod
    def at(cls, w: np.ndarray, information: np.ndarray, cumulants: Cumulants, steps: int, share: float = 1.0) -> Mode:
        """The mode w with the inverse of its information (p, p), times ``share``."""
        with calibrating("the information at the posterior mode is not positive definite"):
            inverse = np.linalg.inv(information) * share
            inverse = (inverse + inverse.T) / 2
            return cls(w, inverse, np.linalg.cholesky(inverse), cumulants, steps)


@dataclass(frozen=True)
class Accuracy:
    """What is known of the error of a calibration whose moments come from particles.

    Attributes
    ----------
    w : (p,) the mode that was found
    mode : how far it is off, in posterior sds (root mean square)
    sd_noise : relative Monte-Carlo error of the sds, on average
    disagreement : of particles from the data and from random starts, in standard errors; 1 is what chance makes
    """

    w: np.ndarray
    mode: float
    sd_noise: float
    disagreement: float = 1.0


def prior_information(prior: Prior, w: np.ndarray) -> np.ndarray:
    """Minus the prior's Hessian in w, (p, p)."""
    hessian = prior.hessian_w(w)
    return np.asarray(-(np.diag(hessian) if hessian.ndim == 1 else hessian))


class _LogPosterior:
    """The log posterior in w; keeps the point whose curvature was asked for last, and the field's statistics there."""

    def __init__(self, model: Model, data: Observed, prior: Prior) -> None:
        self.model, self.data, self.prior = model, data, prior
        self.w, self.information = np.zeros(0), np.zeros((0, 0))
        self.cumulants: Cumulants

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient (p,)."""
        value, gradient = self.data.value_gradient(w, *exact.moments_w(self.model, w))
        return value + self.prior.log_density_w(w), gradient + self.prior.gradient_w(w)

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Minus the Hessian, (p, p)."""
        self.w, self.cumulants = w, cumulants_at(self.model, w, self.data)
        self.information = self.data.n * self.cumulants.covariance + prior_information(self.prior, w)
        return self.information


def find_mode(model: Model, data: Observed, prior: Prior, start: np.ndarray) -> Mode:
    """The mode of the posterior in w, which exists under every proper prior, and the curvature there."""
    posterior = _LogPosterior(model, data, prior)
    ascent = newton(posterior, start, tolerance=_TOLERANCE)
    budget().check("the posterior mode")
    if not ascent.converged:
        raise CalibrationError(
            f"no posterior mode after {ascent.iterations} Newton steps: the last was {ascent.step:.2g} posterior sds "
            "long; use method='exact' with engine='mh', or a prior that is less flat."
        )
    return Mode.at(posterior.w, posterior.information, posterior.cumulants, ascent.iterations - 1)


@dataclass(frozen=True)
class PriorTensors:
    """The prior's third derivatives as entries (index triples and values), and its fourth contracted with S."""

    index: np.ndarray  # (3, m)
    value: np.ndarray  # (m,)
    fourth: np.ndarray  # (p, p) L_abcd S_cd

    def contract(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """t[., u, v] (k, p) for rows u of ``left`` and v of ``right``, both (k, p)."""
        out = np.zeros_like(left)
        first, second, third = self.index
        terms = self.value * left[:, second] * right[:, third]
        np.add.at(out.T, first, terms.T)
        return out


def coin_tensors(third: np.ndarray, fourth: np.ndarray, covariance: np.ndarray) -> PriorTensors:
    """Of a prior that treats every log-odds by itself, from its third and fourth derivatives (p,)."""
    j = np.arange(third.size)
    return PriorTensors(np.stack([j, j, j]), third, np.diag(fourth * np.diag(covariance)))


def prior_tensors(prior: Prior, w: np.ndarray, covariance: np.ndarray) -> PriorTensors:
    """Third and fourth derivatives of the log prior at w: diagonal for coins, within the block for dice."""
    p = w.size
    chart = prior.chart
    if chart.all_coins:
        return coin_tensors(prior.third_w(w), prior.fourth_w(w), covariance)
    # Dice: central differences of the Hessian, block by block; all blocks move at once, in turn for each outcome.
    place = np.arange(p) - chart.offset[chart.block_of]
    same = chart.block_of[:, None] == chart.block_of[None, :]
    within = np.linalg.cholesky(np.where(same, covariance, 0.0))
    indices, values = [], []
    fourth = np.zeros((p, p))
    a, b = np.nonzero(same)
    for outcome in range(int(place.max()) + 1):
        moved = np.flatnonzero(place == outcome)
        step = np.where(place == outcome, _DIFFERENCE, 0.0)
        slope = (prior.hessian_w(w + step) - prior.hessian_w(w - step)) / (2 * _DIFFERENCE)
        mover = np.full(chart.n_blocks, -1)
        mover[chart.block_of[moved]] = moved
        c = mover[chart.block_of[a]]
        keep = c >= 0
        indices.append(np.stack([a[keep], b[keep], c[keep]]))
        values.append(slope[a[keep], b[keep]])
        step = 30 * _DIFFERENCE * within[:, moved].sum(axis=1) / np.sqrt(np.abs(np.diag(covariance)).max())
        bend = prior.hessian_w(w + step) + prior.hessian_w(w - step) - 2 * prior.hessian_w(w)
        fourth += bend * np.abs(np.diag(covariance)).max() / (30 * _DIFFERENCE) ** 2
    return PriorTensors(np.concatenate(indices, axis=1), np.concatenate(values), fourth)


@dataclass(frozen=True)
class ThirdOrder:
    """Third-order quantities of the log posterior at its mode.

    Attributes
    ----------
    third : (p,) kappa, the third cumulants
    shift : (p,) delta, mean minus mode
    trace_terms : (p, p) row k is the field's kappa[., c_k, c_k], c_k the columns of a factor of S
    along : (p, p) row j is the field's kappa[., P_j, P_j]
    tensors : the prior's own derivatives
    """

    third: np.ndarray
    shift: np.ndarray
    trace_terms: np.ndarray
    along: np.ndarray
    tensors: PriorTensors


def third_order(mode: Mode, n: float, tensors: PriorTensors) -> ThirdOrder:
    """Third cumulant and mean shift of every log-odds, from 2p directional derivatives."""
    covariance = mode.covariance
    along = mode.cumulants.contract_third(covariance)
    third = ((-n * along + tensors.contract(covariance, covariance)) * covariance).sum(axis=1)
    columns = np.ascontiguousarray(mode.factor.T)
    trace_terms = mode.cumulants.contract_third(columns)
    shift = 0.5 * covariance @ (-n * trace_terms.sum(axis=0) + tensors.contract(columns, columns).sum(axis=0))
    return ThirdOrder(third, shift, trace_terms, along, tensors)
