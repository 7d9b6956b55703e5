"""The derivatives of log Gamma that a coin's cumulants are made of: logit of a Beta(a, b) has mean psi(a) - psi(b),
variance psi'(a) + psi'(b) and third cumulant psi''(a) - psi''(b).
"""

from __future__ import annotations

import math

from mrfbayes.kernels.base.jit import kernel

_SHIFT = 12.0  # from here on seven terms of the asymptotic series give full precision


@kernel
def polygammas(x):
    """(psi, psi', psi'', psi''') at x > 0: recurrence up to 12, then the asymptotic series."""
    p0, p1, p2, p3 = 0.0, 0.0, 0.0, 0.0
    while x < _SHIFT:
        r = 1.0 / x
        p0 -= r
        p1 += r * r
        p2 -= 2.0 * r * r * r
        p3 += 6.0 * r * r * r * r
        x += 1.0
    r = 1.0 / x
    t = r * r
    # Bernoulli numbers B_2 ... B_14
    b2, b4, b6, b8, b10, b12, b14 = 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6
    p0 += math.log(x) - 0.5 * r
    p0 -= t * (b2 / 2 + t * (b4 / 4 + t * (b6 / 6 + t * (b8 / 8 + t * (b10 / 10 + t * (b12 / 12 + t * b14 / 14))))))
    p1 += r + 0.5 * t + r * t * (b2 + t * (b4 + t * (b6 + t * (b8 + t * (b10 + t * (b12 + t * b14))))))
    p2 -= t + r * t
    p2 -= t * t * (3 * b2 + t * (5 * b4 + t * (7 * b6 + t * (9 * b8 + t * (11 * b10 + t * (13 * b12 + t * 15 * b14))))))
    p3 += 2.0 * r * t + 3.0 * t * t
    p3 += (
        r
        * t
        * t
        * (12 * b2 + t * (30 * b4 + t * (56 * b6 + t * (90 * b8 + t * (132 * b10 + t * (182 * b12 + t * 240 * b14))))))
    )
    return p0, p1, p2, p3


@kernel
def inverse_trigamma(y):
    """The x with psi'(x) = y > 0: Newton on 1/psi', which is nearly linear and concave, so it cannot overshoot."""
    x = 0.5 + 1.0 / y if y < 1e6 else 1.0 / math.sqrt(y)
    for _ in range(60):
        _, p1, p2, _ = polygammas(x)
        step = p1 * (1.0 - p1 / y) / p2
        x += step
        if abs(step) <= 1e-15 * x:
            break
    return x
