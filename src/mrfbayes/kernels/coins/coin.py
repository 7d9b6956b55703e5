r"""The coin in a magnetic field as a distribution: one log-concave density in log-odds, integrated to full precision.

With w = logit theta, h = logit eta and logit lambda = w + h, every marginal in use has the log density in w

.. math:: \ell(w) = a \log\lambda + b \log(1-\lambda) + c \log\theta + d \log(1-\theta) + \text{constant},

(a, b, c, d) = (alpha, n - alpha, 1, 1) for Eq. (3) under the uniform prior (in general Beta(c, d)), and
(alpha + 1, n - alpha + 1, 0, 0) for the generalised beta form, where lambda is Beta. It is log-concave with
exponential tails, and analytic in a strip of half-width pi: Gauss-Legendre panels that march outwards from a point
integrate its tail to about 1e-14 *relative*, however far out the point is. Eq. (3) has no closed distribution function.

A coin is a row of `COIN_FIELDS` numbers: a, b, c, d, h, its mode in w, the log of its integral relative to the mode,
and lambda, 1 - lambda, theta, 1 - theta at the mode.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.normal import LOG_SQRT_2PI, quantile_from_tail

A, B, C, D, H, MODE, LOG_INTEGRAL, LAMBDA, ONE_MINUS_LAMBDA, THETA, ONE_MINUS_THETA = range(11)
COIN_FIELDS = 11

_NODES, _WEIGHTS = (0.5 * (x + shift) for x, shift in zip(np.polynomial.legendre.leggauss(20), (1.0, 0.0), strict=True))
_PANEL_DROP = 8.0  # nats per panel; with 20 nodes the rule's error stays below 1e-14
_PANEL_WIDTH = 2.5  # the singularities lie at distance pi from the real line
_NEGLIGIBLE = -44.0  # e^-44 = 8e-20
_OVERFLOW = 700.0
_MAX_NEWTON = 200
_LEAP = 10.0  # longest first step; doubles until the root is bracketed


@kernel
def sigmoid_pair(x):
    """(sigmoid(x), sigmoid(-x)), both to full relative precision."""
    e = math.exp(-abs(x))
    small, large = e / (1.0 + e), 1.0 / (1.0 + e)
    return (small, large) if x < 0.0 else (large, small)


@kernel
def pair_change(a, b, s, t, v):
    """Change of a log(s) + b log(t), t = 1 - s, when the log-odds of s move by v; nothing cancels in either tail."""
    if s <= 0.5:
        if v < _OVERFLOW:
            return a * v - (a + b) * math.log1p(s * math.expm1(v))
        return -b * v - (a + b) * math.log(s)
    if v > -_OVERFLOW:
        return -b * v - (a + b) * math.log1p(t * math.expm1(-v))
    return a * v - (a + b) * math.log(t)


@kernel
def log_density_change(coin, w, v):
    """l(w + v) - l(w)."""
    s, t = sigmoid_pair(w + coin[H])
    change = pair_change(coin[A], coin[B], s, t, v)
    if coin[C] + coin[D] != 0.0:
        s, t = sigmoid_pair(w)
        change += pair_change(coin[C], coin[D], s, t, v)
    return change


@kernel
def slope_and_curvature(coin, w):
    """l'(w) and -l''(w)."""
    s, t = sigmoid_pair(w + coin[H])
    p, q = sigmoid_pair(w)
    slope = (coin[A] * t - coin[B] * s) + (coin[C] * q - coin[D] * p)
    return slope, (coin[A] + coin[B]) * s * t + (coin[C] + coin[D]) * p * q


@kernel
def step_in_bracket(w, step, low, high, leap):
    """The place after a Newton step, and the longest leap of the next step.

    Where the step leaves the bracket it halves it; as long as that is open on one side, the step is cut at ``leap``.
    """
    following = w + step
    if low < following < high:
        return following, leap
    if math.isinf(low) or math.isinf(high):
        return w + math.copysign(min(abs(step), leap), step), 2.0 * leap
    return 0.5 * (low + high), leap


