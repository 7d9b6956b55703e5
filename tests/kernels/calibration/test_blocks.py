"""Local moments: neighbourhoods, joint draws by regression and third cumulants against dense algebra."""

import numpy as np

import mrfbayes as mb
import oracles
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.planar_passes import kac_ward
from mrfbayes.kernels.base.random import normal
from mrfbayes.kernels.calibration.blocks import (
    block_cubes,
    conditionals,
    count_earlier,
    draw_scores,
    fill_blocks,
    prior_third,
)


def whole_blocks(p):
    """Blocks of all parameters, each one's own first."""
    member = np.concatenate([[j, *np.delete(np.arange(p), j)] for j in range(p)])
    return np.arange(0, p * p + 1, p), member


def test_blocks_hold_what_is_within_a_distance():
    """Edges of a path are as many steps apart as their numbers."""
    n = 8
    scope = np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)
    offset = np.array([0, *range(1, 2 * n, 2), 2 * n])
    parameter = np.concatenate([[0], *([e, e + 1] for e in range(n - 1)), [n - 1]])
    chosen, block_offset = np.array([5, 0]), np.zeros(3, dtype=np.int64)
    arguments = scope, offset, parameter, 2
    assert fill_blocks(*arguments, 5, chosen, block_offset, np.zeros(0, dtype=np.int64))
    assert block_offset.tolist() == [0, 5, 8]
    member = np.zeros(8, dtype=np.int64)
    assert fill_blocks(*arguments, 5, chosen, block_offset, member)
    assert member[0] == 5
    assert member[5] == 0
    assert sorted(member[:5]) == [3, 4, 5, 6, 7]
    assert sorted(member[5:]) == [0, 1, 2]
    assert not fill_blocks(*arguments, 4, chosen, block_offset, member)  # one of five is too large


def test_draws_given_all_earlier_ones_have_the_whole_correlation():
    p, rng = 6, np.random.default_rng(1)
    root = rng.normal(size=(p, 2 * p))
    spread = root @ root.T
    offset, member = whole_blocks(p)
    rows, counts = np.concatenate([spread[j, member[offset[j] : offset[j + 1]]] for j in range(p)]), np.zeros(p, int)
    count_earlier(offset, member, counts)
    assert counts.tolist() == [0, 1, 2, 3, 4, 5]
    start = np.concatenate([[0], np.cumsum(counts)])
    source, weight, residual = np.zeros(start[-1], int), np.zeros(start[-1]), np.zeros(p)
    assert conditionals(offset, member, rows, 0, p, start, source, weight, residual) == 0
    regression = np.zeros((p, p))
    regression[np.repeat(np.arange(p), counts), source] = weight
    factor = np.linalg.inv(np.eye(p) - regression) * residual  # scores = factor times normals
    sd = np.sqrt(np.diag(spread))
    np.testing.assert_allclose(factor @ factor.T, spread / np.outer(sd, sd), atol=1e-12)
    state, out = kernel_state(np.random.SeedSequence(2)), np.empty(p)
    normals = [normal(twin) for twin in [state.copy()] for _ in range(p)]
    draw_scores(start, source, weight, residual, state, out)
    np.testing.assert_allclose(out, factor @ normals, atol=1e-12)


def test_third_order_sums_of_a_prior():
    rng = np.random.default_rng(3)
    offset, member = whole_blocks(4)
    spread, variance, third = rng.normal(size=(4, 4)), rng.uniform(1, 2, size=4), rng.normal(size=4)
    rows = np.concatenate([spread[j, member[offset[j] : offset[j + 1]]] for j in range(4)])
    cube, shift = np.empty(4), np.empty(4)
    prior_third(offset, member, rows, variance, third, cube, shift)
    np.testing.assert_allclose(cube, spread**3 @ third)
    np.testing.assert_allclose(shift, spread @ (variance * third))


def test_cubes_of_a_planar_field_are_those_of_its_third_cumulants():
    """Over distinct edges of a 2 x 3 grid, for a block of all edges and one of four."""
    model, rng = mb.grid(2, 3), np.random.default_rng(4)
    coupling, drawing = rng.normal(size=7), draw(model)
    t = np.tanh(coupling / 2)
    f, matrix = kac_ward(drawing, t)
    green = f.toarray() @ np.linalg.inv(matrix.toarray())
    third = oracles.binary_cumulants(np.zeros(6), coupling, np.asarray(model.edges))[2][6:, 6:, 6:]
    members, v = np.array([*range(7), 5, 1, 6, 2]), rng.normal(size=11)
    cubes = np.empty(2)
    block_cubes(green, drawing.sign * (1 - t * t) / 2, v, members, np.array([0, 7, 11]), cubes)
    for found, block in zip(cubes, (slice(0, 7), slice(7, 11)), strict=True):
        part = third[np.ix_(*[members[block]] * 3)]
        a, b, c = np.indices(part.shape)
        part = np.where((a != b) & (b != c) & (a != c), part, 0.0)
        np.testing.assert_allclose(found, np.einsum("abc,a,b,c->", part, *[v[block]] * 3), atol=1e-12)
