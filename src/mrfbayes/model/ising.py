r"""Couplings J, fields h and a temperature, accepted wherever theta is.

A binary field with spins :math:`\sigma = 2x - 1` has

.. math:: \log p(\sigma) = \frac1T\Bigl(\sum_{uv} J_{uv}\sigma_u\sigma_v + \sum_u h_u\sigma_u\Bigr) + \text{constant}.

The constant is such that `mrfbayes.log_partition` of an `Ising` is the log of the sum of exp of the right-hand side
without it, log Z as physics has it; ``convention="weights"`` there gives that of the same field's theta.

The lowered form of a model, fields and agreements, is linear in its log-odds w, so w solves M w = 2 (h, J) / T.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import numbers
from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mrfbayes.model.field import Model

ISING_TOLERANCE = 1e-9  # of J and h that a model gives back


@dataclass(frozen=True)
class Ising:
    """Parameters of a binary field in the notation of physics; used in place of theta.

    Parameters
    ----------
    coupling : float, array_like or mapping
        J: one number for all edges, (m,) in the order of ``model.edges``, a symmetric (d, d) matrix, or a mapping from
        edges, as ``("a", "b")`` or ``"a--b"``, to numbers.
    field : float, array_like or mapping, default 0
        H: one number for all nodes, (d,) in the order of ``model.nodes``, or a mapping from nodes to numbers.
    temperature : float, default 1
        T, above 0.

    See Also
    --------
    mrfbayes.bridges.to_ising : J and h of a field.
    log_partition : Takes it in place of theta.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> mb.Ising(0.5).as_theta(mb.graph([("a", "b")])).round(4)
    array([0.7311])
    """

    coupling: ArrayLike | Mapping[str, float] | Mapping[tuple[str, str], float]
    field: ArrayLike | Mapping[str, float] = 0.0
    temperature: float = 1.0

    def as_theta(self, model: Model) -> np.ndarray:
        """Return the theta of a model that gives this distribution.

        Parameters
        ----------
        model : Model
            A binary field.

        Returns
        -------
        (p,) ndarray
            Theta in the order of ``model.parameters``.

        Raises
        ------
        InputError
            If the model does not have the parameters.
        """
        if not model.is_binary:
            raise InputError(f"Ising couplings are for two states, and this model has up to {model.states.max()}.")
        temperature = _number(self.temperature, "temperature")
        if not temperature > 0:
            raise InputError(f"temperature = {self.temperature!r}: must be a positive number.")
        target = 2.0 * np.concatenate([_fields(self.field, model), _couplings(self.coupling, model)]) / temperature
        return model.chart.theta(_solve(model, target))


def _solve(model: Model, target: np.ndarray) -> np.ndarray:
    """w with M w = target, in the sense of least squares, checked to be a solution."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import spsolve

    row, column, value = model.lowering.forward
    matrix = csc_array((value, (row, column)), shape=(target.size, model.n_parameters))
    if not model.n_parameters:
        w = np.zeros(0)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                w = np.atleast_1d(spsolve(csc_array(matrix.T @ matrix), matrix.T @ target))
            except (RuntimeError, UserWarning, ArithmeticError):
                raise InputError(
                    "this model's parameters do not follow from J and h (it has more of them): use "
                    "coupling='agreement' or 'both-one' with fields=True, or give theta."
                ) from None
    gap = np.abs(matrix @ w - target)
    if gap.size and gap.max() > ISING_TOLERANCE * max(1.0, np.abs(target).max()):
        k = int(np.argmax(gap))
        name = f"h of {model.nodes[k]!r}" if k < model.n_nodes else "J of an edge"
        raise InputError(
            f"{name} cannot be had in this model: it needs node factors (fields=True) for h, and one J per tied block."
        )
    return np.asarray(w)


def _number(value: object, name: str) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise InputError(f"{name} = {value!r}: must be a finite number.")
    return float(value)


def _array(values: object, name: str) -> np.ndarray:
    array = numbers(name, values)
    if not np.isfinite(array).all():
        raise InputError(f"{name}: must be finite numbers.")
    return array


def _fields(field: object, model: Model) -> np.ndarray:
    if isinstance(field, Mapping):
        by_name = {str(node): _number(value, f"field[{node!r}]") for node, value in field.items()}
        unknown = [node for node in by_name if node not in model.nodes]
        if unknown:
            raise InputError(f"field: no node is called {unknown[0]!r}.")
        return np.array([by_name.get(node, 0.0) for node in model.nodes])
    array = _array(field, "field")
    if array.ndim == 0:
        return np.full(model.n_nodes, float(array))
    if array.shape != (model.n_nodes,):
        raise InputError(f"field has shape {array.shape}, expected ({model.n_nodes},): one h per node.")
    return array


def _couplings(coupling: object, model: Model) -> np.ndarray:
    m, d = model.n_edges, model.n_nodes
    if isinstance(coupling, Mapping):
        place: dict[object, int] = {}
        for k, (u, v) in enumerate(model.edges.tolist()):
            first, second = model.nodes[u], model.nodes[v]
            place |= {(first, second): k, (second, first): k, f"{first}--{second}": k, f"{second}--{first}": k}
        found: dict[int, float] = {}
        for edge, value in coupling.items():
            key = tuple(map(str, edge)) if isinstance(edge, tuple) else edge
            if key not in place:
                raise InputError(f"coupling: the model has no edge {edge!r}.")
            if place[key] in found:
                raise InputError(f"coupling: the edge {edge!r} is given twice.")
            found[place[key]] = _number(value, f"coupling[{edge!r}]")
        return np.array([found.get(k, 0.0) for k in range(m)])
    array = _array(coupling, "coupling")
    if not array.ndim:
        return np.full(m, float(array))
    if array.ndim == 2 and array.shape == (d, d):
        if not np.allclose(array, array.T):
            raise InputError("coupling: the matrix J is not symmetric; J[u, v] and J[v, u] are one coupling.")
        rest = array.copy()
        rest[model.edges[:, 0], model.edges[:, 1]] = rest[model.edges[:, 1], model.edges[:, 0]] = 0.0
        np.fill_diagonal(rest, 0.0)
        if rest.any():
            u, v = np.argwhere(rest)[0].tolist()
            raise InputError(f"coupling: J is not zero between {model.nodes[u]!r} and {model.nodes[v]!r}, no edge.")
        return np.asarray(array[model.edges[:, 0], model.edges[:, 1]])
    if array.ndim != 1 or len(array) != m:
        raise InputError(
            f"coupling has shape {array.shape}, expected ({m},), one J per edge in the order of model.edges, or "
            f"({d}, {d})."
        )
    return array
