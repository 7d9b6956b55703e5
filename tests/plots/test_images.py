"""Fields as images."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb


def test_a_tied_field_is_its_image():
    model = mb.grid(6, 6, tied="direction")
    x = np.random.default_rng(4).integers(0, 2, (1, 36))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # one image says little
        post = mb.sample(model, x, "pseudo", draws=200, progress=False)
    ax = mb.plots.field(model, post)
    np.testing.assert_array_equal(ax.images[0].get_array(), x.reshape(6, 6))
    assert ax.get_title(loc="left").startswith("horizontal: theta 0.")  # as the tables of such a model have it
    assert mb.plots.field(model, post, scale="ising").get_title(loc="left").startswith("horizontal: coupling J ")


def test_a_masked_image_is_drawn_where_its_pixels_are(tmp_path):
    mask = np.ones((6, 7), dtype=bool)
    mask[0, :3] = False
    model = mb.grid(6, 7, mask=mask, neighbours=8, tied="direction")
    x = np.random.default_rng(4).integers(0, 2, (1, model.n_nodes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        mb.sample(model, x, "pseudo", draws=200, progress=False).save(tmp_path / "a.nc")
    ax = mb.plots.field(model, mb.load(tmp_path / "a.nc"))  # a file holds no rows, but their averages
    image = np.ma.filled(ax.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(np.isnan(image), ~mask)
    np.testing.assert_array_equal(image[mask], x[0])
    assert len(ax.get_title(loc="left").splitlines()) == 4


def test_edges_have_their_log_odds_and_are_dashed_where_they_may_be_zero():
    model = mb.grid(1, 4)
    theta, sd = np.array([0.7, 0.5, 0.35]), np.array([0.05, 0.05, 0.12])
    ax = mb.plots.field(model, theta, sd=sd)
    table = mb.plots.data(ax)
    np.testing.assert_allclose(table["log_odds"], np.log(theta / (1 - theta)))
    np.testing.assert_allclose(
        table["log_odds_sd"], sd / (theta * (1 - theta))
    )  # d logit = d theta / (theta (1 - theta))
    assert table["interval_excludes_zero"].tolist() == [True, False, False]
    widths = ax.collections[0].get_linewidths()
    assert np.argsort(widths).tolist() == [1, 2, 0]
    first, _, last = ax.collections[0].get_colors()
    assert first[2] > first[0]  # blue
    assert last[0] > last[2]  # orange
    with pytest.raises(mb.InputError, match=r"shape \(2,\)"):
        mb.plots.field(model, [0.5, 0.5])


def test_circles_of_a_contact_map_stand_at_distant_pairs():
    scores = np.zeros((6, 6))
    for (i, j), score in {(0, 1): 9.0, (0, 4): 3.0, (1, 5): 2.0, (2, 4): 1.0}.items():
        scores[i, j] = scores[j, i] = score
    ax = mb.plots.contact_map(SimpleNamespace(scores=scores), top=2, min_distance=2)
    x, y = ax.lines[0].get_data()
    assert list(zip(y.tolist(), x.tolist(), strict=True)) == [(0, 4), (1, 5)]


def test_the_uncertainty_of_a_label_is_the_probability_of_all_others():
    probabilities = np.array([[[0.9, 0.1], [0.2, 0.8]]])
    image = np.array([[0.1, np.nan]])
    result = SimpleNamespace(
        image=image, probabilities=probabilities, labels=np.array([[0, 1]]), settings={"emission": "gaussian"}
    )
    panels = mb.plots.segmentation(result)
    assert "1 pixels missing" in panels[0].get_title()
    np.testing.assert_allclose(panels[2].images[0].get_array(), [[0.1, 0.2]])
    table = mb.plots.data(panels[0].figure)
    np.testing.assert_allclose(table["uncertainty"], [0.1, 0.2])
    assert table[["row", "column", "label"]].to_numpy().tolist() == [[0, 0, 0], [0, 1, 1]]
