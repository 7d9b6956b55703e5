r"""The scales in which packages quote a pairwise interaction, and the functions that lead from each to each.

With variables :math:`x \in \{0, 1, \dots\}` an edge contributes

.. math:: \sigma\,x_u x_v = 2\omega\,x_u x_v

to log p. ``sigma`` is what older versions of bgms store and what IsingFit estimates; ``omega`` is its half, which newer
versions of bgms store. With spins :math:`s = 2x - 1` the same edge contributes :math:`J s_u s_v` (``ising``),
:math:`J = \sigma/4`. ``log-odds`` w and ``theta`` are those of the coin that the model puts on the edge: of "both one"
and score couplings w = sigma, of agreement couplings w = 2 J; theta = 1/(1 + exp(-w)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import numbers, one_of, require_package
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import ThetaLike
from mrfbayes.model.build import graph
from mrfbayes.model.field import Model
from mrfbayes.model.ising import Ising

if TYPE_CHECKING:
    from dimod import BinaryQuadraticModel
    from numpy.typing import ArrayLike


COUPLING_SCALES = ("theta", "log-odds", "omega", "sigma", "ising")
_LOG_ODDS_OF_SIGMA = {"both-one": 1.0, "score": 1.0, "agreement": 0.5}  # w = factor * sigma


def convert_coupling(values: ArrayLike, source: str, target: str, coupling: str = "both-one") -> np.ndarray:
    """Convert interactions from one scale to another.

    Parameters
    ----------
    values : array_like
        Numbers of any shape.
    source : {"theta", "log-odds", "omega", "sigma", "ising"}
        Scale of ``values``; "ising" is J of spins -1 and +1.
    target : {"theta", "log-odds", "omega", "sigma", "ising"}
        Scale of the result.
    coupling : {"both-one", "agreement", "score"}, default "both-one"
        Kind of the coupling that "theta" and "log-odds" refer to; "score" (ordered variables) has no spins.

    Returns
    -------
    ndarray
        Numbers of the same shape.

    Raises
    ------
    InputError
        If a scale has no meaning for such variables, or a theta is not between 0 and 1.

    See Also
    --------
    to_ising : A whole field.
    ising_to_binary : J and h of spins to variables 0 and 1.

    Examples
    --------
    >>> from mrfbayes.bridges import convert_coupling
    >>> float(convert_coupling(1.0, "ising", "log-odds", "agreement"))
    2.0
    """
    for name, scale in (("source", source), ("target", target)):
        one_of(name, scale, COUPLING_SCALES)
        if scale == "ising" and coupling == "score":
            raise InputError(f"{name} = 'ising': ordered variables have no spins; use 'omega', 'sigma' or 'log-odds'.")
    one_of("coupling", coupling, _LOG_ODDS_OF_SIGMA)
    array = numbers("values", values)
    per_sigma = {"sigma": 1.0, "omega": 0.5, "ising": 0.25, "log-odds": _LOG_ODDS_OF_SIGMA[coupling]}
    if source == "theta":
        if not ((array > 0) & (array < 1)).all():
            raise InputError("values: theta is a weight between 0 and 1, both excluded.")
        source, array = "log-odds", np.log(array) - np.log1p(-array)
    sigma = array / per_sigma[source]
    if target == "theta":
        return np.asarray(1 / (1 + np.exp(-sigma * per_sigma["log-odds"])))
    return np.asarray(sigma * per_sigma[target])


def to_ising(model: Model, theta: ThetaLike) -> Ising:
    """Return J and h of a binary field at given parameters, for spins -1 and +1.

    Parameters
    ----------
    model : Model
        A binary field.
    theta : (p,) array_like or float
        Parameters in the order of ``model.parameters``.

    Returns
    -------
    Ising
        J as a symmetric (d, d) matrix and h (d,).

    Raises
    ------
    InputError
        If a variable has more than two states.

    See Also
    --------
    ising_to_binary : The same with variables 0 and 1.
    convert_coupling : One coupling.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges import to_ising
    >>> to_ising(mb.graph([("a", "b")]), 0.8).coupling.round(3)
    array([[0.   , 0.693],
           [0.693, 0.   ]])
    """
    if not model.is_binary:
        raise InputError(f"J and h are for variables with two states, and this model has up to {model.states.max()}.")
    node, edge = model.lowering.potentials(model.chart.log_odds(model.theta(theta)))
    matrix = np.zeros((model.n_nodes, model.n_nodes))
    u, v = model.edges.T
    matrix[u, v] = matrix[v, u] = edge / 2
    return Ising(matrix, node / 2)


def ising_to_binary(coupling: ArrayLike, field: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Convert J and h of spins -1 and +1 to interactions and thresholds of variables 0 and 1.

    log p = sum over pairs of sigma x_u x_v + sum of mu x + constant, with sigma = 4 J and mu = 2 h - 2 (row sums of J).

    Parameters
    ----------
    coupling : (d, d) array_like
        Symmetric J.
    field : (d,) array_like
        The external field h.

    Returns
    -------
    interaction : (d, d) ndarray
        Interactions sigma.
    threshold : (d,) ndarray
        Thresholds mu.

    See Also
    --------
    binary_to_ising : The inverse.

    Examples
    --------
    >>> from mrfbayes.bridges import ising_to_binary
    >>> ising_to_binary([[0, 1], [1, 0]], [0, 0])[1]
    array([-2., -2.])
    """
    matrix, vector = _square(coupling, "coupling"), np.asarray(field, dtype=float)
    return 4 * matrix, np.asarray(2 * vector - 2 * matrix.sum(axis=1))


