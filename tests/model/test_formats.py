"""Graph files: what is read back is what was written, and what is refused is refused by file and line."""

from itertools import product

import networkx as nx
import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.errors import InputError, Problems
from mrfbayes.model import formats
from mrfbayes.model.build import graph, grid
from mrfbayes.model.factors import Factor
from mrfbayes.model.field import Model
from mrfbayes.model.formats import read_graph, read_uai


def write(folder, content, name="graph.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "edges"),
    [
        ("a,b\nb,c\n", [("a", "b"), ("b", "c")]),
        ("source,target\na,b\nb,c", [("a", "b"), ("b", "c")]),
        ("\ufefffrom;to\na;b\n", [("a", "b")]),
        ("u,v\n0,1\n1,2\n", [(0, 1), (1, 2)]),
        ("0\t1\n1\t2\n\n", [(0, 1), (1, 2)]),
        ("0 1\n1 2 \n", [(0, 1), (1, 2)]),
        ('"a, 1", "b"\r\nb,c\r\n', [("a, 1", "b"), ("b", "c")]),
        ("a,b\nc,d\n", [("a", "b"), ("c", "d")]),
        ("1,x\nx,2\n", [("1", "x"), ("x", "2")]),
    ],
)
def test_edge_lists(tmp_path, content, edges):
    assert read_graph(write(tmp_path, content), Problems())[:2] == (edges, None)


def test_graph_takes_the_path(tmp_path):
    model = graph(write(tmp_path, "source,target\nb,a\na,c\n"), fields=True)
    assert model.nodes == ("b", "a", "c")
    assert model.edges.tolist() == [[0, 1], [1, 2]]
    assert graph(write(tmp_path, "0,1\n1,0\n"), merge_edges=True).edges.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "graph.csv: the file is empty; expected one edge per line"),
        ("source,target\n", "graph.csv: no edges, only a header"),
        (",\n", "graph.csv:1:1: empty node name"),
        ("a,b\nb\n", "graph.csv:2: 1 columns; an edge list has two, the ends of the edge; is ',' the delimiter?"),
        ("a,b,1\n", "graph.csv:1: 3 columns; an edge list has two"),
        ("a,b\n\nb,\n", "graph.csv:3:2: empty node name"),
        ("a,b\nc,c\n", "graph.csv:2: joins 'c' to itself; remove the self-loop"),
        ("a,b\nb,c\nb,a\n", "graph.csv:3: edge 'b', 'a' repeats "),
        ('a,"b\nb,c\n', "graph.csv:2: unexpected end of data; close the quote"),
        ("a,é\n".encode("latin-1"), "graph.csv:1: byte 2 is 0xe9, which is not UTF-8 (Latin-1?)"),
        ("a,b\n".encode("utf-16"), "graph.csv: byte 0 is 0xff, the mark of UTF-16"),
        (b"a,b\n\0", "graph.csv:2: byte 4 is NUL"),
    ],
)
def test_bad_edge_lists(tmp_path, content, message):
    with pytest.raises(InputError) as caught:
        graph(write(tmp_path, content))
    assert message in str(caught.value)


def test_files_that_cannot_be_opened(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"nowhere\.csv: No such file"):
        read_graph(tmp_path / "nowhere.csv", Problems())
    with pytest.raises(InputError, match="Is a directory"):
        read_graph(tmp_path, Problems())
    path = write(tmp_path, "a,b\n")
    monkeypatch.setattr(formats, "MOST_FILE_BYTES", 3)
    with pytest.raises(InputError, match="too large for a graph file"):
        read_graph(path, Problems())


def test_mixed_counting_gets_a_hint():
    with pytest.raises(InputError, match=r"node 3 is not among nodes=.*counted from 0 here and from 1 there"):
        graph([(1, 2), (2, 3)], nodes=range(3))


# --- GraphML


