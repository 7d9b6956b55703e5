"""The exact posterior from calibrated proposals: quadrature, Bayes factors, and when it must not be used."""

import pickle

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.results import diagnostics
from mrfbayes.results.bayes_factors import normal_scores
from mrfbayes.targets.corrected import TRUSTED_K, log_mean_weight, pareto_k
from targets.four_node_cases import DATA, MODEL, PAIRS, quadrature


@pytest.fixture(scope="module")
def posterior():
    return mb.sample(MODEL, DATA, draws=2_000, thin=10, chains=4, rng=1, progress=False)


def test_auto_chooses_exact_and_states_the_reason(posterior):
    assert (posterior.method, posterior.engine, posterior.target) == ("exact", "independence", "exact")
    assert posterior.details["auto"].startswith("exact: the partition function is cheap")
    assert posterior.details["pareto_k"] < TRUSTED_K
    assert 0.5 < posterior.details["efficiency"] <= 1
    assert not posterior.warnings


def test_weighted_moments_are_those_of_quadrature(posterior, full):
    _, mean, sd = full
    error = sd / np.sqrt(posterior.details["effective_proposals"])
    assert np.abs((posterior.mean - mean) / error).max() < 5.5
    assert np.abs((posterior.sd - sd) / error).max() < 5.5
    assert np.abs((posterior.mean[::-1] - mean) / error).max() > 5.5  # edges in another order


def test_draws_are_those_of_quadrature(posterior, full):
    _, mean, sd = full
    draws = posterior.draws
    assert np.abs((draws.mean(axis=(0, 1)) - mean) / diagnostics.mcse_mean(draws)).max() < 5.5
    assert np.abs((draws.std(axis=(0, 1)) - sd) / diagnostics.mcse_sd(draws)).max() < 5.5


def test_same_seed_same_draws_over_workers_and_after_a_stop(tmp_path, posterior):
    path = tmp_path / "run.mrf"
    settings = {"chains": 2, "rng": 4, "progress": False, "thin": 2}
    whole = mb.sample(MODEL, DATA, "exact", draws=3_000, **settings)
    mb.sample(MODEL, DATA, "exact", draws=1_001, checkpoint=path, **settings)
    resumed = mb.sample(MODEL, DATA, "exact", draws=3_000, checkpoint=path, **settings)
    np.testing.assert_array_equal(whole.draws, resumed.draws)
    np.testing.assert_array_equal(whole.mean, resumed.mean)
    assert resumed.details["pareto_k"] == whole.details["pareto_k"]


def test_bayes_factors_are_ratios_of_evidences(posterior, full):
    table = posterior.edges()
    expected = np.array([full[0] - quadrature([e for e in PAIRS if e != edge])[0] for edge in PAIRS])
    z = (table["log_bf10"] - expected) / table["log_bf10_error"]
    assert np.abs(z).max() < 5.5
    assert np.abs((table["log_bf10"] - expected[::-1]) / table["log_bf10_error"]).max() > 5.5
    assert list(table.index) == [f"{u}--{v}" for u, v in PAIRS]
    assert table["positive"]["0--1"] > 0.95 > 0.05 > table["positive"]["2--3"]
    assert table.attrs["source"] == "importance weights"


def test_bayes_factors_without_the_likelihood_are_close(posterior, full, monkeypatch):
    from dataclasses import replace

    exact = posterior.edges()
    monkeypatch.setattr("mrfbayes.results.bayes_factors.CORRECTED_LIMIT", 0)
    table = replace(posterior).edges()  # a copy, which has computed nothing yet
    assert table.attrs["source"] == "density of the draws"
    near = ~table["bound"]
    error = np.hypot(table["log_bf10_error"], exact["log_bf10_error"])
    assert np.abs((table["log_bf10"] - exact["log_bf10"])[near] / error[near]).max() < 5.0
    assert (table["log_bf10"] < exact["log_bf10"])[~near].all()
    assert not exact["bound"].any()


def test_normal_scores_keep_their_digits_far_out():
    from mrfbayes.calibration.matching import Coins

    coins = Coins(np.array([900.0, 900.0]), np.array([100.0, 100.0]), np.zeros(2), 0)
    score = normal_scores(coins, np.array([0.0, 9.0]))
    # Signed root of twice the deviance, good to a few per cent this far out.
    lam = np.array([0.5, 1 / (1 + np.exp(-9.0))])
    deviance = 2 * (900 * np.log(0.9 / lam) + 100 * np.log(0.1 / (1 - lam)))
    np.testing.assert_allclose(score, np.sign(lam - 0.9) * np.sqrt(deviance), rtol=0.05)


def test_pareto_k_is_that_of_arviz():
    from arviz_stats.base import array_stats

    generator = np.random.default_rng(0)
    for shape in (0.1, 0.4, 0.9):
        log_weights = np.log(generator.pareto(1 / shape, 4_000) + 1)
        expected = float(array_stats.psislw(-log_weights)[1])
        assert pareto_k(log_weights) == pytest.approx(expected, abs=0.02)
    assert pareto_k(np.zeros(1_000)) <= 0.5


def test_log_mean_weight():
    log_weights = np.log(np.array([1.0, 2.0, 3.0])) - 1000
    value, error = log_mean_weight(log_weights)
    assert value == pytest.approx(np.log(2) - 1000)
    assert error == pytest.approx(np.std([1, 2, 3]) / np.sqrt(3) / 2)


