"""Everything about a call: what is given is checked first, and nothing that is given is ignored in silence."""

import itertools
import subprocess
import sys
import warnings

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.budget import Budget, OutOfTime
from mrfbayes.posterior import diagnostics, engines, prepare, settings
from mrfbayes.run import driver
from mrfbayes.run.hmc import HmcTask

MODEL = mb.grid(2, 3)
DATA = mb.simulate(MODEL, np.full(7, 0.6), 60, rng=3)
SHORT = {"steps": 200, "warmup": 100, "chains": 2, "progress": False}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("best", "estimate = 'best'"),
        ({"theta": 0.5}, "estimate = {'theta': 0.5}"),
        (np.full(3, 0.5), r"estimate has shape \(3,\)"),
        ([0.5] * 6 + [1.5], r"estimate\[6\] = 1.5"),
        (["a"] * 7, "estimate"),
        (object(), "estimate"),
    ],
)
def test_an_estimate_that_is_none_is_refused(given, message):
    for method in ("mle", "exact", "laplace", "auxiliary"):
        with pytest.raises(mb.InputError, match=message):
            mb.sample(MODEL, DATA, method, estimate=given, **SHORT)


def test_an_estimate_of_another_model_is_refused():
    other = mb.estimate(mb.grid(2, 2), DATA[:, :4], progress=False)
    with pytest.raises(mb.InputError, match="it has 4 parameters and the model 7"):
        mb.sample(MODEL, DATA, "mle", estimate=other, **SHORT)


def test_theta_is_an_estimate():
    estimate = mb.estimate(MODEL, DATA, progress=False)
    one = mb.sample(MODEL, DATA, "mle", estimate=estimate, steps=50, progress=False)
    for given in (estimate.theta, estimate.theta.tolist()):
        other = mb.sample(MODEL, DATA, "mle", estimate=given, steps=50, progress=False)
        np.testing.assert_allclose(other.draws, one.draws, rtol=1e-12)


def quick(method="mle", **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        return mb.sample(MODEL, DATA, method, **{**SHORT, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps = 0"),
        ({"steps": True}, "steps = True"),
        ({"workers": 0}, "workers = 0"),
        ({"workers": 1.5}, "workers = 1.5"),
        ({"chains": -1}, "chains = -1"),
        ({"engine": "warp"}, "engine = 'warp'"),
        ({"engine": "independence"}, "engine = 'independence'"),
        ({"thin": 300}, "thin = 300 is more than steps = 200"),
        ({"seconds": 0}, "seconds = 0"),
        ({"seconds": True}, "seconds = True"),
        ({"seconds": "5"}, "seconds = '5'"),
        ({"seconds": float("nan")}, "seconds = nan"),
        ({"proposal": None}, "proposal = None"),
        ({"start": "truth"}, "start = 'truth'"),
        ({"prior": "gamma(1, 1)"}, "gamma"),
        ({"rng": "x"}, "rng = 'x'"),
        ({"colour": 1}, "no option 'colour'"),
        ({"method": "magic"}, "method = 'magic'"),
        ({"method": None}, "method = None"),
        ({"estimate": "best"}, "estimate = 'best'"),
    ],
)
def test_a_call_is_checked_before_the_data_are_read(monkeypatch, changes, message):
    def read(*arguments, **options):
        raise AssertionError("the data were read first")

    monkeypatch.setattr(prepare, "count", read)
    with pytest.raises(mb.InputError, match=message):
        mb.sample(MODEL, DATA, **{**SHORT, "method": "mle", **changes})


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("mle", {"rho": 7}, "rho = 7"),
        ("mle", {"marginal": "wide"}, "marginal = 'wide'"),
        ("laplace", {"fisher": "guess"}, "fisher = 'guess'"),
        ("laplace", {"particles": 1}, "particles = 1"),
        ("auxiliary", {"particles": 0}, "particles = 0"),
        ("auxiliary", {"source": "sky"}, "source = 'sky'"),
        ("mavm", {"levels": -1}, "levels = -1"),
    ],
)
def test_options_are_checked_before_the_estimate_is_made(monkeypatch, method, options, message):
    def make(*arguments, **options):
        raise AssertionError("the estimate was made first")

    monkeypatch.setattr("mrfbayes.estimation.estimate.estimate", make)
    with pytest.raises(mb.InputError, match=message):
        mb.sample(MODEL, DATA, method, **SHORT, **options)


@pytest.mark.parametrize("particles", [0, -5, 2.5, 7, 9, 10])
def test_too_few_particles_for_a_covariance_are_refused(particles):
    with pytest.raises(mb.InputError, match=r"particles = "):
        mb.sample(MODEL, DATA, "calibrated", moments="particles", particles=particles, progress=False)


