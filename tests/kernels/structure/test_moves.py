"""Tables of blocks against NumPy, the prior of one more edge, and batches that grow with the run."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.kernels.structure import moves
from mrfbayes.kernels.structure.moves import KeptSweeps, SearchState, finish_sweep, multiply_pair, pair_marginal
from structure.move_cases import search_parts


@pytest.mark.parametrize("shape", [(2, 3, 2, 2, 1), (3, 2, 1, 3, 4), (1, 2, 5, 3, 2)])
def test_cells_of_two_nodes_are_those_of_the_table(shape):
    rng = np.random.default_rng(1)
    table, factor = rng.random(shape), rng.random((shape[1], shape[3]))
    cells, flat = np.zeros(shape[1] * shape[3]), table.ravel().copy()
    pair_marginal(flat, *shape, cells)
    np.testing.assert_allclose(cells.reshape(shape[1], shape[3]), table.sum(axis=(0, 2, 4)))
    multiply_pair(flat, *shape, factor.ravel())
    np.testing.assert_allclose(flat.reshape(shape), table * factor[None, :, None, :, None])


def test_prior_odds_of_an_edge_are_those_of_both_graphs():
    """Of four edges, given how many of the others are there."""
    rows = np.random.default_rng(1).integers(0, 2, (9, 4))
    parts = search_parts(mb.grid(2, 2), rows, edges="beta-bernoulli(1, 4)")
    prior = parts.problem.graphs
    for others in range(4):
        absent = np.arange(4) < others
        present = np.arange(4) <= others
        expected = prior.log_probability(present) - prior.log_probability(absent)
        assert moves.log_odds_of_presence(parts.moves, others) == pytest.approx(expected, abs=1e-12)


def test_batches_are_joined_when_they_are_full():
    """Eleven sweeps into four batches: of the length 1, then 2, then 4."""
    state = SearchState(
        w=np.arange(6.0).reshape(2, 3),
        present=np.ones(2, dtype=np.uint8),
        centre=np.zeros((2, 3)),
        batches=np.zeros((4, 2)),
        absent=np.zeros(2),
        moments=np.zeros((2, 2, 3)),
        sizes=np.zeros(3, dtype=np.int64),
        numbers=np.array([-7.5]),
        counters=np.array([0, 1, 0, 0, 0, 1]),
        random=np.zeros(4, dtype=np.uint64),
    )
    kept = KeptSweeps(np.zeros((6, 6)), np.zeros(6), 0)
    values = np.arange(1.0, 12)
    finish_sweep(state, False, 3, kept)  # warm-up
    for value in values:
        state.batches[state.counters[moves.BATCH_ROW]] += value
        state.numbers[0] = value
        finish_sweep(state, True, 3, kept)
    assert state.counters[moves.SWEEP] == 12
    assert state.counters[moves.BATCH_LENGTH] == 4
    np.testing.assert_array_equal(state.batches[:, 1], [values[:4].sum(), values[4:8].sum(), values[8:].sum(), 0])
    assert state.sizes.tolist() == [0, 11, 0]
    assert state.counters[moves.KEPT_GRAPHS] == 3
    np.testing.assert_array_equal(kept.log_likelihood[:4], [3, 6, 9, 0])  # every third sweep
    np.testing.assert_array_equal(kept.w[2], np.arange(6.0))
