"""Coins from a single toss to a billion, some of them very lopsided."""

import numpy as np

from mrfbayes.coins.coin import coin_rows

CASES = [
    (3, 10, 0.3),
    (1, 1, 2.0),
    (2.5, 7.25, -4.0),
    (0, 1000, -1.0),
    (700, 1000, 0.5),
    (4 * 10**8, 10**9, 0.2),
]
EXTREME = [
    *CASES,
    (0, 1, 0.0),
    (3, 10**9, 1.5),
    (0, 1, -30.0),
    (1, 1, -30.0),  # a plateau thirty log-odds wide
    (0, 10**9, 0.1),
    (10**9, 10**9, -0.1),
    (5, 6, 12.0),
    (1, 2, 0.0),
    (0.5, 1.5, 1.0),
]
FORMS = ("printed", "gbd")


def make(alpha, n, h, form):
    return coin_rows(np.array([float(alpha)]), np.array([float(n - alpha)]), np.array([float(h)]), form)[0]
