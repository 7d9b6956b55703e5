"""`langevin`: its moments against the enumerated posterior, what it says about itself, and how it is continued."""

import itertools
import os
import signal

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from methods.langevin.langevin_cases import field
from mrfbayes.base.budget import Budget
from mrfbayes.engines.settings import choose_method
from mrfbayes.methods.langevin import walk, warp
from mrfbayes.methods.langevin.langevin import default_steps
from mrfbayes.methods.langevin.warp import IDENTITY
from mrfbayes.model.schema import Schema, Variable

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")


@pytest.mark.parametrize(("coupling", "states"), [("both-one", 2), ("score", 3), ("agreement", 3)])
def test_means_and_sds_are_those_of_the_exact_posterior(coupling, states):
    model, x = field(5, states, coupling)
    exact = mb.sample(model, x, "exact", prior="normal(0, 1)", draws=25_000, thin=1, progress=False)
    found = mb.sample(model, x, "langevin", prior="normal(0, 1)", chains=8, draws=200, thin=2, progress=False)
    error = (found.mean - exact.mean) / exact.sd
    assert np.sqrt(np.mean(error**2)) < 0.03  # Monte Carlo 0.01, reference 0.006
    assert np.abs(error).max() < 0.08
    assert np.sqrt(np.mean((found.sd / exact.sd - 1) ** 2)) < 0.025
    # Draws and moments agree, and the statement covers the error.
    np.testing.assert_allclose(found.mean, found.draws.mean(axis=(0, 1)))
    assert np.sqrt(np.mean(error**2)) < 1.5 * found.details["trust_mean"]
    # Negative control: the Gaussian at the mode is visibly elsewhere than the mean, so the test can tell.
    assert found.details["mode_error"] < 0.05
    assert "means within" in found.details["trust"]
    assert found.target == "approximate"
    assert found.engine == "langevin"


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    model, x = field()
    settings = {"warmup": 40, "chains": 2, "progress": False}
    whole = mb.sample(model, x, "langevin", draws=15, thin=2, **settings)
    mb.sample(model, x, "langevin", draws=7, thin=2, checkpoint=tmp_path / "run", **settings)
    continued = mb.sample(model, x, "langevin", draws=15, thin=2, checkpoint=tmp_path / "run", **settings)
    np.testing.assert_allclose(continued.draws, whole.draws, rtol=1e-4)
    assert continued.details["resumed_steps"] == 54  # 40 of them warm-up


def test_workers_are_threads_and_change_no_draw():
    model, x = field(7)
    settings = {"draws": 6, "thin": 2, "warmup": 40, "chains": 2, "replicas": 3, "progress": False}
    alone = mb.sample(model, x, "langevin", **settings)
    spread = mb.sample(model, x, "langevin", workers=3, **settings)
    np.testing.assert_array_equal(spread.draws, alone.draws)
    assert not any("workers" in text for text in spread.warnings)


def two_phases(d, low):
    """Data that are nearly all zero or nearly all one, and the complete graph: chains rarely cross between."""
    rng = np.random.default_rng(0)
    x = (rng.random((400, d)) < np.where(rng.random((400, 1)) < 0.9, 1 - low, low)).astype(np.uint8)
    return mb.graph(list(itertools.combinations(range(d), 2)), fields=True, coupling="both-one"), x


def test_chains_that_do_not_mix_cause_a_warning():
    model, x = two_phases(24, 0.02)
    settings = {"prior": "normal(0, 1)", "draws": 6, "thin": 2, "warmup": 40, "chains": 2, "progress": False}
    found = mb.sample(model, x, "langevin", **settings)
    assert any("cannot be trusted" in text for text in found.warnings), found.details
    # Negative control: the same nodes without the phases.
    x = (np.random.default_rng(1).random(x.shape) < 0.5).astype(np.uint8)
    found = mb.sample(model, x, "langevin", **settings)
    assert not any("cannot be trusted" in text for text in found.warnings)


def test_steps_that_are_too_long_are_measured():
    """One sweep a step and steps of 0.9: spreads are wider than they should be, and the statement knows."""
    model, x = field(8, n=1_000)
    settings = {"prior": "normal(0, 1)", "draws": 450, "thin": 2, "progress": False}
    usual = mb.sample(model, x, "langevin", **settings)
    wild = mb.sample(model, x, "langevin", step=0.95, sweeps=1, **settings)
    assert usual.details["step_sd_error"] < 0.02
    assert usual.details["step_mean_error"] < 0.04
    assert wild.details["step_sd_error"] > 2 * usual.details["step_sd_error"]


