"""Posteriors of data with missing cells, against brute force over every completion of every row."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import mrfbayes as mb
import oracles_missing as brute
from mrfbayes import InputError, MRFWarning
from mrfbayes.particles import completions

PAIRS = list(itertools.combinations(range(5), 2))
MODEL = mb.graph(PAIRS, coupling="both-one", fields=True)
EVERYTHING = brute.configurations([2] * 5)
S = brute.statistics(EVERYTHING, PAIRS, "both-one", [2] * 5)

pytestmark = pytest.mark.filterwarnings("ignore:.* rows have missing cells:mrfbayes.MRFWarning")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(11)
    w = rng.normal(0, 0.6, S.shape[1])
    p = np.exp(S @ w)
    return brute.hide(EVERYTHING[rng.choice(len(S), size=350, p=p / p.sum())], 0.3, rng)


def table(rows):
    return np.where(rows == brute.HOLE, np.nan, rows)


def statistics(rows):
    return mb.count(MODEL, table(rows), missing="model")


def derivatives(rows, w):
    return brute.derivatives(rows, EVERYTHING, S, w)


@pytest.fixture(scope="module")
def truth(rows):
    """Importance sampling of the brute-force posterior, from a t distribution at its mode."""
    rng = np.random.default_rng(12)

    def down(w):
        theta = 1 / (1 + np.exp(-w))
        gradient = derivatives(rows, w)[0]
        value = brute.log_likelihood(rows, EVERYTHING, S, w) + np.log(theta * (1 - theta)).sum()
        return -value, -(gradient + 1 - 2 * theta)

    w = minimize(down, np.zeros(S.shape[1]), jac=True, method="BFGS").x
    theta = 1 / (1 + np.exp(-w))
    information = derivatives(rows, w)[1]
    information = information + np.diag(2 * theta * (1 - theta))
    return brute.posterior(rows, EVERYTHING, S, w, np.linalg.inv(information), 60_000, rng)


def test_exact_agrees_with_brute_force_within_monte_carlo_error(rows, truth):
    mean, sd, mean_error, sd_error, effective = truth
    assert effective > 10_000
    post = mb.sample(MODEL, statistics(rows), "exact", steps=10_000, chains=2, progress=False)
    assert post.engine == "independence"
    assert post.n == 350
    own = post.sd / np.sqrt(post.details["effective_proposals"])
    assert np.abs((post.mean - mean) / np.hypot(mean_error, own)).max() < 5.2  # level 1e-6 for 15 normal errors
    assert np.abs((post.sd - sd) / np.hypot(sd_error, own)).max() < 6
    # Negative control: leaving rows with holes out gives another posterior.
    complete = rows[(rows != brute.HOLE).all(axis=1)]
    other = mb.sample(MODEL, complete.astype(np.uint8), "calibrated", progress=False)
    assert np.abs(other.sd / sd - 1).mean() > 0.3


def test_calibrated_is_within_one_per_cent(rows, truth):
    mean, sd, *_ = truth
    post = mb.sample(MODEL, table(rows), "calibrated", missing="model", progress=False)
    assert np.abs((post.mean - mean) / sd).mean() < 0.01
    assert np.abs(post.sd / sd - 1).mean() < 0.01
    assert "not on the missing value itself" in post.details["missing"]


def test_trajectories_agree_with_brute_force(rows, truth):
    mean, _, mean_error, *_ = truth
    post = mb.sample(MODEL, statistics(rows), "exact", engine="hmc", steps=400, chains=2, progress=False)
    assert np.abs((post.mean - mean) / np.hypot(mean_error, post.mcse)).max() < 6


@pytest.mark.filterwarnings("ignore:steps are too long:mrfbayes.MRFWarning")  # a bound that so short a walk leaves wide
@pytest.mark.parametrize("summed", [250_000, 0], ids=["summed", "clamped chains"])
def test_langevin_agrees_with_brute_force(rows, truth, summed, monkeypatch):
    monkeypatch.setattr(completions, "SUMMED", summed)
    mean, sd, *_ = truth
    post = mb.sample(MODEL, statistics(rows), "langevin", chains=2, steps=150, rng=1, progress=False)
    error = np.hypot(post.facts.mean_error, 0.01)
    assert np.sqrt(np.mean(((post.mean - mean) / sd) ** 2)) < 3 * error
    assert np.sqrt(np.mean((post.sd / sd - 1) ** 2)) < 3 * np.hypot(post.facts.sd_error, 0.01)


def test_the_estimate_is_where_the_brute_force_gradient_vanishes(rows):
    found = mb.estimate(MODEL, table(rows), missing="model", progress=False)
    assert found.converged
    gradient, information, *_ = derivatives(rows, found.log_odds)
    assert np.sqrt(gradient @ np.linalg.solve(information, gradient)) < 1e-5
    assert found.existence.verdict == "exists"
    mode = mb.estimate(MODEL, statistics(rows), prior="uniform", optimiser="newton", progress=False)
    gradient, *_ = derivatives(rows, mode.log_odds)
    assert gradient + 1 - 2 * mode.theta == pytest.approx(np.zeros(S.shape[1]), abs=1e-5)
    sampled = mb.estimate(MODEL, statistics(rows), "chord", prior="uniform", progress=False)
    assert np.abs(sampled.log_odds - mode.log_odds).max() < 6 * sampled.standard_error.max()


def test_save_and_load_keep_the_rows_with_holes(rows, tmp_path):
    post = mb.sample(MODEL, statistics(rows), "calibrated", progress=False)
    post.save(tmp_path / "a.nc")
    loaded = mb.load(tmp_path / "a.nc")
    kept, own = loaded.problem.statistics, post.problem.statistics
    assert np.array_equal(kept.holes.rows, own.holes.rows)
    assert np.array_equal(kept.holes.weight, own.holes.weight)
    assert (kept.n_all, kept.holes.n_rows, kept.digest) == (own.n_all, own.holes.n_rows, own.digest)
    assert loaded.details["missing"] == post.details["missing"]
    assert loaded.edges()["log_bf10"].to_numpy() == pytest.approx(post.edges()["log_bf10"].to_numpy(), abs=1e-12)


def test_the_evidence_of_a_hole_is_that_of_both_completions(rows):
    few = rows[(rows != brute.HOLE).all(axis=1)][:40]
    holed = few.copy()
    holed[0, 2] = brute.HOLE
    found = mb.evidence(MODEL, statistics(holed), draws=4_000)
    both = []
    for value in (0, 1):
        holed[0, 2] = value
        both.append(mb.evidence(MODEL, holed.astype(np.uint8), draws=4_000))
    want = np.logaddexp(both[0].log_evidence, both[1].log_evidence)
    error = np.hypot(found.standard_error, max(one.standard_error for one in both))
    assert abs(found.log_evidence - want) < 5.2 * error < 0.1
    assert abs(found.log_evidence - both[0].log_evidence) > 0.2  # negative control


@pytest.mark.parametrize("method", ["mle", "pseudo", "laplace", "exchange"])
def test_methods_without_such_a_likelihood_are_refused(rows, method):
    with pytest.raises(InputError, match=f"method = '{method}' has no likelihood for rows with missing cells: use one"):
        mb.sample(MODEL, statistics(rows), method, progress=False)


def test_other_refusals(rows):
    with pytest.raises(
        InputError, match="algorithm = 'pcd' has no likelihood for rows with missing cells: use one of 'exact', 'chord'"
    ):
        mb.estimate(MODEL, statistics(rows), "pcd", progress=False)
    post = mb.sample(MODEL, statistics(rows), "calibrated", progress=False)
    with pytest.raises(InputError, match="the predictive check compares complete rows"):
        mb.predictive_check(post, statistics(rows), progress=False)


@pytest.mark.filterwarnings("ignore:largest R-hat:mrfbayes.MRFWarning")
def test_rows_with_large_clumps_are_sampled_by_trajectories(rows, monkeypatch):
    from mrfbayes.exact import clamped, clumps

    for module in (clamped, clumps):
        monkeypatch.setattr(module, "CLUMP_STATES", 4)
    plain = mb.sample(MODEL, statistics(rows), "calibrated", progress=False, variance="order")
    with pytest.warns(MRFWarning, match="spreads are those of leading order"):
        post = mb.sample(MODEL, statistics(rows), "calibrated", progress=False)
    assert post.mean == pytest.approx(plain.mean, abs=1e-9)
    with pytest.warns(MRFWarning, match="engine='independence' is not used"):
        post = mb.sample(
            MODEL, statistics(rows), "exact", engine="independence", steps=40, warmup=10, chains=1, progress=False
        )
    assert post.engine == "hmc"
