"""The engine on weighted samples against the exact one."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.particles.moments import row_statistics
from mrfbayes.structure.moves import centring
from mrfbayes.structure.moving_samples import ColumnSamples, LaneSamples, sample_source
from structure.graph_cases import complete

SHORT_RUNS = pytest.mark.filterwarnings("ignore:the inclusion probability", "ignore:the two sets")


@pytest.fixture(scope="module")
def field():
    model = complete(9, fields=True, coupling="both-one")
    rng = np.random.default_rng(2)
    w = np.concatenate(
        [rng.normal(0, 0.8, model.n_edges) * (rng.random(model.n_edges) < 0.3), rng.normal(-0.5, 0.5, 9)]
    )
    return model, mb.simulate(model, model.chart.theta(w), 400, rng=3)


def test_weighted_samples_come_close_to_the_exact_engine(field):
    model, x = field
    exact = mb.select(model, x, engine="states", draws=1_500, chains=2, progress=False)
    weighted = mb.select(model, x, engine="particles", draws=1_500, chains=2, progress=False)
    assert weighted.target == "approximate"
    gap = np.abs(exact.inclusion - weighted.inclusion)
    assert gap.mean() < 0.01  # the bias that is left: about 0.003 here
    assert gap.max() < 0.06
    assert 0 < weighted.details["set_difference_mean"] < 0.02
    assert weighted.details["set_difference_mean"] <= weighted.details["set_difference_max"]
    np.testing.assert_allclose(weighted.mean, exact.mean, atol=0.1)
    assert 0.5 < weighted.details["effective_share"] < 1.0
    assert weighted.details["particles"] == 8_192


@pytest.mark.parametrize("kind", ["ordinal", "nominal"])
def test_states_that_hardly_any_row_has_do_not_lead_away(kind):
    rng = np.random.default_rng(0)
    x = np.minimum(rng.poisson(0.8, (120, 4)), 2)
    for column in x.T:
        column[rng.integers(120)] = 3  # no sample has it when a threshold was drawn low
    data = mb.Data(x, kinds=dict.fromkeys(range(4), kind))
    model = mb.Model.from_data(data)
    exact, weighted = (
        mb.select(model, data, engine=engine, draws=1_000, warmup=100, chains=2, progress=False, rng=1).summary()
        for engine in ("states", "particles")
    )
    gap = weighted["mean"] - exact["mean"]
    assert np.abs(gap / np.hypot(weighted["mcse_mean"], exact["mcse_mean"])).max() < 4
    assert np.nanmax(np.abs(weighted["inclusion"] - exact["inclusion"])) < 0.02


@SHORT_RUNS
def test_samples_that_move_do_not_depend_on_workers_or_interruptions(field, tmp_path):
    model, x = field
    options = {"engine": "particles", "particles": 1_000, "chains": 2, "thin": 1, "warmup": 5, "progress": False}
    first = mb.select(model, x, draws=60, **options)
    again = mb.select(model, x, draws=60, workers=2, **options)
    np.testing.assert_array_equal(again.log_odds, first.log_odds)
    path = tmp_path / "run.checkpoint"
    mb.select(model, x, draws=27, checkpoint=path, **options)  # not where the samples are moved on
    resumed = mb.select(model, x, draws=60, checkpoint=path, **options)
    np.testing.assert_array_equal(resumed.log_odds, first.log_odds)


FIELDS = {
    "both-one": complete(5, fields=True, coupling="both-one"),
    "agreement, no fields": complete(5, coupling="agreement"),
    "score": complete(4, states=(3, 2, 3, 4), fields=True, coupling="score"),
    "agreement of three": complete(4, states=3, fields=True, coupling="agreement"),
    "agreement of mixed": complete(3, states=(2, 3, 2), fields=True, coupling="agreement"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_samples_have_the_statistics_of_their_rows_and_the_means_of_the_field(name):
    model = FIELDS[name]
    rng = np.random.default_rng(1)
    w = rng.normal(0.1, 0.5, model.n_parameters)
    data = mb.Data(rng.integers(model.states, size=(50, model.n_nodes))).count(model)
    source = sample_source(model, (data,))
    assert (source.layout is None) == (name == "agreement of mixed")
    n = source.round_up(5_000)
    samples, stream = source.open(0, n), source.stream(seed_sequence(3))
    assert isinstance(samples, ColumnSamples if source.layout is None else LaneSamples)
    rows = rng.integers(model.states, size=(n, model.n_nodes)).astype(np.uint8)
    values = row_statistics(model, rows)
    np.testing.assert_allclose(samples.statistics(rows[:99]), values[:99], atol=1e-5)
    np.testing.assert_allclose(samples.mean(rows), values.mean(axis=0), atol=1e-6)
    samples.move(w, rows, stream, 30)
    expected = mb.expected_counts(model, model.chart.theta(w))
    variance = np.diag(mb.fisher_information(model, model.chart.theta(w)))
    z = (samples.mean(rows) - expected) / np.sqrt(variance / n)
    assert np.abs(z).max() < 5
    near = (samples.average(w, rows, stream, 50) - expected) / np.sqrt(variance / n)
    assert np.abs(near).max() < 2  # fifty sweeps, correlated
    assert np.abs((values.mean(axis=0) - expected) / np.sqrt(variance / n)).max() > 5  # where they started


def test_statistics_are_centred_as_the_moves_centre_them():
    from mrfbayes.structure.anchors import SearchProblem
    from mrfbayes.structure.moves import Coordinates, search_prior
    from mrfbayes.structure.problem import edge_factors, graph_prior
    from mrfbayes.structure.search import states_engine

    model = FIELDS["score"]
    rows = np.random.default_rng(4).integers(model.states, size=(60, 4))
    coordinates = Coordinates(np.ones((1, 1)), (search_prior(model, "normal(0, 1)", None),), (True,))
    data = mb.Data(rows).count(model)
    problem = SearchProblem(edge_factors(model), (data,), coordinates, graph_prior(model, "bernoulli(0.5)"))
    moves = problem.moves(states_engine(model)[1])
    np.testing.assert_allclose(data.counts[None] @ centring(moves), moves.total)


@SHORT_RUNS
def test_weighted_samples_of_two_groups_come_close_to_the_exact_engine(field):
    model, x = field
    other = x.copy()
    other[:200, 3] = other[:200, 4]
    groups = {"a": x[:200], "b": other[:200]}
    options = {"draws": 600, "chains": 2, "progress": False}
    exact = mb.compare_groups(model, groups, engine="states", **options)
    weighted = mb.compare_groups(model, groups, engine="particles", particles=4_096, **options)
    assert (exact.target, weighted.target) == ("exact", "approximate")
    gap = np.abs(exact.inclusion - weighted.inclusion)
    assert gap.mean() < 0.025
    assert np.corrcoef(exact.coordinate_mean.ravel(), weighted.coordinate_mean.ravel())[0, 1] > 0.99


def test_too_few_particles_are_refused(field):
    model, x = field
    with pytest.raises(mb.InputError, match="particles = 7: give a whole number, at least 100"):
        mb.select(model, x, engine="particles", particles=7, progress=False)


def test_a_dense_field_of_many_nodes_takes_particles():
    from mrfbayes.structure.recursion import choose_engine

    assert choose_engine(complete(30), None) == "particles"
    assert choose_engine(complete(16), None) == "states"
    assert choose_engine(complete(18), None) == "states"
    assert choose_engine(mb.grid(8, 8), None) == "recursion"
    assert choose_engine(mb.grid(12, 40), None) == "recursion"
    assert choose_engine(mb.graph([(k, k + 1) for k in range(40)]), None) == "recursion"
