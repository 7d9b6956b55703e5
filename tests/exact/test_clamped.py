"""The likelihood of rows with missing cells, and its derivatives, against every completion of every row."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
import oracles
import oracles_missing as brute
from mrfbayes.exact import clamped, quantities
from mrfbayes.exact.clamped import Clamped, observed

COMPLETE = list(itertools.combinations(range(4), 2))
GRID = oracles.grid_pairs(2, 3)
FIELDS = {
    "grid": (mb.grid(2, 3), GRID, "agreement", None),
    "grid with fields": (mb.grid(2, 3, fields=True), GRID, "agreement", [2] * 6),
    "both-one": (mb.graph(COMPLETE, coupling="both-one", fields=True), COMPLETE, "both-one", [2] * 4),
    "ordered": (mb.graph(COMPLETE, states=3, coupling="score", fields=True), COMPLETE, "score", [3] * 4),
    "several numbers of states": (
        mb.graph(COMPLETE, states=[2, 3, 2, 4], coupling="score", fields=True),
        COMPLETE,
        "score",
        [2, 3, 2, 4],
    ),
}


def data(name, share=0.4, n=40):
    model, pairs, coupling, states = FIELDS[name]
    rng = np.random.default_rng(5)
    everything = brute.configurations(model.states)
    rows = brute.hide(everything[rng.integers(len(everything), size=n)], share, rng)
    s = brute.statistics(everything, pairs, coupling, states)
    return model, rows, everything, s


def counted(model, rows):
    return mb.Data(np.where(rows == brute.HOLE, np.nan, rows)).count(model)


@pytest.fixture(params=["enumerated", "eliminated"])
def way(request, monkeypatch):
    if request.param == "eliminated":
        monkeypatch.setattr(clamped, "COMPONENT_STATES", 4)
    return request.param


@pytest.mark.parametrize("name", FIELDS)
def test_value_gradient_and_information_are_those_of_all_completions(name, way):
    model, rows, everything, s = data(name)
    statistics = counted(model, rows)
    found = observed(statistics)
    assert bool(found.clamped.large) == (way == "eliminated")
    w = np.random.default_rng(6).normal(0, 0.7, model.n_parameters)
    value, gradient = found.value_gradient(w, *quantities.moments_w(model, w))
    factor = np.eye(w.size)[:, :3]
    want = brute.derivatives(rows, everything, s, w, factor)
    assert value == pytest.approx(brute.log_likelihood(rows, everything, s, w), abs=1e-9)
    assert gradient == pytest.approx(want[0], abs=1e-10)
    information = found.information(w, quantities.covariance_w(model, w))
    assert information == pytest.approx(want[1], abs=1e-10)
    assert found.clamped.log_z(w) == pytest.approx(found.clamped.moments(w)[0], abs=1e-10)
    # Negative control: with one cell less the likelihood is another one.
    other = rows.copy()
    other[np.flatnonzero((rows != brute.HOLE).sum(axis=1) > 1)[0]] = brute.HOLE
    assert abs(value - brute.log_likelihood(other, everything, s, w)) > 1e-3


@pytest.mark.parametrize("name", ["grid with fields", "ordered"])
def test_third_and_fourth_derivatives_are_those_of_all_completions(name):
    model, rows, everything, s = data(name)
    found = Clamped(model, counted(model, rows).incomplete)
    rng = np.random.default_rng(7)
    w = rng.normal(0, 0.7, model.n_parameters)
    factor = np.tril(rng.normal(0, 0.3, (w.size, w.size))) + np.eye(w.size)
    want = brute.derivatives(rows, everything, s, w, factor)
    third = found.third(w, np.ascontiguousarray(factor.T))
    n = len(rows)
    along = np.array([a[1] for a in quantities.cumulants_along(model, w, np.ascontiguousarray(factor.T))])
    assert third - n * along == pytest.approx(want[2], abs=1e-9)
    fourth = found.fourth(w, factor)
    p = np.exp(s @ w) / np.exp(s @ w).sum()
    t = (s - p @ s) @ factor
    square, covariance = (t**2).sum(axis=1), (t * p[:, None]).T @ t
    whole = (t * (p * (square - p @ square))[:, None]).T @ t - 2 * covariance @ covariance
    assert fourth - n * whole == pytest.approx(factor.T @ want[3] @ factor, abs=1e-8)


def test_equal_components_count_once():
    """On a chain, what is missing at one end has nothing to do with what is missing at the other."""
    model = mb.graph([(0, 1), (1, 2), (2, 3), (3, 4)])
    rows = np.array([[0, 1, 0, 0, 1], [255, 1, 0, 0, 255], [255, 1, 1, 0, 255], [255, 1, 0, 255, 1]])
    found = Clamped(model, counted(model, rows).incomplete).found
    assert len(found.rows) == 3  # 0 beside 1 = 1 (three times), 4 beside 3 = 0 (twice), 3 between 0 and 1
    assert sorted(found.weight.tolist()) == [1, 2, 3]
    assert len(found.row) == 6


def test_too_many_completions_are_refused(monkeypatch):
    model, rows, _, _ = data("grid")
    monkeypatch.setattr(clamped, "MOST_COMPLETIONS", 10)
    with pytest.raises(mb.CostError, match=r"completions .*method='langevin' .*missing='drop'"):
        Clamped(model, counted(model, rows).incomplete)