def test_graphml_round_trip(tmp_path):
    model = graph([("b", "a<&>"), ("a<&>", "é")], nodes=["b", "a<&>", "é", "alone"], states=[2, 3, 2, 2])
    model.save(tmp_path / "g.graphml")
    edges, nodes, _ = read_graph(tmp_path / "g.graphml", Problems())
    assert edges == [("b", "a<&>"), ("a<&>", "é")]
    assert nodes == list(model.nodes)
    other = nx.read_graphml(tmp_path / "g.graphml")
    assert set(other.nodes) == set(model.nodes)
    assert other.nodes["a<&>"]["states"] == 3
    assert not other.is_directed()


def test_graphml_of_networkx(tmp_path):
    source = nx.grid_2d_graph(2, 3)
    nx.write_graphml(source, tmp_path / "g.graphml")
    model = graph(tmp_path / "g.graphml")
    assert model.nodes == tuple(str(node) for node in source.nodes)
    assert model.n_edges == 7


GRAPH = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="{}">{}</graph></graphml>'
NODES = '<node id="a"/><node id="b"/>'
BOMB = '<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            GRAPH.format("directed", NODES + '<edge source="a" target="b"/>'),
            "edge 'a' -> 'b' is directed; a Markov random field is undirected",
        ),
        (
            GRAPH.format("undirected", NODES + '<edge source="a" target="b" directed="true"/>'),
            "edge 'a' -> 'b' is directed",
        ),
        (BOMB + GRAPH.format("undirected", NODES), "g.graphml:1: <!DOCTYPE is not allowed"),
        ('<?xml version="1.0"?>\n<!doctype g SYSTEM "file:///etc/passwd">\n' + GRAPH, "g.graphml:2: <!DOCTYPE"),
        (
            GRAPH.format("undirected", NODES + '<edge source="a" target="z"/>'),
            "an edge ends at 'z', which is no <node>",
        ),
        (GRAPH.format("undirected", NODES + '<edge source="a"/>'), "a <edge> has no target"),
        (GRAPH.format("undirected", "<node/>"), "a <node> has no id"),
        (GRAPH.format("undirected", NODES + "<hyperedge/>"), "hyperedges are not supported"),
        (GRAPH.format("undirected", '<node id="a"><graph/></node>'), "2 graphs in one file"),
        ("<graphml></graphml>", "no <graphml> with a <graph>"),
        ("<graphml><graph>", "g.graphml:1: not well-formed XML"),
    ],
)
def test_bad_graphml(tmp_path, content, message):
    with pytest.raises(InputError) as caught:
        read_graph(write(tmp_path, content, "g.graphml"), Problems())
    assert message in str(caught.value)


def test_entities_never_reach_the_parser(tmp_path, monkeypatch):
    def fail(text):
        raise AssertionError("parsed")

    monkeypatch.setattr(formats.ElementTree, "fromstring", fail)
    for encoding in ("utf-8", "utf-16"):
        with pytest.raises(InputError, match=r"DOCTYPE|UTF-16"):
            read_graph(write(tmp_path, (BOMB + GRAPH).encode(encoding), "g.graphml"), Problems())


# --- UAI

MODELS = {
    "paper": grid(2, 3),
    "ordinal": graph([(0, 1), (2, 1)], states=[2, 3, 4], coupling="score", fields=True),
    "tied Potts": grid(2, 2, states=3, tied=True, fields=True),
    "against the order": Model(
        {"a": 2, "b": 3}, [Factor(("b", "a"), outcomes=[[0, 1], [1, 2], [2, 2]]), Factor("a", outcomes=[1, 0])]
    ),
}


def distribution(model, theta):
    """Probability of every configuration, factor by factor."""
    weights = []
    for states in product(*map(range, model.states)):
        weight = 1.0
        for group in model.groups:
            for scope, block in zip(group.scope, group.block, strict=True):
                free = theta[model.chart.offset[block] : model.chart.offset[block + 1]]
                outcome = group.table[tuple(np.array(states)[scope])]
                if group.is_score:
                    weight *= free[0] ** outcome * (1 - free[0]) ** (group.table.max() - outcome)
                else:
                    weight *= np.append(free, 1 - free.sum())[outcome]
        weights.append(weight)
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize("name", MODELS)
def test_uai_round_trip_keeps_the_distribution(tmp_path, name):
    model = MODELS[name]
    theta = model.chart.theta(np.random.default_rng(5).normal(size=model.n_parameters))
    model.save(tmp_path / "m.uai", theta)
    again, weights = read_uai(tmp_path / "m.uai")
    assert again.states.tolist() == model.states.tolist()
    np.testing.assert_allclose(distribution(again, weights), distribution(model, theta), rtol=1e-12)
    edges, nodes, _ = read_graph(tmp_path / "m.uai", Problems())
    assert {frozenset(edge) for edge in edges} == {frozenset(edge) for edge in model.edges.tolist()}
    assert nodes == list(range(model.n_nodes))


