"""Exact inference: log Z, expected counts, information, third-order sums, independent samples.

The public functions take theta; those that end in ``_w`` take the log-odds w, in which the log-likelihood is
sum(w * s) - n * A(w). Derivatives of A are the cumulants of the sufficient statistics s of one observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np

from mrfbayes.base.checks import one_of, require_memory
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.base.types import ThetaLike
from mrfbayes.exact.choice import chosen, covariance_by_columns
from mrfbayes.exact.planar import PlanarRecursion, PrecisionLossError
from mrfbayes.exact.recursions import refused
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.ising import Ising

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Convention = Literal["weights", "log-odds", "boltzmann"]
CONVENTIONS: tuple[Convention, ...] = ("weights", "log-odds", "boltzmann")


def log_partition(model: Model, theta: ArrayLike | Ising, *, convention: Convention | None = None) -> float:
    r"""Exact log Z(theta), the log of the sum over all configurations of their weights.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like or Ising
        Parameters in the order of ``model.parameters``.
    convention : {"weights", "log-odds", "boltzmann"}, optional
        What the weight of a configuration is. "weights": the product of its factors' weights, theta or 1 - theta for
        each coin, the paper's convention and the default for theta. "log-odds": :math:`e^{w \cdot s(x)}`.
        "boltzmann": :math:`e^{-E/T}` with :math:`-E = \sum J_{uv} \sigma_u \sigma_v + \sum h_u \sigma_u` for spins
        :math:`\sigma = 2x - 1` of a binary field, the default where theta is an `Ising`. The three differ by a term
        that does not depend on x, so probabilities are the same.

    Returns
    -------
    float
        Log Z in the convention.

    Raises
    ------
    CostError
        Where the sum does not fit into memory.

    See Also
    --------
    annealed_log_partition : an estimate with an error bar at any size.

    References
    ----------
    Jie Liu and Hao Zheng, MLE-induced Likelihood for Markov Random Fields.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> pair = mb.graph([("a", "b")])
    >>> round(mb.log_partition(pair, mb.Ising(0.5)), 4)  # log(2 exp(J) + 2 exp(-J))
    1.5064
    >>> round(mb.log_partition(pair, mb.Ising(0.5), convention="weights"), 4)
    0.6931
    """
    chosen_convention = convention_of(theta, convention)
    w = _log_odds(model, theta)
    offset = partition_offset(model, w, chosen_convention)
    with refused("use mb.annealed_log_partition, an estimate with an error bar"):
        return log_partition_w(model, w) + offset


def convention_of(theta: ThetaLike, convention: Convention | None) -> Convention:
    """The convention that applies: that of physics for `Ising` parameters, else that of the paper."""
    if convention is None:
        return "boltzmann" if isinstance(theta, Ising) else "weights"
    one_of("convention", convention, CONVENTIONS)
    return convention


def partition_offset(model: Model, log_odds: np.ndarray, convention: Convention) -> float:
    """What has to be added to A(w) = log of the sum of exp(w.s) to follow ``convention``."""
    if convention == "log-odds":
        return 0.0
    if convention == "weights":
        return float(model.chart.log_last_weight(log_odds) @ model.chart.tosses)
    if not model.is_binary:
        raise InputError(
            f"convention = 'boltzmann' is for spins, and this model has up to {model.states.max()} states: use "
            "'log-odds', which is log Z of the energy -w.s(x)."
        )
    # field x + coupling [x_u = x_v] = (field sigma + coupling sigma sigma) / 2 + (field + coupling) / 2
    field, coupling = model.lowering.potentials(log_odds)
    return -float(model.lowering.constant @ log_odds + 0.5 * (field.sum() + coupling.sum()))


def expected_counts(model: Model, theta: ThetaLike) -> np.ndarray:
    """Return the exact expected counts of one observation.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like or Ising
        Parameters in the order of ``model.parameters``; one number is used for all.

    Returns
    -------
    (p,) ndarray
        Probabilities of the first K-1 outcomes of each block, or expected scores.

    Raises
    ------
    CostError
        If the sum does not fit into memory.

    See Also
    --------
    fisher_information : Their covariance matrix.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.expected_counts(mb.graph([("a", "b"), ("b", "c")]), [0.6, 0.8]).round(3)
    array([0.6, 0.8])
    """
    return moments_w(model, _log_odds(model, theta))[1]


def fisher_information(model: Model, theta: ThetaLike) -> np.ndarray:
    """Return the exact Fisher information of one observation in log-odds, the covariance of its counts.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like or Ising
        Parameters in the order of ``model.parameters``; one number is used for all.

    Returns
    -------
    (p, p) ndarray
        Covariance matrix of the counts.

    Raises
    ------
    CostError
        If the sum does not fit into memory.

    See Also
    --------
    expected_counts : The means of the counts.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.fisher_information(mb.graph([("a", "b"), ("b", "c")]), [0.5, 0.8]).round(3)
    array([[0.25, 0.  ],
           [0.  , 0.16]])
    """
    return covariance_w(model, _log_odds(model, theta))


def _log_odds(model: Model, theta: ThetaLike) -> np.ndarray:
    require_model(model)
    return model.chart.log_odds(model.theta(theta))


def log_partition_w(model: Model, log_odds: np.ndarray) -> float:
    """A(w) = log of the sum over x of exp(sum w * s(x))."""
    lowering = model.lowering
    return chosen(model, "log_z").log_z(*lowering.potentials(log_odds)) + float(lowering.constant @ log_odds)


def moments_w(model: Model, log_odds: np.ndarray) -> tuple[float, np.ndarray]:
    """A(w) and E[s] (p,)."""
    lowering = model.lowering
    log_z, nodes, edges = chosen(model, "moments").moments(*lowering.potentials(log_odds))
    return log_z + float(lowering.constant @ log_odds), lowering.statistics(nodes, edges)


def stable_mean_w(model: Model, log_odds: np.ndarray) -> np.ndarray | None:
    """E[s] (p,) by the planar recursion's stable way, where it does the work; None elsewhere."""
    found = chosen(model, "moments")
    if not isinstance(found, PlanarRecursion):
        return None
    lowering = model.lowering
    return lowering.statistics(*found.stable_moments(*lowering.potentials(log_odds)))


