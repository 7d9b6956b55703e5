"""Quasi-Newton ascents on functions whose maximum is known."""

import numpy as np

from mrfbayes.estimation.optimise import lbfgs


class Cliff:
    """-cosh(w - 1), which loses its digits past 1.5, with a curvature that is far too small."""

    def value_gradient(self, w):
        if np.abs(w).max() > 1.5:
            raise ArithmeticError
        return -float(np.cosh(w - 1).sum()), -np.sinh(w - 1)

    def diagonal(self, w):
        return np.full(w.size, 0.2)


def test_a_step_past_the_last_digit_is_shortened():
    found = lbfgs(Cliff(), np.full(3, -1.4))
    assert found.converged
    np.testing.assert_allclose(found.w, 1.0, atol=1e-6)
