"""Pictures of searches over graphs and of differences between groups: drawn, and with the numbers that they show."""

import numpy as np
import pytest
from matplotlib import pyplot

import mrfbayes as mb
from structure.group_cases import some_groups

RUN = {"draws": 300, "chains": 2, "progress": False}
pytestmark = pytest.mark.filterwarnings("ignore:the inclusion probability")


@pytest.fixture(scope="module")
def found():
    model, _, data = some_groups(d=4)
    three = {**data, "c": data["a"][:50]}
    return (
        mb.select(model, data["b"], **RUN),
        mb.compare_groups(model, data, **RUN),
        mb.compare_groups(model, three, **RUN),
    )


def test_evidence_of_a_search_has_its_own_errors(found):
    selection = found[0]
    ax = mb.plots.edge_evidence(selection)
    table = mb.plots.data(ax)
    np.testing.assert_allclose(table["log_bf10"], np.sort(selection.log_bf10))
    order = np.argsort(selection.log_bf10)
    np.testing.assert_allclose(table["log_bf10_error"], selection.log_bf10_error[order])


def test_complexity_shows_prior_and_posterior(found):
    selection = found[0]
    ax = pyplot.subplots()[1]
    assert mb.plots.complexity(selection, ax=ax) is ax
    table = mb.plots.data(ax)
    np.testing.assert_allclose(table.sum(), 1.0)
    np.testing.assert_allclose(table["prior"], np.array([1, 6, 15, 20, 15, 6, 1]) / 64)
    assert [patch.get_height() for patch in ax.patches] == list(selection.size_probability)


def test_structures_draw_the_edges_of_each_graph(found):
    selection = found[0]
    figure = mb.plots.structures(selection, top=4)
    table = mb.plots.data(figure)
    assert len(table) == 4
    for ax, number in zip(figure.axes, table["number"], strict=False):
        assert len(ax.collections[0].get_segments()) == number
        assert f"{number} edges" in ax.get_title(loc="left")
    assert len(figure.axes) == 6  # two of them empty


def test_differences_are_shown_by_pairs(found):
    _, two, three = found
    ax = mb.plots.group_differences(two)
    assert len(mb.plots.data(ax)) == two.model.n_edges
    assert "in b less those in a" in ax.get_xlabel()
    assert len(mb.plots.data(mb.plots.group_differences(two, nodes=True))) == two.model.n_nodes
    drawn = mb.plots.group_differences(three, pair=("a", "c"), rows=3)
    assert len(drawn.get_yticklabels()) == 3
    for pair in (None, ("c", "a")):
        with pytest.raises(mb.InputError, match=r"with 3 groups name two of them.*\('a', 'b'\)"):
            mb.plots.group_differences(three, pair=pair)
