"""The posterior over graphs against enumeration of all graphs, engines against each other, and what is refused."""

import numpy as np
import pytest

import mrfbayes as mb
import oracles_structure as truth
from structure.graph_cases import assert_agrees, case, complete, exact_posterior

FAST = {"draws": 1_500, "thin": 2, "chains": 2, "progress": False}
KINDS = {
    "both-one with fields": (4, "both-one", True),
    "agreement": (4, "agreement", False),
    "agreement with fields": (4, "agreement", True),
    "score with dice": (4, "score", True, 3),
    "agreement of three states": (4, "agreement", True, 3),
    "score of mixed levels": (3, "score", True, (3, 2, 3)),
}


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
    for top in (0, -1, "a"):
        with pytest.raises(mb.InputError, match=f"top = {top!r}: give a whole number, at least 1"):
            sel.graphs(top)
    assert "edges expected" in repr(sel)


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
