"""The distance between power n and power n + 2."""

from itertools import pairwise

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.coins.printed_vs_gbd import form_gap, form_gaps


def test_gap_by_quadrature():
    alpha, n, h = 7.0, 10.0, 0.9
    gap = form_gap(alpha, n, h)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    theta, weights = (nodes + 1) / 2, weights / 2
    eta = 1 / (1 + np.exp(-h))
    g = eta * theta + (1 - eta) * (1 - theta)
    moments = []
    for power in (n, n + 2):
        density = theta**alpha * (1 - theta) ** (n - alpha) / g**power
        density /= weights @ density
        mean = weights @ (density * theta)
        moments.append((mean, np.sqrt(weights @ (density * (theta - mean) ** 2))))
    (mean, sd), (other_mean, other_sd) = moments
    assert abs(gap.mean_gap - (other_mean - mean) / sd) < 1e-10
    assert abs(gap.sd_ratio - other_sd / sd) < 1e-10
    assert 0 < gap.distance < abs(gap.mean_gap)


def test_no_gap_without_an_external_effect():
    gap = form_gap(7, 10, 0.0)
    assert abs(gap.mean_gap) < 1e-13
    assert abs(gap.sd_ratio - 1) < 1e-13
    assert gap.distance < 1e-13


def test_the_gap_shrinks_like_one_over_root_n():
    gaps = form_gaps(ns=(100, 400, 1600, 6400))
    ratios = [a.mean_gap / b.mean_gap for a, b in pairwise(gaps)]
    np.testing.assert_allclose(ratios, 2, rtol=0.03)
    assert 0.03 < abs(gaps[0].mean_gap) < 0.06


@pytest.mark.parametrize(("name", "value"), [("theta_hat", 0.0), ("lambda_hat", 1.2), ("theta_hat", "half")])
def test_bad_arguments_are_named(name, value):
    with pytest.raises(mb.InputError, match=name):
        form_gaps(**{name: value})
    with pytest.raises(mb.InputError, match="n = 0"):
        form_gaps(ns=(0,))
