"""Elimination kernels against enumeration on every small graph, and against other packages on larger ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracles
from kernels.exact.graph_cases import TOLERANCE, Problem, check, states_of
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.exact.ordering import find_order
from mrfbayes.exact.recursions import GraphRecursion
from mrfbayes.kernels.exact.graph import elimination_log_z, elimination_sample, needs_logs
from mrfbayes.kernels.exact.graph_binary import binary_tables, elimination_log_z_binary
from mrfbayes.kernels.exact.graph_plan import build_plan, log_z_scratch


@pytest.mark.parametrize("kind", ["binary", "ternary", "mixed"])
@pytest.mark.parametrize("fields", [True, False])
def test_every_connected_graph_up_to_five_nodes(kind, fields):
    graphs = list(oracles.connected_graphs(5))
    assert len(graphs) == 1 + 1 + 2 + 6 + 21
    for number, (n, pairs) in enumerate(graphs):
        # max_low = 1, 4: tables are cut into rows, as they are in large graphs
        check(Problem(pairs, states_of(kind, n), number, fields=fields, max_low=(1, 4, 128)[number % 3]))


def test_any_order_gives_the_same():
    n, pairs = 6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (1, 4)]
    for seed in range(5):
        check(Problem(pairs, 2 + np.arange(n) % 2, 7, order=np.random.default_rng(seed).permutation(n), max_low=4))


def test_components_and_isolated_nodes():
    check(Problem([(0, 1), (1, 2), (0, 2), (4, 5)], [2, 3, 2, 4, 2, 3, 2], 1))
    check(Problem([], [2, 3], 2))
    check(Problem([], [2], 3))


@pytest.mark.parametrize("scale", [30.0, 300.0, 3000.0])
def test_strong_potentials_run_on_logs_when_needed(scale):
    problem = Problem(oracles.grid_pairs(2, 4), np.full(8, 2), 5, scale=scale)
    on_logs = needs_logs(problem.plan, problem.node_table, problem.edge_table, problem.scratch)
    assert on_logs == (scale > 100)
    statistics, log_weights = oracles.categorical_statistics(*problem.tables())
    log_z, mean, _, _ = oracles.derivatives_along(statistics, log_weights, problem.direction)
    got_log_z, got_mean = problem.moments()
    assert got_log_z == pytest.approx(log_z, rel=TOLERANCE)
    # The enumeration itself loses digits to the size of its log weights.
    np.testing.assert_allclose(got_mean, mean, atol=1e-16 * np.abs(log_weights).max() + TOLERANCE)


def test_a_hub_that_two_sides_pull_apart():
    """Leaves favour state 1 by exp(900), the hub's own field state 0 by as much: a scaled table would be (0, 1)."""
    leaves = 30
    pairs = np.stack([np.zeros(leaves, dtype=np.int64), 1 + np.arange(leaves)], axis=1)
    field, coupling = np.full(leaves + 1, 60.0), np.full(leaves, 30.0)
    field[0] = -900.0
    plan = build_plan(pairs, np.full(leaves + 1, 2), np.arange(leaves, -1, -1))
    log_z = elimination_log_z_binary(plan, field, coupling, np.empty(log_z_scratch(plan)))
    sides = [leaves * np.logaddexp(30.0, 60.0), -900.0 + leaves * np.logaddexp(0.0, 90.0)]
    assert log_z == pytest.approx(np.logaddexp(*sides), rel=1e-14)


def test_many_children_do_not_overflow():
    """Each leaf doubles the hub's total: 2^5001 is no double."""
    leaves = 5_000
    pairs = np.stack([np.zeros(leaves, dtype=np.int64), 1 + np.arange(leaves)], axis=1)
    plan = build_plan(pairs, np.full(leaves + 1, 2), np.arange(leaves, -1, -1))
    scratch = np.empty(log_z_scratch(plan))
    for strength in (0.0, 1e-4, 0.5, 50.0):
        coupling = np.full(leaves, strength)
        expected = math.log(2) + leaves * np.logaddexp(0.0, strength)
        table = np.empty(2 * (leaves + 1) + 4 * leaves)
        binary_tables(np.zeros(leaves + 1), coupling, table)
        nodes, edges = table[: 2 * (leaves + 1)], table[2 * (leaves + 1) :]
        assert elimination_log_z_binary(plan, np.zeros(leaves + 1), coupling, scratch) == pytest.approx(
            expected, rel=1e-12
        )
        assert elimination_log_z(plan, nodes, edges, scratch) == pytest.approx(expected, rel=1e-12)


def _binary(pairs, n, seed, scale=1.0, max_low=128):
    rng = np.random.default_rng(seed)
    plan = build_plan(pairs, np.full(n, 2), find_order(pairs, np.full(n, 2)).order, max_low=max_low)
    return plan, scale * rng.normal(size=n), scale * rng.normal(size=len(pairs)), np.empty(log_z_scratch(plan))


def test_binary_kernel_on_every_connected_graph():
    for number, (n, pairs) in enumerate(oracles.connected_graphs(5)):
        for scale in (1.0, 30.0, 1000.0):
            plan, field, coupling, scratch = _binary(pairs, n, number, scale, (1, 4, 128)[number % 3])
            for f in (field, np.zeros(n)):
                expected = oracles.binary_log_z(f, coupling, pairs)
                got = elimination_log_z_binary(plan, f, coupling, scratch)
                assert got == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)


