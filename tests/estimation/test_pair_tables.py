"""Tables of all pairs against differences, enumeration and known contacts; alignments."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from estimation.table_cases import simulated, some_table
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.estimation.pair_tables import table_gibbs


def test_gibbs_sweeps_have_the_enumerated_law():
    rng = np.random.default_rng(2)
    q, length, n = 3, 2, 40_000
    offset = np.arange(length + 1) * q
    table = some_table(length, q, [(0, 1)], rng)
    x = (rng.integers(0, q, (n, length)) + offset[:-1]).astype(np.int32)
    table_gibbs(x, offset, table, 20, np.empty(q, np.float32), kernel_state(seed_sequence(3), "x"))
    logs = np.array([table[a, a] + table[b, b] + table[a, b] for a, b in itertools.product(range(3), range(3, 6))])
    p = np.exp(logs - np.logaddexp.reduce(logs))
    seen = np.bincount(3 * x[:, 0] + x[:, 1] - 3, minlength=9)
    square = ((seen - n * p) ** 2 / (n * p)).sum()
    assert square < 45  # chi square of 8 degrees: 4e-7
    assert ((seen - n * p[::-1]) ** 2 / (n * p[::-1])).sum() > 45


@pytest.mark.parametrize("method", ["pseudo", "pcd"])
def test_contacts_are_found(method):
    x, contacts = simulated()
    found = mb.pair_tables(x, method=method, scale=0.3, steps=None if method == "pseudo" else 60, rng=1, progress=False)
    table = found.pairs()
    best = {(int(a), int(b)) for a, b in zip(table["first"][:4], table["second"][:4], strict=True)}
    assert best == set(contacts)
    assert (table["probability"][:4] > 0.99).all()
    assert (table["probability"][4:] > 0.5).sum() <= 2
    block = found.coupling(0, 5)
    np.testing.assert_allclose(block.sum(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(block, found.coupling("5", "0").T, atol=1e-6)
    assert (found.sd(0, 5) < 0.3).all()
    ax = mb.plots.contact_map(found, top=4, min_distance=1)
    assert len(ax.lines[0].get_xdata()) == 4


def test_hundreds_of_states_need_no_square_of_their_parameters():
    x = np.random.default_rng(4).integers(0, 21, (60, 30))
    found = mb.pair_tables(x, steps=2, progress=False)
    assert found.table.shape == (int(found.offset[-1]),) * 2
    assert "PairTables" in repr(found)


def test_bad_arguments_are_named():
    with pytest.raises(mb.InputError, match="method = 'exact'"):
        mb.pair_tables(np.zeros((3, 3), int), method="exact")
    with pytest.raises(mb.InputError, match="scale = 0"):
        mb.pair_tables(np.zeros((3, 3), int), scale=0)


def test_weights_of_rows_count_as_repeated_rows():
    rng = np.random.default_rng(5)
    table = {name: rng.integers(0, 2, 40) for name in "abc"}
    weights = rng.integers(1, 5, 40)
    weighted = mb.pair_tables(mb.Data(table, weights=weights), progress=False)
    repeated = mb.pair_tables(mb.Data({k: v.repeat(weights) for k, v in table.items()}), progress=False)
    assert weighted.n == repeated.n == weights.sum()
    np.testing.assert_allclose(weighted.table, repeated.table, atol=2e-3)
    assert np.abs(weighted.table - mb.pair_tables(mb.Data(table), progress=False).table).max() > 0.02
