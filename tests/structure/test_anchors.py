"""The engine on weighted samples: by hand, and against the exact one."""

from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.structure.anchors import WeightedEngine, WeightedParts
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
