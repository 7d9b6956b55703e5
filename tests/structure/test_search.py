"""Chains of a search: Monte-Carlo errors, streams, and missing cells against brute force over completions."""

import itertools
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

import mrfbayes as mb
import oracles_missing as brute
from mrfbayes.exact import clamped
from mrfbayes.kernels.structure import moves
from mrfbayes.particles import completions
from mrfbayes.structure import search
from mrfbayes.structure.search import monte_carlo_error
from structure.result_cases import MODEL as CHAIN

PAIRS = [(0, 1), (0, 2), (1, 2)]
MODEL = mb.graph(PAIRS, coupling="both-one", fields=True)
EVERYTHING = brute.configurations([2] * 3)
S = brute.statistics(EVERYTHING, PAIRS, "both-one", [2] * 3)
GRAPHS = np.array(list(itertools.product([False, True], repeat=3)))
pytestmark = pytest.mark.filterwarnings("ignore:.* missing cells:mrfbayes.MRFWarning")


def swept(batches, length=10):
    """The state of a chain with full ``batches`` (rows, m) of means."""
    counters = np.zeros(moves.N_MOVE_COUNTERS, dtype=np.int64)
    counters[moves.BATCH_LENGTH], counters[moves.BATCH_ROW] = length, len(batches)
    stored = np.zeros((len(batches) + 3, batches.shape[1]))
    stored[: len(batches)] = batches * length
    return {"batches": stored, "counters": counters}


def hidden(w, n, seed):
    rng = np.random.default_rng(seed)
    p = np.exp(S @ np.array(w))
    return brute.hide(EVERYTHING[rng.choice(len(S), size=n, p=p / p.sum())], 0.3, rng)


def table(rows):
    return np.where(rows == brute.HOLE, np.nan, rows)


def log_normal(w):
    return -0.5 * (w**2 + np.log(2 * np.pi)).sum(axis=-1)


def log_logistic(w):
    return -(np.abs(w) + 2 * np.log1p(np.exp(-np.abs(w)))).sum(axis=-1)


def spread(f, w, step=1e-3):
    """Inverse of minus the matrix of second differences of ``f`` at w."""
    shifts = step * np.eye(w.size)
    sums = shifts[:, None] + shifts[None]
    gaps = shifts[:, None] - shifts[None]
    at = [f(w + sign * part.reshape(-1, w.size)) for part, sign in ((sums, 1), (sums, -1), (gaps, 1), (gaps, -1))]
    return np.linalg.inv(-(at[0] + at[1] - at[2] - at[3]).reshape(w.size, -1) / (4 * step**2))


def inclusion(log_posterior, size_of, draws=20_000):
    """Of three indicators, all 8 settings alike a priori: each one's evidence by importance sampling at its mode."""
    rng, scores = np.random.default_rng(3), []
    for present in GRAPHS:
        d = size_of(present)
        found = minimize(lambda w, present=present: -log_posterior(present, w), np.zeros(d))
        factor = np.linalg.cholesky(1.3 * spread(partial(log_posterior, present), found.x))
        z = rng.standard_normal((draws, d)) / np.sqrt(rng.chisquare(8, size=(draws, 1)) / 8)
        log_q = gammaln((8 + d) / 2) - gammaln(4) - d / 2 * np.log(8 * np.pi) - np.log(np.diag(factor)).sum()
        log_q = log_q - (8 + d) / 2 * np.log1p((z**2).sum(axis=1) / 8)
        log_weights = log_posterior(present, found.x + z @ factor.T) - log_q
        weights = np.exp(log_weights - log_weights.max())
        assert weights.std() / weights.mean() / np.sqrt(draws) < 0.02
        scores.append(np.log(weights.mean()) + log_weights.max())
    p = np.exp(scores - np.max(scores))
    return (p / p.sum()) @ GRAPHS


def is_off(found, want):
    """Whether an inclusion probability is far from what enumeration says, its own error of 0.005 allowed for."""
    return np.abs((found.inclusion - want) / np.hypot(found.inclusion_error, 0.005)).max() > 5.2


