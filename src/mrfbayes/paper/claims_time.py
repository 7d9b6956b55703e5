"""Judges of what the paper says about time."""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.paper import constants as settings
from mrfbayes.paper import printed
from mrfbayes.paper.claims import Claim, Criterion, Finding, NotRun, compared, needed
from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.results import Average, Results, quotient

TOLERABLE = 37 * 3600.0  # seconds that the paper calls tolerable for Exact-L on 4x4
THOUSANDS = 1_000.0  # hours
SOME = 1.5  # factors below this one are called "the same" in the verdicts on run times; a guess
FOLDS = 2.0  # and from here on "several times"
SUBLINEAR = 1.2  # largest exponent of p that is called linear


def _seconds(results: Results, grid: str, n: int, method: str, setting: str = "adapted") -> Average:
    found = results.timing(grid, n, method, setting)
    return needed(found, f"{grid}, n = {n}, {METHODS[method].label} ({setting})")


def _grids(results: Results, *methods: str) -> list[str]:
    """Grids on which all of the methods were run at n = 100 and 1,000."""
    found = [
        grid
        for grid in settings.GRIDS
        if all(results.count(grid, n, method) for n in (100, 1000) for method in methods)
    ]
    if not found:
        raise NotRun(f"{', '.join(METHODS[m].label for m in methods)} at n = 100 and 1,000")
    return found


def faster_than_pseudo(results: Results) -> Finding:
    ratios = {
        f"{grid}, n = {n:,}": quotient(_seconds(results, grid, n, "pseudo"), _seconds(results, grid, n, "mle-0"))
        for grid in _grids(results, "pseudo", "mle-0")
        for n in (100, 1000)
    }
    least = min(ratios, key=lambda key: ratios[key].value)
    checks = [Criterion(f"{key}: time of Pseudo-L over MLE-L", ratio.text(1, 1)) for key, ratio in ratios.items()]
    for bound in (1, FOLDS):
        what = f"the smallest ({least})"
        checks.append(compared(what, ratios[least].text(1, 1), f"above {bound:g}", ratios[least].value > bound))
    return Finding(
        f"Pseudo-L takes {ratios[least].text(1, 1)} times as long",
        tuple(checks),
        "Faster, but by a small factor (in the paper 37 to 366 times on 4x4): patterns of neighbours can be counted "
        "once, and then Pseudo-L costs the same whatever n is.",
    )


def _growth(results: Results, method: str) -> dict[str, Average]:
    """Time at n = 1,000 over time at n = 100, by grid."""
    return {
        grid: quotient(_seconds(results, grid, 1000, method), _seconds(results, grid, 100, method))
        for grid in _grids(results, method)
    }


def pseudo_grows(results: Results) -> Finding:
    ratios = _growth(results, "pseudo")
    largest = max(_seconds(results, grid, 1000, "pseudo").value for grid in ratios)
    checks = [
        compared(f"{grid}: time at n = 1,000 over n = 100", ratio.text(), f"above {SOME:g}", ratio.value > SOME)
        for grid, ratio in ratios.items()
    ]
    return Finding(
        f"n = 1,000 over n = 100: {ratios['4x4'].text()} times",
        (*checks, Criterion("the longest, seconds", f"{largest:.1f}")),
        "Growth with n (9.9 times on 4x4 in the paper, up to 4.9 hours) is a property of the program, not of the "
        "method: the likelihood depends on the data through counts of neighbour patterns.",
    )


def insensitive(results: Results) -> Finding:
    ratios = {
        f"{METHODS[method].label}, {grid}": ratio
        for method in ("laplace", "mle-0", "mle-0.05")
        for grid, ratio in _growth(results, method).items()
    }
    values = [ratio.value for ratio in ratios.values()]
    middle = Average(float(np.median(values)), 1.25 * float(np.std(values)) / math.sqrt(len(values)), len(values))
    checks = [Criterion(f"{key}: time at n = 1,000 over n = 100", ratio.text()) for key, ratio in ratios.items()]
    same = 1 / SOME < middle.value < SOME
    return Finding(
        f"n = 1,000 over n = 100: {middle.text()} times",
        (*checks, compared("median", middle.text(), f"1 within a factor of {SOME:g}", same)),
        "Both need the data only once, as counts. Single ratios scatter by about a tenth: the machine's speed varies.",
    )


def copula_cost(results: Results) -> Finding:
    ratios = {
        grid: quotient(_seconds(results, grid, 100, "mle-0.05"), _seconds(results, grid, 100, "mle-0"))
        for grid in _grids(results, "mle-0.05", "mle-0")
    }
    checks = [
        compared(f"{grid}: time of rho = 0.05 over 0", ratio.text(), f"above {FOLDS:g}", ratio.value > FOLDS)
        for grid, ratio in ratios.items()
    ]
    return Finding(
        f"{ratios['4x4'].text()} times as long on 4x4",
        tuple(checks),
        "In the paper 5.6, 6.0 and 8.6 times. An exchangeable correlation matrix has its determinant and inverse in "
        "closed form (O(p), not O(p²)), and normal scores are tabulated once per edge.",
    )