@kernel
def find_mode(coin):
    """The maximum of l: a decreasing function's root, by Newton steps kept inside a bracket."""
    # Each of the two pairs alone has its maximum at log(a/b) - h and log(c/d): the joint one lies between.
    low = math.log(coin[A] / coin[B]) - coin[H] if coin[A] > 0.0 and coin[B] > 0.0 else 0.0
    if coin[C] > 0.0 and coin[D] > 0.0:
        other = math.log(coin[C] / coin[D])
        low, high = (min(low, other), max(low, other)) if coin[A] > 0.0 and coin[B] > 0.0 else (other, other)
    else:
        high = low
    reach = 1.0
    while slope_and_curvature(coin, low)[0] < 0.0:
        low -= reach
        reach *= 2.0
    reach = 1.0
    while slope_and_curvature(coin, high)[0] > 0.0:
        high += reach
        reach *= 2.0
    w = 0.5 * (low + high)
    for _ in range(_MAX_NEWTON):
        slope, curvature = slope_and_curvature(coin, w)
        if slope > 0.0:
            low = w
        else:
            high = w
        step = slope / curvature if curvature > 0.0 else 0.0
        if curvature > 0.0 and abs(step) <= 1e-15 * (1.0 + abs(w)):
            return w + step
        following, _ = step_in_bracket(w, step, low, high, _LEAP)
        if following == w:  # the bracket has closed
            return w
        w = following
    return w


@kernel
def panel_width(coin, w, direction):
    """Width from w in ``direction`` over which the quadratic model of the log density loses `_PANEL_DROP` nats."""
    slope, curvature = slope_and_curvature(coin, w)
    slope = max(-direction * slope, 0.0)
    width = 2.0 * _PANEL_DROP / (slope + math.sqrt(slope * slope + 2.0 * _PANEL_DROP * curvature) + 1e-300)
    return min(width, _PANEL_WIDTH)


@kernel
def tail_over_density(coin, w, direction):
    """Integral of exp(l) from w outwards, divided by exp(l(w)) (Mills' ratio of the coin).

    ``direction`` is -1 or +1 and must point away from the mode, so that the integrand decreases.
    """
    s, t = sigmoid_pair(w + coin[H])
    p, q = sigmoid_pair(w)
    a, b, c, d = coin[A], coin[B], coin[C], coin[D]
    total, start, level = 0.0, 0.0, 0.0
    while level > _NEGLIGIBLE:
        width = panel_width(coin, w + direction * start, direction)
        panel = 0.0
        for k in range(_NODES.size):
            v = direction * (start + width * _NODES[k])
            change = pair_change(a, b, s, t, v)
            if c + d != 0.0:
                change += pair_change(c, d, p, q, v)
            panel += _WEIGHTS[k] * math.exp(change)
        total += width * panel
        start += width
        v = direction * start
        level = pair_change(a, b, s, t, v)
        if c + d != 0.0:
            level += pair_change(c, d, p, q, v)
    return total


@kernel
def complete_coin(coin):
    """Fill in the mode and the integral of a row whose first five entries are set."""
    coin[MODE] = find_mode(coin)
    coin[LAMBDA], coin[ONE_MINUS_LAMBDA] = sigmoid_pair(coin[MODE] + coin[H])
    coin[THETA], coin[ONE_MINUS_THETA] = sigmoid_pair(coin[MODE])
    below = tail_over_density(coin, coin[MODE], -1.0)
    above = tail_over_density(coin, coin[MODE], 1.0)
    coin[LOG_INTEGRAL] = math.log(below + above)


@kernel
def complete_coins(coins):
    """`complete_coin` for every row."""
    for j in range(coins.shape[0]):
        complete_coin(coins[j])


