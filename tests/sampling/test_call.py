"""Everything about a call: what is given is checked first, and nothing that is given is ignored in silence."""

import functools
import importlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.build import complete
from mrfbayes.run import driver
from mrfbayes.run.hmc import HmcTask

MODEL = mb.grid(2, 3)
SHORT = {"draws": 200, "warmup": 100, "chains": 2, "progress": False}


@functools.cache
def simulated():
    return mb.simulate(MODEL, np.full(7, 0.6), 60, rng=3)


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
            mb.sample(MODEL, simulated(), method, estimate=given, **SHORT)


def test_an_estimate_of_another_model_is_refused():
    other = mb.estimate(mb.grid(2, 2), simulated()[:, :4], progress=False)
    with pytest.raises(mb.InputError, match="it has 4 parameters and the model 7"):
        mb.sample(MODEL, simulated(), "mle", estimate=other, **SHORT)


def test_theta_is_an_estimate():
    estimate = mb.estimate(MODEL, simulated(), progress=False)
    one = mb.sample(MODEL, simulated(), "mle", estimate=estimate, draws=50, progress=False)
    for given in (estimate.theta, estimate.theta.tolist()):
        other = mb.sample(MODEL, simulated(), "mle", estimate=given, draws=50, progress=False)
        np.testing.assert_allclose(other.draws, one.draws, rtol=1e-12)


