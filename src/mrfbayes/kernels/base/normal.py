"""The standard normal in log scale: tails and quantiles that neither underflow nor round to 0 and 1."""

from __future__ import annotations

import math

from mrfbayes.kernels.base.jit import kernel

LOG_SQRT_2PI = 0.9189385332046727
_LOG_HALF = -0.6931471805599453
_SQRT_HALF = 0.7071067811865476
_ERFC_LIMIT = 35.0  # erfc underflows near 38 standard deviations; the series below is exact to 1e-16 from here on


@kernel
def log_upper_tail(x):
    """log P(Z > x) for x >= 0."""
    if x < _ERFC_LIMIT:
        return math.log(0.5 * math.erfc(x * _SQRT_HALF))
    r = 1.0 / (x * x)
    series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r * (1.0 - 7.0 * r * (1.0 - 9.0 * r))))  # Mills' ratio times x
    return -0.5 * x * x - LOG_SQRT_2PI - math.log(x) + math.log(series)


@kernel
def upper_quantile(log_p):
    """The x >= 0 with log P(Z > x) = log_p, for log_p <= log(1/2)."""
    if log_p > -4.0:
        p = math.exp(log_p)
        x = 4.91 * ((1.0 - p) ** 0.14 - p**0.14)  # Tukey's lambda distribution: within 0.01
    else:
        square = -2.0 * log_p
        x = math.sqrt(square - math.log(square) - 2.0 * LOG_SQRT_2PI + 0.5)
    for _ in range(20):
        log_tail = log_upper_tail(x)
        hazard = math.exp(-0.5 * x * x - LOG_SQRT_2PI - log_tail)
        gap = log_tail - log_p
        # Halley's step: the second derivative of the log tail is -hazard * (hazard - x)
        step = gap / (hazard - 0.5 * gap * (hazard - x))
        x += step
        if abs(step) <= 4e-16 * (1.0 + x) or abs(gap) <= 4e-16:
            break
    return max(x, 0.0)


@kernel
def quantile_from_tail(log_tail, upper):
    """The z with log P(Z > z) = log_tail (``upper``) or log P(Z < z) = log_tail, whichever side is the small one."""
    if log_tail <= _LOG_HALF:
        x = upper_quantile(log_tail)
        return x if upper else -x
    other = math.log(-math.expm1(log_tail)) if log_tail < 0.0 else -800.0
    x = upper_quantile(other)
    return -x if upper else x
