"""Does a finite maximum likelihood estimate exist?

It does if and only if the mean statistics lie in the relative interior of the marginal polytope. Checks, cheapest
first:

- an outcome that never occurs: boundary;
- observed rows whose statistics span the polytope's whole dimension: interior, since a mean on a face has all its rows
  on that face;
- cycle inequalities (`mrfbayes.estimation.cycles`): the whole answer on planar graphs of agreement coins, half of it on
  other binary graphs;
- a linear programme over the junction tree (`mrfbayes.estimation.polytope`): the whole answer where the width is small.

Elsewhere (the general question is NP-hard) the verdict is "not decided". A factor is named where some direction along
which the likelihood does not fall for ever involves its parameters: its data determine no finite, unique value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.data.statistics import Statistics
from mrfbayes.exact.ordering import find_order
from mrfbayes.model.field import Model
from mrfbayes.particles.moments import row_statistics

if TYPE_CHECKING:  # SciPy is imported only where a quicker check has not decided
    from scipy.sparse import csr_array

    from mrfbayes.estimation.polytope import JunctionTree

MAX_DENSE = 2_000  # parameters, for dense linear algebra
MAX_TREE_NODES = 500  # nodes, for the search of an elimination order
RANK_TOLERANCE = 1e-9  # of eigenvalues of an integer Gram matrix, against rounding of 1e-13


@dataclass(frozen=True)
class Existence:
    """``verdict``: "exists", "boundary" or "not decided"; ``factors``: names on the boundary; ``reason``: in words.

    ``complete`` says whether ``factors`` is the whole list.
    """

    verdict: str
    factors: tuple[str, ...]
    reason: str
    complete: bool = True


def existence(model: Model, stats: Statistics, thorough: bool = True) -> Existence:
    """Whether the MLE of ``model`` from ``stats`` is finite, and if not, which factors are on the boundary.

    Without ``thorough`` the linear programme, which may take seconds, is left out.
    """
    from mrfbayes.estimation import cycles

    if stats.holes is not None:
        return Existence("not decided", (), "cells are missing")
    never = _absent_outcomes(model, stats)
    if not never.any() and _rows_span_everything(model, stats):
        return Existence("exists", (), "the observed rows span the whole marginal polytope")
    if model.lowering.is_plain and cycles.is_planar(model):
        touched = cycles.touched_edges(model.edges, model.n_nodes, stats.counts, stats.n)
        if touched is not None:
            return _verdict(model, touched, "cycle inequalities on a planar graph")
    tree = _small_tree(model) if thorough else None
    if tree is not None:
        from mrfbayes.estimation import polytope

        face = polytope.smallest_face(model, stats.mean, tree)
        if face is not None:
            support = _identified(model, face.direction) != 0
            by = "linear programme over the junction tree"
            if face.interior:
                return _verdict(model, np.zeros(model.n_parameters, dtype=bool), by)
            return _verdict(model, support | never, by)
    return _one_sided(model, stats, never)


def _verdict(model: Model, touched: np.ndarray, by: str, complete: bool = True) -> Existence:
    if not touched.any():
        return Existence("exists", (), by)
    blocks = np.unique(model.chart.block_of[touched])
    names = tuple(model.blocks[b] for b in blocks.tolist())
    return Existence("boundary", names, by, complete)


def _absent_outcomes(model: Model, stats: Statistics) -> np.ndarray:
    """Parameters (p,) of blocks of which some outcome never occurs (or a total score is extreme)."""
    chart = model.chart
    if chart.n_blocks == 0:
        return np.zeros(0, dtype=bool)
    absent = np.logical_or.reduceat(stats.outcome_counts <= 1e-9 * stats.n, stats.outcome_offset[:-1])
    return np.asarray(absent[chart.block_of])


def basis_matrix(model: Model) -> csr_array:
    """s as combinations of linearly independent functions of x, without the constant; (functions, p).

    The functions are [x_i = a] and [x_i = a][x_j = b] for a, b >= 1.
    """
    from scipy.sparse import coo_array

    states, edges = model.states, model.edges
    node_start = np.concatenate([[0], np.cumsum(states - 1)])
    wide = (states[edges[:, 0]] - 1) * (states[edges[:, 1]] - 1) if len(edges) else np.zeros(0, dtype=np.int64)
    edge_start = node_start[-1] + np.concatenate([[0], np.cumsum(wide)])
    edge_of = {pair: k for k, pair in enumerate(map(tuple, edges.tolist()))}
    entries: list[tuple[int, int, float]] = []
    for group in model.groups:
        for scope, block in zip(group.scope.tolist(), group.block.tolist(), strict=True):
            for outcome, table in enumerate(group.statistics):
                j = int(model.chart.offset[block]) + outcome
                if group.arity == 1:
                    entries += [
                        (int(node_start[scope[0]]) + a - 1, j, table[a] - table[0]) for a in range(1, len(table))
                    ]
                    continue
                u, v = scope
                edge = edge_of.get((u, v))
                if edge is None:
                    edge, u, v, table = edge_of[(v, u)], v, u, table.T
                entries += [(int(node_start[u]) + a - 1, j, table[a, 0] - table[0, 0]) for a in range(1, len(table))]
                entries += [
                    (int(node_start[v]) + b - 1, j, table[0, b] - table[0, 0]) for b in range(1, table.shape[1])
                ]
                inner = table[1:, 1:] - table[1:, :1] - table[:1, 1:] + table[0, 0]
                base = int(edge_start[edge])
                entries += [(base + k, j, value) for k, value in enumerate(inner.ravel().tolist())]
    row, column, value = (np.array(part) for part in zip(*entries, strict=True)) if entries else (np.zeros(0, int),) * 3
    return coo_array((value, (row, column)), shape=(int(edge_start[-1]), model.n_parameters)).tocsr()


def _null_space(gram: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, values <= RANK_TOLERANCE * max(1.0, float(values[-1]))])


def _lineality(model: Model) -> np.ndarray:
    """Basis (p, k) of the directions along which no probability changes."""
    if model.lowering.is_plain:
        return np.zeros((model.n_parameters, 0))
    basis = basis_matrix(model)
    return _null_space((basis.T @ basis).toarray())


def flat_directions(model: Model) -> int:
    """How many directions of w change no probability: 0 where every parameter can be identified."""
    return int(_lineality(model).shape[1])


def _identified(model: Model, direction: np.ndarray) -> np.ndarray:
    """``direction`` without its part along which no probability changes (general tables have such parts)."""
    if not direction.any():
        return direction
    null = _lineality(model) if model.n_parameters <= MAX_DENSE else np.zeros((model.n_parameters, 0))
    if not null.shape[1]:
        return direction
    left = direction - null @ (null.T @ direction)
    left[np.abs(left) < 1e-7 * np.abs(direction).max()] = 0.0
    return np.asarray(left)


def _rows_span_everything(model: Model, stats: Statistics) -> bool:
    p = model.n_parameters
    if p == 0:
        return True
    if p > MAX_DENSE or len(stats.rows) == 0:
        return False
    dimension = p - _lineality(model).shape[1]
    if len(stats.rows) <= dimension:
        return False
    table = row_statistics(model, stats.rows)
    table -= table[0]  # differences of whole numbers: exact
    return bool(p - _null_space(table.T @ table).shape[1] >= dimension)


def _small_tree(model: Model) -> JunctionTree | None:
    from mrfbayes.estimation import polytope

    if model.n_nodes > MAX_TREE_NODES or model.n_edges > 8 * MAX_TREE_NODES:
        return None
    if model.grid_shape is not None and 2 ** min(model.grid_shape) > polytope.MAX_CLIQUE_CELLS:
        return None
    order = find_order(model.edges, model.states)
    if not order.complete or order.largest > polytope.MAX_CLIQUE_CELLS:
        return None
    tree = polytope.junction_tree(model.edges, model.n_nodes, order)
    cells = sum(int(np.prod(model.states[list(clique)])) for clique in tree.cliques)
    return tree if cells <= polytope.MAX_CLIQUE_CELLS else None


def _one_sided(model: Model, stats: Statistics, never: np.ndarray) -> Existence:
    """Where no check is complete: what can be said for sure."""
    from mrfbayes.estimation import cycles

    if never.any():
        return _verdict(model, never, "outcomes that never occur; further factors may be involved", complete=False)
    if model.lowering.is_plain:
        touched = cycles.touched_edges(model.edges, model.n_nodes, stats.counts, stats.n)
        if touched is not None and touched.any():
            return _verdict(model, touched, "a tight cycle inequality; further factors may be involved", complete=False)
    elif touched_pairs := _empty_cells(model, stats):
        return Existence(
            "boundary", touched_pairs, "a pair of states that never occurs; further factors may be involved", False
        )
    elif _tied_interior(model, stats):
        return Existence(
            "exists", (), "agreement frequencies equal within blocks are strictly inside all cycle inequalities"
        )
    return Existence(
        "not decided", (), "no outcome is missing, but the graph is too wide for the complete check of the polytope"
    )


def _empty_cells(model: Model, stats: Statistics) -> tuple[str, ...]:
    """Names of the factors on binary pairs of which a joint state never occurs, where each pair has all parameters."""
    if not model.is_binary or stats.node_part is None or stats.edge_part is None or model.n_edges == 0:
        return ()
    if not _all_pair_parameters(model):
        return ()
    u, v = model.edges.T
    ones_u, ones_v, agree = stats.node_part[u], stats.node_part[v], stats.edge_part
    both = (ones_u + ones_v + agree - stats.n) / 2
    cells = np.stack([both, ones_u - both, ones_v - both, agree - both])
    empty = (cells <= 1e-9 * stats.n).any(axis=0)
    touched_nodes = set(u[empty].tolist()) | set(v[empty].tolist())
    touched_edges = {tuple(sorted(pair)) for pair in model.edges[empty].tolist()}
    names = []
    for group in model.groups:
        for scope, block in zip(group.scope.tolist(), group.block.tolist(), strict=True):
            if tuple(sorted(scope)) in touched_edges or (len(scope) == 1 and scope[0] in touched_nodes):
                names.append(block)
    return tuple(model.blocks[b] for b in sorted(names))


def _all_pair_parameters(model: Model) -> bool:
    """Whether each binary node and edge has exactly one parameter of its own, so that M can be inverted."""
    row, column, _ = model.lowering.forward
    on_edge = row >= model.n_nodes
    of_edges = column[on_edge]
    own = ~np.isin(column, of_edges)
    return bool(
        model.n_parameters == model.lowering.n_rows
        and np.array_equal(row[on_edge], model.n_nodes + np.arange(model.n_edges))
        and np.unique(of_edges).size == model.n_edges
        and np.array_equal(row[own], np.arange(model.n_nodes))
        and np.unique(column[own]).size == model.n_nodes
    )


def _tied_interior(model: Model, stats: Statistics) -> bool:
    """Tied agreement coins on a planar graph without fields: is the average of each block a possible inside point?"""
    from mrfbayes.estimation import cycles

    row, column, value = model.lowering.forward
    if not (model.is_binary and model.n_edges and row.size == model.n_edges and (row >= model.n_nodes).all()):
        return False
    if not ((value == 1.0).all() and (model.lowering.constant == 0).all() and cycles.is_planar(model)):
        return False
    size = np.bincount(column, minlength=model.n_parameters)
    agree = (stats.counts / size)[column]
    touched = cycles.touched_edges(model.edges[row - model.n_nodes], model.n_nodes, agree, stats.n)
    return touched is not None and not touched.any()
