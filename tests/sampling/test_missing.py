"""Posteriors of data with missing cells, against brute force over every completion of every row."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import mrfbayes as mb
import oracles
import oracles_missing as brute
from mrfbayes import InputError, MRFWarning
from mrfbayes.exact import clamped
from mrfbayes.particles import completions

PAIRS = list(itertools.combinations(range(5), 2))
MODEL = mb.graph(PAIRS, coupling="both-one", fields=True)
EVERYTHING = brute.configurations([2] * 5)
S = brute.statistics(EVERYTHING, PAIRS, "both-one", [2] * 5)

pytestmark = pytest.mark.filterwarnings("ignore:.* missing cells:mrfbayes.MRFWarning")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(11)
    w = rng.normal(0, 0.6, S.shape[1])
    p = np.exp(S @ w)
    return brute.hide(EVERYTHING[rng.choice(len(S), size=350, p=p / p.sum())], 0.3, rng)


def table(rows):
    return np.where(rows == brute.HOLE, np.nan, rows)


def statistics(rows):
    return mb.Data(table(rows)).count(MODEL)


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
    post = mb.sample(MODEL, statistics(rows), "exact", draws=2_000, thin=5, chains=2, prior="uniform", progress=False)
    assert post.engine == "independence"
    assert post.n == 350
    own = post.sd / np.sqrt(post.details["effective_proposals"])
    assert np.abs((post.mean - mean) / np.hypot(mean_error, own)).max() < 5.2  # level 1e-6 for 15 normal errors
    assert np.abs((post.sd - sd) / np.hypot(sd_error, own)).max() < 6
    # Negative control: leaving rows with holes out gives another posterior.
    complete = rows[(rows != brute.HOLE).all(axis=1)]
    other = mb.sample(MODEL, complete.astype(np.uint8), "calibrated", prior="uniform", progress=False)
    assert np.abs(other.sd / sd - 1).mean() > 0.3


def test_calibrated_is_within_one_per_cent(rows, truth):
    mean, sd, *_ = truth
    post = mb.sample(MODEL, table(rows), "calibrated", prior="uniform", progress=False)
    assert np.abs((post.mean - mean) / sd).mean() < 0.01
    assert np.abs(post.sd / sd - 1).mean() < 0.01
    assert "not on the missing value itself" in post.details["missing"]


def test_trajectories_agree_with_brute_force(rows, truth):
    mean, _, mean_error, *_ = truth
    post = mb.sample(
        MODEL, statistics(rows), "exact", engine="hmc", draws=400, chains=2, prior="uniform", progress=False
    )
    assert np.abs((post.mean - mean) / np.hypot(mean_error, post.mcse)).max() < 6


@pytest.mark.filterwarnings("ignore:largest R-hat:mrfbayes.MRFWarning")  # so short a walk is not precise
@pytest.mark.filterwarnings("ignore:steps are too long:mrfbayes.MRFWarning")  # a bound that so short a walk leaves wide
@pytest.mark.parametrize("summed", [250_000, 0], ids=["summed", "clamped chains"])
def test_langevin_agrees_with_brute_force(rows, truth, summed, monkeypatch):
    monkeypatch.setattr(completions, "SUMMED", summed)
    mean, sd, *_ = truth
    post = mb.sample(MODEL, statistics(rows), "langevin", chains=2, draws=150, rng=1, prior="uniform", progress=False)
    error = np.hypot(post.facts.mean_error, 0.01)
    assert np.sqrt(np.mean(((post.mean - mean) / sd) ** 2)) < 3 * error
    assert np.sqrt(np.mean((post.sd / sd - 1) ** 2)) < 3 * np.hypot(post.facts.sd_error, 0.01)


def test_the_estimate_is_where_the_brute_force_gradient_vanishes(rows):
    found = mb.estimate(MODEL, table(rows), progress=False)
    assert found.converged
    gradient, information, *_ = derivatives(rows, found.log_odds)
    assert np.sqrt(gradient @ np.linalg.solve(information, gradient)) < 1e-5
    assert found.existence.verdict == "exists"
    mode = mb.estimate(MODEL, statistics(rows), prior="uniform", optimiser="newton", progress=False)
    gradient, *_ = derivatives(rows, mode.log_odds)
    assert gradient + 1 - 2 * mode.theta == pytest.approx(np.zeros(S.shape[1]), abs=1e-5)
    sampled = mb.estimate(MODEL, statistics(rows), algorithm="chord", prior="uniform", progress=False)
    assert np.abs(sampled.log_odds - mode.log_odds).max() < 6 * sampled.standard_error.max()


def test_save_and_load_keep_the_rows_with_holes(rows, tmp_path):
    post = mb.sample(MODEL, statistics(rows), "calibrated", prior="uniform", progress=False)
    post.save(tmp_path / "a.nc")
    loaded = mb.load(tmp_path / "a.nc")
    kept, own = loaded._problem.statistics, post._problem.statistics
    assert np.array_equal(kept.incomplete.rows, own.incomplete.rows)
    assert np.array_equal(kept.incomplete.weight, own.incomplete.weight)
    assert (kept.n_all, kept.incomplete.n_rows, kept.digest) == (own.n_all, own.incomplete.n_rows, own.digest)
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


@pytest.mark.parametrize("way", ["enumerated", "eliminated", "gibbs"])
def test_completed_data_sets_are_drawn_from_what_is_possible(rows, way, monkeypatch):
    if way == "eliminated":
        monkeypatch.setattr(clamped, "COMPONENT_STATES", 2)
    if way == "gibbs":
        monkeypatch.setattr(clamped, "MOST_COMPLETIONS", 1)
    few = np.concatenate([rows[(rows != brute.HOLE).all(axis=1)][:5], rows[(rows == brute.HOLE).sum(axis=1) == 2][:3]])
    few = np.concatenate([few, np.repeat(few[-1:], 300, axis=0)])
    made = mb.sample(
        MODEL, rows[(rows != brute.HOLE).all(axis=1)].astype(np.uint8), "calibrated", prior="uniform", progress=False
    )
    w = np.linspace(-1.2, 1.2, S.shape[1])
    post = replace(made, draws=np.broadcast_to(MODEL.chart.theta(w), (1, 4, w.size)))
    sets = post.impute(8, table(few), rng=3)
    assert len(sets) == 8
    seen = few != brute.HOLE
    assert all(np.array_equal(one[seen], few[seen]) for one in sets)
    kept = brute.completions(few[-1], EVERYTHING)
    p = np.exp(S[kept] @ w)
    drawn = np.concatenate([one[7:] for one in sets])
    counts = np.array([(drawn == x).all(axis=1).sum() for x in EVERYTHING[kept]])
    assert counts.sum() == len(drawn)
    assert oracles.chi_square(counts, p / p.sum()) > 1e-6
    assert oracles.chi_square(counts, np.full(4, 0.25)) < 1e-6  # negative control


def test_imputing_without_rows_uses_those_that_were_learned_from(rows, tmp_path):
    post = mb.sample(MODEL, statistics(rows), "calibrated", prior="uniform", progress=False)
    (one,) = post.impute(1)
    for many in (10**9, 2**64 - 1, 10**30):
        with pytest.raises(mb.CostError, match=f"m={many:,}"):
            post.impute(many)
    assert one.shape == (350, 5)
    assert one.max() <= 1
    post.save(tmp_path / "a.nc")
    with pytest.raises(InputError, match=r"keeps no rows .* pass them as data="):
        mb.load(tmp_path / "a.nc").impute(2)
    (again,) = mb.load(tmp_path / "a.nc").impute(1, table(rows))
    assert np.array_equal(again[rows != brute.HOLE], rows[rows != brute.HOLE])
    complete = mb.sample(MODEL, one, "calibrated", prior="uniform", progress=False)
    with pytest.raises(InputError, match="knows of no missing cells"):
        complete.impute(2)
    with pytest.raises(InputError, match=r"no cell .*missing"):
        complete.impute(2, one)
    assert not complete.missing_information().any()


def test_imputing_repeats_rows_as_often_as_they_weigh(rows):
    weights = np.random.default_rng(3).integers(1, 4, len(rows))
    counted = mb.Data(table(rows), weights=weights).count(MODEL)
    (one,) = mb.sample(MODEL, counted, "calibrated", prior="uniform", progress=False).impute(1)
    assert len(one) == weights.sum()
    whole = (rows != brute.HOLE).all(axis=1)
    known = np.repeat(rows[whole], weights[whole], axis=0)
    np.testing.assert_array_equal(np.sort(one[: len(known)] @ 2 ** np.arange(5)), np.sort(known @ 2 ** np.arange(5)))


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")  # runs too short to quote quantiles
def test_missing_information_is_that_of_brute_force(rows, tmp_path):
    coins = mb.sample(MODEL, statistics(rows), "calibrated", prior="uniform", progress=False)
    mode = mb.estimate(MODEL, statistics(rows), prior="uniform", progress=False).log_odds
    theta = 1 / (1 + np.exp(-mode))
    prior = np.diag(2 * theta * (1 - theta))
    p = np.exp(S @ mode) / np.exp(S @ mode).sum()
    free = (S * p[:, None]).T @ S - np.outer(p @ S, p @ S)
    full, seen = (np.diag(np.linalg.inv(i + prior)) for i in (len(rows) * free, derivatives(rows, mode)[1]))
    want = 1 - full / seen
    assert 0.2 < want.min() < want.max() < 0.8
    assert coins.missing_information().to_numpy() == pytest.approx(want, abs=1e-5)
    coins.save(tmp_path / "a.nc")
    assert mb.load(tmp_path / "a.nc").missing_information().equals(coins.missing_information())
    walked = mb.sample(
        MODEL, statistics(rows), "exact", engine="hmc", draws=100, chains=2, prior="uniform", progress=False
    )
    assert walked.missing_information().to_numpy() == pytest.approx(want, abs=0.1)
    chains = mb.sample(MODEL, statistics(rows), "langevin", chains=1, draws=20, prior="uniform", progress=False)
    assert chains.missing_information().to_numpy() == pytest.approx(want, abs=0.1)


@pytest.mark.parametrize("method", ["mle", "pseudo", "laplace", "exchange"])
def test_methods_without_such_a_likelihood_are_refused(rows, method):
    with pytest.raises(InputError, match=f"method = '{method}' .*missing cells"):
        mb.sample(MODEL, statistics(rows), method, prior="uniform", progress=False)


def test_other_refusals(rows):
    with pytest.raises(InputError, match=r"algorithm = 'pcd' .*missing cells.*'exact', 'chord'"):
        mb.estimate(MODEL, statistics(rows), algorithm="pcd", progress=False)
    post = mb.sample(MODEL, statistics(rows), "calibrated", prior="uniform", progress=False)
    with pytest.raises(InputError, match=r"^data: not the data"):
        mb.predictive_check(post, table(rows[:300]), progress=False)
    weighted = mb.Data(table(rows), weights=np.full(len(rows), 0.5)).count(MODEL)
    with pytest.raises(InputError, match=r"impute: .*weights .*whole numbers"):
        mb.sample(MODEL, weighted, "calibrated", prior="uniform", progress=False).impute(1)


def test_the_predictive_check_completes_what_is_missing(tmp_path):
    rng = np.random.default_rng(21)
    w = rng.normal(0, 0.6, S.shape[1])
    p = np.exp(S @ w)
    rows = EVERYTHING[rng.choice(len(S), size=350, p=p / p.sum())]
    hide = rng.random(rows.shape) < 0.5 * rows[:, :1]  # at random, not completely: where the first is one
    hide[:, 0] = False
    x = np.where(hide, np.nan, rows)
    post = mb.sample(MODEL, x, "calibrated", prior="uniform", progress=False)
    check = mb.predictive_check(post, replicates=100, progress=False)
    first = MODEL.parameters[len(PAIRS)]
    assert check.table.loc[first, "observed"] == pytest.approx(rows[:, 0].mean())
    complete = rows[~hide.any(axis=1), 0].mean()  # what the complete rows alone would say
    assert complete < rows[:, 0].mean() - 0.1
    assert check.table["p_value"].min() > 0.02
    post.save(tmp_path / "a.nc")
    again = mb.predictive_check(mb.load(tmp_path / "a.nc"), x, replicates=100, progress=False)
    assert again.table.equals(check.table)
    # Negative control: draws of another field.
    far = replace(post, draws=np.full((1, 100, len(w)), 0.4))
    assert mb.predictive_check(far, x, replicates=100, progress=False).table["p_value"].min() < 0.02


def test_predictability_is_that_of_completed_rows(rows):
    post = mb.sample(MODEL, statistics(rows), "calibrated", prior="uniform", progress=False)
    found = post.predictability(draws=100)
    theta = post.draws.reshape(-1, S.shape[1])
    some = theta[np.linspace(0, len(theta) - 1, 100).astype(int)]
    score, hits = np.zeros(5), np.zeros(5)
    places = [brute.completions(row, EVERYTHING) for row in rows]
    for each in np.log(some / (1 - some)):
        log_p = S @ each
        other = log_p[np.arange(32)[:, None] ^ (16 >> np.arange(5))]  # the same configuration, one node flipped
        of_own = log_p[:, None] - np.logaddexp(log_p[:, None], other)
        weights = np.stack([np.where(place, np.exp(log_p), 0.0) for place in places])
        average = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
        score += average @ of_own / len(some)
        hits += average @ (of_own > np.log(0.5)) / len(some)
    entropy = found["log_score_gain"].to_numpy() - score
    assert np.abs(found["accuracy"] - hits).max() < 0.01
    assert (entropy > 0.3).all()
    assert (entropy < np.log(2) + 0.01).all()


@pytest.mark.filterwarnings("ignore:largest R-hat:mrfbayes.MRFWarning")
def test_rows_with_large_components_are_sampled_by_trajectories(rows, monkeypatch):
    monkeypatch.setattr(clamped, "COMPONENT_STATES", 4)
    plain = mb.sample(MODEL, statistics(rows), "calibrated", prior="uniform", progress=False, variance="order")
    with pytest.warns(MRFWarning, match="sds are of leading order"):
        post = mb.sample(MODEL, statistics(rows), "calibrated", prior="uniform", progress=False)
    assert post.mean == pytest.approx(plain.mean, abs=1e-9)
    with pytest.raises(InputError, match="engine = 'independence' is not available"):
        mb.sample(MODEL, statistics(rows), "exact", engine="independence", draws=40, progress=False)
    post = mb.sample(MODEL, statistics(rows), "exact", draws=40, warmup=10, chains=1, progress=False)
    assert post.engine == "hmc"
    likelihood = mb.likelihood(MODEL, statistics(rows), "exact")
    values = likelihood.log_likelihood(post.draws[0, :3])
    expected = [brute.log_likelihood(rows, EVERYTHING, S, w) for w in post.log_odds[0, :3]]
    assert values == pytest.approx(expected, abs=1e-9)
    assert likelihood.log_likelihood(post.draws[0, 0]) == pytest.approx(expected[0], abs=1e-9)


def test_one_map_with_hidden_cells_agrees_with_brute_force():
    """One tied 3x3 field, two cells of which were never seen: their sum over states, and quadrature over theta."""
    model = mb.grid(3, 3, tied=True)
    row = np.array([[0, np.nan, 1, 0, np.nan, 1, 0, 0, 1]])
    completions = np.array([[0, a, 1, 0, b, 1, 0, 0, 1] for a in (0, 1) for b in (0, 1)])
    everything = np.array(list(itertools.product((0, 1), repeat=9)))
    w = np.linspace(-12, 12, 4001)

    def log_sum(x):
        s = (x[:, model.edges[:, 0]] == x[:, model.edges[:, 1]]).sum(axis=1)
        return np.logaddexp.reduce(np.multiply.outer(w, s), axis=1)

    theta = 1 / (1 + np.exp(-w))
    density = np.exp(log_sum(completions) - log_sum(everything)) * theta * (1 - theta)
    expected = density @ theta / density.sum()
    with pytest.warns(mb.MRFWarning):
        post = mb.sample(model, row, "exact", rng=1, prior="uniform", progress=False)
    assert abs(post.mean[0] - expected) < 5 * post.mcse[0]
    with_zeros = np.exp(log_sum(np.nan_to_num(row)) - log_sum(everything)) * theta * (1 - theta)
    assert abs(post.mean[0] - with_zeros @ theta / with_zeros.sum()) > 5 * post.mcse[0]  # the check can fail
