"""Sums over full conditionals: log normalisers of every node, one per distinct state of its neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from mrfbayes.kernels.base.contracts import _body, _kernel_of
from mrfbayes.kernels.base.jit import kernel


class Neighbours(NamedTuple):
    """Edge to the b-th neighbour of node i: ``edge[offset[i] + b]``."""

    offset: np.ndarray  # (d+1,)
    edge: np.ndarray  # (2m,)


def conditional_sum(patterns, neighbours, node_table, edge_table, node_part, edge_part):
    """Sum over the patterns of weight times log normaliser; adds its derivatives to ``node_part`` and ``edge_part``."""
    kernel_of = _kernel_of("conditional_sum", patterns)
    return kernel_of(patterns, neighbours, node_table, edge_table, node_part, edge_part)


@overload(conditional_sum)
def _choose_conditional_sum(patterns, neighbours, node_table, edge_table, node_part, edge_part):
    return _body("conditional_sum", patterns)


@kernel(fastmath={"reassoc"})
def total(values):
    """Sum of an array, in any order."""
    found = 0.0
    for value in values:
        found += value
    return found