@pytest.fixture(scope="module")
def rows():
    return hidden([0.9, 0.0, 0.4, -0.5, 0.2, 0.3], 150, seed=2)


@pytest.fixture(scope="module")
def truth(rows):
    def log_posterior(present, w):
        m = int(present.sum())
        chosen = np.concatenate([np.flatnonzero(present), [3, 4, 5]])
        return (
            brute.log_likelihood(rows, EVERYTHING, S[:, chosen], w) + log_normal(w[..., :m]) + log_logistic(w[..., m:])
        )

    return inclusion(log_posterior, lambda present: int(present.sum()) + 3)


@pytest.mark.parametrize(
    ("engine", "is_swept"), [("states", False), ("recursion", False), ("states", True), ("particles", True)]
)
def test_inclusion_probabilities_are_those_of_all_graphs(rows, truth, engine, is_swept, monkeypatch):
    if is_swept:  # as where completions are too many to be gone through: Gibbs sweeps over completed rows
        monkeypatch.setattr(completions, "SUMMED", 0)
    found = mb.select(
        MODEL, table(rows), prior="uniform", engine=engine, draws=1_500, chains=2, progress=False, particles=4_096
    )
    assert found.engine == engine
    assert not is_off(found, truth)
    assert found.n == 150


def test_without_the_rows_with_holes_they_are_others(rows, truth):
    complete = mb.select(
        MODEL, rows[(rows != brute.HOLE).all(axis=1)].astype(np.uint8), prior="uniform", draws=500, progress=False
    )
    assert is_off(complete, truth)


@pytest.mark.parametrize("is_swept", [False, True])
def test_differences_between_groups_are_those_of_all_settings(is_swept, monkeypatch):
    first, second = hidden([0.9, 0.0, 0.4, -0.5, 0.2, 0.3], 90, 5), hidden([-0.3, 0.1, 0.4, -0.2, 0.2, 0.0], 70, 6)

    def log_posterior(present, w):
        change = np.zeros((*w.shape[:-1], 6))
        change[..., np.concatenate([np.flatnonzero(present), [3, 4, 5]])] = w[..., 6:]
        groups = ((first, w[..., :6] - change / 2), (second, w[..., :6] + change / 2))
        likelihood = sum(brute.log_likelihood(rows, EVERYTHING, S, own) for rows, own in groups)
        return likelihood + log_logistic(w[..., :6]) + log_normal(w[..., 6:])

    if is_swept:
        monkeypatch.setattr(completions, "SUMMED", 0)
    found = mb.compare_groups(
        MODEL, {"a": table(first), "b": table(second)}, prior="uniform", draws=1_500, chains=2, progress=False
    )
    want = inclusion(log_posterior, lambda present: int(present.sum()) + 9)
    assert not is_off(found, want)
    assert found.group_n == (90, 70)
    assert "missing at random" in found.settings["missing"]
    assert not any("missing at random" in text for text in found.warnings)  # a fact about the data, no warning
    # Negative control: the groups' complete rows say something else.
    dropped = mb.compare_groups(
        MODEL,
        {name: mb.Data(table(part), missing="drop") for name, part in (("a", first), ("b", second))},
        prior="uniform",
        draws=500,
        chains=2,
        progress=False,
    )
    assert is_off(dropped, want)


