"""Run times that the paper prints, in milliseconds at n = 100, 500 and 1,000; extrapolated ones are named apart."""

from __future__ import annotations

from collections.abc import Mapping

Row = tuple[float, float, float]

TABLE_1: Mapping[str, Row] = {
    "exact": (1.19e8, 1.24e8, 1.34e8),
    "pseudo": (4.63e5, 2.35e6, 4.57e6),
    "laplace": (8.03e3, 8.07e3, 8.08e3),
    "mle-0": (1.24e4, 1.25e4, 1.25e4),
    "mle-0.05": (6.90e4, 6.92e4, 6.92e4),
    "mle-0.1": (6.90e4, 6.91e4, 6.92e4),
    "importance": (9.82e9, 9.85e9, 9.95e9),
    "auxiliary": (9.91e9, 1.00e10, 1.01e10),
    "exchange": (5.05e9, 5.06e9, 5.06e9),
    "persistent": (2.83e6, 3.33e6, 4.00e6),
}
EXTRAPOLATED = ("importance", "auxiliary", "exchange")  # the asterisks of Table 1
TABLE_2: Mapping[str, Mapping[str, Row]] = {
    "6x6": {
        "persistent": (7.74e6, 9.67e6, 1.12e7),
        "pseudo": (4.81e5, 2.65e6, 5.00e6),
        "laplace": (2.41e4, 2.42e4, 2.42e4),
        "mle-0": (2.70e4, 2.72e4, 2.73e4),
        "mle-0.05": (1.62e5, 1.63e5, 1.65e5),
        "mle-0.1": (1.62e5, 1.62e5, 1.64e5),
    },
    "8x8": {
        "persistent": (1.45e7, 1.78e7, 1.98e7),
        "pseudo": (2.25e6, 1.02e7, 1.77e7),
        "laplace": (9.90e4, 9.92e4, 9.93e4),
        "mle-0": (1.22e5, 1.24e5, 1.27e5),
        "mle-0.05": (1.05e6, 1.06e6, 1.07e6),
        "mle-0.1": (1.04e6, 1.06e6, 1.07e6),
    },
}