@kernel
def log_density(coin, w):
    """Log density in w, normalised."""
    v = w - coin[MODE]
    change = pair_change(coin[A], coin[B], coin[LAMBDA], coin[ONE_MINUS_LAMBDA], v)
    if coin[C] + coin[D] != 0.0:
        change += pair_change(coin[C], coin[D], coin[THETA], coin[ONE_MINUS_THETA], v)
    return change - coin[LOG_INTEGRAL]


@kernel
def log_tail(coin, w):
    """(log of the tail beyond w on the side away from the mode, whether that is the upper one)."""
    upper = w > coin[MODE]
    tail = tail_over_density(coin, w, 1.0 if upper else -1.0)
    return min(log_density(coin, w) + math.log(tail), 0.0), upper


@kernel
def log_cdf_sf(coin, w):
    """(log F(w), log(1 - F(w)))."""
    tail, upper = log_tail(coin, w)
    other = math.log1p(-math.exp(tail)) if tail < 0.0 else -math.inf
    return (other, tail) if upper else (tail, other)


@kernel
def normal_score(coin, w):
    """u = Phi^-1(F(w)), finite for every finite w."""
    tail, upper = log_tail(coin, w)
    return quantile_from_tail(tail, upper)


@kernel
def score_slope(coin, w, u):
    """du/dw = f(w) / phi(u)."""
    return math.exp(log_density(coin, w) + 0.5 * u * u + LOG_SQRT_2PI)


@kernel
def quantile(coin, z):
    """The w with Phi^-1(F(w)) = z, by Newton steps in that nearly linear scale, kept inside a bracket."""
    low, high, leap = -math.inf, math.inf, _LEAP
    start = z / math.sqrt(slope_and_curvature(coin, coin[MODE])[1])
    w = coin[MODE] + min(max(start, -_LEAP), _LEAP)  # on a plateau the curvature says nothing
    for _ in range(_MAX_NEWTON):
        u = normal_score(coin, w)
        if u < z:
            low = w
        else:
            high = w
        step = (z - u) / score_slope(coin, w, u)
        if abs(step) <= 1e-15 * (1.0 + abs(w)) or abs(z - u) <= 1e-15 * (1.0 + abs(z)):
            return w + step
        following, leap = step_in_bracket(w, step, low, high, leap)
        if following == w:  # the bracket has closed
            return w
        w = following
    return w


@kernel
def moments(coin):
    """Mean and variance of theta, relative to the mode so that nothing cancels."""
    w = coin[MODE]
    p, q = sigmoid_pair(w)
    first, second, total = 0.0, 0.0, 0.0
    for side in range(2):
        direction = 2.0 * side - 1.0
        start, level, gap = 0.0, 0.0, 0.0
        # theta may move much faster than the density falls: the last panel must not matter for the variance either
        while level > _NEGLIGIBLE or math.exp(level) * gap * gap > 1e-18 * second:
            width = panel_width(coin, w + direction * start, direction)
            for k in range(_NODES.size):
                v = direction * (start + width * _NODES[k])
                mass = width * _WEIGHTS[k] * math.exp(log_density_change(coin, w, v))
                # theta(w + v) - theta(w)
                if v < 0.0:
                    gap = p * q * math.expm1(v) / (q + p * math.exp(v))
                else:
                    gap = -p * q * math.expm1(-v) / (p + q * math.exp(-v))
                total += mass
                first += mass * gap
                second += mass * gap * gap
            start += width
            level = log_density_change(coin, w, direction * start)
    first /= total
    return p + first, second / total - first * first


@kernel
def log_sigmoid(x):
    """log sigmoid(x)."""
    return -math.log1p(math.exp(-x)) if x > 0.0 else x - math.log1p(math.exp(x))


@kernel
def log_total(coin):
    """Log integral over w of lambda^a (1 - lambda)^b theta^c (1 - theta)^d."""
    w, x = coin[MODE], coin[MODE] + coin[H]
    level = coin[A] * log_sigmoid(x) + coin[B] * log_sigmoid(-x) + coin[C] * log_sigmoid(w) + coin[D] * log_sigmoid(-w)
    return level + coin[LOG_INTEGRAL]
