"""A target density as a function of JAX: `jit`, `vmap` and `grad` work, and so do NumPyro and BlackJAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import require_package
from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from jax import Array

    from mrfbayes.targets.targets import Target


def log_density(target: Target) -> Callable[[Array], Array]:
    """The log posterior density of w (p,) as a function that JAX can transform.

    Values and gradients are computed on the host; a gradient that was needed is computed once, with its value.

    Parameters
    ----------
    target : Target
        From `mrfbayes.target`, with a gradient.

    Returns
    -------
    callable
        From w (p,), float64, to a scalar.

    Raises
    ------
    InputError
        Where JAX is not installed, its 64-bit numbers are not enabled, or the target has no gradient.

    See Also
    --------
    mrfbayes.target : Makes the target.
    mrfbayes.bridges.pytensor.log_density : The same for PyTensor and PyMC.

    Examples
    --------
    >>> import jax
    >>> import mrfbayes as mb
    >>> from mrfbayes.bridges.jax import log_density
    >>> jax.config.update("jax_enable_x64", True)
    >>> density = log_density(mb.target(mb.grid(1, 2), [[0, 0], [1, 1], [0, 1]]))
    >>> float(jax.grad(density)(jax.numpy.zeros(1))[0])
    0.5
    """
    require_package("jax", "jax", "log_density")
    import jax
    import jax.numpy as jnp

    if not target.has_gradient:
        raise InputError(f"target = {target!r} has no gradient: use method='exact' or 'pseudo' with a named prior.")
    if not jax.config.read("jax_enable_x64"):
        raise InputError(
            "jax_enable_x64 = False: densities of many observations need 64-bit numbers; call "
            "jax.config.update('jax_enable_x64', True) first."
        )
    scalar = jax.ShapeDtypeStruct((), np.float64)
    vector = jax.ShapeDtypeStruct((target.dim,), np.float64)

    def both_on_host(w: Array) -> tuple[np.ndarray, np.ndarray]:
        try:
            value, gradient = target.value_and_gradient(np.asarray(w))
        except ArithmeticError:  # too few digits there: not a place to go to
            return np.array(-np.inf), np.zeros(target.dim)
        return np.array(value), gradient

    def both(w: Array) -> tuple[Array, Array]:
        value, gradient = jax.pure_callback(both_on_host, (scalar, vector), w, vmap_method="sequential")
        return value, gradient

    def checked(w: Array) -> Array:
        w = jnp.asarray(w)
        if w.dtype != jnp.float64:
            raise InputError(f"w has type {w.dtype}: give float64 (jax_enable_x64 = True).")
        if w.shape != (target.dim,):
            raise InputError(f"w has shape {w.shape}: give ({target.dim},), and use jax.vmap for several.")
        return w

    def value(w: Array) -> Array:
        return both(w)[0]

    def backward(gradient: Array, upstream: Array) -> tuple[Array]:
        return (upstream * gradient,)

    density = jax.custom_vjp(value)
    density.defvjp(both, backward)
    return lambda w: density(checked(w))
