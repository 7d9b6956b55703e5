"""The distribution of each block, from what users give and by default."""

from __future__ import annotations

import pytest

import mrfbayes as mb
from mrfbayes.model.build import graph
from mrfbayes.priors import Cauchy, Exchangeable, Logistic, Normal, Prior, Uniform


def test_a_prior_for_edges_where_a_node_is_called_so():
    model = mb.graph([("edges", "b")], fields=True)
    with pytest.raises(mb.InputError, match=r"prior\['edges'\]: .*node"):
        mb.priors.Prior(model, {"edges": "normal(0, 1)"})
    mb.priors.Prior(model, {"nodes": "normal(0, 1)"})


@pytest.mark.parametrize(("levels", "scale"), [((2, 2), 1.0), ((5, 5), 1 / 8), ((7, 7), 1 / 16), ((2, 5), 8**-0.5)])
def test_prior_of_score_couplings_follows_the_levels(levels, scale):
    model = graph([("a", "b")], states=list(levels), coupling="score", fields=True)
    for given, expected in (
        ("default", Normal(0.0, scale)),
        ("cauchy(0, 2.5)", Cauchy(0.0, 2.5 * scale)),
        ({"edges": "logistic(1, 2)"}, Logistic(scale, 2 * scale)),
        ({"a--b": "normal(0, 1)"}, Normal(0.0, 1.0)),  # of one block: as it is
        ("uniform", Uniform()),
    ):
        found = Prior(model, given).per_block[0]
        assert type(found) is type(expected)
        assert vars(found) == pytest.approx(vars(expected))


def test_a_name_is_the_prior_of_the_couplings_and_leaves_thresholds_alone():
    model = graph([("a", "b")], states=3, fields=True, coupling="score")
    prior = Prior(model, "normal(0, 1)")
    assert prior.per_block[1:] == [Exchangeable(10.0), Exchangeable(10.0)]
    assert Prior(model, "uniform").is_uniform
    both = Prior(model, {"edges": "normal(0, 1)", "nodes": "normal(0, 5)"})
    assert both.per_block[1:] == [Exchangeable(5.0), Exchangeable(5.0)]
    assert Prior(model, {"nodes": "normal(0, 5)"}).per_block[0] == Prior(model, "default").per_block[0]


def test_an_impossible_scale_is_refused_as_it_was_given():
    model = graph([("a", "b")], states=5, coupling="score", fields=True)
    with pytest.raises(mb.InputError, match="scale = -1:"):
        Prior(model, {"edges": "normal(0, -1)"})
