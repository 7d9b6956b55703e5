"""The engine: same seed same draws, killed runs resume bit for bit, Ctrl-C keeps what is done."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.run import driver

MODEL = mb.grid(4, 4)
DATA = (np.random.default_rng(2).random((60, 16)) < 0.5).astype(np.uint8)
DATA[:40, ::2] = DATA[:40, 1::2]
SETTINGS = {"draws": 1_000, "warmup": 1_000, "chains": 2, "thin": 3, "rng": 5, "progress": False, "engine": "mh"}


def draw(**changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # short runs have few effective draws, and say so
        return mb.sample(MODEL, DATA, "exact", **{**SETTINGS, **changes})


@pytest.fixture(scope="module")
def reference():
    return draw()


def same(a, b):
    return (
        np.array_equal(a.draws, b.draws)
        and np.array_equal(a.mean, b.mean)
        and np.array_equal(a.sd, b.sd)
        and np.array_equal(a.log_likelihood, b.log_likelihood)
    )


def test_same_seed_same_draws_and_another_seed_others(reference):
    assert same(draw(), reference)
    assert not np.array_equal(draw(rng=6).draws, reference.draws)


@pytest.mark.parametrize("first", [1, 17, 100_000])
def test_draws_do_not_depend_on_the_chunks(reference, monkeypatch, first):
    monkeypatch.setattr(driver, "FIRST_CHUNK", first)
    monkeypatch.setattr(driver, "ROUND_SECONDS", 0.002 * first)
    assert same(draw(), reference)


def test_draws_do_not_depend_on_the_workers(reference):
    assert same(draw(workers=2), reference)


def test_running_moments_are_those_of_all_steps():
    posterior = draw(thin=1)
    flat = posterior.draws.reshape(-1, MODEL.n_parameters)
    np.testing.assert_allclose(posterior.mean, flat.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(posterior.sd, flat.std(axis=0, ddof=1), rtol=1e-10)


def test_warmup_adapts_to_a_reasonable_acceptance(reference):
    assert 0.1 < reference.acceptance.mean() < 0.5


def test_a_time_budget_leaves_a_partial_result_that_resumes(reference, tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    monkeypatch.setattr(driver, "FIRST_CHUNK", 700)
    with pytest.raises(mb.CostError, match=r"before the first draw .*checkpoint .*run\.checkpoint"):
        draw(checkpoint=path, seconds=1e-9)
    part = draw(checkpoint=path, seconds=1e-9)  # from 700 of 1,000 steps of warm-up on
    assert part.partial
    assert part.draws.shape[1] == 133
    assert "time budget" in " ".join(part.warnings)
    whole = draw(checkpoint=path)
    assert whole.details["resumed_steps"] == 1_400
    assert same(whole, reference)


def test_a_finished_run_is_continued(reference, tmp_path):
    path = tmp_path / "run.checkpoint"
    draw(checkpoint=path, draws=500)
    assert same(draw(checkpoint=path), reference)
    again = draw(checkpoint=path)  # nothing left to do
    assert again.details["resumed_steps"] == 4_000
    assert same(again, reference)


def test_more_steps_go_on_although_defaults_would_change(tmp_path):
    path = tmp_path / "run.checkpoint"
    left_open = {"thin": None, "warmup": None}
    first = draw(checkpoint=path, draws=2_000, **left_open)
    more = draw(checkpoint=path, draws=9_000, **left_open)  # alone it would have 4,500 steps of warm-up
    assert (more.warmup, more.thin) == (first.warmup, first.thin) == (1_000, 1)
    assert more.details["resumed_steps"] == 3_000
    assert same(more, draw(draws=9_000, thin=1, warmup=1_000))


def test_a_checkpoint_that_cannot_be_written_costs_no_draws(reference, tmp_path, monkeypatch):
    import errno

    monkeypatch.setattr(driver, "CHECKPOINT_SECONDS", 0.0)
    real, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 4:  # the trial beside it, its beginning, the folder, and the first segment
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr("mrfbayes.run.store.os.fsync", full)
    posterior = draw(checkpoint=tmp_path / "run.checkpoint")
    assert same(posterior, reference)
    assert "the checkpoint lacks the last steps" in " ".join(posterior.warnings)
    monkeypatch.undo()
    assert same(draw(checkpoint=tmp_path / "run.checkpoint"), reference)


def test_ctrl_c_while_the_result_is_assembled_keeps_it(reference, monkeypatch):
    from mrfbayes.results import diagnostics

    real = diagnostics.convergence

    def pressed(draws):
        os.kill(os.getpid(), signal.SIGINT)
        return real(draws)

    monkeypatch.setattr("mrfbayes.results.diagnostics.convergence", pressed)
    posterior = draw()
    assert same(posterior, reference)
    assert not posterior.partial


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    path = tmp_path / "run.checkpoint"
    draw(checkpoint=path, draws=500)
    with pytest.raises(mb.InputError, match="seed differs"):
        draw(checkpoint=path, rng=9)
    with pytest.raises(mb.InputError, match="data differs"):
        mb.sample(MODEL, 1 - DATA[:30], "exact", checkpoint=path, **SETTINGS)


SCRIPT = """
import sys, warnings
import numpy as np
sys.path.insert(0, {tests!r})
warnings.simplefilter("ignore")
import mrfbayes as mb
from mrfbayes.run import driver
driver.CHECKPOINT_SECONDS = 0.0
driver.ROUND_SECONDS = 0.05
model = mb.grid(4, 4)
data = np.load({data!r})
print("ready", flush=True)
posterior = mb.sample(model, data, "exact", draws=2_000, warmup=1_000, chains=2, thin=200, rng=5, engine="mh",
                      progress=False, checkpoint={checkpoint!r})
