"""Networks: lines, rings and names show the numbers of the posterior."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import mrfbayes as mb
from mrfbayes.plots.layouts import positions
from mrfbayes.plots.network import sure_level
from plots.plot_cases import MODEL, NAMES, PAIRS


def test_panels_are_drawn_into_the_axes_that_are_given(posterior):
    figure, axes = pyplot.subplots(1, 3)
    assert mb.plots.network_panels(posterior, ax=axes) is figure
    assert all(ax.texts for ax in axes)
    apart = [pyplot.subplots()[1] for _ in range(3)]
    mb.plots.network_panels(posterior, ax=apart)
    shown = sum(len(mb.plots.data(ax)) for ax in apart)
    assert shown == len(PAIRS)
    axes = pyplot.subplots(2, 2)[1]
    with pytest.raises(mb.InputError, match="3 panels, got 4 axes"):
        mb.plots.network_panels(posterior, ax=axes)
    with pytest.raises(mb.InputError, match="measure = 'fame': choose one of 'strength'"):
        mb.plots.centrality(posterior, "fame")


def test_network_plot_shows_the_numbers_of_the_posterior(posterior):
    ax = mb.plots.network(posterior)
    lines = ax.collections[0]
    table = mb.plots.data(ax)
    assert len(lines.get_segments()) == len(table) == 10
    widest = int(np.argmax(lines.get_linewidths()))
    order = np.argsort(table["size"].to_numpy())
    assert order[widest] == int(np.argmax(np.abs(posterior.log_odds.mean(axis=(0, 1))[:10])))
    texts = {text.get_text() for text in ax.texts}
    assert "tired" in texts
    assert any(text.startswith("a much") and text.endswith("holds") for text in texts)  # both ends, not cut off
    places = positions(MODEL, "spring", table["size"].to_numpy())
    np.testing.assert_array_equal(places, positions(MODEL, "spring", table["size"].to_numpy()))
    sure = mb.plots.data(mb.plots.network(posterior, show="sure"))
    assert (sure["sign_probability"] >= 0.9).all()


def test_a_crowded_network_shows_fewer_and_surer_edges():
    table = pd.DataFrame({"sign_probability": np.linspace(0.5, 1.0, 400)})
    assert sure_level(table.iloc[:60]) == 0.9
    level = sure_level(table)
    assert level == 0.95
    assert (table["sign_probability"] >= level).sum() <= 60


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_network_of_a_mixed_field_has_strengths_on_one_scale():
    rng = np.random.default_rng(3)
    shared = rng.integers(0, 2, 200)
    names = np.array(["north", "south", "west"])
    table = {
        "a": shared,
        "b": np.where(rng.random(200) < 0.9, shared, 1 - shared),
        "c": 2 * shared + rng.integers(0, 3, 200),
        "region": names[rng.integers(0, 3, 200)],
    }
    model = mb.Model.from_data(mb.Data(table))
    post = mb.sample(model, mb.Data(table), draws=200, chains=2, progress=False)
    drawn = mb.plots.data(mb.plots.network(post))
    assert drawn["sign"].tolist() == [1, 1, 0, 1, 0, 0]
    mean = post.log_odds.mean(axis=(0, 1))
    assert drawn.loc["a--b", "size"] == pytest.approx(mean[0])
    assert drawn.loc["a--c", "size"] == pytest.approx(mean[1] * np.sqrt(24 / 3))
    assert drawn["sign_probability"].between(0.5, 1).all()
    assert mb.plots.data(mb.plots.network_panels(post)).index.tolist() == drawn.index.tolist()


def test_rings_are_filled_clockwise_from_the_top_and_texts_are_a_legend(posterior):
    texts = [f"Text of item {k}" for k in range(len(NAMES))]
    nodes = pd.DataFrame({"ring": [0.25, 0.0, 0.5, 0.75, 1.0], "text": texts}, index=list(NAMES))
    ax = mb.plots.network(posterior, nodes=nodes)
    wedges = [found.get_paths()[0].vertices for found in ax.collections if found.get_zorder() == 2.5]
    assert len(wedges) == 4  # no ring is filled where nothing is predicted
    assert (wedges[0] >= -1e-9).all()  # a quarter: right of the top
    assert (wedges[1][:, 0] >= -1e-9).all()  # a half: the right side
    legend = [text.get_text() for found in ax.artists for text in found.get_texts()]
    assert legend[0] == "1  tired: Text of item 0"
    assert len(legend) == len(NAMES)


def test_moderated_edges_are_drawn_with_their_couplings_at_the_centre(tmp_path):
    rng = np.random.default_rng(2)
    x = {name: rng.integers(0, 2, 60) for name in "abc"}
    data = mb.Data({**x, "age": rng.integers(18, 70, 60)}, covariates=["age"])
    posterior = mb.sample(mb.Model.from_data(data, covariates="couplings"), data, rng=1, progress=False)
    expected = posterior.edges()["mean"].to_numpy()
    np.testing.assert_allclose(mb.plots.data(mb.plots.network(posterior))["mean"], expected)
    assert sorted(mb.plots.data(mb.plots.network_panels(posterior))["mean"]) == pytest.approx(sorted(expected))
    assert posterior.report(tmp_path / "page.html").exists()
