"""Long, thin fields: bands against the dense matrices of the same field."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cho_solve, cholesky, solve_triangular

import mrfbayes as mb
from mrfbayes.exact.banded import Bands, covariance_band_w, parameter_levels, third_order_band_w
from mrfbayes.exact.quantities import covariance_w, third_order_w

MODELS = {
    "strip": lambda: mb.grid(60, 2),
    "lying strip with fields": lambda: mb.grid(2, 100, fields=True),
    "ladder as a graph": lambda: mb.graph(
        [e for i in range(50) for e in (((i, 0), (i, 1)), ((i, 0), (i + 1, 0)), ((i, 1), (i + 1, 1)))]
    ),
}


@pytest.fixture(params=MODELS, scope="module")
def case(request):
    model = MODELS[request.param]()
    return model, np.random.default_rng(3).normal(0.4, 0.4, size=model.n_parameters)


def test_covariance_is_that_of_all_directions(case):
    model, w = case
    sparse, bands = covariance_band_w(model, w, tolerance=1e-9)
    dense = covariance_w(model, w)
    np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-8)
    assert len(list(bands.colours())) < model.n_parameters / 2  # directions were saved
    assert abs(sparse.toarray() - dense)[abs(bands.level[:, None] - bands.level) <= bands.reach // 2].max() < 1e-9


def test_third_order_sums_are_those_of_all_directions(case):
    model, w = case
    covariance, bands = covariance_band_w(model, w, tolerance=1e-9)
    information = 200 * covariance.toarray() + np.eye(model.n_parameters)
    factor = cholesky(information, lower=True)
    spread = cho_solve((factor, True), np.eye(model.n_parameters))
    cubes, mixed = third_order_band_w(
        model,
        w,
        Bands(bands.level, 2 * bands.reach),
        lambda v: cho_solve((factor, True), v),
        lambda v: solve_triangular(factor.T, v),
    )
    expected_cubes, expected_mixed = third_order_w(model, w, spread)
    scale = np.abs(expected_cubes).max(), np.abs(expected_mixed).max()
    np.testing.assert_allclose(cubes, expected_cubes, atol=1e-7 * scale[0])
    np.testing.assert_allclose(mixed, expected_mixed, atol=1e-7 * scale[1])


def test_too_short_a_reach_is_seen():
    """Negative control: without any reach the sums are off by far more than the tolerance above."""
    model = MODELS["strip"]()
    w = np.random.default_rng(3).normal(0.4, 0.4, size=model.n_parameters)
    spread = np.linalg.inv(200 * covariance_w(model, w) + np.eye(model.n_parameters))
    factor = np.linalg.cholesky(spread)
    bands = Bands(parameter_levels(model), 0)
    cubes, _ = third_order_band_w(model, w, bands, lambda v: spread @ v, lambda v: factor @ v)
    expected, _ = third_order_w(model, w, spread)
    assert np.abs(cubes - expected).max() > 1e-3 * np.abs(expected).max()


def test_colours_hold_every_parameter_once_and_far_apart():
    bands = Bands(np.random.default_rng(0).integers(0, 30, size=200), 3)
    colours = list(bands.colours())
    np.testing.assert_array_equal(np.sort(np.concatenate(colours)), np.arange(200))
    for colour in colours:
        assert (np.diff(bands.level[colour]) >= 7).all()
        owner = bands.owner(colour)
        for i in range(200):
            near = [j for j in colour if abs(bands.level[j] - bands.level[i]) <= 3]
            assert owner[i] == (near[0] if near else -1)


def test_tied_parameters_are_nowhere_in_particular():
    with pytest.raises(mb.InputError, match="block 'edges' is tied across the field"):
        covariance_band_w(mb.grid(20, 2, tied=True), np.zeros(1))
