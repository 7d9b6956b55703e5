"""Runs of a search: their length, budgets, checkpoints, and what is said of them."""

import itertools
import os
import signal

import numpy as np
import pytest

import mrfbayes as mb
from structure.graph_cases import case, complete, exact_posterior
from structure.group_cases import some_groups


def test_one_result_for_any_number_of_workers_and_any_interruption(tmp_path):
    model, _, x = case(4, "both-one", True)
    options = {"draws": 400, "warmup": 50, "chains": 2, "progress": False, "rng": 3}
    whole = mb.select(model, x, **options)
    spread = mb.select(model, x, workers=2, **options)
    np.testing.assert_array_equal(whole.log_odds, spread.log_odds)
    np.testing.assert_array_equal(whole.inclusion, spread.inclusion)
    path = tmp_path / "run.checkpoint"
    mb.select(model, x, checkpoint=path, **{**options, "draws": 150, "thin": 1})
    resumed = mb.select(model, x, checkpoint=path, thin=1, **options)
    np.testing.assert_array_equal(whole.log_odds, resumed.log_odds)
    np.testing.assert_array_equal(whole.inclusion_error, resumed.inclusion_error)
    with pytest.raises(mb.InputError, match="belongs to another run"):
        mb.select(model, x, checkpoint=path, thin=1, slab="normal(0, 2)", **options)


def test_a_time_budget_leaves_a_partial_result():
    model, _, x = case(4, "both-one", True)
    with pytest.warns(mb.MRFWarning, match="time budget"):
        sel = mb.select(model, x, draws=100, warmup=50, seconds=1.0, thin=10**5, progress=False)
    assert sel.partial
    assert 0 < sel.steps < 10**7
    assert np.isfinite(sel.inclusion).all()


@pytest.mark.filterwarnings("ignore:stopped by time budget:mrfbayes.MRFWarning")
def test_edges_are_unknown_before_the_first_sweep(tmp_path):
    model, _, x = case(4, "both-one", True)
    with pytest.warns(mb.MRFWarning, match="the probabilities are not defined"):
        sel = mb.select(model, x, draws=2_000, thin=50_000, warmup=10**8, seconds=0.5, progress=False)
    assert sel.partial
    assert np.isnan(sel.inclusion).all()
    assert sel.edges()[["inclusion", "mean", "sd"]].isna().all(axis=None)
    assert len(sel.graphs()) == 0
    sel.save(tmp_path / "none.nc")
    assert np.isnan(mb.load(tmp_path / "none.nc").inclusion).all()


def test_the_budget_covers_the_preparation():
    x = np.random.default_rng(0).integers(0, 2, (60, 22))
    with pytest.raises(mb.CostError, match=r"0.01 s .*preparation .*anchor"):
        mb.select(complete(22, fields=True, coupling="both-one"), x, seconds=0.01, particles=1000, progress=False)


def test_progress_is_reported(monkeypatch, capsys):
    from mrfbayes.base import progress

    model, _, x = case(4, "both-one", True)
    monkeypatch.setattr(progress, "SHOW_AFTER_SECONDS", 0.0)
    mb.select(model, x, draws=300, chains=2)
    assert "graphs" in capsys.readouterr().err
    mb.select(model, x, draws=300, chains=2, progress=False)
    assert not capsys.readouterr().err


def test_monte_carlo_errors_are_those_of_repeated_runs():
    model, statistics, x = case(3, "both-one", True, n=60)
    _, inclusion, error, _, _ = exact_posterior(model, statistics, x, "normal(0, 1)", "bernoulli(0.5)", draws=20_000)
    runs = [mb.select(model, x, draws=400, chains=2, warmup=20, rng=seed, progress=False) for seed in range(40)]
    spread = np.stack([sel.inclusion - inclusion for sel in runs])
    claimed = np.sqrt(np.stack([sel.inclusion_error for sel in runs]) ** 2 + error**2)
    ratio = (spread**2).mean() / (claimed**2).mean()
    assert 0.4 < ratio < 1.8  # forty runs of three edges
    assert ratio * 4 > 1.6  # errors half as large would be noticed