def test_a_walk_needs_a_walker():
    with pytest.raises(mb.InputError, match=r"proposal='printed' is for a random walk.*'calibrated'.*another method"):
        mb.sample(MODEL, DATA, "calibrated", proposal="printed", progress=False)
    for method, engine in (("mle", "direct"), ("exact", "independence")):
        with pytest.raises(mb.InputError, match=r"start= is for a random walk.*use engine='mh'"):
            mb.sample(MODEL, DATA, method, engine=engine, start="half", progress=False)
    for method in ("mle", "exact"):
        posterior = quick(method, proposal="printed", warmup=None)
        assert posterior.engine == "mh"
        assert posterior.settings["proposal"] == "printed"
        assert posterior.settings["start"] == "half"


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("mle", {"warmup": 100}, "warmup= is not used: MLE-L draws independently"),
        ("mle", {"workers": 2}, "workers= is not used: MLE-L draws independently"),
        ("mle", {"checkpoint": "run.checkpoint"}, "checkpoint= is not used: MLE-L draws independently"),
        ("exact", {"warmup": 100, "engine": "independence"}, "warmup= is not used: proposals are independent"),
        ("pseudo", {"workers": 2, "chains": 1}, "workers= is not used: there is only one chain"),
        ("calibrated", {"particles": 5_000}, "particles= is not used: moments are exact here"),
        ("laplace", {"particles": 5_000}, "particles= is not used: fisher='bethe' needs none"),
        ("exchange", {"sweeps": 50, "particles": 64}, "sweeps= is not used: particles are drawn exactly here"),
        ("mavm", {"k": 3, "levels": 0}, "k= is not used: there are no levels"),
    ],
)
def test_what_plays_no_part_is_said_and_not_recorded(method, changes, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"steps": 64, "chains": 2, "thin": 8, "progress": False, **changes}
    with pytest.warns(mb.MRFWarning) as caught:
        posterior = mb.sample(MODEL, DATA, method, **settings)
    assert any(message in str(warning.message) for warning in caught)
    assert any(message in text for text in posterior.warnings)
    name = message.partition("=")[0]
    assert posterior.settings.get(name) in (None, 0)
    assert name not in posterior.settings["options"]
    assert not list(tmp_path.iterdir())


def test_what_plays_a_part_is_not_spoken_of():
    for method, changes in (("exchange", {"sweeps": 3, "source": "gibbs"}), ("laplace", {"fisher": "particles"})):
        posterior = quick(method, particles=64, **changes)
        assert not any("is not used" in text for text in posterior.warnings)
        assert posterior.settings["options"]["particles"] == 64


def test_direct_draws_speak_their_warnings():
    model = mb.grid(2, 3, tied=True)
    with pytest.warns(mb.MRFWarning, match="shared by several factors"):
        posterior = mb.sample(model, DATA, "mle", steps=50, progress=False)
    assert any("shared by several factors" in text for text in posterior.warnings)


def test_one_tied_image_gives_no_false_warnings():
    """Its edges are the data: 264 tosses of one coin."""
    model = mb.grid(12, 12, tied=True)
    x = mb.simulate(model, 0.62, 1, rng=4)
    posterior = mb.sample(model, x, "calibrated", moments="particles", particles=4_096, progress=False, steps=100)
    assert not posterior.warnings
    exact = mb.sample(model, x, "exact", steps=2_000, progress=False)
    assert not exact.warnings
    assert abs(posterior.mean[0] - exact.mean[0]) < 0.1 * exact.sd[0]
    assert posterior.details["trust_mean"] < 0.2
    with pytest.warns(mb.MRFWarning) as caught:
        mb.count(mb.grid(3, 3), np.ones((1, 9), dtype=int))  # untied: there is something to say
    assert any("only one observation" in str(warning.message) for warning in caught)


# A time budget covers the whole call.


def test_a_budget_that_ends_in_the_preparation_says_so():
    with pytest.raises(
        mb.CostError, match=r"the time budget of 1e-09 s ended in the preparation of method 'calibrated'"
    ):
        mb.sample(MODEL, DATA, "calibrated", seconds=1e-9, progress=False)


def test_a_budget_that_ends_in_warm_up_says_so():
    with pytest.raises(mb.CostError, match="ended before the first draw was kept"):
        mb.sample(MODEL, DATA, "pseudo", engine="mh", warmup=5_000, seconds=1e-9, progress=False)


def test_without_time_for_proposals_a_random_walk_is_the_result(monkeypatch):
    def late(*arguments):
        raise OutOfTime("exact covariances")

    monkeypatch.setattr(engines, "make_proposal", late)
    with pytest.warns(mb.MRFWarning):
        posterior = mb.sample(MODEL, DATA, "exact", seconds=600, **SHORT)
    assert posterior.engine == "mh"
    assert posterior.partial
    assert posterior.draws.shape[1] == 200
    assert any("proposals were not calibrated: there was no time for it" in text for text in posterior.warnings)


