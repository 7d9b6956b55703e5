"""Which exact recursion fits a model: node by node on a binary grid, by elimination on any graph.

Everything is in terms of the lowered potentials: (field, coupling) of a binary model, (node tables, edge tables)
otherwise. `recursion` picks the one that fits a model, once a model. What would not fit into memory is refused before
anything is allocated.
"""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np

from mrfbayes.base.errors import CostError
from mrfbayes.base.memory import memory_limit
from mrfbayes.exact.contract import Recursion
from mrfbayes.exact.graph import GraphRecursion
from mrfbayes.exact.grid import GridRecursion
from mrfbayes.exact.memory import TooLarge
from mrfbayes.model.field import Model

_KNOWN: WeakKeyDictionary[Model, Recursion] = WeakKeyDictionary()


def recursion(model: Model) -> Recursion:
    """The recursion of a model, made when first asked for; `CostError` where even log Z does not fit into memory."""
    known = _KNOWN.get(model)
    if known is None:
        if model.is_binary and model.grid_shape is not None:
            known = GridRecursion(model)
        else:
            if model.grid_shape is not None:
                _refuse_wide_grid(model)
            refuse_many_edges(model.states, model.n_edges)
            known = GraphRecursion(model.edges, model.states)
        _KNOWN[model] = known
    return known


def is_feasible(model: Model, work: str = "log_z") -> bool:
    """Whether ``work`` (a key of `WORKS`) fits into memory."""
    try:
        return recursion(model).n_bytes(work) <= memory_limit()
    except CostError:
        return False


def least_width(n_nodes: int, n_edges: int) -> int:
    """A lower bound of the treewidth k: a graph of treewidth k on d nodes has at most k d - k (k + 1) / 2 edges."""
    return math.ceil(n_nodes - 0.5 - math.sqrt(max((n_nodes - 0.5) ** 2 - 2 * n_edges, 0.0)) - 1e-6)


def refuse_many_edges(states: np.ndarray, n_edges: int) -> None:
    """So many edges may be too many for any order: then none need be looked for, which takes long on dense graphs."""
    width = least_width(states.size, n_edges)
    smallest = 8 * int(states.min()) ** min(width, 10_000)
    if smallest > 2 * memory_limit():
        raise TooLarge("log_z", width, smallest, complete=False)


def _refuse_wide_grid(model: Model) -> None:
    """A grid's treewidth is its shorter side: no order need be looked for to know that a wide one is too wide."""
    assert model.grid_shape is not None
    width = min(model.grid_shape)
    smallest = 8 * int(model.states.min()) ** min(width, 10_000)
    if smallest > memory_limit():
        raise TooLarge("log_z", width, smallest)
