"""Facets of the cut polytope that the data touch: agreement coins on a graph without fields.

The agreement frequencies of a planar graph are free but for 0 <= mu <= 1 and the cycle inequalities (Barahona &
Mahjoub 1986, for graphs without a K5 minor), so a finite MLE exists if and only if none of them is tight. Edges that
always agree or always disagree are contracted first: what is left is strictly between, where every tight odd closed
walk is a cycle.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.estimation.cycles import tight_edges
from mrfbayes.model.adjacency import adjacency
from mrfbayes.model.field import Model

MOST_PATH_STEPS = 2_000_000_000  # about half a minute of shortest-path steps; past this the question is left open


def is_planar(model: Model) -> bool:
    """Whether the model's graph can be drawn without crossings."""
    if model.grid_shape is not None:
        return True
    d, m = model.n_nodes, model.n_edges
    if d >= 3 and m > 3 * d - 6:
        return False
    import networkx

    graph = networkx.Graph(model.edges.tolist())
    return bool(networkx.check_planarity(graph)[0])


def touched_edges(edges: np.ndarray, n_nodes: int, agree: np.ndarray, n: float) -> np.ndarray | None:
    """Edges (m,) bool in the support of a facet that the agreement counts ``agree`` (m,) touch; None: gave up."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    whole = bool((agree == np.rint(agree)).all()) and n == round(n)
    slack = 0.0 if whole else 1e-9 * n
    always, never = agree >= n - slack, agree <= slack
    fixed = always | never
    if not len(edges):
        return np.asarray(fixed)
    # Two copies of every node, joined straight by "always" and crosswise by "never": components carry the sign.
    u, v = edges[fixed].T
    cross = np.where(never[fixed], n_nodes, 0)
    rows = np.concatenate([u, u + n_nodes])
    columns = np.concatenate([v + cross, v + n_nodes - cross])
    links = coo_array((np.ones(rows.size, dtype=np.int8), (rows, columns)), shape=(2 * n_nodes, 2 * n_nodes))
    label = connected_components(links, directed=False)[1]
    plain, mirror = label[:n_nodes], label[n_nodes:]
    owner = np.unique(np.minimum(plain, mirror), return_inverse=True)[1]
    flipped = plain > mirror
    ends = owner[edges]
    opposite = flipped[edges[:, 0]] ^ flipped[edges[:, 1]]
    inside = ends[:, 0] == ends[:, 1]
    touched = fixed | inside
    free = np.flatnonzero(~touched)
    if not free.size:
        return np.asarray(touched)
    pair = np.sort(ends[free], axis=1)
    unique, which, count = np.unique(pair, axis=0, return_inverse=True, return_counts=True)
    merged = np.zeros(len(unique))
    merged[which] = np.where(opposite[free], n - agree[free], agree[free])  # parallel edges agree with each other
    tight = count > 1  # two edges that only differ by fixed ones: their cycle is tight
    unique = np.ascontiguousarray(unique, dtype=np.int64)
    lists = adjacency(unique, int(owner.max()) + 1)
    if tight_edges(lists, unique, merged, float(n), slack, MOST_PATH_STEPS, tight) < 0:
        return None
    touched[free] = tight[which]
    return np.asarray(touched)
