"""Fields with covariates: the parameters of every observation, by the formula and by differences."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.covariates import Covariate, CovariateModel

FIELD = mb.graph([("a", "b"), ("b", "c")], fields=True, coupling="both-one")
CODING = {"age": (40.0, 20.0), "sex": (0.5, 1.0)}  # centre and scale


def made(effects="thresholds", field=FIELD, names=("age", "sex")):
    return CovariateModel.of(field, [Covariate(name, *CODING[name]) for name in names], effects, None, 3)


def test_two_values_are_halves_and_others_two_standard_deviations():
    sex, values = np.array([3.0, 1.0, 3.0, 3.0]), np.array([1.0, 2.0, 6.0])
    one, other = Covariate.of("sex", sex), Covariate.of("age", values)
    np.testing.assert_allclose((sex - one.centre) / one.scale, [0.5, -0.5, 0.5, 0.5])
    z = (values - other.centre) / other.scale
    assert z.mean() == pytest.approx(0.0, abs=1e-15)
    assert z.std() == pytest.approx(0.5)
    with pytest.raises(mb.InputError, match=r"'age'.* 7"):
        Covariate.of("age", np.full(4, 7.0))


@pytest.mark.parametrize("effects", ["thresholds", "couplings"])
def test_log_odds_move_by_the_effects_times_the_scaled_values(effects):
    model = made(effects)
    own = [2, 3, 4] if effects == "thresholds" else [0, 1, 2, 3, 4]
    assert model.parameters[5:] == tuple(f"{FIELD.parameters[i]}:{name}" for name in CODING for i in own)
    w = np.random.default_rng(1).normal(size=(4, model.n_parameters))
    expected = w[:, :5].copy()
    expected[:, own] += 1.5 * w[:, 5 : 5 + len(own)] - 0.5 * w[:, 5 + len(own) :]
    np.testing.assert_allclose(model.log_odds_at(w, {"sex": 0, "age": 70}), expected)
    np.testing.assert_allclose(model.log_odds_at(w, {}), w[:, :5])  # at the centre


def test_the_design_gives_the_field_of_each_group_and_the_gradient_goes_back():
    model, z = made(), np.array([[1.5, -0.5], [0.0, 0.5], [-1.0, 0.5]])
    offset = np.random.default_rng(2).normal(size=(3, 3))
    design = model.design(z, offset)
    w = np.random.default_rng(3).normal(size=model.n_parameters)
    at = design.at(w)
    for g, (age, sex) in enumerate(z):
        expected = model.log_odds_at(w, {"age": 40 + 20 * age, "sex": 0.5 + sex})
        expected[2:] += offset[g]  # of the thresholds alone
        np.testing.assert_allclose(at[g], expected)
    slope = np.random.default_rng(4).normal(size=at.shape)
    numeric = [(slope * (design.at(w + e) - design.at(w - e))).sum() / 2e-3 for e in 1e-3 * np.eye(w.size)]
    np.testing.assert_allclose(design.back(slope), numeric, atol=1e-9)


def test_tied_thresholds_share_the_effect_and_not_the_value_of_a_cell():
    tied = mb.graph([("a", "b"), ("b", "c")], fields=True, tied=True, coupling="both-one")
    model = made(field=tied, names=["age"])
    assert model.n_parameters == 3  # a coupling, a threshold and its effect
    design = model.design(np.array([[[0.5, -1.0, 2.0]]]))
    found = design.at(np.array([0.7, 0.1, 0.4]))[0]
    assert model.base.parameters[-3:] == ("a", "b", "c")
    np.testing.assert_allclose(found[-3:], 0.1 + 0.4 * np.array([0.5, -1.0, 2.0]))


def test_one_field_and_unknown_values_are_refused_by_name():
    model = made()
    with pytest.raises(mb.InputError, match=r"age, sex.*post\.at"):
        model.lowering  # noqa: B018
    with pytest.raises(mb.InputError, match="height = 3"):
        model.scale({"height": 3})
    with pytest.raises(mb.InputError, match="age = 'old'"):
        model.scale({"age": "old"})
    with pytest.raises(mb.InputError, match="fields=True"):
        made(field=mb.graph([("a", "b")]))
    assert made("couplings").fingerprint != model.fingerprint


def test_effects_are_named_by_the_parameter_with_the_covariate_before_brackets():
    field = mb.graph([("q1", "q2")], states=3, fields=True, coupling="score")
    names = CovariateModel.of(field, [Covariate("age", 0.0, 1.0)], "couplings", None, 1).parameters
    assert {"q1--q2:age", "q1:age[1]", "q1[1]"} <= set(names)
