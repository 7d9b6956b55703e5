r"""Pseudolikelihood (Pseudo-L; Besag 1975): the product of all full conditionals.

.. math:: \log L(\theta) = \sum_t \sum_i \log P(x^t_i \mid x^t_{-i}; \theta)
          = \sum_j b_j w_j - \sum_i \sum_c n_{ic} \log \sum_a \exp h_{ic}(a)

with b linear in the data, c running over the distinct states of node i's neighbours, n_ic how often they occur, and
h_ic(a) the log potential of state a among them.

Differs from the paper: the same function, but its cost does not grow with n, because equal neighbourhoods are counted
once. ``plain=True`` keeps every observation apart, at O(n d) a step as in the paper.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.kernels.base.contracts import implements, log_likelihood
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.methods.pseudo import (
    DensePatterns,
    ListedPatterns,
    Neighbours,
    TablePatterns,
    dense_normalisers,
    listed_normalisers,
    table_normalisers,
)
from mrfbayes.methods.exact import Lowered, lower_theta, lowered_data
from mrfbayes.methods.problem import Prepared, Problem, writable
from mrfbayes.methods.pseudo.neighbourhoods import binary_patterns, every_row, table_patterns


class PseudoView(NamedTuple):
    """A binary field."""

    lowered: Lowered
    neighbours: Neighbours
    dense: DensePatterns
    listed: ListedPatterns


class PseudoTableView(NamedTuple):
    """A categorical field."""

    lowered: Lowered
    neighbours: Neighbours
    patterns: TablePatterns


@implements(log_likelihood, PseudoView)
@kernel
def pseudo_log_likelihood(view, theta):
    linear = lower_theta(view.lowered, theta)
    nodes = view.lowered.n_node_rows
    field, coupling = view.lowered.potentials[:nodes], view.lowered.potentials[nodes:]
    dense = dense_normalisers(view.neighbours, view.dense, field, coupling)
    return linear - dense - listed_normalisers(view.neighbours, view.listed, field, coupling)


@implements(log_likelihood, PseudoTableView)
@kernel
def pseudo_table_log_likelihood(view, theta):
    linear = lower_theta(view.lowered, theta)
    nodes = view.lowered.n_node_rows
    node_table, edge_table = view.lowered.potentials[:nodes], view.lowered.potentials[nodes:]
    return linear - table_normalisers(view.neighbours, view.patterns, node_table, edge_table)


def prepare(problem: Problem, *, plain: bool = False) -> Prepared:
    """Pseudolikelihood of any field; ``plain`` evaluates it observation by observation."""
    if not isinstance(plain, (bool, np.bool_)):
        raise InputError(f"plain = {plain!r}: True for the O(n d) form, False for pattern counts.")
    model, statistics = problem.model, problem.statistics
    table = every_row(problem) if plain else statistics.patterns
    neighbours = Neighbours(*(writable(part, np.int64) for part in (model.adjacency.offset, model.adjacency.edge)))
    node_part, edge_part = statistics.node_part, statistics.edge_part
    assert node_part is not None  # known where the patterns are
    assert edge_part is not None
    details = {"patterns": int(table.weight.size)}
    view: Any
    if not model.is_binary:
        slope = model.lowering.statistics_direction(node_part, 2.0 * edge_part)
        lowered = lowered_data(problem)._replace(slope=writable(slope))
        view = PseudoTableView(lowered, neighbours, table_patterns(problem, table))
        return Prepared(view, details=details)
    # Linear in h = field + sum of +-coupling where x = 1; a folded pattern leaves +h of its complement behind.
    ends = model.edges
    slope_edges = 2.0 * edge_part - 2.0 * statistics.n + node_part[ends[:, 0]] + node_part[ends[:, 1]]
    dense, listed = binary_patterns(problem, table, slope_edges, plain)
    slope = model.lowering.statistics_direction(node_part, slope_edges)
    return Prepared(
        PseudoView(lowered_data(problem)._replace(slope=writable(slope)), neighbours, dense, listed), details=details
    )
