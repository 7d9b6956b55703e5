"""The grid recursion against enumeration and, on long strips, against dense row-to-row matrices."""

import numpy as np
import pytest

import oracles
from mrfbayes.kernels.exact.grid import grid_layout, transfer_moments, transfer_scratch

SMALL = [(1, 1), (1, 2), (1, 7), (6, 1), (2, 2), (2, 3), (3, 2), (4, 2), (2, 5), (3, 3), (3, 4), (4, 3), (5, 2)]
FEWEST_LINES = 1  # block_bytes that keep as few lines at once as the layout allows


def scratch_of(layout, work):
    """Garbage, not zeros: a kernel must not read what it has not written."""
    return np.full(transfer_scratch(layout, work), np.nan)


def random_field(rows, cols, seed, scale=2.0):
    """Unequal fields and couplings of both signs, so that no symmetry hides a mistake."""
    rng = np.random.default_rng([rows, cols, seed])
    pairs = oracles.grid_pairs(rows, cols)
    return scale * rng.normal(size=rows * cols), scale * rng.normal(size=len(pairs)), pairs


def moments(layout, field, coupling):
    node_mean, agree_mean = np.full(len(field), np.nan), np.full(len(coupling), np.nan)
    log_z = transfer_moments(layout, field, coupling, scratch_of(layout, "moments"), node_mean, agree_mean)
    return log_z, node_mean, agree_mean


@pytest.mark.parametrize(("rows", "cols"), [*SMALL, (4, 6), (7, 3)])
def test_layout_names_each_edge_of_the_grid_once(rows, cols):
    layout = grid_layout(rows, cols)
    assert (layout.width, layout.length) == (min(rows, cols), max(rows, cols))
    assert sorted(layout.node) == list(range(rows * cols))
    found = {}
    for t, node in enumerate(layout.node):
        for edge, back in ((layout.along[t], 1), (layout.across[t], layout.width)):
            if edge >= 0:
                found[edge] = tuple(sorted((layout.node[t - back], node)))
    assert [found[e] for e in range(len(found))] == [tuple(p) for p in oracles.grid_pairs(rows, cols)]


@pytest.mark.parametrize(("rows", "cols"), SMALL)
@pytest.mark.parametrize("scale", [0.0, 2.0, 30.0])
def test_log_z_with_fields_is_the_enumerated_one(rows, cols, scale):
    field, coupling, pairs = random_field(rows, cols, 1, scale)
    layout = grid_layout(rows, cols)
    expected = oracles.binary_log_z(field, coupling, pairs)
    assert moments(layout, field, coupling)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("rows", "cols"), SMALL)
@pytest.mark.parametrize("scale", [0.3, 2.0, 10.0])
def test_log_z_without_fields_is_the_enumerated_one(rows, cols, scale):
    _, coupling, pairs = random_field(rows, cols, 2, scale)
    field = np.zeros(rows * cols)
    layout = grid_layout(rows, cols)
    expected = oracles.binary_log_z(field, coupling, pairs)
    assert moments(layout, field, coupling)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("rows", "cols"), [(4, 4), (7, 4), (5, 5), (6, 6), (9, 6), (7, 7), (8, 8), (13, 8), (10, 9)])
@pytest.mark.parametrize("certain", [False, True])
def test_log_z_of_agreement_coins_on_wider_grids(rows, cols, certain):
    """Also where weights next to zero ask for rescaling."""
    pairs = oracles.grid_pairs(rows, cols)
    theta = np.random.default_rng([rows, cols]).uniform(0.05, 0.95, size=len(pairs))
    if certain:
        theta[::3] = 1e-13
        theta[1::3] = 1.0 - 1e-13
    field, coupling = np.zeros(rows * cols), np.log(theta) - np.log1p(-theta)
    expected = oracles.grid_log_z_dense(rows, cols, field, coupling)
    layout = grid_layout(rows, cols)
    assert moments(layout, field, coupling)[0] == pytest.approx(expected, rel=1e-12)


def strip(rows, cols, size, seed):
    """Every coupling and field of the same size, signs at random: as frustrated as can be."""
    rng = np.random.default_rng([rows, cols, seed])
    field = rng.choice([-size, size], size=rows * cols).astype(float)
    coupling = rng.choice([-size, size], size=len(oracles.grid_pairs(rows, cols))).astype(float)
    return field, coupling