def test_a_usual_questionnaire_has_enough_effective_draws():
    """Twenty items of four levels, n = 300: 250 parameters, few enough for more steps."""
    rng = np.random.default_rng(5)
    x = np.clip(rng.normal(size=(300, 1)) + rng.normal(size=(300, 20)) + 0.5, 0, 3).astype(np.uint8)
    model = mb.graph(list(itertools.combinations(range(20), 2)), states=4, fields=True, coupling="score")
    found = mb.sample(model, x, "langevin", progress=False)
    assert found.ess.min() >= 400


def test_a_time_budget_leaves_a_partial_result(monkeypatch):
    model, x = field()
    monkeypatch.setattr(Budget, "left", property(lambda self: 2.0))  # when the walk begins, however busy the machine is
    found = mb.sample(model, x, "langevin", draws=100_000, warmup=4, thin=1, seconds=100.0, progress=False)
    assert found.partial
    assert any("stopped by time budget" in text for text in found.warnings)


def mixed(n=600):
    """Binary, ordinal and two nominal variables, all pairs coupled; the model and a table of labels."""
    kinds = (("ill", "binary", "no yes"), ("mood", "ordinal", "low middle high"), ("town", "nominal", "Bern Lima Oslo"))
    kinds += (("job", "nominal", "none half full"), ("sex", "binary", "f m"))
    schema = Schema(tuple(Variable(name, kind, tuple(labels.split())) for name, kind, labels in kinds))
    model = mb.Model.from_data(schema)
    w = 0.5 * np.random.default_rng(3).normal(size=model.n_parameters)
    rows = mb.simulate(model, model.chart.theta(w), n, rng=1, progress=False)
    table = {v.name: np.array(v.values, dtype=object)[rows[:, i]] for i, v in enumerate(schema)}
    return model, pd.DataFrame(table)


@pytest.mark.parametrize("is_summed", [True, False])
def test_nominal_variables_have_the_exact_posterior(is_summed, monkeypatch):
    """Against the exact likelihood; with missing cells summed over, and swept by clamped chains."""
    model, table = mixed()
    table = table.mask(np.random.default_rng(4).random(table.shape) < 0.05)
    if not is_summed:
        monkeypatch.setattr("mrfbayes.particles.completions.is_summed", lambda statistics: False)
    exact = mb.sample(model, table, "exact", draws=1_500, chains=2, rng=1, progress=False)
    found = mb.sample(model, table, "langevin", rng=2, progress=False)
    mean, sd = exact.log_odds.mean(axis=(0, 1)), exact.log_odds.std(axis=(0, 1))
    off = (found.log_odds.mean(axis=(0, 1)) - mean) / sd
    assert np.sqrt(np.mean(off**2)) < 0.06
    assert np.abs(off).max() < 0.2
    np.testing.assert_allclose(found.log_odds.std(axis=(0, 1)) / sd, 1.0, atol=0.12)
    half = mb.sample(model, table.iloc[:300], "langevin", rng=2, draws=30, thin=2, progress=False)
    other = (half.log_odds.mean(axis=(0, 1)) - mean) / sd
    assert np.sqrt(np.mean(other**2)) > 0.3  # half of the rows have another posterior


def test_auto_takes_tables_of_nominal_variables():
    """Twenty-four variables, five of them nominal: too many configurations for the exact likelihood."""
    kinds = [Variable(f"v{i}", "nominal", ("a", "b", "c")) for i in range(5)]
    kinds += [Variable(f"v{i}", "binary", (0.0, 1.0)) for i in range(5, 24)]
    assert choose_method(mb.Model.from_data(Schema(tuple(kinds))))[0] == "langevin"


def test_variables_of_many_levels_are_walked_by_tables():
    model = mb.graph([(0, 1)], states=9, coupling="score", fields=True)
    x = np.random.default_rng(0).integers(0, 9, size=(200, 2))
    exact = mb.sample(model, x, "exact", draws=1_000, chains=2, rng=1, progress=False)
    found = mb.sample(model, x, "langevin", progress=False)
    sd = exact.log_odds.std(axis=(0, 1))
    assert np.abs((found.log_odds.mean(axis=(0, 1)) - exact.log_odds.mean(axis=(0, 1))) / sd).max() < 0.25


def test_wrong_options_are_refused():
    model, x = field()
    with pytest.raises(mb.InputError, match="step = 2: give a number between 0 and 1"):
        mb.sample(model, x, "langevin", step=2, progress=False)
    with pytest.raises(mb.InputError, match="replicas = 0: give a whole number, at least 1"):
        mb.sample(model, x, "langevin", replicas=0, progress=False)


def test_short_warmup_causes_a_warning():
    model, x = field()
    found = mb.sample(model, x, "langevin", draws=10, thin=2, warmup=4, chains=2, progress=False)
    assert any("a warm-up of 4 steps is too short" in text for text in found.warnings)


