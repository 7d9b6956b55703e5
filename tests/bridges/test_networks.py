"""Graphs and networks of other packages hold the same distribution, there and back, and the numbers of a result."""

import networkx as nx
import numpy as np
import pytest
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

import mrfbayes as mb
from bridges.bridge_cases import FIELDS, THETA, every_row, log_probabilities, normalised
from mrfbayes import bridges
from mrfbayes.exact.quantities import log_partition_w
from mrfbayes.results.predictability import row_log_weights


def pgmpy_log_probabilities(network, names, rows):
    total = np.zeros(len(rows))
    for factor in network.get_factors():
        places = [names.index(name) for name in factor.variables]
        total += np.log(factor.values[tuple(rows[:, place] for place in places)])
    return normalised(total)


@pytest.mark.parametrize("name", FIELDS)
def test_pgmpy_round_trip_keeps_the_distribution(name):
    model, theta = FIELDS[name], THETA[name]
    network = bridges.to_pgmpy(model, theta)
    assert isinstance(network, DiscreteMarkovNetwork)
    assert network.check_model()
    rows, mine = every_row(model), log_probabilities(model, theta)
    assert pgmpy_log_probabilities(network, list(model.nodes), rows) == pytest.approx(mine, rel=1e-10)
    again, other = bridges.from_pgmpy(network)
    order = [model.nodes.index(node) for node in again.nodes]
    assert np.array_equal(again.states, model.states[order])
    w = again.chart.log_odds(other)
    assert row_log_weights(again, w, rows[:, order]) - log_partition_w(again, w) == pytest.approx(mine, rel=1e-9)


def test_a_network_that_was_made_in_pgmpy():
    network = DiscreteMarkovNetwork([("u", "v")])
    network.add_factors(
        DiscreteFactor(["v", "u"], [2, 2], [5, 1, 2, 7]),
        DiscreteFactor(["u", "v"], [2, 2], [1, 3, 1, 1]),  # a second one on the same pair
        DiscreteFactor(["u"], [2], [1, 4]),
    )
    model, theta = bridges.from_pgmpy(network)
    rows = every_row(model)
    assert log_probabilities(model, theta) == pytest.approx(
        pgmpy_log_probabilities(network, list(model.nodes), rows), rel=1e-10
    )
    posterior = mb.sample(model, rows.repeat(10, axis=0), "mle", draws=50, progress=False)  # and learns from data
    assert posterior.parameters == model.parameters


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ([DiscreteFactor(["u", "v", "t"], [2, 2, 2], np.ones(8))], "has 3 variables; a field has at most two"),
        ([DiscreteFactor(["u", "v"], [2, 2], [1, 0, 1, 1])], "values that are not positive"),
        ([DiscreteFactor(["u"], [2], [1, 2])], "no factor has the variable 'v'"),
    ],
)
def test_unsupported_pgmpy_networks_raise_input_error(factors, message):
    network = DiscreteMarkovNetwork([("u", "v"), ("v", "t"), ("t", "u")] if "3 variables" in message else [("u", "v")])
    network.add_factors(*factors)
    with pytest.raises(mb.InputError, match=message):
        bridges.from_pgmpy(network)


@pytest.fixture(scope="module")
def posterior():
    model = FIELDS["both-one"]
    x = mb.simulate(model, THETA["both-one"], 400, rng=2, progress=False)
    return mb.sample(model, x, "calibrated", draws=400, prior="normal(0, 1)", progress=False)


def test_networkx_graph_has_the_numbers_of_the_posterior(posterior):
    graph = bridges.to_networkx(posterior)
    assert isinstance(graph, nx.Graph)
    table = posterior.edges(scale="log-odds")
    assert graph.number_of_edges() == 4
    for u, v in posterior.model.edges.tolist():
        names = posterior.model.nodes[u], posterior.model.nodes[v]
        found, row = graph.edges[names], table.loc["--".join(names)]
        assert found["weight"] == pytest.approx(row["mean"])
        assert {k: found[k] for k in ("sd", "q5", "q95", "log_bf10", "verdict")} == {
            k: row[k] for k in ("sd", "q5", "q95", "log_bf10", "verdict")
        }
    summary = posterior.summary(scale="log-odds")
    assert graph.nodes["d"]["mean"] == pytest.approx(summary.loc["d", "mean"])
    assert graph.nodes["d"]["states"] == 2
    assert graph.graph["scale"] == "log-odds"
    assert {frozenset(pair) for pair in mb.graph(graph).edges.tolist()} == {
        frozenset(pair) for pair in posterior.model.edges.tolist()
    }


def test_a_graph_of_a_result_goes_through_files(posterior, tmp_path):
    """Its warnings were a list, which no format of files takes."""
    graph = bridges.to_networkx(posterior)
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    nx.write_gexf(graph, tmp_path / "graph.gexf")
    for again in (nx.read_graphml(tmp_path / "graph.graphml"), nx.read_gexf(tmp_path / "graph.gexf")):
        assert again.number_of_edges() == graph.number_of_edges()
        for u, v, found in graph.edges(data=True):
            assert again.edges[u, v]["weight"] == pytest.approx(found["weight"], rel=1e-12)
            assert again.edges[u, v]["verdict"] == found["verdict"]


def test_weights_for_qgraph(posterior):
    table = bridges.weight_table(posterior)
    assert np.array_equal(table, table.T)
    assert table.loc["a", "d"] == 0
    assert table.loc["a", "b"] == pytest.approx(posterior.edges(scale="log-odds").loc["a--b", "mean"])
    present = posterior.edges(scale="log-odds")["verdict"] == "present"
    assert (bridges.weight_table(posterior, only="present").to_numpy() != 0).sum() == 2 * present.sum()
    with pytest.raises(mb.InputError, match="only = 'absent'"):
        bridges.weight_table(posterior, only="absent")


def test_arviz_reads_the_same_numbers(posterior):
    from arviz_stats import summary

    found = summary(posterior.to_arviz(), var_names=["theta"], round_to="none")
    assert found["mean"].to_numpy() == pytest.approx(posterior.draws.mean(axis=(0, 1)), rel=1e-6)


@pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")
def test_a_tied_edge_has_no_strength_of_its_own():
    model = FIELDS["tied"]
    x = mb.simulate(model, THETA["tied"], 50, rng=2, progress=False)
    tied = mb.sample(model, x, "mle", draws=50, progress=False)
    with pytest.raises(mb.InputError, match="edge a--b"):
        bridges.to_networkx(tied, evidence=False)