def test_uai_of_another_program(tmp_path):
    text = "MARKOV\n2\n2 3\n2\n1 0\n2 1 0\n\n2\n 0.25 0.75\n\n6\n 1 2 3\n 4 5 6\n"
    model, theta = read_uai(write(tmp_path, text, "m.uai"))
    expected = np.array([[0.25 * (1 + 2 * b) for b in range(3)], [0.75 * (2 + 2 * b) for b in range(3)]]).ravel()
    np.testing.assert_allclose(distribution(model, theta), expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "starts with ''; expected a UAI file of type MARKOV"),
        ("BAYES 1 2 0", "starts with 'BAYES'"),
        ("MARKOV x", "the number of variables is 'x'; expected a whole number >= 1"),
        ("MARKOV 2 2", "the file ends where the number of states of a variable is expected; is it truncated?"),
        ("MARKOV 1 1 0", "the number of states of a variable is '1'"),
        ("MARKOV 1 2 1 1 5 2 1 1", "function 0 is on (5,); expected distinct variables 0..0"),
        ("MARKOV 2 2 2 1 2 0 0 4 1 1 1 1", "function 0 is on (0, 0)"),
        ("MARKOV 1 2 1 1 0 3 1 1 1", "function 0 has 3 entries, its variables have 2 configurations"),
        ("MARKOV 1 2 1 1 0 2 1", "the file ends where an entry of function 0 is expected"),
        ("MARKOV 1 2 1 1 0 2 1 -1", "an entry of function 0 is '-1'; expected a finite weight >= 0"),
        ("MARKOV 1 2 1 1 0 2 1 inf", "an entry of function 0 is 'inf'"),
        ("MARKOV 1 2 1 1 0 2 1 0", "function 0 has a zero; a field gives every configuration a positive weight"),
        ("MARKOV 1 2 1 1 0 2 1 1 9", "'9' after the last function"),
        ("MARKOV 3 2 2 2 1 3 0 1 2 8 1 1 1 1 1 1 1 1", "function 0 has 3 variables; a field has factors of one or two"),
        ("MARKOV 999999999999", "the file ends where the number of states"),
        ("MARKOV 1 2 1 999999999999 0", "the file ends where a variable of function 0"),
    ],
)
def test_bad_uai(tmp_path, content, message):
    with pytest.raises(InputError) as caught:
        read_uai(write(tmp_path, content, "m.uai"))
    assert message in str(caught.value)


def test_a_field_is_saved_by_the_ending_of_its_name(tmp_path):
    model = mb.graph([("a", "b"), ("b", "c")], states=3)
    model.save(tmp_path / "m.graphml")
    again = mb.graph(tmp_path / "m.graphml", states=3)
    assert (again.nodes, again.edges.tolist()) == (model.nodes, model.edges.tolist())
    model.save(tmp_path / "m.uai", theta=0.7)
    again, theta = read_uai(tmp_path / "m.uai")
    np.testing.assert_allclose(distribution(again, theta), distribution(model, np.full(2, 0.7)), rtol=1e-12)
    with pytest.raises(mb.InputError, match=r"m\.uai exists: .*overwrite=True"):
        model.save(tmp_path / "m.uai")
    model.save(tmp_path / "m.uai", overwrite=True)
    with pytest.raises(mb.InputError, match=r"path = 'm\.txt': .*\.graphml or \.uai"):
        model.save("m.txt")
    with pytest.raises(mb.InputError, match=r"theta is not written to GraphML"):
        model.save(tmp_path / "other.graphml", theta=0.7)