def quick(method="mle", **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        return mb.sample(MODEL, simulated(), method, **{**SHORT, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draws": 0}, "draws = 0"),
        ({"draws": True}, "draws = True"),
        ({"workers": 0}, "workers = 0"),
        ({"workers": 1.5}, "workers = 1.5"),
        ({"chains": -1}, "chains = -1"),
        ({"engine": "warp"}, "engine = 'warp'"),
        ({"engine": "independence"}, "engine = 'independence'"),
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
    monkeypatch.setattr("mrfbayes.sampling.sample.counted", too_early)
    with pytest.raises(mb.InputError, match=message):
        mb.sample(MODEL, simulated(), **{**SHORT, "method": "mle", **changes})


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
        ("mavm", {"k": 0}, "k = 0"),
        ("calibrated", {"variance": "loops"}, "variance = 'loops'"),
        ("calibrated", {"moments": "some"}, "moments = 'some'"),
        ("calibrated", {"particles": 3}, "particles = 3"),
        ("importance", {"alpha": "beta"}, "alpha = 'beta'"),
        ("importance", {"sweeps": 0}, "sweeps = 0"),
        ("exchange", {"particles": 1.5}, "particles = 1.5"),
        ("persistent", {"k": 0}, "k = 0"),
        ("persistent", {"restore": "yes"}, "restore = 'yes'"),
        ("langevin", {"step": 2}, "step = 2"),
        ("langevin", {"replicas": 0}, "replicas = 0"),
        ("langevin", {"sweeps": 1.5}, "sweeps = 1.5"),
        ("langevin", {"particles": "many"}, "particles = 'many'"),
    ],
)
def test_options_are_checked_before_the_data_are_read(monkeypatch, method, options, message):
    monkeypatch.setattr("mrfbayes.sampling.sample.counted", too_early)
    with pytest.raises(mb.InputError, match=message):
        mb.sample(MODEL, simulated(), method, **SHORT, **options)


@pytest.mark.parametrize("method", ["exact", "exchange-exact", "moller", "mavm", "importance"])
def test_a_field_out_of_reach_is_refused_before_the_data_are_read(monkeypatch, method):
    monkeypatch.setattr("mrfbayes.sampling.sample.counted", too_early)
    options = {"source": "exact"} if method == "importance" else {}
    with pytest.raises(mb.CostError, match=r"width .*limit"):
        mb.sample(complete(range(60)), simulated(), method, **SHORT, **options)


def test_other_calls_are_checked_before_the_data_are_read(monkeypatch):
    for place in ("sampling.compare", "estimation.estimate", "targets.evidence", "structure.selection"):
        monkeypatch.setattr(importlib.import_module(f"mrfbayes.{place}"), "counted", too_early)
    for settings in ({"draws": 0}, {"methods": ["mle", {"method": "mle", "rho": 7}]}, {"engine": "warp"}):
        with pytest.raises(mb.InputError, match=r"draws = 0|rho = 7|engine = 'warp'"):
            mb.compare(MODEL, simulated(), **settings)
    for settings in ({"algorithm": "guess"}, {"algorithm": "pcd", "colour": 1}, {"threads": 0}, {"rng": "x"}):
        with pytest.raises(mb.InputError, match=r"'guess'|no option 'colour'|threads = 0|rng = 'x'"):
            mb.estimate(MODEL, simulated(), **settings)
    for algorithm, settings in (
        ("auto", {"tolerance": -1.0}),
        ("exact", {"optimiser": "adam"}),
        ("cd", {"sweeps": 0}),
        ("pcd", {"particles": 2.5}),
        ("fpcd", {"fast_gain": "much"}),
        ("stochastic", {"tolerance": True}),
        ("mcmc-mle", {"particles": None}),
        ("pf-mcmc-mle", {"steps": 0}),
        ("chord", {"tolerance": 0}),
        ("pseudo", {"tolerance": 0}),
        ("pcd", {"start": [2.0]}),
    ):
        with pytest.raises(mb.InputError, match=r"^(tolerance|optimiser|sweeps|particles|fast_gain|steps|start)\b"):
            mb.estimate(MODEL, simulated(), algorithm=algorithm, **settings)
    with pytest.raises(mb.InputError, match="algorithm = 'chord' is for"):
        mb.estimate(mb.grid(200, 200), simulated(), algorithm="chord")
    with pytest.raises(mb.CostError, match="weights particles by all"):
        mb.estimate(mb.grid(70, 70), simulated(), algorithm="mcmc-mle")
    with pytest.raises(mb.CostError, match="width"):
        mb.evidence(complete(range(60)), simulated())
    with pytest.raises(mb.InputError, match=r"prior"):
        mb.evidence(MODEL, simulated(), prior="gamma(1)")
    for settings in ({"draws": 0}, {"engine": "warp"}, {"workers": 0}, {"particles": 3}):
        with pytest.raises(mb.InputError, match=r"draws = 0|'warp'|workers = 0|particles = 3"):
            mb.select(MODEL, simulated(), **settings)


def test_the_checkpoint_is_no_file_of_the_data(tmp_path):
    path = tmp_path / "x.csv"
    np.savetxt(path, simulated(), fmt="%d", delimiter=",", header="a,b,c,d,e,f", comments="")
    before = path.read_bytes()
    for given in (path, [path]):
        with pytest.raises(mb.InputError, match=r"checkpoint and data(\[0\])? are the same file"):
            mb.sample(MODEL, given, "pseudo", checkpoint=path, **SHORT)
    assert path.read_bytes() == before


def too_early(*arguments, **options):
    raise AssertionError("the data were read first")


@pytest.mark.parametrize("particles", [0, -5, 2.5, 7, 9, 10])
def test_too_few_particles_for_a_covariance_are_refused(particles):
    with pytest.raises(mb.InputError, match=r"particles = "):
        mb.sample(MODEL, simulated(), "calibrated", moments="particles", particles=particles, progress=False)


def test_a_walk_needs_a_walker():
    with pytest.raises(mb.InputError, match=r"proposal='printed' is for a random walk.*'calibrated'.*another method"):
        mb.sample(MODEL, simulated(), "calibrated", proposal="printed", progress=False)
    for method, engine in (("mle", "direct"), ("exact", "independence")):
        with pytest.raises(mb.InputError, match=r"start= is for a random walk.*use engine='mh'"):
            mb.sample(MODEL, simulated(), method, engine=engine, start="half", progress=False)
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
def test_unused_options_cause_a_warning_and_are_not_recorded(method, changes, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"draws": 8, "chains": 2, "thin": 8, "progress": False, **changes}
    with pytest.warns(mb.MRFWarning) as caught:
        posterior = mb.sample(MODEL, simulated(), method, **settings)
    assert any(message in str(warning.message) for warning in caught)
    assert any(message in text for text in posterior.warnings)
    name = message.partition("=")[0]
    assert posterior.settings.get(name) in (None, 0)
    assert name not in posterior.settings["options"]
    assert not list(tmp_path.iterdir())


def test_used_options_cause_no_warning():
    for method, changes in (("exchange", {"sweeps": 3, "source": "gibbs"}), ("laplace", {"fisher": "particles"})):
        posterior = quick(method, particles=64, **changes)
        assert not any("is not used" in text for text in posterior.warnings)
        assert posterior.settings["options"]["particles"] == 64


def test_direct_draws_emit_their_warnings():
    model = mb.grid(2, 3, tied=True)
    with pytest.warns(mb.MRFWarning, match="shared by several factors"):
        posterior = mb.sample(model, simulated(), "mle", draws=50, progress=False)
    assert any("shared by several factors" in text for text in posterior.warnings)


def test_one_tied_image_gives_no_false_warnings():
    """Its edges are the data: 264 tosses of one coin."""
    model = mb.grid(12, 12, tied=True)
    x = mb.simulate(model, 0.62, 1, rng=4)
    posterior = mb.sample(model, x, "calibrated", moments="particles", particles=4_096, progress=False, draws=100)
    assert not posterior.warnings
    exact = mb.sample(model, x, "exact", draws=2_000, progress=False)
    assert not exact.warnings
    assert abs(posterior.mean[0] - exact.mean[0]) < 0.1 * exact.sd[0]
    assert posterior.details["trust_mean"] < 0.2
    with pytest.warns(mb.MRFWarning) as caught:
        mb.Data(np.ones((1, 9), dtype=int)).count(mb.grid(3, 3))  # untied: there is something to say
    assert any("only one observation" in str(warning.message) for warning in caught)


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
        "sample(mb.grid(2, 2), x, 'pseudo', draws=100, workers=2, progress=False)",
        "compare(mb.grid(2, 2), x, methods=['pseudo', 'mle'], reference=None, draws=100, workers=2, progress=False)",
    ],
)
def test_script_without_main_guard_raises_an_explanation(tmp_path, call):
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
    honest = driver.ChainWorkers

    def remember(*arguments):
        task_workers["last"] = honest(*arguments)
        return task_workers["last"]

    def kill(*arguments):
        if "killed" not in task_workers:
            task_workers["killed"] = True
            for process in task_workers["last"].pool._pool._processes.values():
                process.kill()
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "ChainWorkers", remember)
        patch.setattr(HmcTask, "note", kill)
        patch.setattr(driver, "FIRST_CHUNK", 20)
        found = quick("pseudo", workers=2)
    assert task_workers["killed"]
    np.testing.assert_array_equal(found.draws, reference.draws)
