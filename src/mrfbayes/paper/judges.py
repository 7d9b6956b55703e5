"""What the claims of the paper are compared with: each function yields the criteria of one claim of `study.toml`.

The text beside the last criterion that has one (``number``) stands for the claim. Criteria whose cells were not run are
None.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mrfbayes.paper.claims import Average, Criterion, Results, average, below, compared, quotient, smaller
from mrfbayes.paper.constants import (
    FRESH_SAMPLERS,
    GRIDS,
    METHODS,
    PAPER_SAMPLERS,
    PARAMETERS,
    PARTICLE_SWEEPS,
    PRINTED_TIMES,
    TABLE_SIZES,
)
from mrfbayes.paper.tasks import RESOLUTION

Checks = Iterator[Criterion | None]
SIZES = (100, 1000)
MAX_SIMILAR_FACTOR = 1.25  # errors are called different when one is larger by this factor; a guess
SAME_RATIO = 0.005  # difference of two ratios of sds that is called none
MIN_ESS = 400.0  # effective draws below which a chain's sds are not worth comparing; the default of `sample`
MAX_SD_ERROR_PERCENT = 5.0  # % by which an sd may differ from the exact one
BOTH = (("mean_error_sds", "mean"), ("sd_error_relative", "sd"))
TOLERABLE_SECONDS = 37 * 3600.0  # that the paper calls tolerable for Exact-L on 4x4
THOUSANDS_HOURS = 1_000.0
SAME_TIME_FACTOR = 1.5  # factors below this one are called "the same" in the verdicts on run times; a guess
SEVERAL_TIMES = 2.0  # and from here on "several times"
MAX_LINEAR_EXPONENT = 1.2  # largest exponent of p that is called linear
LAPLACE_READINGS = (
    ("laplace-theta", "mean_error_sds", "mean, quadratic in theta"),
    ("laplace-centre", "mean_error_sds", "mean, at the Bethe estimate"),
    ("laplace-particles", "sd_error_relative", "sd, information from 1,000 particles"),
)


def contrastive(r: Results) -> Checks:
    for setting, name in (("closed", "exact MLE"), ("pcd", "PCD"), ("cd", "CD-1")):
        for n in SIZES:
            error = r.errors("mean_error_sds", "4x4", n, "mle-0", setting=setting)
            number = f"from {name}: off by {error.percent()} of an sd"
            yield below(f"MLE-L from {name}, n = {n:,}: error of the mean, of an sd", error, number)


def joint_and_marginal(r: Results) -> Checks:
    """The marginal's mode by the Beta distribution with the exact mean and sd, which a single coin's posterior is."""
    for n in SIZES:
        values = []
        for outcome in r.outcomes("4x4", n, "reference").values():
            mean, sd, mle = (RESOLUTION * np.array(outcome.vectors[name]) for name in ("mean", "sd", "estimate"))
            total = mean * (1 - mean) / sd**2 - 1
            values.append(float((np.abs((mean * total - 1) / (total - 2) - mle) / sd).mean()))
        apart = average(values)
        number = f"they differ by {apart.percent()} of an sd" if n == 100 else ""
        yield below(f"joint and marginal MLE differ by, n = {n:,}, of an sd", apart, number, digits=2)


def plus_two(r: Results) -> Checks:
    for n in SIZES:
        other, base = (r.outcomes("4x4", n, "mle-0", setting) for setting in ("gbd", "closed"))
        apart = average(
            float(
                (np.abs(np.subtract(other[k].vectors["mean"], base[k].vectors["mean"])) / base[k].vectors["sd"]).mean()
            )
            for k in sorted(other.keys() & base.keys())
        )
        number = f"means differ by {apart.percent(2)} of an sd" if n == 100 else ""
        yield below(f"means with n + 2 and with n differ by, n = {n:,}, of an sd", apart, number, digits=2)


def coalescence(r: Results) -> Checks:
    for grid in GRIDS:
        for setting, where in (("at-truth", "at the truth"), ("along-chain", "along the chain")):
            values = [o.numbers["largest"] for o in r.outcomes(grid, 100, "coalescence", setting).values()]
            mean, largest = average(values), max(values, default=math.nan)
            yield compared(
                f"{grid}, {where}: sweeps, average (largest)",
                f"{mean:0} ({largest:.0f})",
                mean,
                bound=f"at most {PARTICLE_SWEEPS:,}",
                holds=largest <= PARTICLE_SWEEPS,
                number=f"{mean:0} sweeps on the largest grid",
            )


def conservative(r: Results) -> Checks:
    for grid in GRIDS:
        for n in TABLE_SIZES:
            rate, mle = (r.number("acceptance", grid, n, "exact", f"printed-{start}") for start in ("half", "mle"))
            ess = r.number("ess", grid, n, "exact", "printed-half")
            off = r.errors("mean_error_sds", grid, n, "exact", setting="printed-half").percent(0)
            text = (
                f"{ess:0}; mean off by {off}; accepted {100 * rate.value:.2g} %, from the MLE {100 * mle.value:.2g} %"
            )
            what, number = f"{grid}, n = {n:,}: effective draws of Exact-L from ½", f"Exact-L is off by {off} of an sd"
            yield compared(what, text, ess, bound=f"above {MIN_ESS:.0f}", holds=ess.value > MIN_ESS, number=number)


def sampling_errors(r: Results) -> Checks:
    for method in PAPER_SAMPLERS:
        for n in TABLE_SIZES:
            ratio = r.errors("sd_ratio", "4x4", n, method)
            yield compared(
                f"{METHODS[method].label}, n = {n:,}: sd ratio",
                f"{ratio:3}; noise {r.number('noise', '4x4', n, method):1} nats",
                ratio,
                bound=f"1 within {MAX_SD_ERROR_PERCENT:g} %",
                holds=abs(ratio.value - 1) < MAX_SD_ERROR_PERCENT / 100,
                number=f"{METHODS[method].label}: sd ratio {ratio:3}",
            )


def more_accurate(r: Results) -> Checks:
    for grid in GRIDS:
        for measure, name in BOTH:
            own = r.errors(measure, grid, 500, "mle-0")
            for method in ("pseudo", "laplace"):
                other = r.errors(measure, grid, 500, method)
                is_first = (grid, name, method) == ("4x4", "mean", "pseudo")
                number = f"Pseudo-L's error is {quotient(other, own):0} times as large" if is_first else ""
                what = f"{grid}, n = 500: error of MLE-L's {name}"
                yield smaller(what, own, METHODS[method].label, other, number=number)


def marginal_wise(r: Results) -> Checks:
    for grid in GRIDS:
        worst, ratio = (r.errors(measure, grid, 500, "mle-0") for measure in ("worst_sd", "sd_ratio"))
        number = f"worst edge's sd off by {worst.percent()}"
        yield below(f"{grid}, n = 500: error of the worst edge's sd", worst, number)
        yield compared(f"{grid}, n = 500: sd ratio", f"{ratio:3}", ratio)


def rho_does_not_matter(r: Results) -> Checks:
    names = ("mle-0", "mle-0.05", "mle-0.1")
    for grid in GRIDS:
        rows = [r.errors("sd_ratio", grid, 100, name, beside=names) for name in names]
        exact = r.errors("sd_error_relative", grid, 100, "exact")
        floor = max(SAME_RATIO, exact.value)
        yield compared(
            f"{grid}: sd ratio for rho = 0, 0.05, 0.1",
            ", ".join(f"{row:3}" for row in rows),
            *(*rows, exact),
            bound=f"equal within {floor:.3f}",
            holds=max(row.value for row in rows) - min(row.value for row in rows) < floor,
            number=f"sd ratio {rows[0]:3} for each rho" if grid == "4x4" else "",
        )


def means_close(r: Results) -> Checks:
    for method in ("persistent", "laplace", "mle-0", "pseudo"):
        label, (first, last) = METHODS[method].label, (r.errors("mean_error", "4x4", n, method) for n in SIZES)
        yield compared(
            f"{label}, n = 1,000: error in thousandths of theta",
            last.text(1000, 2),
            *(first, last),
            bound=f"below {first.text(1000, 2)}, that of n = 100",
            holds=last.value < first.value,
        )
        for n in SIZES:
            error = r.errors("mean_error_sds", "4x4", n, method)
            yield below(f"{label}, n = {n:,}: error of an sd", error, f"{label} is off by {error.percent()} of an sd")


def comparable(r: Results) -> Checks:
    for method in ("mle-0", "laplace", "persistent"):
        error, label = r.errors("mean_error_sds", "4x4", 100, method), METHODS[method].label
        number = f"{label} is off by {error.percent()} of an sd" if method == "laplace" else ""
        yield below(f"{label}, n = 100: error of the mean, of an sd", error, number)
    floor = r.errors("mean_error_sds", "4x4", 100, "exact")
    yield compared("Exact-L's own Monte-Carlo error", floor.percent(), floor)


def pseudo_bias(r: Results) -> Checks:
    size, last_size = (r.errors("mean_error_sds", "4x4", n, "pseudo") for n in SIZES)
    shift, last_shift = (r.errors("mean_shift_sds", "4x4", n, "pseudo") for n in SIZES)
    yield compared(
        "n = 100: distance, of an sd",
        size.percent(),
        *(size, last_size),
        bound=f"above {last_size.percent()}, that of n = 1,000",
        holds=size.value > last_size.value,
    )
    yield compared(
        "n = 100: common shift, of an sd",
        shift.percent(),
        shift,
        bound="above half of the distance",
        holds=abs(shift.value) > 0.5 * size.value,
        number=f"the common shift is {shift.percent()} of an sd",
    )
    yield compared("n = 1,000: common shift, of an sd", last_shift.percent(), last_shift)


def pseudo_sd(r: Results) -> Checks:
    for grid in GRIDS:
        pseudo, ratio = (r.errors(measure, grid, 100, "pseudo") for measure in ("sd_error_relative", "sd_ratio"))
        others = {m: r.errors("sd_error_relative", grid, 100, m) for m in ("laplace", "mle-0")}
        second = max(others, key=lambda m: others[m].value)
        number = f"Pseudo-L's sd is off by {pseudo.percent()}" if grid == "4x4" else ""
        yield _larger(f"{grid}, n = 100: error of Pseudo-L's sd", pseudo, METHODS[second].label, others[second], number)
        yield compared(f"{grid}, n = 100: sd ratio of Pseudo-L", f"{ratio:3}", ratio)
    late = r.errors("sd_error_relative", "4x4", 1000, "pseudo", beside=["persistent"])
    noisy = r.errors("sd_error_relative", "4x4", 1000, "persistent")
    yield _larger("4x4, n = 1,000: error of Pseudo-L's sd", late, "PersistMC", noisy)


def _larger(quantity: str, value: Average, name: str, other: Average, number: str = "") -> Criterion | None:
    bound = f"above {name}'s {other.percent()}"
    return compared(
        quantity, value.percent(), value, other, bound=bound, holds=value.value > other.value, number=number
    )


def laplace_sd(r: Results) -> Checks:
    for grid in GRIDS:
        mle = r.errors("sd_error_relative", grid, 100, "mle-0")
        for setting, name in (("adapted", "Bethe information"), ("laplace-exact", "exact information")):
            error = r.errors("sd_error_relative", grid, 100, "laplace", setting=setting)
            is_first = (grid, setting) == ("4x4", "adapted")
            number = f"{quotient(error, mle):1} times as large on {grid}" if is_first else ""
            yield _larger(f"{grid}, n = 100: Laplace-L's sd, {name}", error, "MLE-L", mle, number)


def as_good_as_persistent(r: Results) -> Checks:
    for n in TABLE_SIZES:
        for measure, name in BOTH:
            mle = r.errors(measure, "4x4", n, "mle-0", beside=["persistent"])
            persistent = r.errors(measure, "4x4", n, "persistent")
            number = f"PersistMC's sd error is {quotient(persistent, mle):0} times as large"
            what = f"n = {n:,}: error of MLE-L's {name}"
            yield smaller(what, mle, "PersistMC", persistent, MAX_SIMILAR_FACTOR, number)


def laplace_deteriorates(r: Results) -> Checks:
    for setting, measure, name in (("adapted", "mean_error_sds", "mean, at the MLE"), *LAPLACE_READINGS):
        errors = {grid: r.errors(measure, grid, 500, "laplace", setting=setting) for grid in GRIDS}
        errors = {grid: error for grid, error in errors.items() if error.count}
        if len(errors) < 2:
            continue
        first, *_, last = errors.values()
        text = ", ".join(f"{error.percent()} ({grid})" for grid, error in errors.items())
        for grid in GRIDS:
            refused = r.refusals(grid, 500, "laplace", setting)
            every = refused + r.count(grid, 500, "laplace", setting)
            text += f", none for {refused} of {every} data sets on {grid}" if refused else ""
        holds = last.value > 2 * first.value or last.value > 1.0
        number = f"{quotient(last, first):2} times as large on 8x8" if setting == "adapted" else ""
        yield compared(f"n = 500: {name}", text, bound="doubles, or above 100 %", holds=holds, number=number)


def mle_stays(r: Results) -> Checks:
    for measure, name in BOTH:
        for grid in GRIDS:
            error = r.errors(measure, grid, 100, "mle-0")
            yield below(f"{grid}, n = 100: error of the {name}", error, f"{grid}: sd off by {error.percent()}")
    for grid in GRIDS:
        best = r.errors("sd_error_relative", grid, 100, "calibrated")
        yield compared(f"{grid}, n = 100: error of the sd of calibrated coins", best.percent(2), best)


def truth_tells_little(r: Results) -> Checks:
    for grid in ("6x6", "8x8"):
        exact, mle, pseudo = (
            r.errors("mean_error", grid, 1000, method, base="truth") for method in ("exact", "mle-0", "pseudo")
        )
        yield compared(
            f"{grid}, n = 1,000: distance of MLE-L to the truth, thousandths",
            mle.text(1000, 2),
            *(mle, exact),
            bound=f"that of Exact-L, {exact.text(1000, 2)}, within 5 %",
            holds=abs(mle.value / exact.value - 1) < 0.05,
            number=f"MLE-L's distance is {quotient(mle, exact):3} times Exact-L's",
        )
        yield compared(f"{grid}, n = 1,000: distance of Pseudo-L", pseudo.text(1000, 2), pseudo)


def _above(quantity: str, value: Average, bound: float, number: str = "", digits: int = 2) -> Criterion | None:
    text = value.text(1, digits)
    return compared(quantity, text, value, bound=f"above {bound:,g}", holds=value.value > bound, number=number)


def _growth(r: Results, grid: str, method: str) -> Average:
    return quotient(r.timing(grid, 1000, method), r.timing(grid, 100, method))


def faster_than_pseudo(r: Results) -> Checks:
    ratios = {
        f"{grid}, n = {n:,}": quotient(r.timing(grid, n, "pseudo"), r.timing(grid, n, "mle-0"))
        for grid in GRIDS
        for n in SIZES
    }
    for key, ratio in ratios.items():
        yield compared(f"{key}: time of Pseudo-L over MLE-L", f"{ratio:1}", ratio)
    least = min((key for key in ratios if ratios[key].count), key=lambda key: ratios[key].value, default=None)
    if least is not None:
        for bound in (1, SEVERAL_TIMES):
            number = f"Pseudo-L takes {ratios[least]:1} times as long"
            yield _above(f"the smallest ({least})", ratios[least], bound, number, digits=1)


def pseudo_grows(r: Results) -> Checks:
    for grid in GRIDS:
        ratio = _growth(r, grid, "pseudo")
        number = f"n = 1,000 over n = 100: {ratio} times" if grid == "4x4" else ""
        yield _above(f"{grid}: time at n = 1,000 over n = 100", ratio, SAME_TIME_FACTOR, number)
    timings = [timing for grid in GRIDS if (timing := r.timing(grid, 1000, "pseudo")).count]
    yield compared("the longest, seconds", f"{max((t.value for t in timings), default=math.nan):.1f}", *timings)


def insensitive(r: Results) -> Checks:
    values = []
    for method in ("laplace", "mle-0", "mle-0.05"):
        for grid in GRIDS:
            ratio = _growth(r, grid, method)
            values += [ratio.value] if ratio.count else []
            yield compared(f"{METHODS[method].label}, {grid}: time at n = 1,000 over n = 100", f"{ratio}", ratio)
    if values:
        middle = Average(float(np.median(values)), 1.25 * float(np.std(values)) / math.sqrt(len(values)), len(values))
        holds = 1 / SAME_TIME_FACTOR < middle.value < SAME_TIME_FACTOR
        number = f"n = 1,000 over n = 100: {middle} times"
        bound = f"1 within a factor of {SAME_TIME_FACTOR:g}"
        yield compared("median", f"{middle}", bound=bound, holds=holds, number=number)


def copula_cost(r: Results) -> Checks:
    for grid in GRIDS:
        ratio = quotient(r.timing(grid, 100, "mle-0.05"), r.timing(grid, 100, "mle-0"))
        number = f"{ratio} times as long on 4x4" if grid == "4x4" else ""
        yield _above(f"{grid}: time of rho = 0.05 over 0", ratio, SEVERAL_TIMES, number)


def linear_in_p(r: Results) -> Checks:
    ratio = quotient(r.timing("8x8", 1000, "mle-0"), r.timing("4x4", 1000, "mle-0"))
    scale = math.log(PARAMETERS["8x8"] / PARAMETERS["4x4"])
    power = Average(math.log(ratio.value) / scale, ratio.error / ratio.value / scale, ratio.count)
    printed = math.log(PRINTED_TIMES["8x8"]["mle-0"][2] / PRINTED_TIMES["4x4"]["mle-0"][2]) / scale
    number = f"time grows like p^({power})"
    for bound, words in (
        (MAX_LINEAR_EXPONENT, f"{MAX_LINEAR_EXPONENT:g}"),
        (printed, f"the paper's own {printed:.2f}"),
    ):
        holds, what = power.value < bound, "exponent of p, 4x4 to 8x8"
        yield compared(what, f"{power}", power, bound=f"below {words}", holds=holds, number=number)


def exact_lost(r: Results) -> Checks:
    for grid in ("6x6", "8x8"):
        seconds, what = r.timing(grid, 1000, "exact"), f"{grid}: seconds of 10^6 steps"
        yield _above(what, seconds, TOLERABLE_SECONDS, f"10^6 steps on {grid}: {seconds:1} s", digits=1)


def thousands_of_hours(r: Results) -> Checks:
    for method in FRESH_SAMPLERS:
        label, swept, exact = METHODS[method].label, r.timing("4x4", 100, method, "gibbs"), r.timing("4x4", 100, method)
        yield compared(
            f"{label}: hours, particles by sweeps",
            f"{swept.text(1 / 3600, 1)} (extrapolated)",
            swept,
            bound=f"above {THOUSANDS_HOURS:,.0f}",
            holds=swept.value / 3600 > THOUSANDS_HOURS,
        )
        number = f"finished in {exact:1} s by exact particles"
        yield compared(f"{label}: seconds, exact particles (finished)", f"{exact:1}", exact, number=number)


def persistent_time(r: Results) -> Checks:
    first, last = (r.timing("4x4", n, "persistent") for n in SIZES)
    factor = quotient(last, r.timing("4x4", 1000, "mle-0"))
    yield compared("seconds at n = 100 and 1,000", f"{first:1}, {last:1}", first, last)
    yield _above("time over MLE-L's", factor, SEVERAL_TIMES, f"{factor:0} times as long as MLE-L", digits=0)
    yield _above("time at n = 1,000 over n = 100", quotient(last, first), SAME_TIME_FACTOR)
