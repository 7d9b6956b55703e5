"""Judges of what the paper says about its method and its simulations' settings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mrfbayes.paper import constants as settings
from mrfbayes.paper import results as measures
from mrfbayes.paper.claims import CLOSE, Claim, Finding, NotRun, error_of, verdict
from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.results import Results
from mrfbayes.paper.tasks import RESOLUTION

SETUP_SIZES = (100, 1000)
MOVING = 400.0  # effective draws below which a chain's sds are not worth comparing


def _list(parts: list[str]) -> str:
    return "; ".join(parts)


def _closeness(values_at: Callable[[int], list[float]], lacking: str, digits: int) -> tuple[str, list[bool]]:
    """Average differences at each n, in words, and whether each is one that nobody would see."""
    parts, near = [], []
    for n in SETUP_SIZES:
        values = values_at(n)
        if not values:
            raise NotRun(lacking.format(n=n))
        found = measures.average(values)
        parts.append(f"{found.text(100, digits)} % of the sd at n = {n:,}")
        near.append(found.value < CLOSE)
    return " and ".join(parts), near


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

    text, near = _closeness(values_at, "4x4, n = {n}, the exact posterior", 1)
    return Finding(
        f"they differ by {text}",
        verdict(*near),
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

    text, near = _closeness(values_at, "MLE-L with n + 2", 2)
    return Finding(
        f"means differ by {text}",
        verdict(*near),
        "Of order 1/√n in sds; the GBD form is the exact one for a single coin.",
    )


def coalescence(results: Results) -> Finding:
    parts, within = [], []
    for grid in settings.GRIDS:
        truth = results.outcomes(grid, 100, "coalescence", "at-truth")
        chain = results.outcomes(grid, 100, "coalescence", "along-chain")
        if not (truth and chain):
            continue
        largest = [max(o.numbers["largest"] for o in found.values()) for found in (truth, chain)]
        parts.append(f"{grid}: within {largest[0]:.0f} sweeps at the truth, {largest[1]:.0f} along the chain (n = 100)")
        within += [value <= settings.PARTICLE_SWEEPS for value in largest]
    if not parts:
        raise NotRun("coalescence")
    return Finding(
        f"all of {settings.PARTICLES:,} particles: " + _list(parts),
        verdict(*within),
        "Windows double (8, 16, ...), so these are bounds within a factor of two. Where a draw's couplings "
        "frustrate a cycle, there is no monotone coupling, and its strengths were measured as attractive ones.",
    )


def conservative(results: Results) -> Finding:
    parts, moves = [], []
    for grid in settings.GRIDS:
        for n in settings.TABLE_SIZES:
            rate = results.number("acceptance", grid, n, "exact", setting="printed-half")
            if not rate.count:
                continue
            mle = results.number("acceptance", grid, n, "exact", "printed-mle")
            ess = results.number("ess", grid, n, "exact", setting="printed-half")
            off = results.errors(measures.mean_error_sds, grid, n, "exact", setting="printed-half")
            parts.append(
                f"{grid} n = {n:,}: {100 * rate.value:.2g} % from ½ (ESS {ess.value:.0f}, mean off by "
                f"{off.text(100, 0)} % of the sd), {100 * mle.value:.2g} % from the MLE"
            )
            moves.append(ess.value > MOVING)
    if not parts:
        raise NotRun("the printed proposal")
    return Finding(
        "Exact-L accepts " + _list(parts),
        verdict(*moves),
        "A step of sd 0.032 in all p directions at once is far too long. From the MLE the chain never moves at n >= "
        "500; from ½ it gets stuck on its way, so that even Exact-L's mean is wrong, the more the larger the field. "
        "Differences between methods then are differences between stuck chains, and the start, which is not "
        "printed, decides.",
    )


def sampling_errors(results: Results) -> Finding:
    parts, right = [], []
    for method in settings.PAPER_SAMPLERS:
        for n in settings.TABLE_SIZES:
            if not results.count("4x4", n, method):
                continue
            ratio = error_of(results, measures.sd_ratio, "4x4", n, method)
            noise = results.number("noise", "4x4", n, method)
            parts.append(
                f"{METHODS[method].label} n = {n:,}: sd ratio {ratio.text(1, 2)}, noise {noise.text(1, 1)} nats"
            )
            right.append(abs(ratio.value - 1) < 0.05)
    if not parts:
        raise NotRun("the sampling methods on 4x4")
    return Finding(
        _list(parts),
        verdict(*right),
        "For n observations the averaged ratio enters as its n-th power. What is consistent for one observation "
        "has, with 1,000 particles, noise of several nats at n = 1,000, and the chain's law is wider than the "
        "posterior.",
    )


def contrastive(results: Results) -> Finding:
    parts, fine = [], []
    for setting, name in (("closed", "exact MLE"), ("cd", "CD-1"), ("pcd", "PCD")):
        found = [error_of(results, measures.mean_error_sds, "4x4", n, "mle-0", setting=setting) for n in SETUP_SIZES]
        parts.append(f"{name} {found[0].text(100, 1)} and {found[1].text(100, 1)} %")
        fine.append(max(e.value for e in found) < CLOSE)
    return Finding(
        "MLE-L's mean error in % of the sd at n = 100 and 1,000, by estimator: " + _list(parts),
        verdict(*fine),
        "PCD is as good as the exact MLE; CD-1's fixed point is another estimator, and its distance does not fade.",
    )


SETUP = (
    Claim("Sec. 2.2", "CD or its variations give an estimate good enough for eta", "studies", contrastive),
    Claim("Sec. 2.2", "Joint and marginal MLEs hardly differ", "table1", joint_and_marginal),
    Claim("Sec. 3.3", "Coalescence always happens within 1,000 steps", "studies", coalescence),
    Claim("Sec. 3.3", "Settings are conservative and do not decide the outcome", "acceptance", conservative),
    Claim("Sec. 4", "n + 2 and n are close", "studies", plus_two),
    Claim("Supplement, (12)-(15)", "Averaged ratios make the MH ratio feasible", "table1", sampling_errors),
)
