"""Results of searches put together by hand, where every number is known: prior odds, errors, signs, names of groups."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.kernels.structure import moves
from mrfbayes.structure.anchors import WeightedEngine, WeightedParts
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.problem import graph_prior
from mrfbayes.structure.result import SearchResult
from mrfbayes.structure.search import monte_carlo_error

MODEL = mb.graph([("a", "b"), ("b", "c")], fields=True)
COMMON = {
    "model": MODEL,
    "log_likelihood": np.zeros((1, 2)),
    "inclusion": np.array([0.9, 0.2]),
    "absence": np.array([0.1, 0.8]),
    "inclusion_error": np.array([0.01, 0.02]),
    "prior_inclusion": np.array([0.2, 0.6]),
    "target": "exact",
    "engine": "states",
    "steps": 2,
    "warmup": 0,
    "thin": 1,
    "timings": {},
    "method": "select",
    "n": 10.0,
    "settings": {},
    "versions": {},
    "data_digest": "",
}


class Searched(SearchResult):
    """With draws of which edges are there."""

    included = np.array([[[1, 0], [1, 1]]], dtype=bool)


def test_a_bayes_factor_is_posterior_odds_over_prior_odds():
    result = Searched(**COMMON)
    np.testing.assert_allclose(np.exp(result.log_bf10), [9 / (0.2 / 0.8), 0.25 / (0.6 / 0.4)])
    np.testing.assert_allclose(result.log_bf10_error, [0.01 / 0.09, 0.02 / 0.16])  # d logit p = dp / (p (1 - p))
    assert result._evidence_table()["verdict"].tolist() == ["present", "undecided"]


def compared(groups):
    """Baseline and contrasts with known means; group g is the baseline plus rate[g] times the contrasts."""
    n, p = len(groups), MODEL.n_parameters
    rate = np.column_stack([np.ones(n), np.vstack([-0.5 * np.ones(n - 1), np.eye(n - 1) * 1.0])])
    coordinates = np.zeros((1, 3, n, p))
    coordinates[0, :, 1:, :] = np.array([1.0, 2.0, 3.0])[:, None, None]
    mean, sd = np.zeros((n, p)), np.full((n, p), 0.25)
    mean[1:] = 2.0
    return GroupComparison(
        **COMMON,
        groups=groups,
        coordinates=coordinates,
        rate=rate,
        coordinate_mean=mean,
        coordinate_sd=sd,
        group_n=(10.0,) * n,
    )


def test_a_difference_is_the_second_group_less_the_first():
    table = compared(("low", "high")).summary()
    np.testing.assert_allclose(table["mean"], 3.0)  # (1 + 1/2) times the contrast of 2
    np.testing.assert_allclose(table["sd"], 1.5 * 0.25)
    np.testing.assert_allclose(table["q5"], 1.5 * np.quantile([1, 2, 3], 0.05))
    np.testing.assert_allclose(table["q95"], 1.5 * np.quantile([1, 2, 3], 0.95))
    means = compared(("low", "high")).means()
    np.testing.assert_allclose(means["high"] - means["low"], table["mean"])


def test_the_names_of_more_groups_say_which_is_taken_from_which():
    found = compared(("x", "y", "z"))
    table, means = found.summary(), found.means()
    for first, second in itertools.combinations("xyz", 2):
        np.testing.assert_allclose(table[f"mean[{second} - {first}]"], means[second] - means[first], atol=1e-12)


@pytest.mark.parametrize("given", ["bernoulli(0.2)", "beta-bernoulli(1, 4)", [0.1, 0.7]])
def test_prior_probabilities_of_graphs_add_up(given):
    prior = graph_prior(MODEL, given)
    graphs = np.array(list(itertools.product([False, True], repeat=2)))
    probability = np.exp(prior.log_probability(graphs))
    assert probability.sum() == pytest.approx(1)
    expected = graphs.T @ probability
    np.testing.assert_allclose(expected, prior.probability)
    np.testing.assert_allclose(prior.log_odds, np.log(expected / (1 - expected)))
    sizes = [probability[graphs.sum(axis=1) == k].sum() for k in range(3)]
    np.testing.assert_allclose(prior.size_probability(), sizes)
    assert expected[0] < 0.5  # a prior that is not symmetric can tell an edge from its absence


def swept(batches, length=10):
    """The state of a chain with full ``batches`` (rows, m) of means."""
    counters = np.zeros(moves.N_MOVE_COUNTERS, dtype=np.int64)
    counters[moves.BATCH_LENGTH], counters[moves.BATCH_ROW] = length, len(batches)
    stored = np.zeros((len(batches) + 3, batches.shape[1]))
    stored[: len(batches)] = batches * length
    return {"batches": stored, "counters": counters}


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
    found = mb.select(MODEL, x, **options)
    assert len({found.log_odds[k].tobytes() for k in range(3)}) == 3
    twins = mb.compare_groups(MODEL, {"a": x, "b": x}, engine="particles", particles=200, **options)
    assert len({twins.coordinates[k].tobytes() for k in range(3)}) == 3
    assert not np.array_equal(twins.log_odds[:, :, 0], twins.log_odds[:, :, 1])


class StoredSamples:
    """A source of samples whose statistics are the samples themselves."""

    def round_up(self, count):
        return count

    def open(self, group, count):
        return self

    def statistics(self, rows):
        return rows


def test_the_effective_share_is_that_of_the_worst_group():
    """Weights 1 and 3 of two samples have an effective share of 16 / 20; equal weights have one of 1."""
    samples = np.array([[[0.0], [np.log(3)]], [[1.0], [1.0]]])
    engine = WeightedEngine(StoredSamples(), blocks=None, anchor=np.zeros((2, 1)), mean=None, centre=None)
    rate = np.ones((2, 1, 1))
    for order in ([0, 1], [1, 0]):
        share = engine.effective_share(rate, {"samples": samples[order], "w": np.ones(1)})
        assert share == pytest.approx(0.8)


def test_samples_of_every_chain_and_group_have_a_stream_of_their_own():
    source = SimpleNamespace(stream=lambda seed: seed.generate_state(4))
    start = {"w": np.zeros(3), "present": np.ones(2, dtype=bool), "centre": np.zeros(3)}
    parts = WeightedParts(
        moves=SimpleNamespace(n=np.ones(2)),
        engines=(SimpleNamespace(source=source),),
        sets=(SimpleNamespace(rows=np.zeros((2, 5, 3))),),
        starts=(start,),
    )
    states = [{"part": np.zeros(1, dtype=int), "counters": np.zeros(9, dtype=int)} for _ in range(2)]
    streams = [
        stream.tobytes() for state in parts.begin(states, np.random.SeedSequence(1)) for stream in state["streams"]
    ]
    assert len(set(streams)) == 4
