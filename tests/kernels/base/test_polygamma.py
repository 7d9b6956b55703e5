"""Derivatives of log Gamma against SciPy."""

import numpy as np
import pytest
from scipy.special import digamma, polygamma

from mrfbayes.kernels.base.polygamma import inverse_trigamma, polygammas


@pytest.mark.parametrize("x", [1e-3, 0.3, 1.0, 2.5, 11.9, 12.1, 50.0, 1e4, 1e8])
def test_polygammas(x):
    expected = [digamma(x), *(polygamma(k, x) for k in (1, 2, 3))]
    np.testing.assert_allclose(polygammas(x), expected, rtol=1e-13)
    assert inverse_trigamma(polygammas(x)[1]) == pytest.approx(x, rel=1e-12)
