"""How long a call may take and how long its chains are: a budget covers all of it, and a default is a beginning."""

import dataclasses
import functools
import itertools
import os
import warnings

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base import budget as budgets
from mrfbayes.base.budget import Budget, OutOfTime
from mrfbayes.data import frames
from mrfbayes.engines import independent
from mrfbayes.model.build import complete
from mrfbayes.results import diagnostics
from mrfbayes.run import driver
from mrfbayes.sampling import assemble

MODEL = mb.grid(2, 3)
SHORT = {"draws": 200, "warmup": 100, "chains": 2, "progress": False}
DENSE = complete(range(6), fields=True, coupling="both-one")


@functools.cache
def simulated():
    return mb.simulate(MODEL, np.full(7, 0.6), 60, rng=3)


def quick(method="mle", **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        return mb.sample(MODEL, simulated(), method, **{**SHORT, **changes})


# A time budget covers the whole call.


def test_budget_ending_while_counting_raises_cost_error(monkeypatch):
    """A part of the data would be another data set: nothing is better than that."""
    monkeypatch.setattr(frames, "FRAME_CELLS", 60)
    for x in (simulated(), np.array(["no", "yes"])[simulated()]):
        with pytest.raises(mb.CostError) as refusal:
            mb.sample(MODEL, x, "mle", seconds=1e-9, progress=False)
        assert "1e-09 s ended in the preparation of method 'mle'" in str(refusal.value)
        assert "after 10 rows), before anything could be drawn" in str(refusal.value)
        assert "count the data once" in str(refusal.value)


def test_call_reports_by_how_much_it_exceeded_its_budget(monkeypatch):
    """Compiling cannot be cut short, but it counts, and what comes after is shortened."""
    counted = mb.Data(simulated()).count(MODEL)
    late = itertools.chain([0.0], itertools.repeat(30.0))
    monkeypatch.setattr(budgets.time, "monotonic", lambda: next(late))
    compiled = itertools.chain([0.0], itertools.repeat(24.0))
    monkeypatch.setattr(budgets, "seconds_compiling", lambda: next(compiled))
    with pytest.warns(mb.MRFWarning):
        posterior = mb.sample(MODEL, counted, "mle", estimate=np.full(7, 0.6), draws=40, seconds=5, progress=False)
    text = (
        "the call took 30 s, more than its time budget of 5 s, 24 s of it compiling, which happens once on a machine."
    )
    assert text in posterior.warnings


def test_langevin_cuts_its_warm_up_for_want_of_time(monkeypatch):
    x = mb.simulate(DENSE, 0.55, 200, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        mb.sample(
            DENSE, x, "langevin", draws=1, thin=2, warmup=2, progress=False
        )  # compiles, which looks at the clock too
    ticks = itertools.count()
    monkeypatch.setattr(driver, "ROUND_SECONDS", 1e-9)  # a look at the clock after every step
    monkeypatch.setattr(driver.time, "perf_counter", lambda: 0.1 * next(ticks))
    with pytest.warns(mb.MRFWarning):
        posterior = mb.sample(DENSE, x, "langevin", seconds=20.0, progress=False)
    assert posterior.partial
    assert 0 < posterior.warmup < 90
    assert posterior.draws.shape[1] > 0
    assert any(f"warm-up ended after {posterior.warmup} of 90 steps" in text for text in posterior.warnings)
    assert any("stopped by time budget" in text for text in posterior.warnings)


def test_the_search_for_the_mode_of_a_dense_field_stops_in_time():
    x = mb.Data(mb.simulate(DENSE, 0.55, 200, rng=1)).count(DENSE)
    with Budget(1e-9).as_current() as time_left, warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        found = mb.sample(DENSE, x, "langevin", draws=10, thin=2, progress=False)
    assert np.isfinite(found.mean).all()
    assert not time_left.cuts  # the call has a budget of its own, which is endless
    with pytest.raises(mb.CostError, match="before the first draw"):
        mb.sample(DENSE, x, "langevin", seconds=1e-9, warmup=90, progress=False)


def test_a_checkpoint_of_replicas_that_cannot_be_written_costs_no_draws(tmp_path, monkeypatch):
    import errno

    x = mb.simulate(DENSE, 0.55, 200, rng=1)
    run = {"method": "langevin", "draws": 10, "thin": 2, "warmup": 30, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        reference = mb.sample(DENSE, x, **run)
        monkeypatch.setattr(driver, "CHECKPOINT_SECONDS", 0.0)
        real, calls = os.fsync, []

        def full(descriptor):
            calls.append(descriptor)
            if len(calls) > 4:
                raise OSError(errno.ENOSPC, "No space left on device")
            real(descriptor)

        monkeypatch.setattr("mrfbayes.run.store.os.fsync", full)
        posterior = mb.sample(DENSE, x, checkpoint=tmp_path / "run", **run)
        assert "the checkpoint lacks the last steps" in " ".join(posterior.warnings)
        np.testing.assert_array_equal(posterior.draws, reference.draws)
        monkeypatch.undo()
        again = mb.sample(DENSE, x, checkpoint=tmp_path / "run", **run)
        np.testing.assert_array_equal(again.draws, reference.draws)


def test_budget_ending_in_preparation_raises_cost_error():
    with pytest.raises(mb.CostError, match=r"1e-09 s .*preparation of method 'calibrated'"):
        mb.sample(MODEL, simulated(), "calibrated", seconds=1e-9, progress=False)


def test_budget_ending_in_warmup_raises_cost_error():
    with pytest.raises(mb.CostError, match="before the first draw"):
        mb.sample(MODEL, simulated(), "pseudo", engine="mh", warmup=5_000, seconds=1e-9, progress=False)


def test_a_budget_shorter_than_a_step_is_refused_before_the_first(monkeypatch):
    step = dataclasses.replace(mb.cost(MODEL).work["log_partition"], seconds=0.9)
    told = dataclasses.replace(mb.cost(MODEL), work={"log_partition": step})
    monkeypatch.setattr(assemble, "exact_cost", lambda model: told)
    run = {"engine": "mh", "thin": 2, "chains": 3, "draws": 10, "warmup": 20, "progress": False}
    with pytest.raises(
        mb.CostError,
        match=r"of 2 s .*first draw.* 0.9 s, .*thin = 2 .* 3 chains",
    ):
        mb.sample(MODEL, simulated(), "exact", seconds=2.0, **run)
    assert quick("exact", seconds=60.0, **run).draws.size


def test_without_time_for_proposals_a_random_walk_is_the_result(monkeypatch):
    def late(*arguments):
        raise OutOfTime("exact covariances")

    monkeypatch.setattr(independent, "make_proposal", late)
    with pytest.warns(mb.MRFWarning):
        posterior = mb.sample(MODEL, simulated(), "exact", seconds=600, **SHORT)
    assert posterior.engine == "mh"
    assert posterior.partial
    assert posterior.draws.shape[1] == 200
    assert any("proposals were not calibrated" in text for text in posterior.warnings)


def test_without_time_for_loops_spreads_are_of_leading_order(monkeypatch):
    def late(*arguments, **options):
        raise OutOfTime("loops")

    plain = mb.sample(MODEL, simulated(), "calibrated", variance="order", draws=100, progress=False)
    monkeypatch.setattr("mrfbayes.calibration.full.one_loop", late)
    with pytest.warns(mb.MRFWarning, match="sds are of leading order"):
        posterior = mb.sample(MODEL, simulated(), "calibrated", draws=100, seconds=600, progress=False)
    assert posterior.partial
    assert posterior.details["calibration"] == "order"
    np.testing.assert_array_equal(posterior.draws, plain.draws)


@pytest.mark.parametrize("algorithm", ["exact", "pcd"])
def test_an_estimate_that_runs_out_of_time_is_what_there_is(algorithm):
    with Budget(1e-9).as_current() as time_left, warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        found = mb.estimate(MODEL, simulated(), algorithm=algorithm, progress=False)
    assert np.isfinite(found.theta).all()
    assert not found.converged
    assert any("before it had converged" in text for text in time_left.cuts)


def test_warm_up_is_cut_so_that_half_of_the_budget_is_left(monkeypatch):
    """A clock that runs by itself: each look at it takes a second."""
    ticks = itertools.count()
    monkeypatch.setattr(driver, "FIRST_CHUNK", 50)
    monkeypatch.setattr(driver, "ROUND_SECONDS", 1e9)
    monkeypatch.setattr(driver.time, "perf_counter", lambda: float(next(ticks)))
    with pytest.warns(mb.MRFWarning):
        posterior = mb.sample(
            MODEL, simulated(), "pseudo", engine="mh", draws=40_000, thin=1, seconds=20.0, progress=False
        )
    assert posterior.partial
    assert 0 < posterior.warmup < 20_000
    assert posterior.draws.shape[1] > 0
    assert any("warm-up ended after" in text for text in posterior.warnings)


# The default number of steps is a beginning.


def test_chains_are_lengthened_until_they_are_enough(monkeypatch):
    monkeypatch.setattr(independent, "INDEPENDENT_STEPS", 50)
    posterior = mb.sample(MODEL, simulated(), "exact", progress=False, chains=2)
    assert posterior.engine == "independence"
    assert posterior.steps in (200, 400, 800)
    assert posterior.ess.min() >= 400
    assert posterior.r_hat.max() <= 1.01
    assert not posterior.warnings
    given = quick("exact", draws=50, warmup=0)
    assert given.steps == 50  # what was asked for is what is done


def test_chains_that_stay_too_short_cause_a_warning(monkeypatch, tmp_path):
    monkeypatch.setattr(independent, "INDEPENDENT_STEPS", 10)
    monkeypatch.setattr(diagnostics, "LEAST_ESS", 10**9)
    with pytest.warns(mb.MRFWarning, match="lengthened to 160 steps"):
        posterior = mb.sample(MODEL, simulated(), "exact", engine="independence", progress=False, chains=2)
    assert posterior.steps == 160


def test_a_lengthened_run_resumes_the_same_way(monkeypatch, tmp_path):
    monkeypatch.setattr(independent, "INDEPENDENT_STEPS", 50)
    ready = {"method": "exact", "chains": 2, "progress": False}
    whole = mb.sample(MODEL, simulated(), **ready)
    path = tmp_path / "run.checkpoint"
    monkeypatch.setattr(driver, "FIRST_CHUNK", 70)
    monkeypatch.setattr(driver, "ROUND_SECONDS", 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        with monkeypatch.context() as patch:
            patch.setattr(driver, "_goal", interrupted_after(3, driver._goal))
            with pytest.raises(AssertionError):
                mb.sample(MODEL, simulated(), checkpoint=path, **ready)
    again = mb.sample(MODEL, simulated(), checkpoint=path, **ready)
    assert again.details["resumed_steps"] > 50
    np.testing.assert_array_equal(again.draws, whole.draws)


def interrupted_after(rounds, goal):
    calls = itertools.count()

    def stop(*arguments):
        assert next(calls) < rounds
        return goal(*arguments)

    return stop


def test_ten_yes_no_items_of_215_people_are_sampled_long_enough(monkeypatch):
    """Real data: the default goes on until it is enough, and marginals come from weights, without lumps."""
    found = mb.datasets.load_adhd()
    model = complete(found.nodes[:10], fields=True, coupling="both-one")
    monkeypatch.setattr(independent, "INDEPENDENT_STEPS", 625)  # an eighth of the default: so that it has to grow
    posterior = mb.sample(model, found.x[:215, :10], progress=False)
    assert (posterior.method, posterior.engine) == ("exact", "independence")
    assert posterior.steps > 625
    assert posterior.r_hat.max() < 1.01
    assert posterior.ess.min() > 400
    assert not posterior.warnings
    table = np.stack([posterior._quantile(level) for level in np.linspace(0.02, 0.98, 97)])
    assert (np.diff(table, axis=0) > 0).all()
    assert posterior._weighted.weights.max() < 0.02
    # Negative control: the chains themselves stay at a point, and would make lumps of it.
    first = posterior.draws[:, :, 0].ravel()
    assert np.unique(first, return_counts=True)[1].max() > 10
