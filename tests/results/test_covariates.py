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


def test_the_field_at_given_values_has_a_table_of_edges_without_bayes_factors(posterior, tmp_path):
    at = posterior.at(age=50.0)
    table = at.edges()
    np.testing.assert_allclose(table["mean"], at.log_odds[..., :2].mean(axis=(0, 1)))
    assert table["log_bf10"].isna().all()
    assert (table["verdict"] == "unknown").all()
    at.save(tmp_path / "at.nc")
    assert mb.load(tmp_path / "at.nc").edges().equals(table)


def test_what_needs_one_field_asks_for_values_of_the_covariates(posterior):
    posterior = replace(posterior, details={"missing": "3 rows"})
    rows = np.array([[0, 255, 1], [1, 0, 255]])
    for ask in (posterior.predictability, posterior.impute):
        for data in (None, rows):
            with pytest.raises(mb.InputError, match=r"depends on covariates \(age, sex\).*post\.at\("):
                ask(data=data)
    with pytest.raises(mb.InputError, match=r"not for fields that depend on covariates; post\.at\("):
        mb.predictive_check(posterior)
    at = posterior.at(age=50.0)
    for ask in (at.predictability, at.impute):
        with pytest.raises(mb.InputError, match=r"keeps no rows \(loaded, or derived\); pass rows"):
            ask()
    with pytest.raises(mb.InputError, match="missing_information: this posterior keeps no rows"):
        at.missing_information()
    with_holes = mb.Data(np.where(rows == 255, np.nan, rows), schema=None)
    assert at.impute(1, with_holes)[0].max() <= 1


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
@pytest.mark.parametrize("levels", [2, 5])
def test_rows_with_missing_cells_explain_nothing(levels):
    rng = np.random.default_rng(2)
    n = 200
    a = rng.integers(0, levels, n)
    b = np.where(rng.random(n) < 0.6, a, rng.integers(0, levels, n)).astype(float)
    b[rng.random(n) < 0.3] = np.nan
    columns = {"a": a, "b": b, "c": rng.integers(0, levels, n), "g": np.repeat([1, 2, 3, 4], 50)}
    data = mb.Data(columns, covariates=["g"])
    model = mb.Model.from_data(data, covariates="thresholds")
    whole = {name: column[~np.isnan(b)] for name, column in columns.items()}
    tables = [
        mb.sample(model, each, "exact", draws=10, chains=2, warmup=10, rng=1, progress=False).explained()
        for each in (data, mb.Data(whole, covariates=["g"], schema=data.schema))
    ]
    np.testing.assert_allclose(*tables, rtol=1e-4, atol=1e-5)
    assert f"from the {np.isfinite(b).sum()} of 200 rows without missing cells" in tables[0].attrs["source"]
    assert "missing" not in tables[1].attrs["source"]
    if levels == 2:
        assert tables[0].loc["a--b", "with"] > 4 * tables[0].loc["a--b", "with_se"]
    none = mb.Data(columns | {"c": np.where(np.isnan(b), columns["c"], np.nan)}, covariates=["g"], schema=data.schema)
    post = mb.sample(model, none, "exact", draws=10, chains=2, warmup=10, rng=1, progress=False)
    with pytest.raises(mb.InputError, match="these data have none"):
        post.explained()
