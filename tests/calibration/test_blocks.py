"""Local moments: blocks, planes, spreads and third-order sums, as algebra and against exact ones."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration import blocks as local
from mrfbayes.exact.quantities import covariance_w, moments_w, third_order_w
from mrfbayes.model.build import graph, grid
from mrfbayes.particles import moments
from mrfbayes.particles import sweeps as particles

UNTIED = ["2x3 grid", "four nodes with fields", "both-one"]


def third_sums(table, spread):
    """E[P^3] and E[Q P] of independent particles with statistics ``table`` (N, p), and their standard errors."""
    centred = table - table.mean(axis=0)
    projection = centred @ spread
    q = np.sum(centred * projection, axis=1)
    mixed = (q - q.mean())[:, None] * projection
    root = np.sqrt(len(table))
    cube = projection**3
    return (cube.mean(axis=0), mixed.mean(axis=0)), (cube.std(axis=0) / root, mixed.std(axis=0) / root)


def test_blocks_inside_a_grid():
    model = grid(9, 9)
    middle = model.blocks.index("4,4--4,5")
    for distance, size in ((1, 7), (2, 23), (3, 47)):
        blocks = local.local_blocks(model, distance)
        members = blocks.member[blocks.offset[middle] : blocks.offset[middle + 1]]
        assert members[0] == middle
        assert members.size == np.unique(members).size == size == blocks.largest
    near = local.local_blocks(graph([("a", "b"), ("b", "c"), ("c", "d")], fields=True), 1)
    names = ("a--b", "b--c", "c--d", "a", "b", "c", "d")
    first = near.member[: near.offset[1]]
    assert {names[j] for j in first} == {"a--b", "b--c", "a", "b"}


@pytest.mark.parametrize("name", UNTIED)
def test_planes_hold_the_statistics(name):
    field = Enumerated.of(FIELDS[name])
    x = field.draw(weak(field.model, 1), 256, 2)
    planes = local.statistic_planes(field.model, particles.pack(x))
    np.testing.assert_array_equal(planes, local.row_planes(moments.row_statistics(field.model, x)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", [*UNTIED, "Potts"])
def test_local_moments_with_whole_blocks_are_plain_algebra(name, threads):
    field = Enumerated.of(FIELDS[name])
    w, n, n_particles = weak(field.model, 4), 300.0, 640
    table = field.statistics[np.random.default_rng(5).choice(len(field.points), n_particles, p=field.probabilities(w))]
    known = np.diag(field.moments(w)[1])
    curvature = np.linspace(0.1, 0.5, len(known))
    blocks = local.local_blocks(field.model, 6)
    found = local.local_moments(local.row_planes(table), blocks, n, known, curvature, threads)
    correlation = np.corrcoef(table, rowvar=False)
    information = n * correlation * np.sqrt(np.outer(known, known)) + np.diag(curvature)
    full = np.linalg.inv(information)
    spread = np.zeros_like(full)
    for j in range(len(known)):
        members = blocks.member[blocks.offset[j] : blocks.offset[j + 1]]
        alone = 1 / (information[j, j] * full[j, j])
        adjusted = min(1.0, alone * (n_particles - 1) / (n_particles - members.size))
        spread[j] = full[j] * alone / adjusted
        np.testing.assert_allclose(
            found.covariance_rows[blocks.offset[j] : blocks.offset[j + 1]], spread[j, members], rtol=1e-9
        )
    np.testing.assert_allclose(found.variance, np.diag(spread), rtol=1e-9)
    (cube, mixed), _ = third_sums(table, spread.T)
    np.testing.assert_allclose(found.cube, cube, atol=1e-4 * np.abs(cube).max())
    np.testing.assert_allclose(found.mixed, mixed, atol=2e-4 * np.abs(mixed).max())
    assert found.indefinite == 0


def test_local_moments_approach_the_full_inverse():
    model = grid(4, 4)
    w = np.random.default_rng(7).uniform(0.0, 1.3, model.n_parameters)
    n, theta = 500.0, model.chart.theta(w)
    mean = moments_w(model, w)[1]
    spread = np.linalg.inv(n * covariance_w(model, w) + np.diag(2 * theta * (1 - theta)))
    chains = moments.particles_at(model, w, 1 << 16, 200, seed_sequence(8))
    planes = local.planes_of(model, chains)
    known = mean * (1 - mean)
    cube, mixed = third_order_w(model, w, spread)
    errors = []
    for distance in (1, 2, 3):
        found = local.local_moments(planes, local.local_blocks(model, distance), n, known, 2 * theta * (1 - theta))
        errors.append(np.sqrt(np.mean((found.variance / np.diag(spread) - 1) ** 2)))
    assert errors[0] > 0.02  # one step is too near to be right
    assert errors[2] < 0.01
    assert errors[2] < 3 * np.sqrt(np.mean(found.variance_error**2))
    _, (cube_error, mixed_error) = third_sums(moments.row_statistics(model, chains.rows()), spread)
    assert np.abs((found.cube - cube) / cube_error).max() < 5.5
    assert np.abs((found.mixed - mixed) / mixed_error).max() < 5.5


def test_errors_say_what_to_do():
    with pytest.raises(InputError, match="distance = 0: give a whole number, at least 1"):
        local.local_blocks(grid(2, 2), 0)
    with pytest.raises(CostError, match=r"no scores.*method='mle' or 'pseudo'"):
        local.local_blocks(grid(2, 2, tied=True))
    with pytest.raises(CostError, match=r"distance 2 .*400 parameters"):
        local.local_blocks(graph([(i, j) for i in range(40) for j in range(i)]))
    with pytest.raises(InputError, match="100 particles: planes hold a multiple of 64"):
        local.row_planes(np.zeros((100, 3)))
