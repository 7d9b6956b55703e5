"""What a posterior says about covariates, against its draws."""

from dataclasses import replace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.covariates import Covariate, CovariateModel
from small_posteriors import MODEL, make_posterior


@pytest.fixture(scope="module")
def posterior():
    """Thresholds depend on age and sex: 5 log-odds of the field, then 3 effects of either."""
    covariates = [Covariate("age", 40.0, 20.0), Covariate("sex", 0.5, 1.0)]
    model = CovariateModel.of(MODEL, covariates, "thresholds", None, 1)
    return replace(make_posterior(model, draws=50, problem="none"), _problem=None)


def test_thresholds_move_by_the_effects_of_given_values(posterior):
    w = posterior.log_odds
    older = posterior.at(age=50.0, sex=1.0).log_odds
    np.testing.assert_allclose(older[..., :2], w[..., :2])  # couplings stay
    np.testing.assert_allclose(older[..., 2:], w[..., 2:5] + 0.5 * w[..., 5:8] + 0.5 * w[..., 8:])
    np.testing.assert_allclose(posterior.at(age=20.0).log_odds[..., 2:], w[..., 2:5] - w[..., 5:8])


def test_effects_are_the_last_parameters_in_the_units_of_their_covariate(posterior):
    table, w = posterior.effects(), posterior.log_odds[..., 5:].reshape(-1, 6)
    assert table["covariate"].tolist() == ["age"] * 3 + ["sex"] * 3
    assert table["parameter"].tolist() == list(MODEL.parameters[2:]) * 2
    np.testing.assert_allclose(table["mean"], w.mean(axis=0))
    np.testing.assert_allclose(table["per_unit"], w.mean(axis=0) / [20, 20, 20, 1, 1, 1])
    np.testing.assert_allclose(table["positive"], (w > 0).mean(axis=0))


def test_what_is_not_known_is_refused(posterior):
    with pytest.raises(mb.InputError, match="height"):
        posterior.at(height=3.0)
    with pytest.raises(mb.InputError, match="no covariates"):
        make_posterior(draws=5).effects()
    with pytest.raises(mb.InputError, match="needs the data"):
        posterior.explained()
