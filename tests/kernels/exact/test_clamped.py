"""Sums over the missing cells of rows against loops over all their configurations."""

import itertools

import numpy as np
import pytest

from frequencies import ALPHA, chi_square_p
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.kernels.exact.clamped import (
    MissingComponents,
    clamped_draw,
    clamped_log_z,
    clamped_moments,
    clamped_sampled,
    clamped_series,
    component_projections,
)

N_CELLS = 40


@pytest.fixture
def components():
    """A path of nodes with 2, 3 and 2 states, of which the third also joins the first, and a node of 3 states alone."""
    return MissingComponents(
        weight=np.array([2.0, 5.0]),
        start=np.array([0, 3, 4]),
        states=np.array([2, 3, 2, 3]),
        term_start=np.array([0, 2, 3, 4, 6]),
        terms=np.array([(0, 1), (5, 3), (2, 1), (11, 1), (2, 1), (13, 2)]),
        pair_start=np.array([0, 0, 1, 3, 3]),
        pairs=np.array([(0, 20, 1, 3), (0, 26, 2, 1), (1, 30, 1, 2)]),
    )


def statistics(components):
    """T(y) (K, cells) of all configurations of each component, the first node's digit the fastest."""
    found = []
    for first, stop in itertools.pairwise(components.start):
        rows = []
        for y in itertools.product(*(range(r) for r in components.states[first:stop][::-1])):
            digits, row = y[::-1], np.zeros(N_CELLS)
            for k in range(first, stop):
                a = digits[k - first]
                for cell, stride in components.terms[components.term_start[k] : components.term_start[k + 1]]:
                    row[cell + a * stride] += 1
                for other, cell, own, across in components.pairs[
                    components.pair_start[k] : components.pair_start[k + 1]
                ]:
                    row[cell + a * own + digits[other] * across] += 1
            rows.append(row)
        found.append(np.array(rows))
    return found


@pytest.fixture
def table():
    return np.random.default_rng(1).normal(size=N_CELLS)


def laws(components, table):
    logs = [t @ table for t in statistics(components)]
    return [np.exp(one - np.logaddexp.reduce(one)) for one in logs]


def test_log_z_and_expected_cells(components, table):
    expected = sum(
        w * np.logaddexp.reduce(t @ table) for w, t in zip(components.weight, statistics(components), strict=True)
    )
    assert clamped_log_z(components, table, np.empty(24)) == pytest.approx(expected, rel=1e-13)
    cells = np.ones(N_CELLS)
    assert clamped_moments(components, table, np.empty(24), cells) == pytest.approx(expected, rel=1e-13)
    mean = sum(
        w * p @ t for w, p, t in zip(components.weight, laws(components, table), statistics(components), strict=True)
    )
    np.testing.assert_allclose(cells, 1 + mean, atol=1e-13)  # what is there is added to


def test_derivatives_along_directions_are_cumulants(components, table):
    directions = np.random.default_rng(2).normal(size=(2, N_CELLS))
    out = np.zeros((2, 2, N_CELLS))
    clamped_series(components, table, directions, np.empty(48), out)
    for direction, found in zip(directions, out, strict=True):
        first, second = np.zeros(N_CELLS), np.zeros(N_CELLS)
        for w, p, t in zip(components.weight, laws(components, table), statistics(components), strict=True):
            centred, along = t - p @ t, t @ direction - p @ t @ direction
            first += w * (p * along) @ centred
            second += w * (p * along**2) @ centred
        np.testing.assert_allclose(found, [first, second], atol=1e-12)


def test_projections_of_a_component_are_those_of_its_configurations(components, table):
    directions, probability, out = np.random.default_rng(3).normal(size=(2, N_CELLS)), np.empty(12), np.empty((2, 12))
    component_projections(components, 0, table, directions, np.empty(24), probability, out)
    np.testing.assert_allclose(probability, laws(components, table)[0], rtol=1e-12)
    np.testing.assert_allclose(out, directions @ statistics(components)[0].T, atol=1e-13)


def test_draws_have_the_law_of_every_component(components, table):
    counts = np.array([20_000, 10_000])
    digits = np.empty(3 * counts[0] + counts[1], dtype=np.int64)
    clamped_draw(components, table, counts, kernel_state(np.random.SeedSequence(4)), np.empty(24), digits)
    code = digits[: 3 * counts[0]].reshape(-1, 3) @ [1, 2, 6]
    for seen, law in ((code, laws(components, table)[0]), (digits[3 * counts[0] :], laws(components, table)[1])):
        observed = np.bincount(seen, minlength=law.size)
        assert chi_square_p(observed, law) > ALPHA
        assert chi_square_p(observed, law[::-1]) < ALPHA
    many = components._replace(weight=20_000 * np.ones(2))
    cells = np.zeros(N_CELLS)
    clamped_sampled(many, table, kernel_state(np.random.SeedSequence(5)), np.empty(36), cells)
    mean = sum(p @ t for p, t in zip(laws(components, table), statistics(components), strict=True))
    assert np.abs(cells / 20_000 - mean).max() < 5.5 * 0.5 * 2 / np.sqrt(20_000)
    assert cells[[0, 1]].sum() == 20_000
