"""Judges of what the paper says about time."""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.paper import constants as settings
from mrfbayes.paper import printed
from mrfbayes.paper.claims import NOT, REPRODUCED, Claim, Finding, needed, verdict
from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.results import Results

TOLERABLE = 37 * 3600.0  # seconds that the paper calls tolerable for Exact-L on 4x4
THOUSANDS = 1_000.0  # hours
SOME = 1.5  # factors below this one are called "the same" in the verdicts on run times
FOLDS = 2.0  # and from here on "several times"


def _seconds(results: Results, grid: str, n: int, method: str, setting: str = "adapted") -> float:
    found = results.seconds(grid, n, method, setting)
    return needed(found, f"{grid}, n = {n}, {METHODS[method].label} ({setting})")


def _grids(results: Results, *methods: str) -> list[str]:
    """Grids on which all of the methods were run at n = 100 and 1,000."""
    return [
        grid
        for grid in settings.GRIDS
        if all(results.count(grid, n, method) for n in (100, 1000) for method in methods)
    ]


def faster_than_pseudo(results: Results) -> Finding:
    ratios = {}
    for grid in _grids(results, "pseudo", "mle-0") or ["4x4"]:
        for n in (100, 1000):
            ratios[grid, n] = _seconds(results, grid, n, "pseudo") / _seconds(results, grid, n, "mle-0")
    text = ", ".join(f"{ratio:.1f} ({grid}, n = {n:,})" for (grid, n), ratio in ratios.items())
    return Finding(
        f"Pseudo-L takes {text} times as long; in the paper 37 to 366 times on 4x4",
        verdict(min(ratios.values()) > 1, min(ratios.values()) > FOLDS),
        "Faster, but by a small factor: patterns of neighbours can be counted once, and then Pseudo-L costs the same "
        "whatever n is.",
    )


def pseudo_grows(results: Results) -> Finding:
    ratios = {
        grid: _seconds(results, grid, 1000, "pseudo") / _seconds(results, grid, 100, "pseudo")
        for grid in _grids(results, "pseudo") or ["4x4"]
    }
    largest = max(_seconds(results, grid, 1000, "pseudo") for grid in ratios)
    return Finding(
        "n = 1,000 takes "
        + ", ".join(f"{ratio:.2f} ({grid})" for grid, ratio in ratios.items())
        + f" times as long as n = 100, at most {largest:.1f} s (paper: 9.9 times on 4x4, up to 4.9 hours)",
        verdict(*(ratio > SOME for ratio in ratios.values())),
        "Growth with n is a property of the program, not of the method: the likelihood depends on the data through "
        "counts of neighbour patterns.",
    )


def insensitive(results: Results) -> Finding:
    ratios = {}
    for method in ("laplace", "mle-0", "mle-0.05"):
        for grid in _grids(results, method) or ["4x4"]:
            ratios[method, grid] = _seconds(results, grid, 1000, method) / _seconds(results, grid, 100, method)
    text = ", ".join(f"{METHODS[m].label} {grid} {ratio:.2f}" for (m, grid), ratio in ratios.items())
    middle = float(np.median(list(ratios.values())))
    return Finding(
        f"time at n = 1,000 over time at n = 100: median {middle:.2f}; {text}",
        REPRODUCED if 1 / SOME < middle < SOME else NOT,
        "Both need the data only once, as counts. Single ratios scatter by about a tenth: the machine's speed varies.",
    )


def copula_cost(results: Results) -> Finding:
    ratios = {
        grid: _seconds(results, grid, 100, "mle-0.05") / _seconds(results, grid, 100, "mle-0")
        for grid in _grids(results, "mle-0.05", "mle-0") or ["4x4"]
    }
    return Finding(
        "rho = 0.05 takes " + ", ".join(f"{r:.2f} ({g})" for g, r in ratios.items()) + " times as long as rho = 0 "
        "(paper: 5.6, 6.0, 8.6)",
        NOT if max(ratios.values()) < FOLDS else REPRODUCED,
        "An exchangeable correlation matrix has its determinant and inverse in closed form (O(p), not O(p²)), and "
        "normal scores are tabulated once per edge.",
    )


