"""What `fit` chooses where nothing is said: the model of images, texts of items, and the priors of its searches."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.fitting.fit import _search_priors, default_model, image_model


@pytest.mark.parametrize(
    ("share", "has_fields"), [(0.5, False), (0.42, False), (0.58, False), (0.3, True), (0.7, True), (0.02, True)]
)
def test_images_get_thresholds_where_one_state_is_commoner(share, has_fields):
    pixels = (np.arange(100) < round(100 * share)).astype(int).reshape(10, 10)
    model = image_model(mb.Data(pixels[None]), (10, 10))
    assert model.parameters == (("edges", "nodes") if has_fields else ("edges",))  # one image: tied
    both = image_model(mb.Data(np.stack([pixels, pixels])), (10, 10))
    assert both.n_parameters == 180 + 100 * has_fields
    assert image_model(mb.Data(pixels[None]), (10, 10), fields=not has_fields).n_parameters == 1 + (not has_fields)


def test_the_default_model_is_a_grid_for_images_and_from_data_for_tables():
    images = np.random.default_rng(1).integers(0, 3, (4, 3, 5))
    model = default_model(mb.Data(images))
    assert (model.grid_shape, model.states.tolist()) == ((3, 5), [3] * 15)
    table = mb.Data({"a": [0, 1, 2, 1], "b": ["x", "y", "z", "x"]})
    assert default_model(table).fingerprint == mb.Model.from_data(table).fingerprint


def test_searches_take_the_slab_of_the_edges_and_the_prior_of_the_thresholds():
    graphs, groups = (_search_priors("normal(0, 2)", None, "cauchy(0, 1)")[name] for name in ("graphs", "groups"))
    assert graphs == {"slab": "normal(0, 2)", "prior": {}}
    assert groups == {"slab": "cauchy(0, 1)", "prior": {"edges": "normal(0, 2)"}}
    parts = _search_priors({"edges": "default", "nodes": "normal(0, 3)"}, "normal(0, 5)", None)
    assert parts["graphs"] == {"slab": "normal(0, 5)", "prior": {"nodes": "normal(0, 3)"}}
    assert parts["groups"] == {"prior": {"nodes": "normal(0, 3)"}}
    assert _search_priors("default", None, None) == {"graphs": {"prior": {}}, "groups": {"prior": {}}}


def test_one_seed_gives_the_posterior_of_sample():
    x = np.random.default_rng(2).integers(0, 2, (60, 3))
    found = mb.fit(x, rng=5, progress=False, codebook={"1": "second"})
    alone = mb.sample(found.model, x, rng=5, progress=False)
    np.testing.assert_array_equal(found.posterior.draws, alone.draws)
    assert found.codebook == {"1": "second"}
    assert (found.selection, found.groups) == (None, None)


def test_covariates_are_refused_at_once():
    x = np.random.default_rng(2).integers(0, 2, (60, 3))
    table = {"a": x[:, 0], "b": x[:, 1], "age": x[:, 2]}
    data = mb.Data(table, covariates=["age"])
    given = [(data, None), (data, mb.Model.from_data(data, covariates="thresholds"))]
    given.append((mb.Data(x, covariates={"age": np.arange(60.0)}), None))
    for source, model in given:
        with pytest.raises(mb.InputError, match=r"covariates: fit takes none; use sample\("):
            mb.fit(source, model=model, progress=False)


def test_a_codebook_is_a_mapping_or_a_path():
    with pytest.raises(mb.InputError, match=r"codebook = 3: give a mapping"):
        mb.fit({"a": [0, 1, 1, 0], "b": [1, 0, 1, 0]}, codebook=3, progress=False)


def test_what_comes_after_the_sampling_is_checked_before_it(monkeypatch):
    """The scale of the tables, and weights with which a search could not draw missing cells."""
    monkeypatch.setattr("mrfbayes.fitting.fit.sample", None)
    x = np.random.default_rng(2).integers(0, 3, (60, 3)).astype(float)
    for scale, message in (("foo", "scale = 'foo': choose one of"), ("ising", "scale = 'ising' is for variables with")):
        with pytest.raises(mb.InputError, match=message):
            mb.fit(x, scale=scale, progress=False)
    x[::7, 0] = np.nan
    group = np.arange(60) % 2
    for given, select in (({}, True), ({"group": group}, False)):
        with pytest.raises(mb.InputError, match=r"weights: .* must be whole numbers.*missing='drop'"):
            mb.fit(mb.Data(x, weights=np.full(60, 0.5), **given), select=select, progress=False)
