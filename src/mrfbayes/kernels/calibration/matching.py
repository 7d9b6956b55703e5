"""From the cumulants of a log-odds to the three numbers of its coin: lambda ~ Beta(a, b), w = logit lambda - h."""

from __future__ import annotations

import math

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.polygamma import inverse_trigamma, polygammas

REACH = 0.99  # share of the largest skewness that any coin of the given spread has; beyond it the coin is clipped
_STEPS = 100


@kernel
def match_cumulants(variance, third, a, b):
    """psi'(a) + psi'(b) = V and psi''(a) - psi''(b) = kappa. Returns how many coins had to be clipped.

    With psi'(a) = t V the third cumulant falls from its largest value at t = 0 to its smallest at t = 1, so that
    Newton steps inside a bracket find t. At the ends one of a and b is infinite: |kappa| < -psi''(a*), psi'(a*) = V.
    """
    clipped = 0
    for j in range(variance.size):
        limit = -REACH * polygammas(inverse_trigamma(variance[j]))[2]
        wanted = third[j]
        if not abs(wanted) <= limit:
            wanted = math.copysign(limit, wanted)
            clipped += 1
        low, high, t = 0.0, 1.0, 0.5
        for _ in range(_STEPS):
            a[j] = inverse_trigamma(t * variance[j])
            b[j] = inverse_trigamma((1.0 - t) * variance[j])
            _, _, a2, a3 = polygammas(a[j])
            _, _, b2, b3 = polygammas(b[j])
            gap = a2 - b2 - wanted
            if gap > 0.0:  # too skewed: t must grow
                low = t
            else:
                high = t
            step = -gap / (variance[j] * (a3 / a2 + b3 / b2))
            following = t + step
            if not low < following < high:
                following = 0.5 * (low + high)
            if abs(following - t) <= 1e-15:
                break
            t = following
    return clipped
