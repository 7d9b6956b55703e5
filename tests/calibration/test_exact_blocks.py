"""Moments of planar fields through windows against whole covariances and third cumulants of the same fields."""

import numpy as np
import pytest

import mrfbayes as mb
import oracles_planar
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.calibration import exact_blocks, full
from mrfbayes.calibration.exact_blocks import choose_distance, exact_moments, sees_windows
from mrfbayes.calibration.local import calibrate_locally
from mrfbayes.exact import choice
from mrfbayes.exact import quantities as exact
from mrfbayes.methods.problem import Problem
from mrfbayes.priors import Prior

MODELS = {
    "grid": mb.grid(6, 7),
    "triangulation": mb.graph(oracles_planar.delaunay_pairs(20, 0.8, np.random.default_rng(4))[1], nodes=range(21)),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_window_that_holds_everything_is_exact(kind, monkeypatch):
    model = MODELS[kind]
    w, n = np.random.default_rng(3).normal(0.5, 0.7, size=model.n_parameters), 300.0
    curvature = 0.5 / np.cosh(w / 2) ** 2
    spread = np.linalg.inv(n * exact.covariance_w(model, w) + np.diag(curvature))
    cube, mixed = exact.third_order_w(model, w, spread)
    monkeypatch.setattr(exact_blocks, "tile_side", lambda distance: 100)
    monkeypatch.setattr(exact_blocks, "MOST_TRIPLED", 1000)
    found, cut = exact_moments(model, w, n, curvature, 2)
    assert cut == 0
    np.testing.assert_allclose(found.variance, np.diag(spread), rtol=1e-12)
    blocks = found.blocks
    rows = [spread[j, blocks.member[blocks.offset[j] : blocks.offset[j + 1]]] for j in range(w.size)]
    np.testing.assert_allclose(found.covariance_rows, np.concatenate(rows), rtol=1e-10, atol=1e-12 * spread.max())
    np.testing.assert_allclose(found.cube, cube, atol=1e-11 * np.abs(cube).max())
    np.testing.assert_allclose(found.mixed, mixed, atol=1e-11 * np.abs(mixed).max())


def test_windows_see_the_whole_field_and_leave_out_little():
    """Sds within 2e-4, third cumulants and shifts within a hundredth of their size."""
    model = mb.grid(13, 17)
    w, n = np.random.default_rng(5).uniform(-0.5, 1.3, size=model.n_parameters), 200.0
    curvature = 0.5 / np.cosh(w / 2) ** 2
    spread = np.linalg.inv(n * exact.covariance_w(model, w) + np.diag(curvature))
    cube, mixed = exact.third_order_w(model, w, spread)
    found, cut = exact_moments(model, w, n, curvature, 2)
    assert cut == 0
    np.testing.assert_allclose(found.variance, np.diag(spread), rtol=4e-4)
    assert np.abs(found.cube - cube).max() < 0.01 * np.abs(cube).max()
    assert np.abs(found.mixed - mixed).max() < 0.01 * np.abs(mixed).max()
    assert choose_distance(model, w, n, curvature) == (2, pytest.approx(0.0, abs=exact_blocks.WORTHWHILE))
    strong = np.full(w.size, 1.2)
    assert choose_distance(model, strong, n, curvature)[0] == 3


def test_what_has_windows():
    assert sees_windows(mb.grid(40, 40))
    assert not sees_windows(mb.grid(4, 4))  # tables are quicker
    assert not sees_windows(mb.grid(40, 40, tied=True))
    assert not sees_windows(mb.grid(40, 40, fields=True))


@pytest.fixture
def problem(monkeypatch):
    """A field whose exact calibration by tables is quick, as though there were no tables."""
    model = mb.grid(9, 9)
    theta = np.random.default_rng(2).uniform(0.5, 0.8, size=model.n_parameters)
    statistics = mb.Data(mb.simulate(model, theta, 400, rng=3, progress=False)).count(model)
    known = full.calibrate(
        Problem(model, statistics, Prior(model, "uniform"), seed_sequence(1), progress=False), "order"
    )
    monkeypatch.setattr(choice, "_tables", lambda model, work: None)
    monkeypatch.setattr(full, "PROPOSAL_CELLS", 0.0)
    fresh = mb.grid(9, 9)
    return Problem(fresh, statistics, Prior(fresh, "uniform"), seed_sequence(1), progress=False), known


def test_coins_through_windows_are_those_of_the_whole_expansion(problem):
    problem, known = problem
    for found in (calibrate_locally(problem, "exact", None), full.calibrate_proposals(problem)):
        np.testing.assert_allclose(found.joint.moments()[0], known.joint.moments()[0], atol=1e-3 * 0.02)
        np.testing.assert_allclose(found.joint.moments()[1], known.joint.moments()[1], rtol=1e-3)
        assert found.sd_error is None
    assert found.details["moments"] == "windows"
