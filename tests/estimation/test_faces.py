"""Couplings and curvature from the short faces of planar fields."""

from dataclasses import replace

import numpy as np
import pytest

from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.estimate import estimate
from mrfbayes.estimation.faces import Faces
from mrfbayes.estimation.newton import ExactObjective
from mrfbayes.estimation.optimise import lbfgs
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.quantities import covariance_w, moments_w
from mrfbayes.model.build import graph, grid
from mrfbayes.particles.simulate import simulate

TRIANGLE, SQUARE = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 3), (3, 0)]


@pytest.mark.parametrize("edges", [TRIANGLE, SQUARE, [*SQUARE, (3, 4)]])
def test_a_face_alone_is_exact(edges):
    model = graph(edges)
    w = np.random.default_rng(1).normal(0.3, 0.8, len(edges))
    _, mean = moments_w(model, w)
    faces = Faces(draw(model))
    np.testing.assert_allclose(faces.log_odds(mean, 0.7), w, atol=1e-5)
    covariance = covariance_w(model, w)
    spread = np.sqrt(np.diag(covariance))
    inverse = np.linalg.inv(covariance / np.outer(spread, spread))
    found = faces.inverse_correlations(mean, np.ones(len(edges))).toarray()
    np.testing.assert_allclose(found + np.eye(len(edges)), inverse, atol=1e-5)


def test_faces_of_a_grid_are_its_squares():
    model = grid(5, 7)
    (found,) = Faces(draw(model)).groups
    assert found.shape == (4 * 6, 4)
    for edges in model.edges[found]:
        assert len(np.unique(edges)) == 4


def test_faces_of_a_tree_and_of_lone_nodes():
    model = graph([(0, 1), (1, 2), (1, 3)], nodes=range(5))
    faces = Faces(draw(model))
    assert all(len(group) == 0 for group in faces.groups)
    np.testing.assert_allclose(faces.log_odds(np.full(3, 0.75), 0.7), np.log(3.0))


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.8), (0.02, 0.98), (0.9, 0.999)])
def test_the_rough_curvature_is_positive_definite(low, high):
    model = grid(16, 16)
    theta = np.random.default_rng(3).uniform(low, high, model.n_edges)
    _, mean = moments_w(model, np.log(theta / (1 - theta)))
    among = Faces(draw(model)).inverse_correlations(mean, np.ones(model.n_edges)).toarray()
    assert np.linalg.eigvalsh(among + np.eye(model.n_edges)).min() > 0


def field_statistics(model, low, high, n=1_000):
    """Counts near the expected ones: a maximum that is known to exist, away from the start."""
    theta = np.random.default_rng(7).uniform(low, high, model.n_edges)
    _, mean = moments_w(model, np.log(theta / (1 - theta)))
    return Statistics.from_counts(model, np.round(n * mean), n)


@pytest.mark.parametrize(("low", "high", "most"), [(0.5, 0.8, 10), (0.2, 0.8, 10), (0.6, 0.9, 80)])
def test_exact_estimates_take_few_steps(low, high, most):
    """By the diagonal alone they take 22, 24 and 123."""
    model = grid(32, 32)
    stats = field_statistics(model, low, high)
    found = estimate(model, stats, algorithm="exact", progress=False)
    assert found.converged
    assert found.iterations <= most
    _, mean = moments_w(model, found.log_odds)
    assert np.abs(stats.counts - stats.n * mean).max() < 1e-5 * np.sqrt(stats.n)


@pytest.mark.filterwarnings("ignore:.* missing cells:mrfbayes.MRFWarning")
def test_missing_cells_on_a_planar_field_that_no_table_holds():
    model, rng = grid(24, 24), np.random.default_rng(5)
    x = simulate(model, rng.uniform(0.5, 0.8, model.n_edges), 60, sampler="exact", rng=1, progress=False).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    found = estimate(model, Data(x).count(model), prior="uniform", progress=False)
    assert found.method == "exact"
    assert found.converged


def test_an_ascent_that_fails_by_faces_begins_again_without_them():
    model = grid(12, 12)
    x = simulate(model, np.full(model.n_parameters, 0.65), 400, rng=0)
    objective = ExactObjective(model, Data(x).count(model), None)
    assert objective.faces is not None
    starts = []

    def fails_by_faces(objective, w, **settings):
        starts.append(w)
        return replace(lbfgs(objective, w, **settings), converged=objective.faces is None)

    found = objective.climb(fails_by_faces)
    assert found.converged
    assert len(starts) == 2
    assert not np.array_equal(*starts)  # the second start knows nothing of the faces
    np.testing.assert_allclose(found.w, ExactObjective(model, Data(x).count(model), None).climb(lbfgs).w, atol=1e-6)
