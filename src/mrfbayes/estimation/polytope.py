"""The marginal polytope of a field, exactly, by its junction tree, and the smallest face that holds the data.

Mean statistics s are the image of locally consistent clique marginals tau, and relative interiors map to relative
interiors, so a finite MLE exists if and only if some tau with *all* cells positive gives the observed s. The linear
programme

    maximise sum u,  0 <= u <= 1,  u <= tau,  tau locally consistent with mass kappa >= 0,  L tau = kappa s

scales up whatever can be positive: u = 1 on cells that can, u = 0 on those that cannot (kappa is free). The cells that
can be positive span the smallest face. Normal to it are the v for which v.s(x) is the same for all x in the face, that
is, for which messages m make L'v + A'm vanish on those cells (A: local consistency). A random member of that null space
shows which parameters take part: its zeros are no accidents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, vstack
from scipy.sparse.linalg import lsqr

from mrfbayes.exact.ordering import Order
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

MAX_CLIQUE_CELLS = 16_000  # clique cells in all: 6,224 (an 8x8 grid) take HiGHS 2.5 s
_SEED = 7  # directions only have to be generic; the same data always get the same one


@dataclass(frozen=True)
class Face:
    """``interior``: all cells can be positive. Else ``direction`` (p,) is generic among the normals of the face."""

    interior: bool
    direction: np.ndarray


@dataclass(frozen=True)
class JunctionTree:
    """``cliques``: variables of each, sorted; ``links``: (child, parent) pairs; ``roots``: one per component."""

    cliques: list[tuple[int, ...]]
    links: list[tuple[int, int]]
    roots: list[int]


def junction_tree(edges: np.ndarray, n_nodes: int, order: Order) -> JunctionTree:
    """Maximal cliques of the graph filled in along ``order``, and the tree that joins them."""
    neighbours: list[set[int]] = [set() for _ in range(n_nodes)]
    for u, v in edges.tolist():
        neighbours[u].add(v)
        neighbours[v].add(u)
    rank = {int(node): k for k, node in enumerate(order.order)}
    bags: dict[int, set[int]] = {}
    parent: dict[int, int | None] = {}
    for node in order.order.tolist():
        later = neighbours[node]
        bags[node] = later | {node}
        parent[node] = min(later, key=rank.__getitem__) if later else None
        for other in later:
            neighbours[other] |= later
            neighbours[other] -= {other, node}
    # A bag inside its child's is merged into it; walking from the first eliminated meets children first.
    home = {node: node for node in bags}
    for node in order.order.tolist():
        up = parent[node]
        if up is not None and home[up] == up and bags[up] <= bags[home[node]]:
            home[up] = home[node]
    kept = [node for node in order.order.tolist() if home[node] == node]
    index = {node: k for k, node in enumerate(kept)}
    cliques = [tuple(sorted(bags[node])) for node in kept]
    links, roots = [], []
    for node in kept:
        top = node  # the highest bag merged into this clique leads on to the parent clique
        while True:
            up = parent[top]
            if up is None or home[up] != node:
                break
            top = up
        if up is None:
            roots.append(index[node])
        else:
            links.append((index[node], index[home[up]]))
    return JunctionTree(cliques, links, roots)


def smallest_face(model: Model, mean: np.ndarray, tree: JunctionTree) -> Face | None:
    """The smallest face of the polytope of s that holds ``mean`` (p,); None where the solver failed."""
    states = model.states
    shapes = [tuple(int(states[i]) for i in clique) for clique in tree.cliques]
    sizes = np.array([int(np.prod(shape)) for shape in shapes])
    start = np.concatenate([[0], np.cumsum(sizes)])
    rows, kappa = _statistic_rows(model, mean, tree, shapes, start)
    blocks = [rows]
    right = [kappa]
    for child, above in tree.links:
        separator = tuple(sorted(set(tree.cliques[child]) & set(tree.cliques[above])))
        a = _marginal(tree.cliques[child], shapes[child], separator, states)
        b = _marginal(tree.cliques[above], shapes[above], separator, states)
        n_rows = int(np.prod([states[i] for i in separator])) if separator else 1
        cell = np.concatenate([start[child] + np.arange(a.size), start[above] + np.arange(b.size)])
        value = np.concatenate([np.ones(a.size), -np.ones(b.size)])
        blocks.append(coo_array((value, (np.concatenate([a, b]), cell)), shape=(n_rows, start[-1])).tocsr())
        right.append(np.zeros(n_rows))
    for root in tree.roots:
        cell = start[root] + np.arange(sizes[root])
        blocks.append(csr_array((np.ones(cell.size), (np.zeros(cell.size, int), cell)), shape=(1, start[-1])))
        right.append(np.ones(1))
    return _solve(blocks, np.concatenate(right), model.n_parameters)


def _solve(blocks: list[csr_array], kappa: np.ndarray, n_parameters: int) -> Face | None:
    tau = vstack(blocks, format="csr")
    n_cells = tau.shape[1]
    # tau = u + rest, so that "u <= tau" costs no row.
    matrix = hstack([tau, tau, csr_array(-kappa[:, None])], format="csr")
    objective = np.concatenate([-np.ones(n_cells), np.zeros(n_cells + 1)])
    upper = np.concatenate([np.ones(n_cells), np.full(n_cells + 1, np.inf)])
    bounds = np.stack([np.zeros(upper.size), upper], axis=1)
    solve: Callable[..., OptimizeResult] = linprog  # its stubs do not know sparse matrices
    result = solve(objective, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=bounds, method="highs")
    if result.status != 0:
        return None
    cell = result.x[:n_cells]
    if not ((cell < 1e-6) | (cell > 1 - 1e-6)).all():
        return None  # neither zero nor one: the scale of the problem beat the solver
    positive = cell > 0.5
    if positive.all():
        return Face(True, np.zeros(n_parameters))
    return _normal(csr_array(tau[:, np.flatnonzero(positive)].T), n_parameters)


def _normal(rows: csr_array, n_parameters: int) -> Face | None:
    """A random vector of the null space of ``rows``, by least squares; its first ``n_parameters`` entries."""
    start = np.random.default_rng(_SEED).normal(size=rows.shape[1])
    found = lsqr(rows, rows @ start, atol=1e-14, btol=1e-14, conlim=0, iter_lim=20 * sum(rows.shape))
    left = start - found[0]
    if np.abs(rows @ left).max(initial=0.0) > 1e-8:
        return None
    direction = left[:n_parameters]
    direction[np.abs(direction) < 1e-6] = 0.0
    return Face(False, direction)


def _statistic_rows(
    model: Model, mean: np.ndarray, tree: JunctionTree, shapes: list[tuple[int, ...]], start: np.ndarray
) -> tuple[csr_array, np.ndarray]:
    """Rows of L and their right-hand sides per unit mass."""
    chart = model.chart
    rows: list[np.ndarray] = []
    columns: list[np.ndarray] = []
    values: list[np.ndarray] = []
    members: list[set[int]] = [set(clique) for clique in tree.cliques]
    holding: dict[int, list[int]] = {}
    for k, clique in enumerate(tree.cliques):
        for i in clique:
            holding.setdefault(i, []).append(k)
    for group in model.groups:
        for scope, block in zip(group.scope.tolist(), group.block.tolist(), strict=True):
            home = next(k for k in holding[scope[0]] if members[k].issuperset(scope))
            cell = _marginal(tree.cliques[home], shapes[home], tuple(scope), model.states)
            for outcome, table in enumerate(group.statistics):
                value = table.ravel()[cell]
                used = np.flatnonzero(value)
                rows.append(np.full(used.size, chart.offset[block] + outcome))
                columns.append(start[home] + used)
                values.append(value[used])
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(model.n_parameters, int(start[-1])),
    ).tocsr()
    return matrix, mean


def _marginal(
    clique: tuple[int, ...], shape: tuple[int, ...], scope: tuple[int, ...], states: np.ndarray
) -> np.ndarray:
    """For every cell of the clique, row-major, the cell of ``scope`` (in its own order) that it belongs to."""
    cell = np.zeros(shape, dtype=np.int64)
    for i in scope:
        axis = clique.index(i)
        values = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in range(len(shape))])
        cell = cell * int(states[i]) + values
    return cell.ravel()