def cumulants_along(
    model: Model, log_odds: np.ndarray, directions: Iterable[np.ndarray], order: int = 2
) -> Iterator[np.ndarray]:
    """For each v (p,) of ``directions`` an (order, p) array: Cov[s] v, then the third cumulant of (s, v.s, v.s)."""
    lowering, n_nodes = model.lowering, model.lowering.n_node_rows
    lowered = (np.concatenate(lowering.potentials(v)) for v in directions)
    for series in chosen(model, "series").series(*lowering.potentials(log_odds), lowered, order):
        yield np.stack([lowering.statistics_direction(part[:n_nodes], part[n_nodes:]) for part in series])


def covariance_w(model: Model, log_odds: np.ndarray) -> np.ndarray:
    """Cov[s] (p, p)."""
    p = model.n_parameters
    require_memory(16 * p * p, f"a covariance of {p:,} parameters", "use expected_counts, or method='calibrated'")
    found = covariance_by_columns(model)
    if found is not None:
        try:
            return _covariance_by_columns(model, found, log_odds)
        except PrecisionLossError:
            if found.other is None:
                raise
    matrix = np.empty((p, p))
    units = (np.bincount([j], minlength=p).astype(float) for j in range(p))
    for j, column in enumerate(cumulants_along(model, log_odds, units, order=1)):
        matrix[j] = column[0]
    return np.asarray((matrix + matrix.T) / 2)


def _covariance_by_columns(model: Model, found: PlanarRecursion, log_odds: np.ndarray) -> np.ndarray:
    """Cov[s] = M^T Cov[T] M from the columns of the lowered statistics' covariance."""
    lowering, p, forward = model.lowering, model.n_parameters, model.lowering.matrix
    matrix = np.zeros((p, p))
    for which, columns in found.covariance_columns(*lowering.potentials(log_odds)):
        if lowering.is_plain:
            matrix[:, which - lowering.n_node_rows] = columns[lowering.n_node_rows :]
        else:
            matrix += (forward.T @ columns) @ forward[which]
    return np.asarray((matrix + matrix.T) / 2)


def third_order_w(model: Model, log_odds: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E[P_j^3] and E[Q P_j], both (p,), where P = S(s - mu) and Q = (s - mu)' S (s - mu).

    Parameters
    ----------
    covariance : (p, p) S, symmetric and positive definite
    """
    cubes = [
        float(series[1] @ v) for v, series in zip(covariance, cumulants_along(model, log_odds, covariance), strict=True)
    ]
    # Q = sum over the columns f of a factor of S of (f'(s - mu))^2
    factor = np.linalg.cholesky(covariance)
    contracted = sum((series[1] for series in cumulants_along(model, log_odds, factor.T)), np.zeros(len(covariance)))
    return np.array(cubes), np.asarray(covariance @ contracted)


def sample_exact(model: Model, log_odds: np.ndarray, n: int, seed: np.random.SeedSequence) -> np.ndarray:
    """(n, d) independent draws of the field."""
    return chosen(model, "sample").sample(*model.lowering.potentials(log_odds), n, kernel_state(seed, "exact"))
