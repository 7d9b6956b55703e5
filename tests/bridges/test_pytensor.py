"""The contract of the PyTensor bridge: value and gradient of the `Op`."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import mrfbayes as mb
from mrfbayes.bridges.pytensor import log_density

MODEL = mb.grid(2, 3)
X = np.random.default_rng(3).integers(0, 2, (60, 6))
MODE = pytensor.compile.mode.Mode(linker="py", optimizer=None)  # nothing is compiled in C


def test_value_and_gradient():
    target = mb.target(MODEL, X, prior="normal(0, 1)")
    w = pt.dvector("w")
    value = log_density(target)(w)
    both = pytensor.function([w], [value, pt.grad(2.0 * value, w)], mode=MODE)
    for point in np.random.default_rng(1).normal(0, 1, (3, target.dim)):
        expected, slope = target.value_and_gradient(point)
        found, gradient = both(point)
        assert found == pytest.approx(expected, rel=1e-14)
        np.testing.assert_allclose(gradient, 2.0 * slope, rtol=1e-13)


def test_a_target_without_gradient_is_refused():
    with pytest.raises(mb.InputError, match="has no gradient"):
        log_density(mb.target(MODEL, X, method="laplace"))