def test_without_time_for_loops_spreads_are_of_leading_order(monkeypatch):
    def late(*arguments, **options):
        raise OutOfTime("loops")

    plain = mb.sample(MODEL, DATA, "calibrated", variance="order", steps=100, progress=False)
    monkeypatch.setattr("mrfbayes.calibration.full.one_loop", late)
    with pytest.warns(mb.MRFWarning, match="spreads are those of leading order"):
        posterior = mb.sample(MODEL, DATA, "calibrated", steps=100, seconds=600, progress=False)
    assert posterior.partial
    assert posterior.details["calibration"] == "order"
    np.testing.assert_array_equal(posterior.draws, plain.draws)


@pytest.mark.parametrize("algorithm", ["exact", "pcd"])
def test_an_estimate_that_runs_out_of_time_is_what_there_is(algorithm):
    with Budget(1e-9).as_current() as time_left, warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        found = mb.estimate(MODEL, DATA, algorithm, progress=False)
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
        posterior = mb.sample(MODEL, DATA, "pseudo", engine="mh", steps=40_000, thin=1, seconds=20.0, progress=False)
    assert posterior.partial
    assert 0 < posterior.warmup < 20_000
    assert posterior.draws.shape[1] > 0
    assert any("warm-up ended after" in text for text in posterior.warnings)


# The default number of steps is a beginning.


def test_chains_are_lengthened_until_they_are_enough(monkeypatch):
    monkeypatch.setattr(settings, "INDEPENDENT_STEPS", 50)
    posterior = mb.sample(MODEL, DATA, "exact", progress=False, chains=2)
    assert posterior.engine == "independence"
    assert posterior.steps in (200, 400, 800)
    assert posterior.ess.min() >= 400
    assert posterior.r_hat.max() <= 1.01
    assert not posterior.warnings
    given = quick("exact", steps=50, warmup=0)
    assert given.steps == 50  # what was asked for is what is done


def test_chains_that_are_never_enough_say_so(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "INDEPENDENT_STEPS", 10)
    monkeypatch.setattr(diagnostics, "LEAST_ESS", 10**9)
    with pytest.warns(mb.MRFWarning, match="though the chains were lengthened to 160 steps each"):
        posterior = mb.sample(MODEL, DATA, "exact", progress=False, chains=2)
    assert posterior.steps == 160


def test_a_lengthened_run_resumes_the_same_way(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "INDEPENDENT_STEPS", 50)
    ready = {"method": "exact", "chains": 2, "progress": False}
    whole = mb.sample(MODEL, DATA, **ready)
    path = tmp_path / "run.checkpoint"
    monkeypatch.setattr(driver, "FIRST_CHUNK", 70)
    monkeypatch.setattr(driver, "ROUND_SECONDS", 1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        with monkeypatch.context() as patch:
            patch.setattr(driver, "_goal", interrupted_after(3, driver._goal))
            with pytest.raises(AssertionError):
                mb.sample(MODEL, DATA, checkpoint=path, **ready)
    again = mb.sample(MODEL, DATA, checkpoint=path, **ready)
    assert again.details["resumed_steps"] > 50
    np.testing.assert_array_equal(again.draws, whole.draws)


def interrupted_after(rounds, goal):
    calls = itertools.count()

    def stop(*arguments):
        assert next(calls) < rounds
        return goal(*arguments)

    return stop


SCRIPT = """
import warnings
import numpy as np, mrfbayes as mb
warnings.simplefilter("ignore")
x = np.random.default_rng(0).integers(0, 2, (40, 4))
mb.{call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "sample(mb.grid(2, 2), x, 'pseudo', steps=100, workers=2, progress=False)",
        "compare(mb.grid(2, 2), x, ['pseudo', 'mle'], reference=None, steps=100, workers=2, progress=False)",
    ],
)
def test_a_script_without_a_main_guard_is_told_what_to_do(tmp_path, call):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(call=call))
    run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 1
    assert "BrokenProcessPool" not in run.stderr
    assert "workers = 2" in run.stderr
    assert 'if __name__ == "__main__":' in run.stderr
    assert run.stderr.count("Traceback") == 1  # the workers say nothing


def test_a_worker_that_dies_costs_time_and_no_results():
    reference = quick("pseudo", workers=1)
    task_workers = {}
    honest = driver.make_workers

    def remember(*arguments):
        task_workers["last"] = honest(*arguments)
        return task_workers["last"]

    def kill(*arguments):
        if "killed" not in task_workers:
            task_workers["killed"] = True
            for process in task_workers["last"]._pool._processes.values():
                process.kill()
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "make_workers", remember)
        patch.setattr(HmcTask, "note", kill)
        patch.setattr(driver, "FIRST_CHUNK", 20)
        found = quick("pseudo", workers=2)
    assert task_workers["killed"]
    np.testing.assert_array_equal(found.draws, reference.draws)
