"""Effects of covariates by hand, where every number is known, and what is refused."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.structure.select_effects import EffectSelection
from structure.result_cases import COMMON, MODEL


def selected():
    """Four draws of the field at the centre and of the effects of two covariates."""
    p = MODEL.n_parameters
    coordinates = np.arange(4.0)[None, :, None, None] + np.array([0.0, 10.0, 20.0])[:, None] + np.zeros((1, 4, 3, p))
    coordinates[:, :2, 1:, 0] = 0.0  # the first edge is moderated in half of the draws
    mean = np.array([0.5, 1.5, 2.5])[:, None] + np.arange(p) / 10
    return EffectSelection(
        **COMMON, covariates=("age", "sex"), coordinates=coordinates, coordinate_mean=mean, coordinate_sd=mean / 10
    )


def test_every_covariate_has_its_own_rows():
    table, p = selected().summary(ci_prob=0.5), MODEL.n_parameters
    assert list(table.index) == [f"{name}:{who}" for who in ("age", "sex") for name in MODEL.parameters]
    np.testing.assert_allclose(table["mean"], [*(1.5 + np.arange(p) / 10), *(2.5 + np.arange(p) / 10)])
    np.testing.assert_allclose(table["sd"], table["mean"] / 10)
    np.testing.assert_allclose(table["q25"].iloc[[1, p + 1]], [10.75, 20.75])
    edges = ["a--b:age", "b--c:age", "a--b:sex", "b--c:sex"]
    np.testing.assert_allclose(table.loc[edges, "inclusion"], [0.9, 0.2, 0.9, 0.2])
    assert table["inclusion"].drop(edges).isna().all()  # thresholds always depend on covariates
    assert table["verdict"].drop(edges).eq("unknown").all()


def test_an_edge_is_moderated_where_any_effect_is_not_zero():
    assert selected().included[0].tolist() == [[False, True], [False, True], [True, True], [True, True]]


def test_wrong_arguments_raise_input_error():
    with pytest.raises(mb.InputError, match="scale = 'theta'"):
        selected().summary(scale="theta")
    x = np.random.default_rng(1).integers(0, 2, (20, 3))
    with pytest.raises(mb.InputError, match="covariates"):
        mb.select_effects(MODEL, x, progress=False)
    data = mb.Data({"a": x[:, 0], "b": x[:, 1], "age": np.arange(20.0)}, covariates=["age"])
    with pytest.raises(mb.InputError, match="couplings"):
        mb.select_effects(mb.Model.from_data(data, covariates="thresholds"), data, progress=False)
