r"""Measures of nodes and of whole networks at every draw: centrality, communities, global strength.

Paths go along edges of length :math:`1 / |w|`. Closeness is :math:`(d - 1)` over the sum of the distances to all other
nodes, betweenness the number of pairs of other nodes whose shortest path goes through a node (of several paths of the
same length, the share that does), and bridge strength the sum of the sizes of the couplings to nodes of other
communities. Communities maximise the modularity of :math:`|w|` (the
algorithm of Louvain) at every draw; how often two nodes are in one community is their co-membership.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.model.field import Model
from mrfbayes.model.scales import edge_strengths
from mrfbayes.results.predictability import evenly, interval_columns

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior

NODE_MEASURES = ("strength", "expected_influence", "closeness", "betweenness", "bridge")
MOST_DRAWS = 4_000
NUMBERS = 2**25  # draws x edges that are held at once
MOST_PATH_NODES = 200  # nodes up to which paths and communities are looked at
TIE = 1e-12  # relative, within which lengths of paths and measures of nodes are the same
PATH_DRAWS, COMMUNITY_DRAWS = 500, 100
LOUVAIN_SEED = 1


class Communities(NamedTuple):
    """``label`` (d,) of each node, from 0; ``together`` (d, d) the posterior co-membership of each pair."""

    label: np.ndarray
    together: np.ndarray

    @property
    def certainty(self) -> np.ndarray:
        """(d,) mean co-membership of each node with the others of its community; 1 where it is alone."""
        same = (self.label[:, None] == self.label) & ~np.eye(self.label.size, dtype=bool)
        count = same.sum(axis=1)
        return np.where(count > 0, (self.together * same).sum(axis=1) / np.maximum(count, 1), 1.0)


def coupling_draws(model: Model, log_odds: np.ndarray, scale: Scale = "log-odds", most: int = MOST_DRAWS) -> np.ndarray:
    """(draws, m) one coupling per edge at draws (..., p) spread evenly; the norm of a table."""
    if scale not in ("log-odds", "ising"):
        raise InputError(f"scale = {scale!r}: centrality adds couplings; choose 'log-odds' or 'ising'.")
    if scale == "ising" and not model.is_binary:
        raise InputError("scale = 'ising' is for variables with two states: use 'log-odds'.")
    most = max(50, min(most, NUMBERS // max(model.n_edges, 1)))
    draws = evenly(np.asarray(log_odds).reshape(-1, model.n_parameters), most)
    if scale == "ising":
        return np.stack([model.lowering.potentials(w)[1] / 2 for w in draws])
    return edge_strengths(model, draws)


def node_measures(model: Model, couplings: np.ndarray, label: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Each of `NODE_MEASURES` as (draws, d), as far as the network is small enough; ``label`` (d,) are communities."""
    from scipy.sparse import csr_array

    rows, columns = model.edges.T.ravel(), np.tile(np.arange(model.n_edges), 2)
    incidence = csr_array((np.ones(rows.size), (rows, columns)), shape=(model.n_nodes, model.n_edges))
    found = {
        "strength": np.asarray((incidence @ np.abs(couplings).T).T),
        "expected_influence": np.asarray((incidence @ couplings.T).T),
    }
    if model.n_edges and model.n_nodes <= MOST_PATH_NODES:
        paths = [_path_measures(model, np.abs(one)) for one in evenly(couplings, PATH_DRAWS)]
        found["closeness"], found["betweenness"] = np.stack(paths, axis=1)
    if label is not None and label.max(initial=0) > 0:
        between = label[model.edges[:, 0]] != label[model.edges[:, 1]]
        found["bridge"] = np.asarray((incidence @ (np.abs(couplings) * between).T).T)
    return found


