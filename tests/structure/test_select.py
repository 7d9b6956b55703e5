"""The posterior over graphs against enumeration of all graphs, engines against each other, and what is refused."""

import itertools
import os
import signal

import numpy as np
import pytest

import mrfbayes as mb
import oracles_structure as truth
from structure.graph_cases import case, complete, exact_posterior
from structure.group_cases import some_groups

FAST = {"draws": 1_500, "thin": 2, "chains": 2, "progress": False}
KINDS = {
    "both-one with fields": (4, "both-one", True),
    "agreement": (4, "agreement", False),
    "agreement with fields": (4, "agreement", True),
    "score with dice": (4, "score", True, 3),
    "agreement of three states": (4, "agreement", True, 3),
    "score of mixed levels": (3, "score", True, (3, 2, 3)),
}


def assert_agrees(found, errors, truth, truth_errors, most=5.0):
    """Within five Monte-Carlo errors, which exclude all but one in a million; errors are not below 1e-4."""
    z = np.abs(found - truth) / np.sqrt(np.maximum(errors, 1e-4) ** 2 + truth_errors**2)
    assert z.max() < most, z


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edges", ["bernoulli(0.5)", "beta-bernoulli(1, 1)"])
def test_inclusion_probabilities_are_those_of_all_graphs(kind, edges):
    model, statistics, x = case(*KINDS[kind])
    # The default prior of node dice is not one that the oracle knows: independent normals are the same for both.
    node, prior = None, None
    if max(model.states) > 2:
        node, prior = truth.normal(0, 1), dict.fromkeys(model.nodes, "normal(0, 1)")
    p, inclusion, error, mean, sd = exact_posterior(model, statistics, x, "normal(0, 1)", edges, node)
    sel = mb.select(model, x, edges=edges, prior=prior, **FAST)
    assert sel.engine == "states"
    assert sel.target == "exact"
    assert_agrees(sel.inclusion, sel.inclusion_error, inclusion, error)
    draws = sel.log_odds.shape[0] * sel.log_odds.shape[1]
    assert_agrees(sel.mean, sel.sd / np.sqrt(draws / 10), mean, sd / np.sqrt(2000))
    sizes = np.bincount(np.array([bin(k).count("1") for k in range(len(p))]), weights=p)
    np.testing.assert_allclose(sel.size_probability, sizes, atol=0.05)
    assert sel.graphs(1).probability[1] == pytest.approx(p.max(), abs=0.05)
    wrong = np.clip(inclusion + np.where(inclusion > 0.5, -0.03, 0.03), 0, 1)
    with pytest.raises(AssertionError):
        assert_agrees(sel.inclusion, sel.inclusion_error, wrong, error)


def test_slabs_and_probabilities_per_edge():
    model, statistics, x = case(4, "both-one", True, n=100)
    for slab in ("cauchy(0, 2.5)", "logistic(0, 1)"):
        _, inclusion, error, _, _ = exact_posterior(model, statistics, x, slab, "bernoulli(0.5)")
        sel = mb.select(model, x, slab=slab, **FAST)
        assert_agrees(sel.inclusion, sel.inclusion_error, inclusion, error)
    uniform = mb.select(model, x, slab="beta(1, 1)", **FAST)  # of theta: the logistic distribution of the log-odds
    assert_agrees(uniform.inclusion, uniform.inclusion_error, inclusion, error)
    each = mb.select(model, x, edges=[0.5] * 5 + [1.0], **FAST)
    assert each.inclusion[-1] == 1.0
    assert np.isnan(each.log_bf10[-1])
    assert each.edges().verdict.iloc[-1] == "unknown"


@pytest.mark.parametrize("fields", [True, False])
def test_recursion_and_all_states_agree(fields):
    model = mb.grid(3, 4, fields=fields, coupling="both-one" if fields else "agreement")
    rng = np.random.default_rng(5)
    w = rng.normal(0, 0.8, model.n_parameters) * (rng.random(model.n_parameters) < 0.6)
    x = mb.simulate(model, model.chart.theta(w), 300, rng=6)
    by_states = mb.select(model, x, engine="states", **FAST)  # 4,096 configurations: three groups of nodes
    by_recursion = mb.select(model, x, engine="recursion", rng=1, **FAST)
    assert by_recursion.engine == "recursion"
    assert by_recursion.target == "exact"
    assert_agrees(by_states.inclusion, by_states.inclusion_error, by_recursion.inclusion, by_recursion.inclusion_error)
    for sel in (by_states, by_recursion):  # both say the likelihood of their draws, which is known
        w = sel.log_odds[0, -1]
        log_z = mb.log_partition(model, model.chart.theta(w)) - model.chart.log_last_weight(w).sum()
        assert sel.log_likelihood[0, -1] == pytest.approx(w @ mb.Data(x).count(model).counts - 300 * log_z, abs=1e-6)


