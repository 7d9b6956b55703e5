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
def test_sampled_curve_is_within_its_error(sampled_only, q, low):
    field = TiedField.on_grid(3, 3, q)
    region = REGION._replace(low=low)
    curve = curves.log_z_curve(field, region, max_shift=0.002)
    log_z, mean = enumerated(field.model, curve.w)
    assert not curve.is_exact
    # The error has seven degrees of freedom; a t distribution with them is below 15 with probability 1 - 1e-6.
    assert (np.abs(curve.mean - mean) < 15 * np.maximum(curve.error, 0.3 * curve.error.max())).all()
    assert curve.shift(region.mean, region.sd) <= 0.002
    assert np.abs(curve.mean - mean).max() < 0.1
    assert np.abs((curve.log_z - curve.log_z[0]) - (log_z - log_z[0])).max() < 0.1
    wrong = enumerated(field.model, curve.w + 0.3)[1]
    assert (np.abs(curve.mean - wrong) > 15 * curve.error.max()).any()


def test_sampled_curve_agrees_with_the_planar_recursion(sampled_only):
    field = TiedField.on_grid(12, 12, 2)
    region = Region(0.7, 1.0, 0.85, 0.05)
    curve = curves.log_z_curve(field, region)
    exact = np.array([moments_w(field.model, np.array([w]))[1][0] for w in curve.w])
    assert (np.abs(curve.mean - exact) < 15 * np.maximum(curve.error, 0.3 * curve.error.max())).all()
    assert curve.shift(0.85, 0.05) <= curves.MAX_SHIFT_SD


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


def test_shift_weighs_errors_by_the_posterior():
    w = np.linspace(0, 1, 101)
    curve = LogZCurve(w, w, w, np.where(w > 0.9, 100.0, 2.0))
    assert curve.shift(0.3, 0.05) == pytest.approx(0.1)
    assert curve.shift(0.9, 0.05) > 1


def test_neighbours_are_those_of_the_edges():
    field = TiedField(mb.grid(3, 4, tied=True, neighbours=8))
    for node, row in enumerate(field.neighbours):
        expected = {int(a + b - node) for a, b in field.model.edges.tolist() if node in (a, b)}
        assert set(row[row >= 0].tolist()) == expected
