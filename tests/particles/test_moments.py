"""Moments: exact ones against enumeration, those from particles in units of their errors, local ones as algebra."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.model.build import graph, grid
from mrfbayes.particles import moments
from mrfbayes.particles import sweeps as particles

UNTIED = ["2x3 grid", "four nodes with fields", "both-one"]


@pytest.fixture(scope="module", params=FIELDS)
def field(request):
    return Enumerated.of(FIELDS[request.param])


def third_by_enumeration(field, w, spread):
    p = field.probabilities(w)
    centred = field.statistics - p @ field.statistics
    projection = centred @ spread
    q = np.sum(centred * projection, axis=1)
    return p @ projection**3, p @ (q[:, None] * projection)


def test_row_statistics_follow_the_definition(field):
    np.testing.assert_array_equal(moments.row_statistics(field.model, field.points), field.statistics)


def test_exact_moments(field):
    w = weak(field.model, 2)
    mean, covariance = field.moments(w)
    found = moments.exact_moments(field.model, w)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-12)
    assert not found.mean_error.any()
    assert not found.covariance_error.any()
    spread = np.linalg.inv(100 * covariance + np.eye(len(mean)))
    cube, mixed = third_by_enumeration(field, w, spread)
    third = moments.exact_third_order(field.model, w, spread)
    np.testing.assert_allclose(third.cube, cube, atol=1e-13)
    np.testing.assert_allclose(third.mixed, mixed, atol=1e-13)


def test_particle_moments_are_right_within_their_errors(field):
    w = weak(field.model, 2)
    mean, covariance = field.moments(w)
    table = moments.row_statistics(field.model, field.draw(w, 20_000, 3))
    found = moments.particle_moments(table)
    assert np.abs((found.mean - mean) / found.mean_error).max() < 5.5
    assert np.abs((found.covariance - covariance) / (found.covariance_error + 1e-12)).max() < 5.5
    spread = np.linalg.inv(100 * covariance + np.eye(len(mean)))
    cube, mixed = third_by_enumeration(field, w, spread)
    third = moments.particle_third_order(table, spread)
    assert np.abs((third.cube - cube) / third.cube_error).max() < 5.5
    assert np.abs((third.mixed - mixed) / third.mixed_error).max() < 5.5
    elsewhere = field.moments(w + 0.3)[0]  # the errors are small enough to tell
    assert np.abs((found.mean - elsewhere) / found.mean_error).max() > 10


def test_blocks_inside_a_grid():
    model = grid(9, 9)
    middle = model.blocks.index("4,4--4,5")
    for distance, size in ((1, 7), (2, 23), (3, 47)):
        blocks = moments.local_blocks(model, distance)
        members = blocks.member[blocks.offset[middle] : blocks.offset[middle + 1]]
        assert members[0] == middle
        assert members.size == np.unique(members).size == size == blocks.largest
    near = moments.local_blocks(graph([("a", "b"), ("b", "c"), ("c", "d")], fields=True), 1)
    names = ("a--b", "b--c", "c--d", "a", "b", "c", "d")
    first = near.member[: near.offset[1]]
    assert {names[j] for j in first} == {"a--b", "b--c", "a", "b"}


@pytest.mark.parametrize("name", UNTIED)
def test_planes_hold_the_statistics(name):
    field = Enumerated.of(FIELDS[name])
    x = field.draw(weak(field.model, 1), 256, 2)
    planes = moments.statistic_planes(field.model, particles.pack(x))
    np.testing.assert_array_equal(planes, moments.row_planes(moments.row_statistics(field.model, x)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", [*UNTIED, "Potts"])
def test_local_moments_with_whole_blocks_are_plain_algebra(name, threads):
    field = Enumerated.of(FIELDS[name])
    w, n, n_particles = weak(field.model, 4), 300.0, 640
    table = field.statistics[np.random.default_rng(5).choice(len(field.points), n_particles, p=field.probabilities(w))]
    known = np.diag(field.moments(w)[1])
    curvature = np.linspace(0.1, 0.5, len(known))
    blocks = moments.local_blocks(field.model, 6)
    found = moments.local_moments(moments.row_planes(table), blocks, n, known, curvature, threads)
    correlation = np.corrcoef(table, rowvar=False)
    information = n * correlation * np.sqrt(np.outer(known, known)) + np.diag(curvature)
    full = np.linalg.inv(information)
    spread = np.zeros_like(full)
    for j in range(len(known)):
        members = blocks.member[blocks.offset[j] : blocks.offset[j + 1]]
        alone = 1 / (information[j, j] * full[j, j])
        adjusted = min(1.0, alone * (n_particles - 1) / (n_particles - members.size))
        spread[j] = full[j] * alone / adjusted
        np.testing.assert_allclose(found.spread[blocks.offset[j] : blocks.offset[j + 1]], spread[j, members], rtol=1e-9)
    np.testing.assert_allclose(found.variance, np.diag(spread), rtol=1e-9)
    third = moments.particle_third_order(table, spread.T)
    scale = np.abs(third.cube).max()
    np.testing.assert_allclose(found.third.cube, third.cube, atol=1e-4 * scale)
    np.testing.assert_allclose(found.third.mixed, third.mixed, atol=2e-4 * np.abs(third.mixed).max())
    np.testing.assert_allclose(found.third.cube_error, third.cube_error, rtol=1e-3)
    np.testing.assert_allclose(found.third.mixed_error, third.mixed_error, rtol=1e-2)
    assert found.indefinite == 0


def test_local_moments_approach_the_full_inverse():
    model = grid(4, 4)
    w = np.random.default_rng(7).uniform(0.0, 1.3, model.n_parameters)
    n, theta = 500.0, model.chart.theta(w)
    exact = moments.exact_moments(model, w)
    spread = np.linalg.inv(n * exact.covariance + np.diag(2 * theta * (1 - theta)))
    chains = moments.particles_at(model, w, 1 << 16, 200, seed_sequence(8))
    planes = moments.planes_of(model, chains)
    known = exact.mean * (1 - exact.mean)
    third = moments.exact_third_order(model, w, spread)
    errors = []
    for distance in (1, 2, 3):
        found = moments.local_moments(planes, moments.local_blocks(model, distance), n, known, 2 * theta * (1 - theta))
        errors.append(np.sqrt(np.mean((found.variance / np.diag(spread) - 1) ** 2)))
    assert errors[0] > 0.02  # one step is too near to be right
    assert errors[2] < 0.01
    assert errors[2] < 3 * np.sqrt(np.mean(found.variance_error**2))
    assert np.abs((found.third.cube - third.cube) / found.third.cube_error).max() < 5.5
    assert np.abs((found.third.mixed - third.mixed) / found.third.mixed_error).max() < 5.5


def test_errors_say_what_to_do():
    with pytest.raises(InputError, match="distance = 0: give a whole number, at least 1"):
        moments.local_blocks(grid(2, 2), 0)
    with pytest.raises(CostError, match="not tied and are no scores: use particle_moments"):
        moments.local_blocks(grid(2, 2, tied=True))
    with pytest.raises(CostError, match="blocks at distance 2 have more than 400 parameters"):
        moments.local_blocks(graph([(i, j) for i in range(40) for j in range(i)]))
    with pytest.raises(InputError, match="100 particles: planes hold a multiple of 64"):
        moments.row_planes(np.zeros((100, 3)))
    with pytest.raises(InputError, match="1 particles have no covariance"):
        moments.particle_moments(np.zeros((1, 3)))
    with pytest.raises(CostError, match="a covariance of 2001 statistics"):
        moments.particle_moments(np.zeros((5, 2001)))
