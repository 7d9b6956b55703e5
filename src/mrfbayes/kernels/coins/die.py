r"""The die in a magnetic field: lambda_k proportional to eta_k theta_k, with c_k = 1 / eta_k.

Under the uniform prior on the simplex the density of lambda is Dirichlet(alpha + 1), in the printed form times
:math:`(\sum c_k\lambda_k)^{-K}`. Sticks mu_k = lambda_k / (lambda_k + ... + lambda_K) turn the Dirichlet into
independent Betas, and sum c lambda into C_1 of the recursion C_k = mu_k c_k + (1 - mu_k) C_{k+1}, C_K = c_K. So, from
the last stick to the first, stick k given the later ones depends on them through C_{k+1} alone:

.. math:: f(\mu_k \mid C_{k+1}) = \frac{\mathrm{Beta}(\mu_k)\, G_{k-1}(\mu_k c_k + (1-\mu_k) C_{k+1})}{G_k(C_{k+1})},
          \qquad G_0(C) = C^{-K},

.. math:: G_k(C) = \frac{\Gamma(N)}{\Gamma(N-K)\Gamma(K)} \int_0^\infty s^{K-1} (1+Cs)^{-b_k}
          \prod_{l\le k} (1+c_l s)^{-a_l}\, ds,

with a = alpha + 1, b_k = a_{k+1} + ... + a_K, N = n + K: a Dirichlet mean of a power is a mean over Gamma variables,
and the power of their sum an integral of exponentials. That integrand is log-concave in log s, like the coin's density.
These are the Rosenblatt coordinates by which a die enters the copula.

The form with power n + K has no such factor: G = 1 throughout.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.normal import LOG_SQRT_2PI, quantile_from_tail
from mrfbayes.kernels.coins.coin import MODE, pair_change, sigmoid_pair, step_in_bracket
from mrfbayes.kernels.coins.coin import log_density as log_beta_density

_NODES, _WEIGHTS = (0.5 * (x + shift) for x, shift in zip(np.polynomial.legendre.leggauss(20), (1.0, 0.0), strict=True))
_PANEL_DROP = 12.0  # nats per panel: 20 nodes give 1e-12
_PANEL_WIDTH = 2.5  # singularities at distance pi, as for the coin
_NEGLIGIBLE = -36.0
_MAX_NEWTON = 200
_LEAP = 10.0
_TINY = 1e-300


class Die(NamedTuple):
    """A die with K sides."""

    a: np.ndarray  # (K,) alpha + 1
    log_c: np.ndarray  # (K,) -log eta
    sticks: np.ndarray  # (K-1, COIN_FIELDS) the sticks' Betas as coins
    chebyshev: np.ndarray  # (K-1, m) coefficients of log G_1 .. log G_{K-2} in log C; row K-2: G_{K-1}(c_K), a constant
    power: float  # K in the printed form, 0 where lambda is Dirichlet
    low: float  # the interval of log C
    high: float


@kernel
def _log_add(x, y):
    top = max(x, y)
    return top + math.log1p(math.exp(min(x, y) - top))


@kernel
def log_power_integral(a, log_c, power):
    """Log of the integral over s of s^(power - 1) prod (1 + c_k s)^(-a_k), for 0 < power < sum(a)."""
    low, high = math.inf, -math.inf
    for k in range(a.size):
        low, high = min(low, -log_c[k]), max(high, -log_c[k])
    total = a.sum()
    centre = math.log(power / (total - power))  # exact where all c are equal
    low, high = low + centre, high + centre
    x = 0.5 * (low + high)
    for _ in range(_MAX_NEWTON):
        slope, curvature = power, 0.0
        for k in range(a.size):
            s, t = sigmoid_pair(log_c[k] + x)
            slope -= a[k] * s
            curvature += a[k] * s * t
        if slope > 0.0:
            low = x
        else:
            high = x
        step = slope / max(curvature, _TINY)
        if abs(step) <= 1e-13 * (1.0 + abs(x)) or high - low <= 1e-13 * (1.0 + abs(x)):
            break
        x = x + step if low < x + step < high else 0.5 * (low + high)
    s, t = np.empty(a.size), np.empty(a.size)
    level = power * x
    for k in range(a.size):
        s[k], t[k] = sigmoid_pair(log_c[k] + x)
        level += a[k] * math.log(t[k]) if s[k] > 0.5 else a[k] * math.log1p(-s[k])
    integral = 0.0
    for side in range(2):
        direction = 2.0 * side - 1.0
        start, drop = 0.0, 0.0
        while drop > _NEGLIGIBLE:
            slope, curvature = power, 0.0
            for k in range(a.size):
                u, v = sigmoid_pair(log_c[k] + x + direction * start)
                slope -= a[k] * u
                curvature += a[k] * u * v
            slope = max(-direction * slope, 0.0)
            width = 2.0 * _PANEL_DROP / (slope + math.sqrt(slope * slope + 2.0 * _PANEL_DROP * curvature) + _TINY)
            width = min(width, _PANEL_WIDTH)
            for node in range(_NODES.size + 1):  # the last one is the panel's end
                share = _NODES[node] if node < _NODES.size else 1.0
                v = direction * (start + width * share)
                drop = power * v
                for k in range(a.size):
                    drop += pair_change(0.0, a[k], s[k], t[k], v)
                if node < _NODES.size:
                    integral += width * _WEIGHTS[node] * math.exp(drop)
            start += width
    return level + math.log(integral)


@kernel
def log_mixture(a, log_c, k, log_rest):
    """log G_k at C = exp(log_rest): the first k sides one by one, the others as one side with c = C."""
    sides = a.size
    part, part_c = np.empty(k + 1), np.empty(k + 1)
    part[:k], part_c[:k] = a[:k], log_c[:k]
    part[k], part_c[k] = a[k:].sum(), log_rest
    n = a.sum() - sides
    factor = 0.0  # log of Gamma(n + K) / (Gamma(n) Gamma(K)), as a product so that nothing cancels
    for i in range(sides):
        factor += math.log((n + i) / max(i, 1))
    return factor + log_power_integral(part, part_c, float(sides))


@kernel
def fill_tables(a, log_c, low, high, chebyshev):
    """Fill `Die.chebyshev` for the printed form."""
    sides, m = a.size, chebyshev.shape[1]
    values = np.empty(m)
    for k in range(1, sides - 1):
        for i in range(m):
            x = math.cos(math.pi * (i + 0.5) / m)
            values[i] = log_mixture(a, log_c, k, 0.5 * (low + high) + 0.5 * (high - low) * x)
        for order in range(m):
            total = 0.0
            for i in range(m):
                total += values[i] * math.cos(math.pi * order * (i + 0.5) / m)
            chebyshev[k - 1, order] = total * (1.0 if order == 0 else 2.0) / m
    chebyshev[sides - 2, :] = 0.0
    chebyshev[sides - 2, 0] = log_mixture(a, log_c, sides - 1, log_c[sides - 1])


@kernel
def _clenshaw(row, x):
    """Chebyshev series with coefficients ``row`` at x in [-1, 1]."""
    ahead, two_ahead = 0.0, 0.0
    for order in range(row.size - 1, 0, -1):
        ahead, two_ahead = 2.0 * x * ahead - two_ahead + row[order], ahead
    return x * ahead - two_ahead + row[0]


@kernel
def _mixture(power, row, low, high, log_rest):
    """log G at C = exp(log_rest): a power where ``row`` is empty, else its series on [low, high]."""
    if row.size == 0:
        return -power * log_rest
    x = (2.0 * log_rest - low - high) / (high - low)
    return _clenshaw(row, min(max(x, -1.0), 1.0))


@kernel
def stick_tail(die, k, b, log_rest, y):
    """Of stick k (from 1) at logit mu = y: (log density in y, log tail beyond y, whether that is the upper one).

    ``b`` is b_k, ``log_rest`` is log C_{k+1}.
    """
    a, power, low, high, log_c = die.a[k - 1], die.power, die.low, die.high, die.log_c[k - 1]
    plain = k == 1 or power == 0.0
    row = die.chebyshev[0 if plain else k - 2, : 0 if plain else die.chebyshev.shape[1]]  # of G_{k-1}
    # mu c + (1 - mu) C, relative to the larger of the two
    top = max(log_c, log_rest)
    own, other = math.exp(log_c - top), math.exp(log_rest - top)
    s, t = sigmoid_pair(y)
    here = _mixture(power, row, low, high, top + math.log(s * own + t * other))
    u, v = sigmoid_pair(y + 1e-4)
    tilt = (_mixture(power, row, low, high, top + math.log(u * own + v * other)) - here) / 1e-4
    upper = a * t - b * s + tilt < 0.0
    direction = 1.0 if upper else -1.0
    total, start, level = 0.0, 0.0, 0.0
    while level > _NEGLIGIBLE:
        u, v = sigmoid_pair(y + direction * start)
        slope = max(-direction * (a * v - b * u + tilt), 0.0)
        curvature = (a + b) * u * v + 0.25 * power
        width = 2.0 * _PANEL_DROP / (slope + math.sqrt(slope * slope + 2.0 * _PANEL_DROP * curvature) + _TINY)
        width = min(width, _PANEL_WIDTH)
        for node in range(_NODES.size + 1):  # the last one is the panel's end
            share = _NODES[node] if node < _NODES.size else 1.0
            move = direction * (start + width * share)
            level = pair_change(a, b, s, t, move)
            if power != 0.0:
                u, v = sigmoid_pair(y + move)
                level += _mixture(power, row, low, high, top + math.log(u * own + v * other)) - here
            if node < _NODES.size:
                total += width * _WEIGHTS[node] * math.exp(level)
        start += width
    log_density = log_beta_density(die.sticks[k - 1], y)
    if power != 0.0:
        log_density += here - _mixture(power, die.chebyshev[k - 1], low, high, log_rest)  # the last row is a constant
    return log_density, min(log_density + math.log(total), 0.0), upper


@kernel
def die_scores(die, log_theta, out):
    """Normal scores (K-1,) of the sticks at log theta (K,); returns the log density of theta times prod theta."""
    sides = die.a.size
    rest_theta = log_theta[sides - 1]
    rest_lambda = rest_theta - die.log_c[sides - 1]
    b, total = die.a[sides - 1], 0.0
    for k in range(sides - 1, 0, -1):
        log_lambda = log_theta[k - 1] - die.log_c[k - 1]
        density, tail, upper = stick_tail(die, k, b, rest_theta - rest_lambda, log_lambda - rest_lambda)
        out[k - 1] = quantile_from_tail(tail, upper)
        total += density
        rest_lambda = _log_add(rest_lambda, log_lambda)
        rest_theta = _log_add(rest_theta, log_theta[k - 1])
        b += die.a[k - 1]
    return total


@kernel
def _stick_quantile(die, k, b, log_rest, z):
    """The logit of stick k whose normal score is z."""
    low, high, leap = -math.inf, math.inf, _LEAP
    start = z * math.sqrt(1.0 / die.a[k - 1] + 1.0 / b)
    y = die.sticks[k - 1, MODE] + min(max(start, -_LEAP), _LEAP)
    for _ in range(_MAX_NEWTON):
        density, tail, upper = stick_tail(die, k, b, log_rest, y)
        u = quantile_from_tail(tail, upper)
        if u < z:
            low = y
        else:
            high = y
        step = (z - u) * math.exp(-density - 0.5 * u * u - LOG_SQRT_2PI)
        if abs(z - u) <= 1e-7:  # the step is quadratic: what remains is 1e-14
            return y + step
        following, leap = step_in_bracket(y, step, low, high, leap)
        if following == y:
            return y
        y = following
    return y


@kernel
def die_from_scores(die, z, log_theta):
    """Invert `die_scores`: fill log theta (K,) from normal scores z (K-1,)."""
    sides = die.a.size
    log_theta[sides - 1] = 0.0
    rest_theta, rest_lambda, b = 0.0, -die.log_c[sides - 1], die.a[sides - 1]
    for k in range(sides - 1, 0, -1):
        log_lambda = rest_lambda + _stick_quantile(die, k, b, rest_theta - rest_lambda, z[k - 1])
        log_theta[k - 1] = log_lambda + die.log_c[k - 1]
        rest_lambda = _log_add(rest_lambda, log_lambda)
        rest_theta = _log_add(rest_theta, log_theta[k - 1])
        b += die.a[k - 1]
    for k in range(sides):
        log_theta[k] -= rest_theta


# Loops over rows, for callers outside kernels.


@kernel
def many_die_scores(die, log_thetas, scores, densities):
    """`die_scores` of every row of ``log_thetas`` (n, K)."""
    for i in range(log_thetas.shape[0]):
        densities[i] = die_scores(die, log_thetas[i], scores[i])


@kernel
def many_die_from_scores(die, z, log_thetas):
    """`die_from_scores` of every row of ``z`` (n, K-1)."""
    for i in range(z.shape[0]):
        die_from_scores(die, z[i], log_thetas[i])