np.save({out!r}, posterior.draws)
print("partial" if posterior.partial else "whole", posterior.details["resumed_steps"], flush=True)
"""


@pytest.fixture
def script(tmp_path):
    def make(name):
        np.save(tmp_path / "data.npy", DATA)
        code = textwrap.dedent(SCRIPT).format(
            tests=os.path.dirname(os.path.dirname(__file__)),
            data=str(tmp_path / "data.npy"),
            checkpoint=str(tmp_path / f"{name}.checkpoint"),
            out=str(tmp_path / f"{name}.npy"),
        )
        return [sys.executable, "-c", code], tmp_path / f"{name}.checkpoint", tmp_path / f"{name}.npy"

    return make


def wait_for_size(path, size, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists() and path.stat().st_size > size:
            return
        time.sleep(0.01)
    raise AssertionError("the run wrote no checkpoint")


def test_a_killed_run_resumes_bit_for_bit(script):
    command, _, whole = script("whole")
    subprocess.run(command, check=True, capture_output=True)
    command, checkpoint, resumed = script("killed")
    for size in (50_000, 300_000):  # killed twice, at whatever step that is
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        wait_for_size(checkpoint, size)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    last = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert last[1] == "whole"
    assert int(last[2]) > 0
    np.testing.assert_array_equal(np.load(resumed), np.load(whole))


def test_ctrl_c_keeps_the_draws(script):
    command, checkpoint, out = script("interrupted")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    wait_for_size(checkpoint, 200_000)  # past warm-up
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=20)
    assert time.monotonic() - started < 10  # 2 s are promised; the machine may be busy
    assert "partial" in text
    draws = np.load(out)
    assert 0 < draws.shape[1] < 2_000
    command, _, _ = script("interrupted")
    subprocess.run(command, check=True, capture_output=True)
    np.testing.assert_array_equal(np.load(out)[:, : draws.shape[1]], draws)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draws": 0}, "draws = 0"),
        ({"draws": 10.5}, "draws = 10.5"),
        ({"chains": 0}, "chains = 0"),
        ({"thin": 0}, "thin = 0"),
        ({"warmup": -1}, "warmup = -1"),
        ({"proposal": "wild"}, "proposal = 'wild'"),
        ({"start": "truth"}, "start = 'truth'"),
        ({"start": np.full(24, 1.0)}, r"start\[0\] = 1 "),
        ({"start": np.full(24, np.nan)}, r"start\[0\] = nan"),
        ({"start": np.full(3, 0.5)}, r"shape \(3,\)"),
        ({"seconds": -1}, "seconds = -1"),
        ({"workers": 0}, "workers = 0"),
        ({"rng": -1}, "rng = -1"),
        ({"engine": "warp"}, "engine = 'warp'"),
        ({"rho": 0.1}, "no option 'rho'"),
    ],
)
def test_bad_arguments_are_refused_by_name(changes, message):
    with pytest.raises(mb.InputError, match=message):
        draw(**changes)


def test_an_unknown_method_is_refused():
    with pytest.raises(mb.InputError, match="method = 'magic'"):
        mb.sample(MODEL, DATA, "magic")


def test_too_much_is_refused_at_once():
    with pytest.raises(mb.CostError, match="months"):
        draw(draws=10**12)
    with pytest.raises(mb.CostError, match="raise thin="):
        draw(draws=10**9, thin=1)


def test_the_printed_proposal_is_that_of_the_paper():
    posterior = draw(proposal="printed", start="half", warmup=None)
    assert posterior.warmup == 0
    moves = np.diff(draw(proposal="printed", start="half", thin=1, warmup=0).draws, axis=1)
    moved = moves[np.abs(moves).sum(axis=2) > 0]
    assert moved.std() == pytest.approx(np.sqrt(0.001), rel=0.1)  # accepted moves are a little shorter


def test_a_result_is_saved_and_loaded(reference, tmp_path):
    path = tmp_path / "result.nc"
    reference.save(path)
    loaded = mb.load(path)
    assert same(loaded, reference)
    assert loaded.model.fingerprint == reference.model.fingerprint
    assert loaded.parameters == reference.parameters
    assert loaded.settings == reference.settings
    assert loaded.warnings == reference.warnings
    with pytest.raises(mb.InputError, match="exists"):
        reference.save(path)
    reference.save(path, overwrite=True)
    (tmp_path / "other.nc").write_bytes(b"not netCDF")
    with pytest.raises(mb.InputError, match="not a result file"):
        mb.load(tmp_path / "other.nc")


def test_arviz_opens_the_draws(reference):
    tree = reference.to_arviz()
    assert tree["posterior/theta"].dims == ("chain", "draw", "parameter")
    assert list(tree["posterior"].coords["parameter"].values) == list(MODEL.parameters)


def test_summary_has_a_row_per_parameter(reference):
    frame = reference.summary()
    assert list(frame.index) == list(MODEL.parameters)
    assert ((frame["q5"] < frame["mean"]) & (frame["mean"] < frame["q95"])).all()