def test_ctrl_c_while_the_result_is_assembled_keeps_it(monkeypatch):
    from mrfbayes.sampling import assemble

    model, x = field()
    settings = {"draws": 30, "thin": 2, "warmup": 40, "rng": 1, "progress": False}
    before = mb.sample(model, x, "langevin", **settings)

    def pressed(*given, real=assemble.stored_schema):
        os.kill(os.getpid(), signal.SIGINT)
        return real(*given)

    monkeypatch.setattr(assemble, "stored_schema", pressed)
    after = mb.sample(model, x, "langevin", **settings)
    np.testing.assert_array_equal(after.draws, before.draws)
    assert not after.partial


def test_default_run_needs_no_warning():
    model, x = field()
    found = mb.sample(model, x, "langevin", rng=1, progress=False)
    assert found.warnings == ()
    assert found._convergence.is_enough


def unused_state(n=60):
    """Three variables of three levels; the last state of the first one never occurs."""
    rng = np.random.default_rng(8)
    x = np.clip(rng.normal(size=(n, 1)) + rng.normal(size=(n, 3)) + 1, 0, 2.9).astype(np.uint8)
    x[:, 0] = np.minimum(x[:, 0], 1)
    model = mb.graph(list(itertools.combinations(range(3), 2)), states=3, fields=True, coupling="score")
    return model, x


def test_a_state_that_never_occurs_has_the_exact_posterior(monkeypatch):
    """Its threshold has a wall on one side and only the prior on the other, on which long steps overshoot."""
    model, x = unused_state()
    exact = mb.sample(model, x, "exact", draws=20_000, chains=2, rng=1, progress=False).log_odds
    levels = [0.05, 0.5, 0.95]

    def errors():
        found = mb.sample(model, x, "langevin", rng=2, progress=False)
        off = np.quantile(found.log_odds, levels, axis=(0, 1)) - np.quantile(exact, levels, axis=(0, 1))
        return found, np.abs(off / exact.std(axis=(0, 1))).max()

    found, error = errors()
    assert found.details["skewed_parameters"] >= 1
    assert not any("steps are too long" in text for text in found.warnings)
    assert error < 0.2  # Monte-Carlo errors of 5 % quantiles are up to 0.05 sds
    # Negative control: in the coordinates of the mode the same walk, at any drift, leaves the posterior.
    monkeypatch.setattr("mrfbayes.methods.langevin.langevin.make_warp", lambda *_: IDENTITY)
    monkeypatch.setattr(walk, "MOST_DRIFT", np.inf)
    assert errors()[1] > 0.2


def never_varied(d, n_constant):
    """Hundred rows that are nearly all one; the first variables never are zero."""
    x = (np.random.default_rng(4).random((100, d)) < 0.96).astype(np.uint8)
    x[:, :n_constant] = 1
    return mb.graph(list(itertools.combinations(range(d), 2)), fields=True, coupling="both-one"), x


def own_columns(model, mode, columns, is_rare):
    """Log-odds without the couplings: thresholds alone."""
    return np.eye(mode.w.size)[columns]


def test_variables_that_never_varied_have_the_exact_posterior(monkeypatch):
    model, x = never_varied(8, 2)
    exact = mb.sample(model, x, "exact", engine="hmc", draws=4_000, chains=2, rng=1, progress=False).log_odds
    mean, sd = exact.mean(axis=(0, 1)), exact.std(axis=(0, 1))

    def errors():
        found = mb.sample(model, x, "langevin", rng=3, progress=False).log_odds
        return np.abs(found.mean(axis=(0, 1)) - mean) / sd, found.std(axis=(0, 1)) / sd

    off, ratio = errors()
    assert off.max() < 0.08
    assert np.abs(ratio - 1).max() < 0.06
    # Negative control: thresholds alone, and steps of any length.
    monkeypatch.setattr(warp, "_forms", own_columns)
    monkeypatch.setattr(walk, "MOST_DRIFT", np.inf)
    assert errors()[1].max() > 1.15


def test_variables_that_never_varied_need_no_longer_run(monkeypatch):
    """What they do not allow is a low log-odds: their thresholds and couplings are tied together."""
    model, x = never_varied(24, 8)
    found = mb.sample(model, x, "langevin", rng=3, progress=False)
    usual = default_steps(model.n_parameters)
    assert found.warnings == ()
    assert found.steps == usual
    assert found.details["step_mean_error"] < 0.02
    monkeypatch.setattr(warp, "_forms", own_columns)  # negative control
    found = mb.sample(model, x, "langevin", rng=3, progress=False)
    assert found.steps > usual
    assert found.details["step_mean_error"] > 0.02
