"""Moments of the replicas, and the statement of how far to trust them."""

import numpy as np
import pytest

from mrfbayes.methods.langevin.moments import WalkTrust


def test_diagnostics_of_a_langevin_run():
    measured = WalkTrust(0.01, 0.01, 0.02, 0.02, 16)
    assert measured.bounds == pytest.approx((np.hypot(0.02, 0.02),) * 2)
    assert "steps and lag at most 2.0% and 2.0%" in str(measured)
    short = WalkTrust(0.01, 0.01, np.nan, np.nan, 16)
    assert short.bounds == pytest.approx((0.02, 0.02))
    assert "bias of steps not measured" in str(short)
    frozen = WalkTrust(0.26, 0.18, 1.8, 403.0, 16)  # chains never left their phase: 40,300 % would say nothing
    assert str(frozen).startswith("neither means nor sds can be trusted")
