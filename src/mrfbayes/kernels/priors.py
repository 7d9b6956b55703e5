"""The log prior density inside kernels: coded as kinds and parameters, so that a new prior compiles nothing."""

from __future__ import annotations

import ctypes
import math
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from mrfbayes.kernels.base.jit import kernel

UNIFORM, DIRICHLET, NORMAL, CAUCHY, LOGISTIC, EXCHANGEABLE = range(6)


class PriorView(NamedTuple):
    """Independent blocks, or one function of all parameters."""

    kind: np.ndarray  # (B,)
    offset: np.ndarray  # (B+1,) into theta
    # (B, K_max): weights of a Dirichlet; rows, columns and scale of an exchangeable table; else location and scale
    parameters: np.ndarray
    is_flat: int  # 1 where every block is uniform: nothing to compute
    address: int  # of a C function double(double *theta, int64 p), or 0


@intrinsic
def _call_compiled(typing_context, address, data, size):
    """Call the C function at ``address``."""
    signature = types.float64(types.int64, types.uintp, types.int64)

    def generate(context, builder, signature, arguments):
        function_type = ir.FunctionType(ir.DoubleType(), [ir.IntType(8).as_pointer(), ir.IntType(64)])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        pointer = builder.inttoptr(arguments[1], ir.IntType(8).as_pointer())
        return builder.call(function, [pointer, arguments[2]])

    return signature, generate


def _call_plain(address, theta):
    """What `_call` does with the JIT off."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
    return prototype(address)(theta.ctypes.data, theta.size)


@kernel
def _call(address, theta):
    return _call_compiled(address, theta.ctypes.data, theta.size)


if not hasattr(_call, "py_func"):
    _call = _call_plain


@kernel
def is_inside(offset, theta):
    """Whether every block's free weights are positive and sum to less than one."""
    if theta.size == offset.size - 1:  # all coins; no early end, so that it is SIMD code
        outside = 0
        for j in range(theta.size):
            outside += 0 if theta[j] > 0.0 and theta[j] < 1.0 else 1
        return outside == 0
    for block in range(offset.size - 1):
        rest = 1.0
        for j in range(offset[block], offset[block + 1]):
            if not theta[j] > 0.0:
                return False
            rest -= theta[j]
        if not rest > 0.0:
            return False
    return True


@kernel
def exchangeable_precision(rows, columns, scale, i, j):
    """Entry (i, j) of the inverse covariance of a flat table of log-odds; see `mrfbayes.priors.Exchangeable`."""
    value = 4.0 / (scale * scale)
    value *= (1.0 if i // columns == j // columns else 0.0) - 1.0 / (rows + 1)
    return value * ((1.0 if i % columns == j % columns else 0.0) - 1.0 / (columns + 1))


@kernel
def block_precision(prior, block, i, j):
    """Entry (i, j) of the inverse covariance of an exchangeable block."""
    rows, columns = int(prior.parameters[block, 0]), int(prior.parameters[block, 1])
    return exchangeable_precision(rows, columns, prior.parameters[block, 2], i, j)


@kernel
def standard_terms(kind, z):
    """Log density at z of a distribution with location 0 and scale 1, up to a constant, and its derivative."""
    if kind == NORMAL:
        return -0.5 * z * z, -z
    if kind == CAUCHY:
        return -math.log1p(z * z), -2.0 * z / (1.0 + z * z)
    return -abs(z) - 2.0 * math.log1p(math.exp(-abs(z))), -math.tanh(0.5 * z)


@kernel
def log_prior(prior, theta):
    """Log density in theta, up to a constant, at a point inside the parameter space."""
    if prior.is_flat:
        return 0.0
    if prior.address != 0:
        return _call(prior.address, theta)
    total = 0.0
    for block in range(prior.kind.size):
        kind = prior.kind[block]
        if kind == UNIFORM:
            continue
        first, stop = prior.offset[block], prior.offset[block + 1]
        last = 1.0
        for j in range(first, stop):
            last -= theta[j]
        log_last = math.log(last)
        if kind == DIRICHLET:
            for j in range(first, stop):
                total += (prior.parameters[block, j - first] - 1.0) * math.log(theta[j])
            total += (prior.parameters[block, stop - first] - 1.0) * log_last
            continue
        total -= log_last  # Jacobian: |dw/dtheta| is the product of 1/theta_k over all K outcomes
        for j in range(first, stop):
            log_weight = math.log(theta[j])
            w = log_weight - log_last
            total -= log_weight
            if kind != EXCHANGEABLE:
                total += standard_terms(kind, (w - prior.parameters[block, 0]) / prior.parameters[block, 1])[0]
                continue
            for i in range(first, stop):
                precision = block_precision(prior, block, i - first, j - first)
                total -= 0.5 * w * precision * (math.log(theta[i]) - log_last)
    return total


@kernel
def log_prior_w(prior, log_odds, theta, jacobian):
    """Log density of the log-odds w, up to the constant of `log_prior`, from theta and log |d theta / d w| there."""
    if prior.is_flat:
        return jacobian
    if prior.address != 0:
        if not is_inside(prior.offset, theta):
            return -math.inf  # the user's function cannot be asked about a weight that is 0 or 1 to the last digit
        return _call(prior.address, theta) + jacobian
    return _log_prior_w(prior, log_odds, theta, False)


@kernel
def log_prior_gradient(prior, log_odds, gradient):
    """Log density of the log-odds w (Jacobian included), up to a constant; adds its derivatives to ``gradient`` (p,).

    For the kinds that are coded here: a function of the user's own has no derivatives.
    """
    return _log_prior_w(prior, log_odds, gradient, True)


@kernel
def _log_prior_w(prior, log_odds, gradient, has_gradient):
    """As `log_prior_gradient`; without ``has_gradient`` the array is left as it is."""
    total = 0.0
    for block in range(prior.kind.size):
        kind = prior.kind[block]
        first, stop = prior.offset[block], prior.offset[block + 1]
        if kind <= DIRICHLET:
            top = 0.0
            for j in range(first, stop):
                top = max(top, log_odds[j])
            norm, weight = math.exp(-top), prior.parameters[block, stop - first]
            for j in range(first, stop):
                norm += math.exp(log_odds[j] - top)
                weight += prior.parameters[block, j - first]
                total += prior.parameters[block, j - first] * log_odds[j]
            total -= weight * (top + math.log(norm))
            if has_gradient:
                for j in range(first, stop):
                    gradient[j] += prior.parameters[block, j - first] - weight * math.exp(log_odds[j] - top) / norm
            continue
        for j in range(first, stop):
            slope = 0.0
            if kind == EXCHANGEABLE:
                for i in range(first, stop):
                    slope -= block_precision(prior, block, i - first, j - first) * log_odds[i]
                total += 0.5 * slope * log_odds[j]
            else:
                location, scale = prior.parameters[block, 0], prior.parameters[block, 1]
                value, slope = standard_terms(kind, (log_odds[j] - location) / scale)
                total += value
                slope /= scale
            if has_gradient:
                gradient[j] += slope
    return total