def test_bad_proposals_are_replaced_by_trajectories(monkeypatch):
    from mrfbayes.targets import corrected as independence

    monkeypatch.setattr(independence.Proposal, "pareto_k", property(lambda self: 1.3))
    posterior = mb.sample(MODEL, DATA, "exact", draws=2_000, chains=2, progress=False)
    assert posterior.engine == "hmc"
    assert any("Pareto k = 1.30" in text for text in posterior.notes)  # a change of engine is information
    assert posterior.warnings == ()
    assert 0.7 < posterior.acceptance.mean() <= 1


def test_marginals_come_from_weights(tmp_path):
    """Quantiles and densities of a corrected posterior: weighted proposals, those that the chain saw."""
    posterior = mb.sample(MODEL, DATA, "exact", draws=4_000, thin=1, progress=False)
    weighted = posterior._weighted
    assert weighted.theta.shape == (16_000, MODEL.n_parameters)
    assert weighted.weights.sum() == pytest.approx(1.0)
    moved = np.unique(posterior.draws[0], axis=0)
    assert np.isin(moved[:, 0], weighted.theta[:4_001, 0]).mean() > 0.999  # the same proposals (and the start)
    np.testing.assert_allclose(weighted.weights @ weighted.theta, posterior.mean, atol=0.02 * posterior.sd.max())
    plain = np.quantile(posterior.draws, 0.05, axis=(0, 1))
    np.testing.assert_allclose(posterior.summary(scale="theta")["q5"], plain, atol=0.1 * posterior.sd.max())
    posterior.save(tmp_path / "result.nc")
    loaded = mb.load(tmp_path / "result.nc")
    np.testing.assert_array_equal(loaded._weighted.theta, weighted.theta)
    for sent in (posterior, loaded):  # to another process
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(sent))._weighted.theta, weighted.theta)
    for interval in (0.9, 0.37):
        assert loaded.summary(ci_prob=interval).equals(posterior.summary(ci_prob=interval))


def test_a_heavy_weight_makes_no_lump():
    """One of 2,000 draws has a third of all weight: its density stays near that of the others."""
    from mrfbayes.coins.importance_weights import truncated_weights
    from mrfbayes.plots.marginals import draw_density

    rng = np.random.default_rng(1)
    w = rng.normal(0.0, 0.5, 2_000)
    logs = np.zeros(2_000)
    heavy = int(np.argmin(np.abs(w - 0.6)))
    logs[heavy] = np.log(1_000.0)
    theta = 1 / (1 + np.exp(-w))
    grid, density = draw_density(theta, truncated_weights(logs))
    expected = np.exp(-0.5 * (np.log(grid / (1 - grid)) / 0.5) ** 2) / (0.5 * np.sqrt(2 * np.pi) * grid * (1 - grid))
    assert np.abs(density - expected).max() < 0.12 * expected.max()
    _, lumps = draw_density(theta, np.exp(logs) / np.exp(logs).sum())  # the negative control
    assert np.abs(lumps - expected).max() > 0.3 * expected.max()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_weight_that_is_no_number_stops_the_chain_where_it_stands(value):
    from mrfbayes.kernels.run import chain
    from mrfbayes.kernels.run import independence as kernel

    p, n = 2, 3
    state = chain.ChainState(
        *(np.zeros(p) for _ in range(5)), np.zeros((1, p)), np.zeros(p), np.zeros((1, p)), np.zeros(p), np.zeros(p),
        np.zeros(chain.N_NUMBERS), np.zeros(chain.N_COUNTERS, dtype=np.int64), np.zeros(4, dtype=np.uint64),
    )  # fmt: skip
    own = kernel.SumsView(
        np.zeros(n), np.array([-np.inf, 0, 0, 0]), np.zeros(p), np.zeros(p), np.arange(1, 5, dtype=np.uint64)
    )
    kept = chain.KeptDraws(np.empty((n, p)), np.empty(n), 0)
    with np.errstate(over="ignore"):
        kernel.decide(
            own,
            chain.ChainSettings(0, 1, 0, 0),
            state,
            (np.zeros((n, p)), np.full((n, p), 0.5)),
            np.zeros(n),
            np.array([0.0, value, 0.0]),
            kept,
        )
    assert state.counters[chain.FAILED] == chain.NOT_A_NUMBER
    assert state.counters[chain.STEP] == 1


def test_weights_that_cannot_be_trusted_give_way_to_draws(posterior, monkeypatch):
    """One edge has weights of a heavy tail: its factor comes from the draws, as a number or a bound, and says so."""
    from dataclasses import replace

    from mrfbayes.results import bayes_factors

    real, exact = bayes_factors._corrected, posterior.edges()

    def with_one_bad(*arguments):
        found = real(*arguments)
        changed = {"log_bf10": np.append(979.0, found.log_bf10[1:]), "pareto_k": np.append(57.0, found.pareto_k[1:])}
        return found._replace(**changed)

    monkeypatch.setattr(bayes_factors, "_corrected", with_one_bad)
    table = replace(posterior).edges()
    first, own = table.iloc[0], exact.iloc[0]
    assert np.isnan(first["pareto_k"])
    assert first["log_bf10"] < own["log_bf10"] + 5 * np.hypot(min(first["log_bf10_error"], 1.0), own["log_bf10_error"])
    pd.testing.assert_frame_equal(table.iloc[1:], exact.iloc[1:])
