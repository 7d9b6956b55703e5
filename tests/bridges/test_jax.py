"""The contract of the JAX bridge: value, gradient, jit and vmap; 64 bits or an error that names the setting."""

import jax
import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.bridges.jax import log_density

MODEL = mb.grid(2, 3)
X = np.random.default_rng(3).integers(0, 2, (60, 6))


@pytest.fixture
def wide():
    """JAX with 64-bit numbers."""
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def test_value_gradient_jit_and_vmap(wide):
    target = mb.target(MODEL, X, prior="normal(0, 1)")
    density = log_density(target)
    points = np.random.default_rng(1).normal(0, 1, (5, target.dim))
    values, slopes = zip(*(target.value_and_gradient(w) for w in points), strict=True)
    np.testing.assert_allclose([density(w) for w in points], values, rtol=1e-14)
    np.testing.assert_allclose([jax.jit(density)(w) for w in points], values, rtol=1e-14)
    np.testing.assert_allclose(jax.vmap(density)(points), values, rtol=1e-14)
    np.testing.assert_allclose(jax.vmap(jax.jit(jax.grad(density)))(points), slopes, rtol=1e-14)
    scaled = jax.grad(lambda w: 3.0 * density(2.0 * w))(points[0] / 2)
    np.testing.assert_allclose(scaled, 6.0 * np.array(slopes[0]), rtol=1e-13)


def test_32_bit_numbers_are_refused(wide):
    target = mb.target(MODEL, X)
    density = log_density(target)
    with pytest.raises(mb.InputError, match="float32"):
        density(np.zeros(target.dim, dtype=np.float32))
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(mb.InputError, match="jax_enable_x64"):
        log_density(target)


def test_a_target_without_gradient_is_refused(wide):
    with pytest.raises(mb.InputError, match="has no gradient"):
        log_density(mb.target(MODEL, X, method="laplace"))


@pytest.mark.parametrize("shape", [(3,), (8,), (2, 7), ()])
def test_vectors_of_another_length_are_refused(wide, shape):
    density = log_density(mb.target(MODEL, X))
    with pytest.raises(mb.InputError, match=r"w has shape .*: give \(7,\), and use jax.vmap"):
        density(np.zeros(shape))