def test_the_table_has_the_promised_columns_in_the_order_of_the_parameters():
    model = complete(4, fields=True, coupling="both-one")
    x = np.random.default_rng(0).integers(0, 2, (100, 4))
    sel = mb.select(model, x, draws=200, **{k: v for k, v in FAST.items() if k not in ("draws", "thin")})
    table = sel.edges()
    columns = ["inclusion", "inclusion_error", "log_bf10", "verdict", "fragile", "mean", "sd", "q5", "q95"]
    assert [name for name in table.columns if name in columns] == columns
    assert {"inclusion_ess", "inclusion_r_hat", "log_bf10_error", "mcse_mean", "ess_bulk", "r_hat"} <= {*table.columns}
    assert list(table.index) == list(model.parameters[: model.n_edges])
    np.testing.assert_allclose(table["log_bf10"], np.log(sel.inclusion / sel.absence))
    np.testing.assert_allclose(sel.inclusion + sel.absence, 1.0)
    assert sel.included.shape == (2, 200, 6)
    assert ((sel.log_odds[..., :6] == 0) == ~sel.included).all()
    assert (sel.draws[..., :6][~sel.included] == 0.5).all()
    np.testing.assert_allclose(sel.edges(scale="ising")["q95"], table["q95"] / 4)
    assert sel.edges(scale="theta")["q95"].between(0, 1).all()
    assert set(sel.median_graph) == set(table.index[table.inclusion > 0.5])
    assert sel.to_networkx(0.0).number_of_edges() == 6
    assert sel.to_networkx(1.0).number_of_nodes() == 4
    assert sel.number_of_edges().sum() == pytest.approx(1.0)
    graphs = sel.graphs(3)
    assert len(graphs) == 3
    assert graphs.probability.is_monotonic_decreasing
    assert "edges expected" in repr(sel)


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


def test_a_networkx_graph_carries_evidence_and_strength():
    model, _, x = case(4, "both-one", True)
    sel = mb.select(model, x, draws=300, chains=2, progress=False)
    graph = sel.to_networkx(0.5)
    assert {frozenset(edge) for edge in graph.edges} == {frozenset(name.split("--")) for name in sel.median_graph}
    table = sel.edges()
    for u, v, said in graph.edges(data=True):
        row = table.loc[f"{u}--{v}" if f"{u}--{v}" in table.index else f"{v}--{u}"]
        assert said == pytest.approx(
            {"inclusion": row["inclusion"], "log_bf10": row["log_bf10"], "weight": row["mean"]}
        )
    with pytest.raises(mb.InputError, match="threshold = 2: give a probability from 0 to 1"):
        sel.to_networkx(2)


PLAIN = np.random.default_rng(0).integers(0, 2, (30, 4))


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (complete(4, tied=True), {}, "ties several factors .* tied=False"),
        (
            mb.Model(["a", "b", "c", "d"], [mb.Factor(("a", "b"), outcomes=[[3, 0], [1, 2]])]),
            {},
            "3 free parameters.*coupling='agreement'",
        ),
        (mb.graph([], nodes=range(4), fields=True), {}, "no edges"),
        (complete(4), {"slab": "dirichlet(1)"}, "slab = .*normal\\(0, 1\\)"),
        (complete(4), {"edges": "poisson(3)"}, "edges = 'poisson\\(3\\)': give 'bernoulli\\(0.5\\)'"),
        (complete(4), {"edges": "bernoulli(0)"}, "0 for '0--1' is not a prior probability in \\(0, 1\\]"),
        (complete(4), {"edges": "beta-bernoulli(1, -1)"}, "both numbers of a beta distribution are positive"),
        (complete(4), {"edges": [0.5, 0.5]}, "edges has shape \\(2,\\), the model has 6 edges"),
        (complete(4), {"edges": {"0--1": 0.5}}, "edge '0--2' has no probability"),
        (complete(4), {"edges": {"7--8": 0.5}}, "no edge is called '7--8'"),
        (complete(4, fields=True), {"prior": {"edges": "normal(0, 1)"}}, "entry for 'edges'.*slab="),
        (complete(4), {"engine": "magic"}, "engine = 'magic': choose one of 'states'"),
        (complete(4), {"seconds": -1}, "seconds = -1: a time budget is a positive number"),
        (complete(4), {"draws": 0}, "draws = 0: give a whole number, at least 1"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_a_reason(model, options, message):
    with pytest.raises(mb.InputError, match=message):
        mb.select(model, PLAIN, progress=False, **options)


def test_tables_that_are_too_large_name_another_engine():
    x = np.random.default_rng(0).integers(0, 2, (50, 25))
    with pytest.raises(mb.CostError, match="engine='particles'"):
        mb.select(complete(25), x, engine="states", progress=False)
    with pytest.raises(mb.CostError, match="too wide"):
        mb.select(complete(25), x, engine="recursion", progress=False)


@pytest.mark.parametrize("kind", ["both-one with fields", "score with dice"])
def test_probabilities_of_graphs_have_the_errors_that_are_stated(kind):
    model, statistics, x = case(*KINDS[kind], n=150)
    slab, edges = "logistic(0, 1)", "beta-bernoulli(1, 1)"
    is_binary = max(model.states) == 2
    node, prior = (None, None) if is_binary else (truth.normal(0, 1), dict.fromkeys(model.nodes, "normal(0, 1)"))
    p, _, _, _, _ = exact_posterior(model, statistics, x, slab, edges, node, draws=8000)
    table = mb.select(model, x, slab=slab, edges=edges, prior=prior, **FAST).graphs(6)
    present = np.array([[name in row for name in model.blocks[: model.n_edges]] for row in table.edges])
    exact = p[present @ (2 ** np.arange(model.n_edges)[::-1])]
    error = np.hypot(table["probability_error"], 0.01 * exact)  # enumeration has an error of about one per cent
    assert (np.abs(table.probability - exact) < 4.9 * error).all()
    assert (table["probability_error"] < 0.02).all()
    assert (np.abs(table.probability - 1.5 * exact) > 4.9 * error).any()


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
