"""Tails and quantiles of the normal against SciPy."""

import numpy as np
import pytest
from scipy.special import ndtri_exp
from scipy.stats import norm

from mrfbayes.kernels.base.normal import log_upper_tail, quantile_from_tail, upper_quantile


@pytest.mark.parametrize("x", [0.0, 0.3, 5.0, 34.99, 35.01, 300.0])
def test_tail_and_its_quantile_are_inverse(x):
    """On both sides of the place where the series takes over."""
    assert log_upper_tail(x) == pytest.approx(norm.logsf(x), rel=1e-13)
    assert upper_quantile(norm.logsf(x)) == pytest.approx(x, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("log_tail", [-1e4, -40.0, -3.0, np.log(0.5), -0.5, -1e-3, -1e-12])
def test_quantiles_of_both_tails(log_tail):
    expected = ndtri_exp(log_tail)  # log P(Z < z) = log_tail
    assert quantile_from_tail(log_tail, False) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert quantile_from_tail(log_tail, True) == pytest.approx(-expected, rel=1e-9, abs=1e-12)