def test_binary_means():
    n, pairs = 6, oracles.grid_pairs(2, 3)
    _, field, coupling, _ = _binary(pairs, n, 3)
    _, node_mean, agreement = GraphRecursion(np.array(pairs), np.full(n, 2)).moments(field, coupling)
    expected = oracles.binary_cumulants(field, coupling, pairs)[0]
    np.testing.assert_allclose(np.concatenate([node_mean, agreement]), expected, rtol=TOLERANCE)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_potential_that_is_no_number_is_not_hidden(bad):
    plan, field, coupling, scratch = _binary(oracles.grid_pairs(3, 3), 9, 1)
    coupling[4] = bad
    assert not math.isfinite(elimination_log_z_binary(plan, field, coupling, scratch))


@pytest.mark.parametrize("shape", [(8, 8), (10, 10), (40, 6), (3, 60)])
def test_grids_against_dense_row_matrices(shape):
    rows, cols = max(shape), min(shape)
    pairs = oracles.grid_pairs(rows, cols)
    plan, field, coupling, scratch = _binary(pairs, rows * cols, rows)
    expected = oracles.grid_log_z_dense(rows, cols, field, coupling)
    assert elimination_log_z_binary(plan, field, coupling, scratch) == pytest.approx(expected, rel=1e-12)


def test_random_regular_graph_against_cotengra():
    import cotengra
    import networkx

    graph = networkx.random_regular_graph(3, 40, seed=3)
    pairs = np.array(graph.edges, dtype=np.int64)
    problem = Problem(pairs, 2 + np.arange(40) % 3, 11)
    node, edge, pairs = problem.tables()
    name = cotengra.get_symbol
    inputs = [[name(i)] for i in range(40)] + [[name(int(u)), name(int(v))] for u, v in pairs]
    weights = [np.exp(t) for t in (*node, *edge)]
    sizes = {name(i): int(r) for i, r in enumerate(problem.states)}
    tree = cotengra.GreedyOptimizer().search(inputs, [], sizes)
    assert problem.log_z() == pytest.approx(float(np.log(tree.contract(weights))), rel=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own wrappers, whenever it loads one
def test_marginals_against_agrum():
    import pyagrum

    problem = Problem(oracles.grid_pairs(6, 6), 2 + np.arange(36) % 2, 4)
    node, edge, pairs = problem.tables()
    network = pyagrum.MarkovRandomField()
    for i, r in enumerate(problem.states):
        network.add(pyagrum.LabelizedVariable(str(i), "", int(r)))
    scopes = [(str(i),) for i in range(36)] + [(str(u), str(v)) for u, v in pairs]
    for scope, table in zip(scopes, (*node, *edge), strict=True):
        factor = pyagrum.Tensor()
        for name in scope:
            factor.add(network.variable(name))
        factor.fillWith(np.exp(table).T.ravel().tolist())  # the first variable runs fastest there
        network.addFactor(factor)
    engine = pyagrum.ShaferShenoyMRFInference(network)
    for scope in scopes[36:]:
        engine.addJointTarget(set(scope))
    engine.makeInference()
    _, mean = problem.moments()
    expected = []
    for scope, table in zip(scopes, (*node, *edge), strict=True):
        marginal = engine.posterior(scope[0]) if len(scope) == 1 else engine.jointPosterior(set(scope))
        values = np.asarray(marginal.toarray())
        expected.append((values if marginal.names[-1] == scope[0] else values.T).reshape(np.shape(table)).ravel())
    np.testing.assert_allclose(mean, np.concatenate(expected), rtol=1e-10)


def _draw(problem, n, seed):
    problem.moments()
    x = np.empty((n, problem.states.size), dtype=np.uint8)
    elimination_sample(problem.plan, problem.joint, kernel_state(seed_sequence(seed), "test"), x)
    return x


def _counts(x, states):
    place = np.append(np.cumprod(states[::-1])[::-1][1:], 1)
    return np.bincount(x @ place, minlength=int(np.prod(states)))


@pytest.mark.parametrize("states", [np.full(6, 2), 2 + np.arange(6) % 3])
def test_samples_follow_the_field(states):
    problem = Problem(oracles.grid_pairs(2, 3), states, 8)
    _, log_weights = oracles.categorical_log_weights(*problem.tables())
    probabilities = np.exp(log_weights - oracles.log_sum_exp(log_weights))
    n = 200_000
    counts = _counts(_draw(problem, n, 21), states)
    assert oracles.chi_square(counts, probabilities) > 1e-6
    # The test has teeth: a field whose first coupling is 0.1 stronger is told apart.
    problem.edge_table[0] += 0.1
    assert oracles.chi_square(_counts(_draw(problem, n, 21), states), probabilities) < 1e-6


def test_samples_are_reproducible_and_prefixes_differ():
    problem = Problem(oracles.grid_pairs(3, 3), np.full(9, 2), 8)
    np.testing.assert_array_equal(_draw(problem, 1000, 1), _draw(problem, 1000, 1))
    assert (_draw(problem, 1000, 1) != _draw(problem, 1000, 2)).any()


def test_samples_of_a_long_strip_have_its_moments():
    problem = Problem(oracles.grid_pairs(60, 4), np.full(240, 2), 9)
    _, mean = problem.moments()
    n = 20_000
    x = _draw(problem, n, 5)
    expected = mean[: problem.plan.node_offset[-1]][1::2]
    z = (x.mean(axis=0) - expected) / np.sqrt(expected * (1 - expected) / n)
    assert np.abs(z).max() < 6.0  # 240 normals: alpha = 5e-7
    assert np.abs((1 - x).mean(axis=0) - expected).max() > 0.1
