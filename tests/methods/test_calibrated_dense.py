"""Dense fields past exact sums: what "auto" chooses, and `calibrated` by the replicas of `langevin`."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.budget import Budget
from mrfbayes.engines.registry import choose_engine
from mrfbayes.engines.settings import choose_method
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.methods import calibrated
from mrfbayes.methods.langevin.walk import Walk
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")


def complete(d, **given):
    return mb.graph(list(itertools.combinations(range(d), 2)), fields=True, **given)


def test_auto_chooses_langevin_on_dense_fields_and_states_the_reason():
    key, reason = choose_method(complete(40, coupling="both-one"))
    assert key == "langevin"
    assert reason.startswith("langevin: the partition function is out of reach")
    assert choose_method(complete(30, states=5, coupling="score"))[0] == "langevin"
    assert choose_method(complete(8, coupling="both-one"))[0] == "exact"
    assert choose_method(complete(16, coupling="both-one"))[0] == "exact"
    assert choose_method(complete(18, coupling="both-one"))[0] == "langevin"  # exact: a minute
    assert choose_method(mb.grid(40, 40))[0] == "calibrated"
    assert choose_method(complete(8, states=7, coupling="score"))[0] == "langevin"  # a questionnaire
    assert choose_method(mb.grid(40, 40, neighbours=8))[0] == "calibrated"
    assert is_dense(complete(12, states=9, coupling="score"))
    assert is_dense(complete(12, states=3, coupling="table"))


def test_exact_takes_trajectories_where_its_proposals_would_come_from_particles():
    """At 20 nodes and n = 3,000 they left 18 effective draws of 8,000 after half a minute of calibration."""
    for d, usual in ((12, "independence"), (19, "independence"), (20, "hmc")):
        model = complete(d, coupling="both-one")
        prior = Prior(model, "normal(0, 1)")
        assert choose_engine(model, method_row("exact"), prior, None, "adapted", False).name == usual
        assert choose_engine(model, method_row("exact"), prior, "independence", "adapted", False).name == "independence"
        assert choose_engine(model, method_row("exact"), prior, None, "printed", False).name == "mh"


def test_calibrated_rests_on_the_walk_where_exact_moments_are_out_of_reach(monkeypatch):
    """With the limit lowered, so that the exact posterior is at hand for comparison."""
    model = complete(10, coupling="both-one")
    rng = np.random.default_rng(4)
    x = mb.simulate(model, model.chart.theta(0.4 * rng.normal(size=model.n_parameters) - 0.2), 300, rng=2)
    exact = mb.sample(model, x, "exact", prior="normal(0, 1)", draws=10_000, thin=1, progress=False)
    monkeypatch.setattr(calibrated, "MOMENT_CELLS", 0.0)
    found = mb.sample(model, x, "calibrated", prior="normal(0, 1)", draws=2_000, thin=2, progress=False)
    assert found.details["moments"] == "langevin"
    assert "means within" in found.details["trust"]
    assert np.sqrt(np.mean(((found.mean - exact.mean) / exact.sd) ** 2)) < 0.04
    assert np.sqrt(np.mean((found.sd / exact.sd - 1) ** 2)) < 0.04
    assert (
        np.abs(np.corrcoef(found.log_odds.reshape(-1, 55).T) - np.corrcoef(exact.log_odds.reshape(-1, 55).T)).max()
        < 0.15
    )


def test_calibration_by_a_walk_looks_at_the_clock(monkeypatch):
    model = complete(6, coupling="both-one")
    x = np.random.default_rng(4).integers(0, 2, (100, 6))
    monkeypatch.setattr(calibrated, "MOMENT_CELLS", 0.0)
    found = mb.sample(model, x, "calibrated", seconds=1e-9, progress=False)
    assert found.partial
    assert any("replicas walked 2 of 270 steps" in text for text in found.warnings)
    assert not mb.sample(model, x, "calibrated", seconds=600, progress=False).partial


@pytest.mark.parametrize(("seconds", "warm", "kept"), [(100, 50, 50), (170, 85, 85), (1_000, 90, 270)])
def test_calibration_by_a_walk_cuts_its_warm_up(monkeypatch, seconds, warm, kept):
    """By a clock on which every step takes a second: half of the budget is for the warm-up."""
    model = complete(6, coupling="both-one")
    x = np.random.default_rng(4).integers(0, 2, (100, 6))
    walks, advance = [], Walk.advance

    def counted(self, n):
        walks[:] = [self]
        advance(self, n)

    monkeypatch.setattr(calibrated, "MOMENT_CELLS", 0.0)
    monkeypatch.setattr(Walk, "advance", counted)
    monkeypatch.setattr(Budget, "left", property(lambda self: max(seconds - sum(one.steps for one in walks), 0.0)))
    found = mb.sample(model, x, "calibrated", seconds=seconds, progress=False)
    assert (walks[0].settings.warmup, walks[0].steps) == (warm, warm + kept)
    assert found.partial == (kept < 270)
    assert any(f"warm-up ended after {warm} of 90 steps" in text for text in found.warnings) == (warm < 90)


def test_a_walk_streams_further_draws_and_has_bayes_factors():
    model = complete(9, coupling="both-one")
    x = np.random.default_rng(1).integers(0, 2, size=(150, 9))
    x[:, 1] = np.where(np.random.default_rng(2).random(150) < 0.8, x[:, 0], x[:, 1])
    found = mb.sample(model, x, "langevin", prior="normal(0, 1)", progress=False)
    streamed = np.array(list(found.stream(4_000)))
    assert np.abs((streamed.mean(axis=0) - found.mean) / found.sd).max() < 0.12
    assert np.abs(streamed.std(axis=0) / found.sd - 1).max() < 0.1
    table = found.edges()
    assert table["log_bf10"].idxmax() == "0--1"
    assert np.isfinite(table["log_bf10"]).all()
