"""Counts and patterns of planes and columns against NumPy."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.data.patterns import row_words
from mrfbayes.kernels.data.counting import (
    column_counts,
    column_patterns,
    gather_codes,
    plane_counts,
    plane_patterns,
    transpose_block,
)


def rows_of(model, n, seed=1):
    return np.random.default_rng(seed).integers(0, model.states, size=(n, model.n_nodes)).astype(np.uint8)


def bits(words):
    """(k, 64) bits of words, the lowest first."""
    return (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)


def test_a_block_of_bits_is_transposed():
    block = np.random.default_rng(2).integers(0, 2**64, 64, dtype=np.uint64)
    turned = block.copy()
    transpose_block(turned)
    np.testing.assert_array_equal(bits(turned), bits(block).T)


def test_codes_have_the_bit_of_each_node_in_its_place():
    x = np.random.default_rng(3).integers(0, 2, size=(130, 5)).astype(np.uint8)
    planes, nodes, block = row_words(np.ascontiguousarray(x.T)), np.array([4, 0, 2]), np.zeros(64, np.uint64)
    for word in range(3):
        gather_codes(planes, nodes, word, block)
        part = x[64 * word : 64 * word + 64]
        np.testing.assert_array_equal(block[: len(part)], part[:, nodes] @ np.array([1, 2, 4]))


@pytest.mark.parametrize("weighted", [False, True])
def test_planes_have_the_ones_and_agreements_of_the_rows(weighted):
    model = mb.grid(2, 3, fields=True)
    x = rows_of(model, 131)  # the last word is not full
    weight = np.random.default_rng(4).random(131) if weighted else np.zeros(0)
    amount = weight if weighted else np.ones(131)
    ones, agree = np.full(6, 10.0), np.full(model.n_edges, 20.0)
    pairs = model.lowering.pairs
    plane_counts(row_words(np.ascontiguousarray(x.T)), 131, weight, pairs, ones, agree)
    np.testing.assert_allclose(ones, 10 + amount @ x)
    np.testing.assert_allclose(agree, 20 + amount @ (x[:, pairs[:, 0]] == x[:, pairs[:, 1]]))


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_of_columns_are_those_of_two_way_tables(weighted):
    model = mb.graph([(0, 1), (2, 1)], states=[2, 3, 4], coupling="score", fields=True)
    x, lowering = rows_of(model, 70), model.lowering
    weight = np.random.default_rng(5).random(70) if weighted else np.zeros(0)
    amount = weight if weighted else np.ones(70)
    nodes, edges = np.zeros(9), np.zeros(6 + 12)
    places = (lowering.states, lowering.pairs, lowering.node_offset, lowering.edge_offset)
    column_counts(np.ascontiguousarray(x.T), weight, *places, nodes, edges)
    np.testing.assert_allclose(
        nodes, np.concatenate([np.bincount(x[:, i], amount, r) for i, r in enumerate((2, 3, 4))])
    )
    for e, (u, v) in enumerate(lowering.pairs.tolist()):
        table = np.zeros((model.states[u], model.states[v]))
        np.add.at(table, (x[:, u], x[:, v]), amount)
        np.testing.assert_allclose(edges[lowering.edge_offset[e] :][: table.size], table.ravel())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_leaves", [3, 8])
def test_patterns_of_planes_are_those_of_columns_and_of_bincount(weighted, n_leaves):
    """Eight neighbours are more than masks are made for."""
    model = mb.graph([(0, k) for k in range(1, n_leaves + 1)])
    x = rows_of(model, 150)
    weight = np.random.default_rng(6).random(150) if weighted else np.zeros(0)
    offset, neighbour, _ = model.adjacency
    starts = np.concatenate([[0], np.cumsum(2 ** np.diff(offset))])
    by_planes, by_columns = np.zeros(starts[-1]), np.zeros(starts[-1])
    columns = np.ascontiguousarray(x.T)
    plane_patterns(row_words(columns), 150, weight, offset, neighbour, starts, by_planes)
    column_patterns(columns, weight, model.states, offset, neighbour, starts, by_columns)
    np.testing.assert_allclose(by_planes, by_columns)
    near = neighbour[: offset[1]]
    codes = x[:, near].astype(int) @ (1 << np.arange(n_leaves))
    expected = np.bincount(codes, weight if weighted else None, minlength=2**n_leaves)
    np.testing.assert_allclose(by_planes[: 2**n_leaves], expected)
