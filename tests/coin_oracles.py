"""The coin's distribution by brute force in mpmath: 25 digits, nothing of ours."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import mpmath as mp

DIGITS = 25


def exponents(alpha, n, form):
    """(a, b, c, d) of lambda^a (1-lambda)^b theta^c (1-theta)^d, the density in w = logit theta."""
    return (alpha, n - alpha, 1, 1) if form == "printed" else (alpha + 1, n - alpha + 1, 0, 0)


def log_density(alpha, n, h, form):
    """Unnormalised log density in w as an mpmath function."""
    a, b, c, d = (mp.mpf(v) for v in exponents(alpha, n, form))
    h = mp.mpf(h)

    def softplus(x):
        return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))

    return lambda w: -a * softplus(-(w + h)) - b * softplus(w + h) - c * softplus(-w) - d * softplus(w)


@cache
def _nodes():
    """Nodes and weights of the Gauss-Legendre rule with 24 points on (-1, 1)."""
    with mp.workdps(DIGITS):
        return mp.calculus.quadrature.GaussLegendre(mp.mp).calc_nodes(4, mp.mp.prec)


def distribution(alpha, n, h, form, points, low, high, pieces=40):
    """Integrate by Gauss-Legendre over ``pieces`` equal parts of [low, high], cut again at ``points`` (log-odds).

    Returns the list of (F, S) at the points, mean and variance of theta, and log density in w at the points. The range
    must hold all the mass that matters. More nodes, or pieces, change nothing above 1e-15.
    """
    with mp.workdps(DIGITS):
        raw = log_density(alpha, n, h, form)
        low, high = mp.mpf(low), mp.mpf(high)
        cuts = sorted({low + (high - low) * k / pieces for k in range(pieces + 1)} | {mp.mpf(w) for w in points})
        top = max(raw(w) for w in cuts)
        pairs = []  # (mass, theta) at the nodes of every piece
        for a, b in pairwise(cuts):
            places = [((a + b) / 2 + (b - a) / 2 * x, weight * (b - a) / 2) for x, weight in _nodes()]
            pairs.append([(weight * mp.exp(raw(w) - top), 1 / (1 + mp.exp(-w))) for w, weight in places])
        mass = [mp.fsum(m for m, _ in piece) for piece in pairs]
        total = mp.fsum(mass)
        mean = mp.fsum(m * theta for piece in pairs for m, theta in piece) / total
        variance = mp.fsum(m * (theta - mean) ** 2 for piece in pairs for m, theta in piece) / total
        tails, logs = [], []
        for w in points:
            place = cuts.index(mp.mpf(w))
            tails.append((mp.fsum(mass[:place]) / total, mp.fsum(mass[place:]) / total))
            logs.append(raw(mp.mpf(w)) - top - mp.log(total))
        return tails, mean, variance, logs