def binary_to_ising(interaction: ArrayLike, threshold: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Convert interactions and thresholds of variables 0 and 1 to J and h of spins -1 and +1.

    Parameters
    ----------
    interaction : (d, d) array_like
        Symmetric interactions sigma.
    threshold : (d,) array_like
        Thresholds mu.

    Returns
    -------
    coupling : (d, d) ndarray
        J.
    field : (d,) ndarray
        The external field h.

    See Also
    --------
    ising_to_binary : The inverse.

    Examples
    --------
    >>> from mrfbayes.bridges import binary_to_ising
    >>> binary_to_ising([[0, 4], [4, 0]], [0, 0])[0]
    array([[0., 1.],
           [1., 0.]])
    """
    matrix, vector = _square(interaction, "interaction"), np.asarray(threshold, dtype=float)
    return matrix / 4, np.asarray(vector / 2 + matrix.sum(axis=1) / 4)


def _square(values: ArrayLike, name: str) -> np.ndarray:
    matrix = np.array(values, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T):
        raise InputError(f"{name} has shape {matrix.shape}: give a symmetric matrix, a row and a column per variable.")
    np.fill_diagonal(matrix, 0.0)
    return matrix


def to_dimod(model: Model, theta: ThetaLike, temperature: float = 1.0) -> BinaryQuadraticModel:
    """Return a binary field as a `dimod.BinaryQuadraticModel` of spins.

    Parameters
    ----------
    model : Model
        A binary field.
    theta : (p,) array_like, float or Ising
        Parameters in the order of ``model.parameters``.
    temperature : float, default 1
        T: probabilities are proportional to exp(-energy / T).

    Returns
    -------
    dimod.BinaryQuadraticModel
        The energy.

    Raises
    ------
    InputError
        If the temperature is not positive.

    See Also
    --------
    from_dimod : The other direction.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges import to_dimod
    >>> float(to_dimod(mb.graph([("a", "b")]), mb.Ising(0.5)).get_quadratic("a", "b"))
    -0.5
    """
    require_package("dimod", "interop", "to_dimod")
    import dimod

    if not (isinstance(temperature, (int, float)) and temperature > 0):
        raise InputError(f"temperature = {temperature!r}: must be a positive number.")
    ising, nodes = to_ising(model, theta), model.nodes
    coupling, field = -temperature * np.asarray(ising.coupling), -temperature * np.asarray(ising.field)
    linear = dict(zip(nodes, field.tolist(), strict=True))
    quadratic = {(nodes[u], nodes[v]): float(coupling[u, v]) for u, v in model.edges.tolist()}
    return dimod.BinaryQuadraticModel(linear, quadratic, 0.0, dimod.SPIN)


def from_dimod(bqm: BinaryQuadraticModel, temperature: float = 1.0) -> tuple[Model, np.ndarray]:
    """Return a binary quadratic model as a field of agreement couplings with node factors.

    Parameters
    ----------
    bqm : dimod.BinaryQuadraticModel
        The energy. Spins -1 and +1, or variables 0 and 1, are states 0 and 1.
    temperature : float, default 1
        T: probabilities are proportional to exp(-energy / T).

    Returns
    -------
    model : Model
        The field.
    theta : (p,) ndarray
        Its parameters.

    Raises
    ------
    InputError
        If there are no variables, or two of the same name.

    See Also
    --------
    to_dimod : The other direction.

    Examples
    --------
    >>> import dimod
    >>> from mrfbayes.bridges import from_dimod
    >>> model, theta = from_dimod(dimod.BinaryQuadraticModel({}, {("a", "b"): -0.5}, "SPIN"))
    >>> model.n_edges
    1
    """
    spins = bqm.spin
    names = [str(name) for name in spins.variables]
    if len(set(names)) < len(names):
        raise InputError("bqm: two variables have the same name when written as text.")
    if not names:
        raise InputError("bqm has no variables.")
    pairs = [(str(u), str(v)) for u, v in spins.quadratic]
    model = graph(np.array(pairs, dtype=object).reshape(-1, 2), nodes=names, fields=True)
    coupling = {pair: -float(value) for pair, value in zip(pairs, spins.quadratic.values(), strict=True)}
    field = {str(name): -float(value) for name, value in spins.linear.items()}
    return model, Ising(coupling, field, temperature).as_theta(model)