def test_ctrl_c_after_the_last_sweep_keeps_the_search(monkeypatch):
    from mrfbayes.structure import running

    def pressed(states, real=running.summarise):
        os.kill(os.getpid(), signal.SIGINT)
        return real(states)

    monkeypatch.setattr(running, "summarise", pressed)
    model, _, x = case(4, "both-one", True)
    found = mb.select(model, x, draws=50, warmup=10, progress=False)
    assert found.steps == 50
    assert not found.partial


def test_a_search_goes_on_until_it_is_precise():
    model, _, data = some_groups(d=4)
    found = mb.select(model, data["a"], chains=2, progress=False)
    assert found.inclusion_error.max() <= 0.01
    assert 1_000 <= found.steps <= 8_000
    assert found.log_odds.shape[1] == found.steps // found.thin
    assert not found.partial


def test_a_checkpoint_changes_nothing_of_how_long_a_search_is(tmp_path, monkeypatch):
    from mrfbayes.structure import running

    monkeypatch.setattr(running, "LEAST_SEARCH_SWEEPS", 256)
    monkeypatch.setattr(running, "INCLUSION_PRECISION", 0.006)
    model, _, data = some_groups(d=4)
    options = {"chains": 2, "rng": 4, "progress": False}
    plain = mb.select(model, data["a"], **options)
    assert 256 < plain.steps < 8_192  # so that it grew, and not as far as it may
    path = tmp_path / "run.checkpoint"
    whole = mb.select(model, data["a"], checkpoint=path, **options)
    np.testing.assert_array_equal(whole.log_odds, plain.log_odds)
    np.testing.assert_array_equal(whole.inclusion, plain.inclusion)
    kept = path.read_bytes()
    for share in (0.4, 0.7, 0.95):  # as if it had been killed: the end of the file is torn off
        path.write_bytes(kept[: int(share * len(kept))])
        again = mb.select(model, data["a"], checkpoint=path, **options)
        np.testing.assert_array_equal(again.log_odds, plain.log_odds)
        np.testing.assert_array_equal(again.inclusion_error, plain.inclusion_error)


def test_a_resumed_search_judges_the_same_batches():
    """Past a goal that was not precise enough, its batches are still known: also where they were joined since."""
    from mrfbayes.structure import running
    from mrfbayes.structure.search import N_BATCHES

    goals = [running.LEAST_SEARCH_SWEEPS]
    while goals[-1] < running.MOST_SEARCH_SWEEPS:
        goals.append(min(running.more_sweeps(goals[-1]), running.MOST_SEARCH_SWEEPS))
    assert goals == sorted(set(goals))
    for before, after in itertools.pairwise(goals):
        for done in (before, (before + after) // 2, after):
            length = 1
            while done >= N_BATCHES * length:
                length *= 2
            assert before % length == 0


def test_notes_and_warnings_are_those_of_sample():
    x = np.random.default_rng(5).integers(0, 2, (80, 3)).astype(float)
    x[:, 1] = np.where(x[:, 1] == 1, 2, 0)
    x[3, 0] = np.nan
    model = mb.graph([(0, 1), (1, 2)], states=(2, 3, 2), fields=True, coupling="score")
    options = {"draws": 600, "rng": 1, "progress": False}
    found, post = (run(model, x, **options) for run in (mb.select, mb.sample))
    assert found.warnings == post.warnings
    assert found.notes[:1] == post.notes[:1]
    assert "unused state" in found.notes[0]
    assert "Monte-Carlo error" in found.notes[-1]
    assert f"{found.steps}" in found.notes[-1]
    for name in ("schema", "n", "seed", "partial", "target", "versions"):
        assert getattr(found, name) == getattr(post, name), name
    assert set(found.timings) == set(post.timings)
    assert found.method == "select"


def test_seconds_of_a_search_are_predicted():
    from mrfbayes.structure.running import describe_searches, search_seconds

    small, large = (mb.complete(d, fields=True, coupling="both-one") for d in map(range, (6, 30)))
    assert 0.05 < search_seconds(small) < search_seconds(small, 2) < 10
    assert search_seconds(large) > 10 * search_seconds(small)
    assert set(describe_searches(small)) == {"--select", "--group (two groups)"}
    assert describe_searches(mb.grid(4, 4, tied=True)) == {}
