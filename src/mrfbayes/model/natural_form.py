r"""The field as one number per pair and one per state of every node, for samplers that treat all pairs alike.

.. math:: \log \text{weight}(x) = \text{constant} + \sum_i \mu_i(x_i) + \sum_{u<v} J_{uv}\, f(x_u, x_v),
          \qquad f = x_u x_v \ \text{or}\ [x_u = x_v], \quad \mu_i(0) = 0

Every binary field has this form with f = x_u x_v; fields with more states have it where their couplings are scores or
agreements. The *natural* parameters (J of all edges, then mu_i(1), mu_i(2), ... of all nodes) are a linear function of
the log-odds w, with a sparse matrix A, and the sufficient statistics are s = constant + A^T T with T the f and the
indicators of the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.model.field import Model
from mrfbayes.model.lowering import EdgeFinder, sparse_map

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PRODUCT_FORM, AGREEMENT_FORM = "product", "agreement"
MOST_DENSE_PARAMETERS = 12_000  # a full covariance: 1.2 GB in double precision, three of them at a time


@dataclass(frozen=True)
class DenseLayout:
    """A field in natural parameters.

    Attributes
    ----------
    coupling : what f is, "product" or "agreement"
    states : (d,) numbers of states
    pairs : (m, 2) ends of the edges
    level_offset : (d + 1,) where the states 1, 2, ... of each node start among the natural parameters
    constant : (p,) the part of s that does not depend on x
    forward : A, (natural parameters, p)
    """

    coupling: str
    states: np.ndarray
    pairs: np.ndarray
    level_offset: np.ndarray
    constant: np.ndarray
    forward: csr_array

    @property
    def n_natural(self) -> int:
        """How many natural parameters there are."""
        return int(self.level_offset[-1])

    @property
    def is_binary(self) -> bool:
        """Whether every variable has two states."""
        return bool((self.states == 2).all())

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Node and state behind each of the natural parameters of nodes."""
        return node_levels(self.states)

    def values(self, x_u: np.ndarray, x_v: np.ndarray) -> np.ndarray:
        """f of two arrays of states."""
        return np.asarray(x_u * x_v if self.coupling == PRODUCT_FORM else x_u == x_v, dtype=float)


def node_levels(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Node and state of the states 1, 2, ... of all nodes, which have ``states`` (d,)."""
    sizes = states - 1
    node = np.repeat(np.arange(sizes.size), sizes)
    return node, np.arange(node.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1


def dense_layout(model: Model) -> DenseLayout | None:
    """The field in natural parameters; None where its couplings are neither all scores nor all agreements."""
    return _layout(model, PRODUCT_FORM) or _layout(model, AGREEMENT_FORM)


def _layout(model: Model, coupling: str) -> DenseLayout | None:
    m, states, chart = model.n_edges, model.states, model.chart
    if coupling == AGREEMENT_FORM and np.unique(states).size > 1:
        return None
    offset = m + np.concatenate([[0], np.cumsum(states - 1)])
    find_edge = EdgeFinder(model.edges, model.n_nodes)
    triplets: list[tuple[np.ndarray, np.ndarray, float]] = []
    constant = np.zeros(model.n_parameters)
    for group in model.groups:
        for outcome, weight in enumerate(group.statistics):
            parameter = chart.offset[group.block] + outcome
            interaction = 0.0
            if group.arity == 2:
                found = _split(weight, coupling)
                if found is None:
                    return None
                interaction, weight = found
                edge, _ = find_edge(group.scope)
                triplets.append((edge, parameter, interaction))
            constant += weight.flat[0] * np.bincount(parameter, minlength=model.n_parameters)
            for axis, along in enumerate(margins(weight)):
                for state in range(1, along.size):
                    triplets.append((offset[group.scope[:, axis]] + state - 1, parameter, float(along[state])))
    forward = sparse_map(triplets, (int(offset[-1]), model.n_parameters))
    return DenseLayout(coupling, states, model.edges, offset, constant, forward)


def _split(table: np.ndarray, coupling: str) -> tuple[float, np.ndarray] | None:
    """``table`` as J f plus a table without interaction; None where it has an interaction of another kind."""
    u, v = np.indices(table.shape)
    f = (u * v if coupling == PRODUCT_FORM else u == v).astype(float)
    interaction = float(contrasts(table)[0, 0] / contrasts(f)[0, 0])
    rest = table - interaction * f
    return (interaction, rest) if np.allclose(contrasts(rest), 0.0, atol=1e-9) else None


def contrasts(table: np.ndarray) -> np.ndarray:
    """What is left of a table besides its first row and column: its interaction."""
    return np.asarray(table - table[:1] - table[:, :1] + table[0, 0])[1:, 1:]


def margins(table: np.ndarray) -> list[np.ndarray]:
    """A table without interaction as one function per variable, each 0 at state 0."""
    if table.ndim == 1:
        return [table - table[0]]
    return [table[:, 0] - table[0, 0], table[0] - table[0, 0]]