@pytest.mark.parametrize(("rows", "cols", "size"), [(500, 5, 30.0), (40, 8, 30.0), (60, 7, 3.0), (300, 3, 0.5)])
def test_long_strips_neither_over_nor_underflow(rows, cols, size):
    field, coupling = strip(rows, cols, size, 7)
    layout = grid_layout(rows, cols)
    for h in (field, np.zeros_like(field)):
        expected = oracles.grid_log_z_dense(rows, cols, h, coupling)
        assert moments(layout, h, coupling)[0] == pytest.approx(expected, rel=1e-12)


def test_500_by_10_strip_of_strong_frustrated_couplings():
    field, coupling = strip(500, 10, 30.0, 3)
    layout = grid_layout(500, 10)
    log_z, node_mean, agree_mean = moments(layout, field, coupling)
    # Zero temperature all but: log Z is the energy of the most probable states plus the log of their number.
    expected_log_weight = field @ node_mean + coupling @ agree_mean
    assert 0.0 < log_z - expected_log_weight < 5000 * np.log(2.0)
    assert np.all((node_mean >= 0.0) & (node_mean <= 1.0 + 1e-12))
    assert np.all((agree_mean >= 0.0) & (agree_mean <= 1.0 + 1e-12))


@pytest.mark.parametrize(("rows", "cols"), [(9, 4), (12, 12)])
def test_transposed_grid_has_the_same_log_z(rows, cols):
    field, coupling, pairs = random_field(rows, cols, 4)
    turned = np.arange(rows * cols).reshape(rows, cols).T.ravel()  # node of the turned grid -> node of the grid
    weight = {tuple(p): w for p, w in zip(pairs.tolist(), coupling, strict=True)}
    coupling_turned = np.array(
        [weight[tuple(sorted((int(turned[u]), int(turned[v]))))] for u, v in oracles.grid_pairs(cols, rows)]
    )
    a, b = grid_layout(rows, cols), grid_layout(cols, rows)
    assert moments(b, field[turned], coupling_turned)[0] == pytest.approx(moments(a, field, coupling)[0], rel=1e-13)


@pytest.mark.parametrize(("rows", "cols"), SMALL)
@pytest.mark.parametrize("block_bytes", [FEWEST_LINES, 2**19])
def test_moments_are_the_enumerated_ones(rows, cols, block_bytes):
    field, coupling, pairs = random_field(rows, cols, 3)
    layout = grid_layout(rows, cols, block_bytes)
    log_z, node_mean, agree_mean = moments(layout, field, coupling)
    probabilities = oracles.binary_probabilities(field, coupling, pairs)
    expected = probabilities @ oracles.binary_statistics(rows * cols, pairs)
    assert log_z == pytest.approx(oracles.binary_log_z(field, coupling, pairs), rel=1e-12)
    np.testing.assert_allclose(np.concatenate([node_mean, agree_mean]), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [10.0, 30.0])
def test_moments_of_strong_fields(scale):
    field, coupling, pairs = random_field(4, 3, 5, scale)
    _, node_mean, agree_mean = moments(grid_layout(4, 3), field, coupling)
    expected = oracles.binary_probabilities(field, coupling, pairs) @ oracles.binary_statistics(12, pairs)
    # Enumeration itself takes the difference of logarithms of a few hundred: 1e-13 relative there.
    np.testing.assert_allclose(np.concatenate([node_mean, agree_mean]), expected, rtol=1e-11)


def test_recomputed_blocks_give_the_moments_of_kept_messages():
    field, coupling, _ = random_field(37, 5, 6)
    kept, recomputed = grid_layout(37, 5, 2**24), grid_layout(37, 5, FEWEST_LINES)
    assert kept.lines_per_block == 37
    assert recomputed.lines_per_block < 5
    assert transfer_scratch(recomputed, "moments") < transfer_scratch(kept, "moments") / 3
    for a, b in zip(moments(kept, field, coupling), moments(recomputed, field, coupling), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_memory_of_wide_and_long_grids_stays_reasonable():
    for rows, cols, limit in ((16, 16, 30e6), (10, 500, 5e6), (20, 20, 500e6)):
        assert 8 * transfer_scratch(grid_layout(rows, cols), "moments") < limit