def linear_in_p(results: Results) -> Finding:
    large = _grids(results, "mle-0")[-1:] or ["8x8"]
    grid = large[0]
    ratio = _seconds(results, grid, 1000, "mle-0") / _seconds(results, "4x4", 1000, "mle-0")
    needed(math.nan if grid == "4x4" else ratio, "6x6 and 8x8, MLE-L")
    power = math.log(ratio) / math.log(settings.PARAMETERS[grid] / settings.PARAMETERS["4x4"])
    theirs = printed.TABLE_2["8x8"]["mle-0"][2] / printed.TABLE_1["mle-0"][2]
    paper_power = math.log(theirs) / math.log(settings.PARAMETERS["8x8"] / settings.PARAMETERS["4x4"])
    return Finding(
        f"time grows like p^{power:.2f} from 4x4 to {grid} ({ratio:.1f} times), a step with its proposal; the "
        f"paper's own tables give p^{paper_power:.2f}",
        verdict(power < 1.2, power < paper_power),
        "The likelihood is linear in p. What is not is the proposal: adapted, it multiplies by a p x p matrix.",
    )


def exact_lost(results: Results) -> Finding:
    seconds = {
        grid: _seconds(results, grid, 1000, "exact") for grid in settings.GRIDS if results.count(grid, 1000, "exact")
    }
    needed(math.nan if not seconds.keys() - {"4x4"} else 0.0, "Exact-L on 6x6 and 8x8 at n = 1,000")
    return Finding(
        "10^6 steps at n = 1,000: "
        + ", ".join(f"{s:.1f} s ({g})" for g, s in seconds.items())
        + "; paper: 37 hours on 4x4, unfinished on 6x6 and 8x8",
        verdict(*(seconds[grid] > TOLERABLE for grid in seconds if grid != "4x4")),
        "The same recursion, node by node with 2^rows numbers, compiled: microseconds per evaluation. The benchmark "
        "need not be lost.",
    )


def thousands_of_hours(results: Results) -> Finding:
    parts, hours = [], []
    for method in settings.FRESH_SAMPLERS:
        swept = _seconds(results, "4x4", 100, method, "gibbs") / 3600
        hours.append(swept)
        exact = results.seconds("4x4", 100, method)
        text = f"{METHODS[method].label} {swept:.1f} h by sweeps (extrapolated)"
        parts.append(text + ("" if math.isnan(exact) else f", {exact:.0f} s with exact particles (finished)"))
    return Finding(
        "; ".join(parts) + "; paper: 1,400 to 2,750 h",
        verdict(*(swept > THOUSANDS for swept in hours)),
        "64 particles fit into a machine word; and where log Z is feasible 1,000 exact particles cost as much as a "
        "handful of the thousand sweeps. What these methods compute is another matter: see their noise above.",
    )


def persistent_time(results: Results) -> Finding:
    first, last = (_seconds(results, "4x4", n, "persistent") for n in (100, 1000))
    mle = _seconds(results, "4x4", 1000, "mle-0")
    return Finding(
        f"{first:.0f} s at n = 100, {last:.0f} s at n = 1,000 ({last / mle:.0f} times MLE-L; paper: 2,830 and 4,000 s, "
        "320 times)",
        verdict(last / mle > FOLDS, last / first > SOME),
        "MLE-L is far cheaper per step. The growth with n that the paper saw is not in the algorithm: n enters as "
        "a power.",
    )


TIME = (
    Claim("Secs. 1, 3.3, Tables 1, 2", "MLE-L runs faster than pseudolikelihood", "table1", faster_than_pseudo),
    Claim("Abstract, Secs. 3.3, 4", "Pseudo-L grows with n until it is unbearable", "table2", pseudo_grows),
    Claim("Sec. 3.3", "Laplace-L and MLE-L are insensitive to n", "table1", insensitive),
    Claim("Sec. 3.3", "A Gaussian copula costs several times the independent one", "table1", copula_cost),
    Claim("Sec. 1", "MLE-L's cost is linear in the number of parameters", "table2", linear_in_p),
    Claim("Sec. 3.3", "Exact-L is tolerable on 4x4 and out of reach on 6x6 and 8x8", "table2", exact_lost),
    Claim("Sec. 3.3, Table 1", "IS, AuxVar and Exch take thousands of hours", "gibbs", thousands_of_hours),
    Claim("Secs. 3.3, 4", "PersistMC takes about an hour, more with n, MLE-L much less", "table1", persistent_time),
)