def _path_measures(model: Model, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Closeness and betweenness (d,) at one draw."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    d, there = model.n_nodes, size > 0
    ends, length = model.edges[there].T, 1.0 / size[there]
    graph = coo_array((length, tuple(ends)), shape=(d, d)).tocsr()
    distance = dijkstra(graph, directed=False)
    finite = np.where(np.isfinite(distance), distance, -1.0)
    far = np.maximum(finite, 0.0).sum(axis=1)
    reached = (finite >= 0).sum(axis=1) - 1
    closeness = np.divide(reached**2 / max(d - 1, 1), far, out=np.zeros(d), where=far > 0)
    shortest = length <= distance[tuple(ends)] * (1 + TIE)  # other edges are on no shortest path
    ends, length = ends[:, shortest], length[shortest, None]
    steps = [_last_steps(np.ascontiguousarray(finite.T), u, v, length) for u, v in (ends, ends[::-1])]
    source, before, node = np.concatenate(steps, axis=1)
    # Brandes: from each source on, a node has the paths of all before it; from the farthest node on, it passes what
    # goes through it on to them in these shares.
    rank = np.argsort(np.argsort(finite, axis=1), axis=1)[source, node]
    ranks = np.split(np.argsort(rank), np.cumsum(np.bincount(rank, minlength=d))[:-1])
    paths, through = np.eye(d), np.zeros((d, d))
    for k in ranks:
        np.add.at(paths, (source[k], node[k]), paths[source[k], before[k]])
    share = paths[source, before] / np.maximum(paths[source, node], 1.0)
    for k in reversed(ranks):
        np.add.at(through, (source[k], before[k]), share[k] * (1 + through[source[k], node[k]]))
    np.fill_diagonal(through, 0.0)
    return closeness, through.sum(axis=0) / 2


def _last_steps(distance: np.ndarray, u: np.ndarray, v: np.ndarray, length: np.ndarray) -> np.ndarray:
    """(3, k) sources with the ends of edges u to v by which some shortest path comes to v.

    ``distance`` (d, d) is to each node (rows) from each source, -1 where there is none.
    """
    near, at = distance[u], distance[v]
    edge, source = np.nonzero((near >= 0) & (near < at) & (near + length <= at * (1 + TIE)))
    return np.stack([source, u[edge], v[edge]])


def _first(values: np.ndarray) -> np.ndarray:
    """(d,) share of the draws (n, d) in which each node leads; nodes that lead together share a draw."""
    off = TIE * np.abs(values).max(axis=1, keepdims=True)
    leads = values >= values.max(axis=1, keepdims=True) - off
    return np.asarray((leads / leads.sum(axis=1, keepdims=True)).mean(axis=0))


def communities(model: Model, couplings: np.ndarray) -> Communities | None:
    """The communities of a network; None where it is too large or has no edges."""
    import networkx as nx

    if not model.n_edges or not 3 <= model.n_nodes <= MOST_PATH_NODES:
        return None
    together, draws = np.zeros((model.n_nodes, model.n_nodes)), evenly(couplings, COMMUNITY_DRAWS)
    ends = model.edges.tolist()

    def partition(weights: list[float], pairs: list[list[int]]) -> np.ndarray:
        graph = nx.Graph()
        graph.add_nodes_from(range(model.n_nodes))
        graph.add_weighted_edges_from((u, v, w) for (u, v), w in zip(pairs, weights, strict=True) if w > 0)
        label = np.zeros(model.n_nodes, dtype=np.int64)
        for k, members in enumerate(nx.community.louvain_communities(graph, seed=LOUVAIN_SEED)):
            label[list(members)] = k
        return label

    for one in draws:
        label = partition(np.abs(one).tolist(), ends)
        together += (label[:, None] == label) / len(draws)
    often = np.argwhere(np.triu(together > 0.5, 1))
    label = partition(together[tuple(often.T)].tolist(), often.tolist())
    order = {old: new for new, old in enumerate(dict.fromkeys(label.tolist()))}
    return Communities(np.array([order[k] for k in label.tolist()]), together)


class WithCentrality:
    """The table of measures of nodes that a `Posterior` has."""

    def centrality(self: Posterior, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:  # type: ignore[misc]
        """Return strength, expected influence and other measures of each node.

        Parameters
        ----------
        scale : {"log-odds", "ising"}, optional
            Scale of the couplings; by default "log-odds".
        ci_prob : float, default 0.9
            Probability of the intervals, in the columns ``strength_q5`` and so on.

        Returns
        -------
        DataFrame
            One row per node; ``strength`` is the sum of the absolute couplings, ``expected_influence`` their sum.
        """
        import pandas as pd

        model = self.model
        couplings = coupling_draws(model, self.log_odds, scale or "log-odds")
        groups = communities(model, couplings)
        found: dict[str, np.ndarray] = {}
        for name, values in node_measures(model, couplings, None if groups is None else groups.label).items():
            found |= interval_columns(name, values, ci_prob)
            found[f"{name}_first"] = _first(values)
        if groups is not None:
            found |= {"community": groups.label + 1, "community_certainty": groups.certainty}
        table = pd.DataFrame(found, index=pd.Index(model.nodes, name="node"))
        table.attrs |= {"scale": scale or "log-odds", "draws": len(couplings)}
        return table


def order_table(values: np.ndarray, names: list[str]) -> pd.DataFrame:
    """P(row above column) for quantities (draws, k): tests of differences between edges or between nodes."""
    import pandas as pd

    k = values.shape[1]
    above = np.reshape([(np.sign(values[:, [j]] - values).mean(axis=0) + 1) / 2 for j in range(k)], (k, k))
    return pd.DataFrame(above, index=pd.Index(names, name="above"), columns=names)


def global_strength(couplings: np.ndarray, ci_prob: float = 0.9) -> dict[str, float]:
    """Mean and interval of the sum of the sizes of all couplings (draws, m)."""
    found = interval_columns("global_strength", np.abs(couplings).sum(axis=1), ci_prob)
    return {name: float(value) for name, value in found.items()}
