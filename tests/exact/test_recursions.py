"""Recursions by tables against enumeration, differences and each other; refusals."""

import copy

import numpy as np
import pytest

import mrfbayes as mb
import oracles
from mrfbayes.exact import recursions
from mrfbayes.exact.recursions import (
    GraphRecursion,
    GridRecursion,
    TooLarge,
    check_memory,
    model_tables,
    ranges,
    refused,
)


def test_binary_means():
    n, pairs = 6, oracles.grid_pairs(2, 3)
    rng = np.random.default_rng(3)
    field, coupling = rng.normal(size=n), rng.normal(size=len(pairs))
    _, node_mean, agreement = GraphRecursion(np.array(pairs), np.full(n, 2)).moments(field, coupling)
    expected = oracles.binary_cumulants(field, coupling, pairs)[0]
    np.testing.assert_allclose(np.concatenate([node_mean, agreement]), expected, rtol=1e-12)


def test_a_refusal_survives_the_way_between_processes():
    error = copy.copy(TooLarge("log_z", 40, 2**44, complete=False))  # by the same protocol
    assert isinstance(error, mb.CostError)
    assert (error.width, error.n_bytes, error.complete) == (40, 2**44, False)
    assert "width 40 or more in every order tried" in str(error)


def test_ranges_follow_one_another():
    start, count = np.array([5, 0, 9]), np.array([2, 3, 0])
    assert ranges(start, count).tolist() == [5, 6, 0, 1, 2]
    assert ranges(start[:0], count[:0]).size == 0


@pytest.mark.parametrize("states", [2, 3])
def test_derivatives_along_a_direction_are_those_of_the_moments(states):
    """Of all statistics, by differences of the expected ones."""
    model = mb.grid(2, 3, states=states, fields=True)
    found = GridRecursion(model) if states == 2 else GraphRecursion(model.edges, model.states)
    rng, step = np.random.default_rng(4), 1e-4
    parts = model.lowering.potentials(rng.normal(size=model.n_parameters))
    sizes = [part.size for part in parts]
    along = rng.normal(size=(2, sum(sizes)))

    def moments(direction, h):
        moved = np.split(np.concatenate(parts) + h * direction, [sizes[0]])
        return np.concatenate(found.moments(*moved)[1:])

    for direction, (first, second) in zip(along, found.series(*parts, iter(along), 2), strict=True):
        ahead, here, behind = (moments(direction, h) for h in (step, 0.0, -step))
        np.testing.assert_allclose(first, (ahead - behind) / (2 * step), atol=1e-7)
        np.testing.assert_allclose(second, (ahead - 2 * here + behind) / step**2, atol=1e-6)


@pytest.mark.parametrize("strength", [1.0, 400.0])
def test_a_grid_node_by_node_is_the_grid_by_elimination(strength):
    """Also where the sweep would underflow and leaves the work to elimination."""
    model, rng = mb.grid(3, 4, fields=True), np.random.default_rng(5)
    parts = [strength * part for part in (rng.normal(size=12), rng.normal(size=17))]
    log_z, nodes, edges = GridRecursion(model).moments(*parts)
    mean = oracles.binary_cumulants(*parts, np.asarray(model.edges))[0]
    assert log_z == pytest.approx(oracles.binary_log_z(*parts, np.asarray(model.edges)), rel=1e-13)
    np.testing.assert_allclose(np.concatenate([nodes, edges]), mean, atol=1e-12)
    assert GridRecursion(model).log_z(*parts) == pytest.approx(log_z, rel=1e-13)


def test_tables_of_a_binary_model_are_those_of_its_fields_and_couplings():
    model = mb.graph([(0, 1), (1, 2)], fields=True)
    w = np.random.default_rng(6).normal(size=model.n_parameters)
    field, coupling = model.lowering.potentials(w)
    nodes, edges = model_tables(model, w)
    np.testing.assert_array_equal(nodes.reshape(3, 2), np.stack([np.zeros(3), field], axis=1))
    np.testing.assert_array_equal(edges.reshape(2, 2, 2), coupling[:, None, None] * np.eye(2))


def test_work_past_the_limit_is_refused_with_the_alternative_of_the_caller(monkeypatch):
    found = GraphRecursion(np.array([(0, 1), (1, 2)]), np.full(3, 2))
    check_memory(found, "sample", 100)
    monkeypatch.setattr(recursions, "memory_limit", lambda: found.n_bytes("sample", 100) - 1)
    with pytest.raises(TooLarge, match=r"exact sampling needs .*treewidth 1") as caught:
        check_memory(found, "sample", 100)
    assert caught.value.n_bytes == found.n_bytes("sample", 100)
    with pytest.raises(mb.CostError, match=r"exact sampling .*: draw fewer\."), refused("draw fewer"):
        check_memory(found, "sample", 100)
