r"""Elementary functions without branches, so that LLVM turns a loop over parameters into SIMD code.

The C library's logarithm is accurate but scalar: 11 ns a call where these take about 2 ns inside a loop. Errors
(tested against mpmath): ``log`` and ``exp`` 1 unit in the last place or 3e-16 relative, ``log1p_exp`` and ``logit``
3e-16 relative to the larger of their size and one.

The polynomials interpolate at Chebyshev nodes, computed with 50 digits; the comment beside each says of what.
Arguments are not checked: ``log`` needs a positive normal number (zero gives about -709, not minus infinity).
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel

_FRACTION = np.uint64(52)  # bits of the fraction in an IEEE double
_EXPONENT_MASK = np.uint64(0xFFF0000000000000)
_ONE_BITS = np.uint64(0x3FF0000000000000)  # 1.0
_REBASE = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)  # 1.0 less sqrt(1/2): puts m into [sqrt(1/2), sqrt(2))
_MAGIC_BITS = np.uint64(0x4330000000000000)  # 2^52: or-ing a small integer into it converts that to a double
_MAGIC_LOG = 4503599627370496.0 + 1023.0
_MAGIC_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to the nearest integer
_EXPONENT_BIAS = np.uint64(1023)
_LOG2_HIGH = 0.6931471805598903  # log 2 to 42 bits: k * _LOG2_HIGH is exact for every exponent k
_LOG2_LOW = 5.497923018708371e-14
_LOG2_E = 1.4426950408889634
_SQRT2 = 1.4142135623730951
_EXP_MIN, _EXP_MAX = -708.0, 709.0


@kernel
def _log_reduced(f, k):
    """log(1 + f) + k log 2 for 1 + f in [sqrt(1/2), sqrt(2)]."""
    s = f / (2.0 + f)
    z = s * s
    # (2 atanh(s) - 2 s) / s^3 as a polynomial in z = s^2 <= 0.0295, error 3e-16
    tail = 0.15331721600556042 + z * 0.14616449685043406
    tail = 0.18182889125261723 + z * tail
    tail = 0.2222221113479508 + z * tail
    tail = 0.28571428625975487 + z * tail
    tail = 0.39999999999899505 + z * tail
    tail = 0.666666666666667 + z * tail
    half = 0.5 * f * f
    # 2 s = f - half + s * half, so the rounding error is that of f, which is exact
    return k * _LOG2_HIGH - ((half - (s * (half + z * tail) + k * _LOG2_LOW)) - f)


@kernel
def log(x):
    """Natural logarithm of a positive normal number."""
    bits = np.float64(x).view(np.uint64)
    shifted = bits + _REBASE
    k = np.uint64(_MAGIC_BITS | (shifted >> _FRACTION)).view(np.float64) - _MAGIC_LOG
    m = np.uint64(bits + _ONE_BITS - (shifted & _EXPONENT_MASK)).view(np.float64)
    return _log_reduced(m - 1.0, k)


@kernel
def exp(x):
    """Exponential; arguments beyond +-708 are clipped, so the result is positive and finite."""
    x = min(max(x, _EXP_MIN), _EXP_MAX)
    shifted = x * _LOG2_E + _MAGIC_ROUND
    k = shifted - _MAGIC_ROUND
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    # (exp(r) - 1 - r) / r^2 on |r| <= log(2)/2, error 1e-17 after multiplication by r^2
    tail = 2.7620088445409746e-07 + r * 2.510038549551032e-08
    tail = 2.7557268459997064e-06 + r * tail
    tail = 2.4801521295954376e-05 + r * tail
    tail = 0.00019841269863053618 + r * tail
    tail = 0.0013888888917213717 + r * tail
    tail = 0.008333333333330062 + r * tail
    tail = 0.04166666666662413 + r * tail
    tail = 0.16666666666666669 + r * tail
    tail = 0.5000000000000001 + r * tail
    power = np.uint64((np.float64(shifted).view(np.uint64) + _EXPONENT_BIAS) << _FRACTION).view(np.float64)
    return (1.0 + (r + r * r * tail)) * power


@kernel
def log1p_unit(y):
    """log(1 + y) for y in [0, 1], without the rounding of 1 + y."""
    large = 1.0 + y > _SQRT2
    f = 0.5 * (y - 1.0) if large else y
    return _log_reduced(f, 1.0 if large else 0.0)


@kernel
def log1p_exp(x):
    """log(1 + exp(x)), the cumulant function of a coin."""
    return max(x, 0.0) + log1p_unit(exp(-abs(x)))


@kernel
def logit(theta):
    """Log-odds of theta in (0, 1)."""
    return log(theta) - log(1.0 - theta)


@kernel
def sigmoid(x):
    """1 / (1 + exp(-x)), with a small relative error in both tails: 1 - sigmoid(x) is sigmoid(-x)."""
    e = exp(-abs(x))
    return (e if x < 0.0 else 1.0) / (1.0 + e)
