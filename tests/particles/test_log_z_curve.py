"""Curves of log Z over the one coupling of a tied field, against enumeration and against the recursions."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.exact.quantities import moments_w
from mrfbayes.particles import log_z_curve as curves
from mrfbayes.particles.log_z_curve import LogZCurve, Region, TiedField

REGION = Region(0.2, 1.0, 0.6, 0.1)


def enumerated(model, w):
    """log Z and E[S] of a small field at every coupling, from all configurations."""
    q = int(model.states[0])
    x = np.array(list(itertools.product(range(q), repeat=model.n_nodes)))
    s = (x[:, model.edges[:, 0]] == x[:, model.edges[:, 1]]).sum(axis=1)
    weights = np.exp(np.multiply.outer(w, s))
    return np.log(weights.sum(axis=1)), weights @ s / weights.sum(axis=1)


def standard_error(curve):
    """Jackknife standard error of E[S] at the points of a sampled curve."""
    others = np.array([other.mean for other in curve.leave_one_out])
    return np.sqrt(len(others) - 1) * others.std(axis=0)


@pytest.fixture
def sampled_only(monkeypatch):
    monkeypatch.setattr(curves, "EXACT_CURVE_SECONDS", 0.0)


@pytest.mark.parametrize(("q", "neighbours"), [(2, 4), (3, 4), (2, 8)])
def test_exact_curve_is_that_of_enumeration(q, neighbours):
    field = TiedField.on_grid(3, 3, q, neighbours)
    curve = curves.log_z_curve(field, REGION)
    w = np.linspace(REGION.low, REGION.high, 23)
    log_z, mean = enumerated(field.model, w)
    assert curve.is_exact
    assert np.abs(curve(w) - log_z).max() < curves.MAX_CURVE_ERROR
    assert np.abs(curve(w, 1) - mean).max() < 0.05


@pytest.mark.parametrize(("q", "low"), [(2, 0.2), (3, 0.2), (3, -0.9)])
def test_sampled_curve_is_within_its_error(sampled_only, q, low, monkeypatch):
    monkeypatch.setattr(curves, "MAX_ROUNDS", 400)
    field = TiedField.on_grid(3, 3, q)
    region = REGION._replace(low=low)
    curve = curves.log_z_curve(field, region, n=30.0)
    log_z, mean = enumerated(field.model, curve.w)
    assert not curve.is_exact
    error = standard_error(curve)
    # The error has seven degrees of freedom; a t distribution with them is below 15 with probability 1 - 1e-6.
    assert (np.abs(curve.mean - mean) < 15 * np.maximum(error, 0.3 * error.max())).all()
    mean_error, sd_error = curve.errors(region.mean, region.sd, 30.0)
    assert mean_error <= curves.MAX_MEAN_ERROR
    assert sd_error <= curves.MAX_SD_ERROR
    assert np.abs(curve.mean - mean).max() < 0.1
    assert np.abs((curve.log_z - curve.log_z[0]) - (log_z - log_z[0])).max() < 0.1
    wrong = enumerated(field.model, curve.w + 0.3)[1]
    assert (np.abs(curve.mean - wrong) > 15 * error.max()).any()


def test_sampled_curve_agrees_with_the_planar_recursion(sampled_only):
    field = TiedField.on_grid(12, 12, 2)
    region = Region(0.7, 1.0, 0.85, 0.05)
    curve = curves.log_z_curve(field, region)
    exact = np.array([moments_w(field.model, np.array([w]))[1][0] for w in curve.w])
    error = standard_error(curve)
    assert (np.abs(curve.mean - exact) < 15 * np.maximum(error, 0.3 * error.max())).all()


def test_a_smaller_grid_tells_about_where_the_curve_is(monkeypatch):
    monkeypatch.setattr(curves, "PILOT_SIDE", 20)
    field = TiedField.on_grid(30, 30, 2)
    assert field.pilot.model.grid_shape == (20, 20)
    rough = curves.pilot_curve(field, 0.0, 1.5)
    exact = np.array([moments_w(field.model, np.array([w]))[1][0] for w in rough.w])
    assert np.abs(rough.mean / exact - 1).max() < 0.02  # the share of edges at the border differs


def test_regions_of_similar_posteriors_are_equal():
    assert Region.around(0.84, 0.04, 0.0, 2.0) == Region.around(0.845, 0.041, 0.0, 2.0)
    cut = Region.around(0.1, 0.04, 0.0, 0.2)
    assert (cut.low, cut.high) == (0.0, 0.2)
    for sd in np.geomspace(0.01, 0.1, 50):
        found = Region.around(0.637, sd, -9.0, 9.0)
        assert 0.84 < found.sd / sd < 1.19
        assert abs(found.mean - 0.637) <= found.sd / 4


def test_errors_are_those_of_the_jackknife():
    w = np.linspace(0, 1, 101)
    slopes, curvatures = np.array([-0.3, 0.1, 0.2]), np.array([2.0, -1.0, -1.0])
    others = [a * w + b * (w - 0.5) ** 2 for a, b in zip(slopes, curvatures, strict=True)]
    curve = LogZCurve(w, 0 * w, 0 * w, tuple(LogZCurve(w, other, np.gradient(other, w)) for other in others))
    mean_error, sd_error = curve.errors(0.5, 0.05, n=2.0)
    # A slope a of log Z moves the mean by n a sd^2, a curvature 2 b of it the sd by the factor 1 - n b sd^2.
    assert mean_error == pytest.approx(np.sqrt(2) * (2 * slopes * 0.05).std(), rel=0.02)
    assert sd_error == pytest.approx(np.sqrt(2) * (2 * curvatures * 0.05**2).std(), rel=0.02)
    assert LogZCurve(w, w, w).errors(0.5, 0.05) == (0.0, 0.0)


def test_neighbours_are_those_of_the_edges():
    field = TiedField(mb.grid(3, 4, tied=True, neighbours=8))
    for node, row in enumerate(field.neighbours):
        expected = {int(a + b - node) for a, b in field.model.edges.tolist() if node in (a, b)}
        assert set(row[row >= 0].tolist()) == expected
