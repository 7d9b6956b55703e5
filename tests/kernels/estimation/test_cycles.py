"""Tight cycle inequalities against all cycles and all odd subsets of their edges."""

from itertools import combinations

import networkx
import numpy as np

from mrfbayes.kernels.estimation.cycles import tight_edges
from mrfbayes.model.adjacency import adjacency

N = 12.0


def tight_by_definition(pairs, agree):
    """Edges of all pairs (cycle, odd subset F) with sum of agree over F plus disagree over the rest equal to n."""
    index = {frozenset(pair): e for e, pair in enumerate(pairs.tolist())}
    tight = np.zeros(len(pairs), dtype=bool)
    least = np.inf
    for nodes in networkx.simple_cycles(networkx.Graph(pairs.tolist())):
        cycle = [index[frozenset((nodes[k - 1], nodes[k]))] for k in range(len(nodes))]
        for size in range(1, len(cycle) + 1, 2):
            for odd in combinations(cycle, size):
                total = sum(agree[e] if e in odd else N - agree[e] for e in cycle)
                least = min(least, total)
                if total == N:
                    tight[cycle] = True
    return tight, least


def agreements_of_real_data(seed):
    """Every walk is at least n long then; few distinct rows, so that some are n."""
    rng = np.random.default_rng(seed)
    graph = networkx.gnm_random_graph(6, int(rng.integers(6, 10)), seed=seed)
    pairs = np.array(sorted(graph.edges), dtype=np.int64)
    distinct = rng.integers(0, 2, (int(rng.integers(3, 8)), 6))
    x = distinct[rng.integers(0, len(distinct), int(N))]
    agree = (x[:, pairs[:, 0]] == x[:, pairs[:, 1]]).sum(axis=0).astype(float)
    inside = (agree > 0) & (agree < N)
    return np.ascontiguousarray(pairs[inside]), agree[inside]


def test_tight_edges_by_definition():
    seen = {"all": 0, "some": 0, "none": 0}
    for seed in range(60):
        pairs, agree = agreements_of_real_data(seed)
        expected, least = tight_by_definition(pairs, agree)
        assert least >= N
        tight = np.zeros(len(pairs), dtype=bool)
        assert tight_edges(adjacency(pairs, 6), pairs, agree, N, 0.0, 10**9, tight) >= 0
        np.testing.assert_array_equal(tight, expected)
        seen["all" if expected.all() else "some" if expected.any() else "none"] += 1
    assert min(seen.values()) >= 3


def test_the_search_gives_up_where_it_is_told_to():
    pairs = np.array([[0, 1], [1, 2], [0, 2]])
    tight = np.zeros(3, dtype=bool)
    assert tight_edges(adjacency(pairs, 3), pairs, np.full(3, 6.0), N, 0.0, 1, tight) < 0