def linear_in_p(results: Results) -> Finding:
    grid = _grids(results, "mle-0")[-1]
    if grid == "4x4":
        raise NotRun("6x6 and 8x8, MLE-L")
    ratio = quotient(_seconds(results, grid, 1000, "mle-0"), _seconds(results, "4x4", 1000, "mle-0"))
    scale = math.log(settings.PARAMETERS[grid] / settings.PARAMETERS["4x4"])
    power = Average(math.log(ratio.value) / scale, ratio.error / ratio.value / scale, ratio.count)
    theirs = printed.TABLE_2["8x8"]["mle-0"][2] / printed.TABLE_1["mle-0"][2]
    paper_power = math.log(theirs) / math.log(settings.PARAMETERS["8x8"] / settings.PARAMETERS["4x4"])
    what = f"exponent of p, 4x4 to {grid}"
    return Finding(
        f"time grows like p^({power.text()})",
        (
            compared(what, power.text(), f"below {SUBLINEAR:g}", power.value < SUBLINEAR),
            compared(what, power.text(), f"below the paper's own {paper_power:.2f}", power.value < paper_power),
        ),
        "The likelihood is linear in p. What is not is the proposal: adapted, it multiplies by a p x p matrix.",
    )


def exact_lost(results: Results) -> Finding:
    larger = [grid for grid in settings.GRIDS if grid != "4x4" and results.count(grid, 1000, "exact")]
    if not larger:
        raise NotRun("Exact-L on 6x6 and 8x8 at n = 1,000")
    seconds = {grid: _seconds(results, grid, 1000, "exact") for grid in larger}
    checks = [
        compared(f"{grid}: seconds of 10^6 steps", s.text(1, 1), f"above {TOLERABLE:,.0f}", s.value > TOLERABLE)
        for grid, s in seconds.items()
    ]
    return Finding(
        f"10^6 steps on {larger[-1]}: {seconds[larger[-1]].text(1, 1)} s",
        tuple(checks),
        "The paper: 37 hours on 4x4, unfinished on 6x6 and 8x8. The same recursion, node by node with 2^rows numbers, "
        "compiled: microseconds per evaluation. The benchmark need not be lost.",
    )


def thousands_of_hours(results: Results) -> Finding:
    checks, number = [], ""
    for method in settings.FRESH_SAMPLERS:
        swept = _seconds(results, "4x4", 100, method, "gibbs")
        text = f"{swept.text(1 / 3600, 1)} (extrapolated)"
        what = f"{METHODS[method].label}: hours, particles by sweeps"
        checks.append(compared(what, text, f"above {THOUSANDS:,.0f}", swept.value / 3600 > THOUSANDS))
        exact = results.timing("4x4", 100, method)
        if exact.count:
            checks.append(Criterion(f"{METHODS[method].label}: seconds, exact particles (finished)", exact.text(1, 1)))
            number = f"finished in {exact.text(1, 1)} s by exact particles"
    return Finding(
        number,
        tuple(checks),
        "The paper extrapolates to 1,400 to 2,750 hours. 64 particles fit into a machine word; and where log Z is "
        "feasible 1,000 exact particles cost as much as a handful of the thousand sweeps. What these methods compute "
        "is another matter: see their noise. The number is that of Exch.",
    )


def persistent_time(results: Results) -> Finding:
    first, last = (_seconds(results, "4x4", n, "persistent") for n in (100, 1000))
    dearer = quotient(last, _seconds(results, "4x4", 1000, "mle-0"))
    growth = quotient(last, first)
    what = "time at n = 1,000 over n = 100"
    return Finding(
        f"{dearer.text(1, 0)} times as long as MLE-L",
        (
            Criterion("seconds at n = 100 and 1,000", f"{first.text(1, 1)}, {last.text(1, 1)}"),
            compared("time over MLE-L's", dearer.text(1, 0), f"above {FOLDS:g}", dearer.value > FOLDS),
            compared(what, growth.text(), f"above {SOME:g}", growth.value > SOME),
        ),
        "MLE-L is far cheaper per step (paper: 2,830 and 4,000 s, 320 times). The growth with n that the paper saw is "
        "not in the algorithm: n enters as a power.",
    )


TIME = (
    Claim("Secs. 1, 3.3, Tables 1, 2", "MLE-L runs faster than Pseudo-L", "table1", faster_than_pseudo, (2, 2)),
    Claim("Abstract, Secs. 3.3, 4", "Pseudo-L grows with n until it is unbearable", "table2", pseudo_grows, (0, 3)),
    Claim("Sec. 3.3", "Laplace-L and MLE-L are insensitive to n", "table1", insensitive, (1, 1)),
    Claim("Sec. 3.3", "A copula costs several times the independent one", "table1", copula_cost, (0, 3)),
    Claim("Sec. 1", "MLE-L's cost is linear in the number of parameters", "table2", linear_in_p, (2, 2)),
    Claim("Sec. 3.3", "Exact-L is out of reach on 6x6 and 8x8", "table2", exact_lost, (0, 2)),
    Claim("Sec. 3.3, Table 1", "IS, AuxVar and Exch take thousands of hours", "gibbs", thousands_of_hours, (0, 3)),
    Claim("Secs. 3.3, 4", "PersistMC takes an hour, more with n", "table1", persistent_time, (1, 2)),
)
