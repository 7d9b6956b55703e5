"""Fields as images."""

import warnings

import numpy as np

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
