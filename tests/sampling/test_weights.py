"""Weights count: the same data as rows, as distinct rows with counts, and in fractions give the same numbers."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mrfbayes.data.tally as tally_module
from mrfbayes import (
    Data,
    InputError,
    MRFWarning,
    compare,
    compare_groups,
    estimate,
    evidence,
    graph,
    likelihood,
    predictive_check,
    sample,
    select,
)
from mrfbayes.estimation.dense_mode import level_means
from mrfbayes.methods.registry import REGISTRY
from mrfbayes.model.natural_form import dense_layout
from mrfbayes.particles.completions import typical_rows
from mrfbayes.particles.ensembles import make_chains
from mrfbayes.results.predictive import observe

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4)]
N = 300
# Methods whose likelihood has a value: others have draws, or ratios.
VALUED = [key for key, row in REGISTRY.items() if "ratio" not in row.module and key not in ("calibrated", "langevin")]


def chain_rows(n=N, seed=1):
    """Rows of a chain of five yes/no variables with strong couplings."""
    rng = np.random.default_rng(seed)
    x = (np.arange(32)[:, None] >> np.arange(5)) & 1
    log_p = 2 * sum(x[:, i] * x[:, j] for i, j in EDGES) - x.sum(axis=1)
    return x[rng.choice(32, n, p=np.exp(log_p) / np.exp(log_p).sum())]


@pytest.fixture(scope="module")
def forms():
    """The same 300 observations: as rows, as distinct rows with counts, each row twice at half its weight."""
    model = graph(EDGES, fields=True, coupling="both-one")
    x = chain_rows()
    distinct, copies = np.unique(x, axis=0, return_counts=True)
    return SimpleNamespace(
        model=model,
        x=x,
        rows=Data(x).count(model),
        counted=Data(distinct, weights=copies).count(model),
        halves=Data(np.concatenate([x, x]), weights=np.full(2 * N, 0.5)).count(model),
        ignored=Data(distinct).count(model),  # the negative control
    )


@pytest.fixture(scope="module")
def fits(forms):
    settings = {"draws": 500, "chains": 2, "progress": False}
    found = {name: sample(forms.model, getattr(forms, name), "exact", **settings) for name in ("rows", "counted")}
    np.testing.assert_array_equal(found["rows"].draws, found["counted"].draws)
    return SimpleNamespace(**found)


def test_predictability_counts_weights(forms, fits):
    table = fits.rows.predictability()
    pd.testing.assert_frame_equal(table, fits.counted.predictability(), rtol=1e-12, check_like=True)
    pd.testing.assert_frame_equal(table, fits.rows.predictability(forms.counted), rtol=1e-12)
    pd.testing.assert_frame_equal(table, fits.rows.predictability(forms.halves), rtol=1e-12)
    blind = fits.rows.predictability(forms.ignored)
    assert np.abs(blind["log_score_gain"] - table["log_score_gain"]).min() > 0.05  # the negative control


def test_predictive_check_counts_weights(forms, fits):
    rows, counted = (predictive_check(fit, replicates=100, progress=False) for fit in (fits.rows, fits.counted))
    pd.testing.assert_frame_equal(rows.table, counted.table, rtol=1e-12)
    unfitted = rows.table.loc[~rows.table["fitted"], "observed"].to_numpy()
    blind = observe(forms.model, forms.ignored).flat[forms.model.n_parameters :]
    assert np.abs(unfitted - blind[: unfitted.size]).max() > 0.05  # the negative control


@pytest.mark.parametrize("form", ["counted", "halves"])
def test_observed_averages_count_weights(forms, form):
    rows, other = observe(forms.model, forms.rows), observe(forms.model, getattr(forms, form))
    assert (rows.n, rows.n_rows) == (other.n, other.n_rows) == (N, N)
    np.testing.assert_array_equal(rows.flat, other.flat)
    np.testing.assert_array_equal(rows.shares, other.shares)


def test_few_rows_of_large_weight_are_many_observations(forms):
    x = np.array([[0, 0, 1, 0, 1], [1, 1, 0, 0, 1], [1, 0, 1, 1, 0], [0, 0, 0, 0, 0]])
    counted = Data(x, weights=np.arange(5.0, 9.0)).count(forms.model)
    np.testing.assert_array_equal(
        observe(forms.model, counted).flat,
        observe(forms.model, Data(np.repeat(x, [5, 6, 7, 8], axis=0)).count(forms.model)).flat,
    )


@pytest.mark.parametrize("method", VALUED)
def test_likelihood_counts_weights(forms, method):
    theta = np.linspace(0.3, 0.7, forms.model.n_parameters)
    rows = likelihood(forms.model, forms.rows, method, rng=1)
    for name in ("counted", "halves"):
        other = likelihood(forms.model, getattr(forms, name), method, rng=1)
        assert other.log_likelihood(theta) == pytest.approx(rows.log_likelihood(theta), rel=1e-5)
    blind = likelihood(forms.model, forms.ignored, method, rng=1)
    assert abs(blind.log_likelihood(theta) - rows.log_likelihood(theta)) > 1.0


@pytest.mark.parametrize("form", ["counted", "halves"])
def test_evidence_and_exact_estimates_count_weights(forms, form):
    other = getattr(forms, form)
    assert evidence(forms.model, other, draws=2000).log_evidence == pytest.approx(
        evidence(forms.model, forms.rows, draws=2000).log_evidence, rel=1e-9
    )
    for algorithm in ("exact", "pseudo"):
        both = [
            estimate(forms.model, data, algorithm=algorithm, progress=False).log_odds for data in (forms.rows, other)
        ]
        np.testing.assert_allclose(*both, atol=1e-6)


def test_compare_select_and_groups_count_weights(forms):
    tables = [
        compare(forms.model, data, methods=("exact", "mle"), draws=500, progress=False).table
        for data in (forms.rows, forms.counted)
    ]
    np.testing.assert_allclose(tables[0]["mean_error_sd"], tables[1]["mean_error_sd"], atol=1e-6)
    chosen = [select(forms.model, data, draws=200, progress=False) for data in (forms.rows, forms.counted)]
    np.testing.assert_allclose(chosen[0].inclusion, chosen[1].inclusion, atol=1e-9)
    groups = [
        compare_groups(forms.model, {"a": data, "b": forms.halves}, draws=200, progress=False)
        for data in (forms.rows, forms.counted)
    ]
    np.testing.assert_allclose(groups[0].inclusion, groups[1].inclusion, atol=1e-9)
    assert list(groups[1].group_n) == [N, N]


def test_contrastive_divergence_starts_at_weighted_rows(forms):
    rows, counted, blind = (
        estimate(forms.model, data, algorithm="cd", rng=1, progress=False).log_odds
        for data in (forms.rows, forms.counted, forms.ignored)
    )
    assert np.abs(rows - counted).max() < 0.05
    assert np.abs(rows - blind).max() > 0.5  # the negative control


def test_spread_of_pseudolikelihood_counts_weights(forms):
    settings = {"draws": 1_500, "thin": 2, "chains": 2, "progress": False}
    fits = [sample(forms.model, data, "pseudo", **settings) for data in (forms.rows, forms.counted, forms.halves)]
    ratios = [fit.facts.sd_ratio for fit in fits]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)
    blind = sample(forms.model, forms.ignored, "pseudo", **settings).facts.sd_ratio
    assert abs(blind - ratios[0]) > 1e-3


def test_starts_at_the_data_are_in_proportion_to_weights(forms):
    layout = dense_layout(forms.model)
    np.testing.assert_allclose(level_means(layout, forms.rows), level_means(layout, forms.counted), rtol=1e-12)
    np.testing.assert_allclose(level_means(layout, forms.rows), level_means(layout, forms.halves), rtol=1e-12)
    chains = make_chains(forms.model, 64 * 150, np.arange(1, 5, dtype=np.uint64))
    chains.start_at_data(forms.counted, np.random.default_rng(1))
    # Systematic: every distinct row is there within one of n_particles * weight / n.
    assert np.abs(chains.rows().mean(axis=0) - forms.x.mean(axis=0)).max() < 32 / (64 * 150)
    rows = typical_rows(forms.counted, np.random.default_rng(2))
    error = np.sqrt(0.25 / len(rows))
    assert np.abs(rows.mean(axis=0) - forms.x.mean(axis=0)).max() < 5.5 * error


def test_kept_rows_of_large_data_average_without_bias(monkeypatch):
    """Rows that a subset keeps stand for weights: averages over them are those of all rows."""
    monkeypatch.setattr(tally_module, "KEPT_ROWS", 400)
    model = graph([(i, i + 1) for i in range(12)])
    x = (np.arange(8000)[:, None] >> np.arange(13)) & 1
    weight = np.where(np.arange(8000) < 100, 1000.0, 0.5 + np.arange(8000) % 7)
    truth = weight @ x / weight.sum()
    means, blind = [], []
    for seed in range(40):
        monkeypatch.setattr(tally_module, "_ROW_SEED", seed)
        found = Data(x, weights=weight).count(model)
        assert found.row_weights.sum() == pytest.approx(found.n)
        assert 50 < found.n_kept <= 400
        means.append(found.row_weights @ found.rows / found.n)
        blind.append(found.rows.mean(axis=0))
    z = (np.mean(means, axis=0) - truth) / (np.std(means, axis=0, ddof=1) / np.sqrt(40))
    assert np.abs(z).max() < 5.6
    control = (np.mean(blind, axis=0) - truth) / (np.std(blind, axis=0, ddof=1) / np.sqrt(40))
    assert np.abs(control).max() > 5.6


@pytest.fixture(scope="module")
def missing_forms():
    model = graph(EDGES, fields=True, coupling="both-one")
    x = chain_rows(200).astype(float)
    x[np.random.default_rng(3).random(x.shape) < 0.1] = np.nan
    keys, copies = np.unique(np.nan_to_num(x, nan=9.0), axis=0, return_counts=True)
    distinct = np.where(keys == 9.0, np.nan, keys)
    forms = {"rows": (x, None), "counted": (distinct, copies), "halves": (np.tile(x, (2, 1)), np.full(400, 0.5))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)  # about missing cells
        counted = {name: Data(rows, weights=weights).count(model) for name, (rows, weights) in forms.items()}
    return SimpleNamespace(model=model, **counted)


@pytest.mark.filterwarnings("ignore:largest R-hat:mrfbayes.MRFWarning")  # the same short run three times
def test_missing_cells_count_weights(missing_forms):
    settings = {"draws": 500, "chains": 2, "progress": False}
    forms = missing_forms
    fits = [sample(forms.model, data, "exact", **settings) for data in (forms.rows, forms.counted, forms.halves)]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.mean, fits[0].mean, atol=1e-6)
        np.testing.assert_allclose(fit.missing_information(), fits[0].missing_information(), atol=1e-3)
    tables = [fit.predictability()["log_score_gain"] for fit in fits]
    checks = [predictive_check(fit, replicates=200, progress=False).table["observed"] for fit in fits]
    for gain, observed in zip(tables[1:], checks[1:], strict=True):  # what is drawn for missing cells differs
        assert np.abs(gain - tables[0]).max() < 0.01
        assert np.abs(observed - checks[0].reindex(observed.index)).max() < 0.01
    assert fits[1].impute(2)[0].shape == (200, 5)
    with pytest.raises(InputError, match="whole numbers"):
        fits[2].impute(1)
