"""Elimination kernels against enumeration on every small graph, and against other packages on larger ones."""

from __future__ import annotations

import numpy as np
import pytest

import oracles
from kernels.exact.graph_cases import Problem, check, states_of
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.exact.graph import elimination_sample


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