@pytest.mark.filterwarnings("ignore:the inclusion probability:mrfbayes.MRFWarning")
def test_a_run_with_missing_cells_goes_on_from_its_file(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(completions, "SUMMED", 0)
    settings = {"chains": 2, "warmup": 10, "thin": 1, "progress": False}
    whole = mb.select(MODEL, table(rows), draws=40, **settings)
    for draws in (15, 40):
        found = mb.select(MODEL, table(rows), draws=draws, checkpoint=tmp_path / "run.h5", **settings)
    np.testing.assert_array_equal(found.log_odds, whole.log_odds)


def test_rows_with_large_components_are_swept(rows, monkeypatch):
    mixed = mb.graph(PAIRS, states=(2, 3, 2), coupling="agreement", fields=True)
    statistics, other = (mb.Data(table(rows)).count(model) for model in (MODEL, mixed))
    assert isinstance(search._completing(statistics), search.DrawnComponents)
    assert isinstance(search._completing(other), search.DrawnComponents)
    monkeypatch.setattr(clamped, "COMPONENT_STATES", 2)
    statistics, other = (mb.Data(table(rows)).count(model) for model in (MODEL, mixed))
    assert isinstance(search._completing(statistics), search.SweptRows)
    assert isinstance(search._completing(other), search.SweptRows)


def test_what_a_search_cannot_do_with_missing_cells_is_refused(rows):
    x = table(rows)
    weighted = mb.Data(x, weights=np.full(len(x), 0.5)).count(MODEL)
    with pytest.raises(mb.InputError, match=r"whole numbers in a search.*missing='drop'"):
        mb.select(MODEL, weighted, progress=False)
    unseen = x.copy()
    unseen[:, 1] = np.nan
    with pytest.raises(mb.InputError, match=r"group 'b': 1 variable has no observed cell .*: '1'"):
        mb.compare_groups(MODEL, {"a": x, "b": unseen}, progress=False)


def test_errors_of_inclusion_shrink_with_the_root_of_the_batches():
    batches = np.tile([[0.2, 0.9], [0.4, 0.5]], (8, 1))
    np.testing.assert_allclose(monte_carlo_error([swept(batches)]), batches.std(axis=0, ddof=1) / 4)
    first = monte_carlo_error([swept(batches)], 85)  # eight whole batches of ten sweeps
    np.testing.assert_allclose(first, batches[:8].std(axis=0, ddof=1) / np.sqrt(8))
    both = monte_carlo_error([swept(batches[:8]), swept(batches[8:])])
    np.testing.assert_allclose(both, batches.std(axis=0, ddof=1) / 4)


def test_errors_of_inclusion_come_from_long_batches():
    """Of slow chains: batches that follow each other are alike, and short ones would say too little of the error."""
    rng = np.random.default_rng(3)
    slow = [np.repeat(rng.random((8, 2)), 8, axis=0) for _ in range(4)]
    error = monte_carlo_error([swept(chain) for chain in slow])
    long = np.concatenate([chain[::8] for chain in slow])
    np.testing.assert_allclose(error, long.std(axis=0, ddof=1) / np.sqrt(32))
    assert (error > 2 * np.concatenate(slow).std(axis=0, ddof=1) / np.sqrt(256)).all()


def test_errors_of_inclusion_see_chains_that_differ():
    still = [swept(np.full((16, 1), value)) for value in (0.1, 0.5, 0.3, 0.5)]
    np.testing.assert_allclose(monte_carlo_error(still), np.std([0.1, 0.5, 0.3, 0.5], ddof=1) / 2)


def test_errors_of_inclusion_are_not_those_of_few_chains_where_these_agree():
    """Of independent batches: the largest of 200 errors from four means would be twice as large."""
    rng = np.random.default_rng(4)
    error = monte_carlo_error([swept(rng.normal(0.5, 0.1, (32, 200))) for _ in range(4)])
    true = 0.1 / np.sqrt(128)
    np.testing.assert_allclose(np.mean(error**2), true**2, rtol=0.1)
    assert error.max() < 1.6 * true


def test_chains_and_groups_have_streams_of_their_own():
    x = np.random.default_rng(1).integers(0, 2, (60, 3))
    options = {"chains": 3, "rng": 1, "progress": False, "draws": 20, "warmup": 5, "thin": 1}
    found = mb.select(CHAIN, x, **options)
    assert len({found.log_odds[k].tobytes() for k in range(3)}) == 3
    twins = mb.compare_groups(CHAIN, {"a": x, "b": x}, engine="particles", particles=200, **options)
    assert len({twins.coordinates[k].tobytes() for k in range(3)}) == 3
    assert not np.array_equal(twins.log_odds[:, :, 0], twins.log_odds[:, :, 1])
