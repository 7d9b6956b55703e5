"""Models and priors that make no sense are refused in one clear line, before anything large is made."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.base import checks
from mrfbayes.model.build import complete

PAIR = [("a", "b")]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (None, "edges = None: expected pairs of nodes, a networkx graph, or the path"),
        (5, "edges = 5: expected pairs of nodes"),
        (np.array(5), "edges = array(5): expected pairs of nodes"),
        (["ab", "cd"], "edges[0] = 'ab': an edge is a pair of nodes"),
        ([([1], [2])], "edges[0] = ([1], [2]): [1] is a list; a node is a name or a whole number"),
        ([({}, "a")], "{} is a dict; a node is a name"),
        ([(None, "a")], "None is a NoneType; a node is a name"),
        ([(1.5, 2)], "1.5 is a float; a node is a name"),
        ([(True, False)], "True is a bool; a node is a name"),
        (
            [("a", "a"), ("a", "b"), ("b", "a")],
            "edges[0]: joins 'a' to itself; remove the self-loop.\nedges[2]: edge 'b', 'a' repeats edges[1]",
        ),
    ],
)
def test_bad_edges(edges, message):
    with pytest.raises(mb.InputError) as caught:
        mb.graph(edges)
    assert message in str(caught.value)


def test_edges_of_a_table_and_of_whole_floats():
    assert mb.graph(pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"]})).nodes == ("a", "b", "c")
    assert mb.graph(np.array([[0.0, 1.0], [1.0, 2.0]])).nodes == ("0", "1", "2")
    assert mb.graph([((0, 0), (0, 1))]).nodes == ("(0, 0)", "(0, 1)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": 2.5}, "states = 2.5: a number of states is a whole number from 2 to 255"),
        ({"states": "3"}, "states = '3': a number of states"),
        ({"states": None}, "states = None: a number of states"),
        ({"states": [2, 2.5]}, "states[1] = 2.5"),
        ({"states": {"a": 2}}, "states: node 'b' has none; give one number per node"),
        ({"states": {"a": 2, "c": 2}}, "states: no node is called 'c'"),
        ({"nodes": "ab"}, "nodes = 'ab': give a list of names"),
        ({"nodes": 7}, "nodes = 7: give a list of names"),
        ({"nodes": ["a", "b", ["c"]]}, "nodes[2]: ['c'] is a list"),
        ({"nodes": ["a", "c"]}, "edges: node 'b' is not among nodes="),
        ({"tied": "direction"}, "tied = 'direction': choose True or False"),
        ({"tied": np.array([True, False])}, "tied = array([ True, False]): choose True or False"),
        ({"fields": 2}, "fields = 2: choose True or False"),
        ({"coupling": np.array(["a", "b"])}, "choose one of 'agreement', 'both-one', 'score', 'table'"),
        ({"merge_edges": "yes"}, "merge_edges = 'yes': choose True or False"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(mb.InputError) as caught:
        mb.graph(PAIR, **options)
    assert message in str(caught.value)


def test_states_by_name():
    assert mb.graph(PAIR, states={"b": 3, "a": 2}).states.tolist() == [2, 3]
    with pytest.raises(mb.InputError, match="the nodes of a grid are numbered"):
        mb.grid(1, 2, states={"a": 2, "b": 2})


def test_no_two_parameters_are_called_alike():
    with pytest.raises(mb.InputError, match=r"node 'a--b' .*edge between 'a' and 'b'"):
        mb.graph(PAIR, nodes=["a", "b", "a--b"], fields=True)
    with pytest.raises(mb.InputError, match="node 'b--a' is called like the edge"):
        mb.graph(PAIR, nodes=["a", "b", "b--a"])
    with pytest.raises(mb.InputError, match="two parameters would be called 'a--b--c'"):
        mb.graph([("a--b", "c"), ("a", "b--c")])
    with pytest.raises(mb.InputError, match=r"two parameters would be called 'a\[1\]'"):
        mb.graph([("a", "a[1]")], states=[3, 2], fields=True)
    with pytest.raises(mb.InputError, match="node 'a--b' is called like the edge"):
        complete(["a", "b", "a--b"])
    assert mb.graph([("pre--test", "post")]).parameters == ("pre--test--post",)


def test_complete_graphs_have_every_edge():
    model = complete(["u", "v", "w"], fields=True, coupling="both-one")
    assert model.parameters == ("u--v", "u--w", "v--w", "u", "v", "w")
    assert (
        model.fingerprint
        == mb.graph([("u", "v"), ("u", "w"), ("v", "w")], fields=True, coupling="both-one").fingerprint
    )
    for nodes, message in (([], "nodes is empty"), (["a", "a"], "two nodes are called 'a'"), ("ab", "give a list")):
        with pytest.raises(mb.InputError, match=message):
            complete(nodes)


def test_what_does_not_fit_is_refused_before_it_is_made(monkeypatch):
    with pytest.raises(mb.CostError, match=r"100,000 x 100,000 nodes .*9\.1 TiB .*limit"):
        mb.grid(10**5, 10**5)
    with pytest.raises(mb.CostError, match=r"2\^\d+ bytes of memory.*use a smaller grid"):
        mb.grid(10**30, 3)
    with pytest.raises(mb.CostError, match=r"1,000,000 variables .*499,999,500,000 edges"):
        complete(range(10**6))
    monkeypatch.setattr(checks, "memory_limit", lambda: 10_000)
    with pytest.raises(mb.CostError, match="a graph of 100 edges would take"):
        mb.graph(np.stack([np.arange(100), np.arange(100) + 1], axis=1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mb.Model(5, []), "variables = 5: give a list of names, or a mapping"),
        (lambda: mb.Model("ab", []), "variables = 'ab': give a list of names"),
        (lambda: mb.Model(["a"], None), "factors = None: give a list of mrfbayes.Factor"),
        (lambda: mb.Factor(None, outcomes=[0, 1]), "scope = None: a factor has one or two variables"),
        (lambda: mb.Factor("a", outcomes="xyz"), "its table must hold whole numbers from 0 to 65025"),
        (lambda: mb.Factor(("a", "b"), outcomes=[[0, 1], [1]]), "its table must hold whole numbers"),
        (lambda: mb.Factor("a", outcomes=[0, 10**12]), "whole numbers from 0 to 65025"),
        (lambda: mb.Factor("a", outcomes=[]), "one axis per variable; got []"),
    ],
)
def test_bad_general_models(make, message):
    with pytest.raises(mb.InputError) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("beta(1e308, 1e308)", "beta: a = 1e+308: must be a positive number, from 1e-06 to 1e+09"),
        ("beta(1, 0)", "beta: b = 0: must be a positive number"),
        ("normal(0, 1e-300)", "normal: scale = 1e-300: must be a positive number, from 1e-06 to 1e+06"),
        ("normal(1e300, 1)", "normal: location = 1e+300: must be a number, from -30 to 30"),
        ("cauchy(0, 1e99)", "cauchy: scale = 1e+99"),
        ("normal(" + "(" * 5000, "...: expected a name with arguments"),
        (mb.priors.Beta("a", 2), "beta: a = 'a': must be a positive number"),
        (mb.priors.Dirichlet(None), "dirichlet: concentration = None"),
        ({"edges": 5}, "prior['edges'] = 5: give 'default', a name such as 'normal(0, 1)', or a distribution"),
        ({5: "uniform"}, "prior: no block is called '5'"),
        ([], "prior: a list of 0 distributions for 3 blocks"),
        (5, "prior = 5: give 'default', a name such as"),
    ],
)
def test_absurd_priors(prior, message):
    with pytest.raises(mb.InputError) as caught:
        mb.priors.Prior(mb.graph(PAIR, fields=True), prior)
    assert message in str(caught.value)


def test_a_prior_for_edges_where_a_node_is_called_so():
    model = mb.graph([("edges", "b")], fields=True)
    with pytest.raises(mb.InputError, match=r"prior\['edges'\]: .*node"):
        mb.priors.Prior(model, {"edges": "normal(0, 1)"})
    mb.priors.Prior(model, {"nodes": "normal(0, 1)"})


def test_a_field_without_parameters_has_nothing_to_learn():
    model = mb.graph([], nodes=["a"])
    x = np.array([[0], [1], [1]])
    for learn in (mb.sample, mb.evidence, lambda model, x: mb.sample(model, x, "calibrated")):
        with pytest.raises(mb.InputError, match=r"no parameters .*add edges, or fields=True"):
            learn(model, x)
