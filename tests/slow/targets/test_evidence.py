"""All 64 graphs on four nodes: evidences, and for every edge its Bayes factor given every rest of the graph."""

import itertools
import warnings

import numpy as np

import mrfbayes as mb
from oracles import evidence_on_four_nodes

PAIRS = list(itertools.combinations(range(4), 2))


def test_every_graph_on_four_nodes():
    rng = np.random.default_rng(3)
    data = rng.integers(0, 2, size=(15, 4)).astype(np.uint8)
    data[:11, 1] = data[:11, 0]  # unequal couplings of both signs
    data[:9, 3] = 1 - data[:9, 2]
    data[5:14, 2] = data[5:14, 0]
    graphs = [edges for k in range(7) for edges in itertools.combinations(PAIRS, k)]
    assert len(graphs) == 64
    exact = {edges: evidence_on_four_nodes(data, list(edges))[0] for edges in graphs}
    compared = 0
    for edges in graphs:
        if not edges:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # isolated nodes
            model = mb.graph(list(edges), nodes=range(4))
            found = mb.evidence(model, data, draws=5_000)
            table = mb.sample(model, data, "exact", draws=2_000, prior="uniform", progress=False).edges()
        assert abs(found.log_evidence - exact[edges]) < max(5.5 * found.standard_error, 1e-6), edges
        for edge, (_, row) in zip(edges, table.iterrows(), strict=True):
            rest = tuple(other for other in edges if other != edge)
            expected = exact[edges] - exact[rest]
            assert abs(row["log_bf10"] - expected) < max(5.5 * row["log_bf10_error"], 1e-6), (edges, edge)
            compared += 1
    assert compared == 6 * 32
    # Negative control: the evidences differ by far more than their errors.
    assert np.ptp(list(exact.values())) > 1
