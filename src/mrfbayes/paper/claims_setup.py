"""Judges of what the paper says about its method and its simulations' settings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mrfbayes.paper import constants as settings
from mrfbayes.paper import results as measures
from mrfbayes.paper.claims import Claim, Criterion, Finding, NotRun, below, compared, error_of, percent
from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.results import Average, Results
from mrfbayes.paper.tasks import RESOLUTION

SETUP_SIZES = (100, 1000)
MOVING = 400.0  # effective draws below which a chain's sds are not worth comparing; the default of `sample`
MAX_SD_ERROR_PERCENT = 5.0  # % by which an sd may differ from the exact one


def _differences(
    values_at: Callable[[int], list[float]], what: str, lacking: str
) -> tuple[list[Average], list[Criterion]]:
    """Average differences at each n, and the criterion that each is one that nobody would see."""
    averages, checks = [], []
    for n in SETUP_SIZES:
        values = values_at(n)
        if not values:
            raise NotRun(lacking.format(n=n))
        averages.append(measures.average(values))
        checks.append(below(f"{what}, n = {n:,}, of an sd", averages[-1], digits=2))
    return averages, checks


def joint_and_marginal(results: Results) -> Finding:
    """The marginal's mode by the Beta distribution with the exact mean and sd, which a single coin's posterior is."""

    def values_at(n: int) -> list[float]:
        values = []
        for outcome in results.outcomes("4x4", n, "reference").values():
            mean, sd, mle = (RESOLUTION * np.array(outcome.vectors[name]) for name in ("mean", "sd", "estimate"))
            total = mean * (1 - mean) / sd**2 - 1
            mode = (mean * total - 1) / (total - 2)
            values.append(float((np.abs(mode - mle) / sd).mean()))
        return values

    averages, checks = _differences(values_at, "joint and marginal MLE differ by", "4x4, n = {n}, the exact posterior")
    return Finding(
        f"they differ by {percent(averages[0])} of an sd",
        tuple(checks),
        "The mode of each exact marginal, from the Beta distribution with its mean and sd, against the joint MLE.",
    )


def plus_two(results: Results) -> Finding:
    def values_at(n: int) -> list[float]:
        pairs = results.outcomes("4x4", n, "mle-0", "gbd")
        base = results.outcomes("4x4", n, "mle-0", "closed")
        values = []
        for r in sorted(pairs.keys() & base.keys()):
            apart = np.abs(np.subtract(pairs[r].vectors["mean"], base[r].vectors["mean"]))
            values.append(float((apart / np.array(base[r].vectors["sd"])).mean()))
        return values

    averages, checks = _differences(values_at, "means with n + 2 and with n differ by", "MLE-L with n + 2")
    return Finding(
        f"means differ by {percent(averages[0], 2)} of an sd",
        tuple(checks),
        "The difference is of order 1/√n in sds; the GBD form is the exact one for a single coin.",
    )


def coalescence(results: Results) -> Finding:
    checks, last = [], Average(np.nan, np.nan, 0)
    for grid in settings.GRIDS:
        for setting, where in (("at-truth", "at the truth"), ("along-chain", "along the chain")):
            values = [o.numbers["largest"] for o in results.outcomes(grid, 100, "coalescence", setting).values()]
            if not values:
                continue
            last = measures.average(values)
            bound = f"at most {settings.PARTICLE_SWEEPS:,}"
            what = f"{grid}, {where}: sweeps, average (largest)"
            text = f"{last.text(1, 0)} ({max(values):.0f})"
            checks.append(compared(what, text, bound, max(values) <= settings.PARTICLE_SWEEPS))
    if not checks:
        raise NotRun("coalescence")
    return Finding(
        f"{last.text(1, 0)} sweeps on the largest grid",
        tuple(checks),
        f"All of {settings.PARTICLES:,} coupled pairs at n = 100. Windows double (8, 16, ...), so these are bounds "
        "within a factor of two. Where a draw's couplings frustrate a cycle, there is no monotone coupling, and the "
        "same strengths were measured as attractive ones.",
    )


def conservative(results: Results) -> Finding:
    checks, number = [], ""
    for grid in settings.GRIDS:
        for n in settings.TABLE_SIZES:
            rate = results.number("acceptance", grid, n, "exact", setting="printed-half")
            if not rate.count:
                continue
            mle = results.number("acceptance", grid, n, "exact", "printed-mle")
            ess = results.number("ess", grid, n, "exact", setting="printed-half")
            off = results.errors(measures.mean_error_sds, grid, n, "exact", setting="printed-half")
            text = f"{ess.text(1, 0)}; mean off by {percent(off, 0)}; accepted {100 * rate.value:.2g} %"
            text += f", from the MLE {100 * mle.value:.2g} %"
            what = f"{grid}, n = {n:,}: effective draws of Exact-L from ½"
            checks.append(compared(what, text, f"above {MOVING:.0f}", ess.value > MOVING))
            number = f"Exact-L is off by {percent(off, 0)} of an sd"
    if not checks:
        raise NotRun("the printed proposal")
    return Finding(
        number,
        tuple(checks),
        "A step of sd 0.032 in all p directions at once is far too long. From the MLE the chain never moves at n >= "
        "500; from ½ it gets stuck on its way, so that even Exact-L's mean is wrong, the more the larger the field. "
        "Differences between methods are then differences between stuck chains, and the start, which is not "
        "printed, decides. The number is that of 8x8 at n = 1,000.",
    )


def sampling_errors(results: Results) -> Finding:
    checks, number = [], ""
    for method in settings.PAPER_SAMPLERS:
        for n in settings.TABLE_SIZES:
            if not results.count("4x4", n, method):
                continue
            ratio = error_of(results, measures.sd_ratio, "4x4", n, method)
            noise = results.number("noise", "4x4", n, method)
            text = f"{ratio.text(1, 3)}; noise {noise.text(1, 1)} nats"
            what = f"{METHODS[method].label}, n = {n:,}: sd ratio"
            checks.append(
                compared(
                    what,
                    text,
                    f"1 within {MAX_SD_ERROR_PERCENT:g} %",
                    abs(ratio.value - 1) < MAX_SD_ERROR_PERCENT / 100,
                )
            )
            number = f"{METHODS[method].label}: sd ratio {ratio.text(1, 3)}"
    if not checks:
        raise NotRun("the sampling methods on 4x4")
    return Finding(
        number,
        tuple(checks),
        "For n observations the averaged ratio enters as its n-th power. What is consistent for one observation "
        "has, with 1,000 particles, noise of several nats at n = 1,000, and the chain's law is wider than the "
        "posterior. The number is that of n = 1,000. The printed equation (13) is upside down: it estimates the "
        "inverse of the ratio that it stands for; AuxVar here is its inverse.",
    )


def contrastive(results: Results) -> Finding:
    checks, number = [], ""
    for setting, name in (("closed", "exact MLE"), ("pcd", "PCD"), ("cd", "CD-1")):
        for n in SETUP_SIZES:
            error = error_of(results, measures.mean_error_sds, "4x4", n, "mle-0", setting=setting)
            checks.append(below(f"MLE-L from {name}, n = {n:,}: error of the mean, of an sd", error))
            number = f"from {name}: off by {percent(error)} of an sd"
    return Finding(
        number,
        tuple(checks),
        "PCD is as good as the exact MLE; CD-1's fixed point is another estimator, and its distance does not fade.",
    )


SETUP = (
    Claim("Sec. 2.2", "CD or its variants are good enough for eta", "studies", contrastive, (4, 6)),
    Claim("Sec. 2.2", "Joint and marginal MLEs hardly differ", "figure1", joint_and_marginal, (2, 2)),
    Claim("Sec. 3.3", "Particles coalesce within 1,000 steps", "studies", coalescence, (6, 6)),
    Claim("Sec. 3.3", "Settings are conservative and do not decide", "acceptance", conservative, (2, 9)),
    Claim("Sec. 4", "n + 2 and n are close", "studies", plus_two, (2, 2)),
    Claim("Supplement, (12)-(15)", "Averaged ratios make MH feasible", "table1", sampling_errors, (1, 12), "Errors"),
)
