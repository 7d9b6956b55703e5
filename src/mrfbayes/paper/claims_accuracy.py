"""Judges of what the paper says about precision."""

from __future__ import annotations

from mrfbayes.paper import constants as settings
from mrfbayes.paper import results as measures
from mrfbayes.paper.claims import CLOSE, Claim, Criterion, Finding, NotRun, below, compared, error_of, percent, smaller
from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.results import Results, quotient

SIZES = (100, 1000)
WAYS = 1.25  # errors are called different when one is larger by this factor; a guess
SAME_RATIO = 0.005  # difference of two ratios of sds that is called none
BOTH = ((measures.mean_error_sds, "mean"), (measures.sd_error_relative, "sd"))


def _grids(results: Results, method: str, n: int = 100) -> list[str]:
    """Grids on which there is something."""
    found = [grid for grid in settings.GRIDS if results.errors(measures.sd_ratio, grid, n, method).count]
    if not found:
        raise NotRun(f"{METHODS[method].label} at n = {n}")
    return found


def means_close(results: Results) -> Finding:
    checks, number = [], ""
    for method in ("persistent", "laplace", "mle-0", "pseudo"):
        if not all(results.count("4x4", n, method) for n in SIZES):
            continue
        label = METHODS[method].label
        theta = [error_of(results, measures.mean_error, "4x4", n, method) for n in SIZES]
        shrinks = f"below {theta[0].text(1000, 2)}, that of n = 100"
        what = f"{label}, n = 1,000: error in thousandths of theta"
        checks.append(compared(what, theta[1].text(1000, 2), shrinks, theta[1].value < theta[0].value))
        for n in SIZES:
            relative = error_of(results, measures.mean_error_sds, "4x4", n, method)
            checks.append(below(f"{label}, n = {n:,}: error of an sd", relative))
            number = f"{label} is off by {percent(relative)} of an sd"
    if not checks:
        raise NotRun("4x4 at n = 100 and 1,000")
    return Finding(
        number,
        tuple(checks),
        "In theta all errors shrink, as the posterior itself does. In posterior sds those of Pseudo-L do not: its "
        "centre is another estimator, as far from the MLE as a share of the sampling error whatever n is; "
        "PersistMC's grow with the noise of its ratios. The number is that of n = 1,000.",
    )


def comparable(results: Results) -> Finding:
    checks = []
    for method in ("mle-0", "laplace", "persistent"):
        if results.count("4x4", 100, method) or method != "persistent":
            error = error_of(results, measures.mean_error_sds, "4x4", 100, method)
            checks.append(below(f"{METHODS[method].label}, n = 100: error of the mean, of an sd", error))
    largest = error_of(results, measures.mean_error_sds, "4x4", 100, "laplace")
    floor = error_of(results, measures.mean_error_sds, "4x4", 100, "exact")
    return Finding(
        f"Laplace-L is off by {percent(largest)} of an sd",
        (*checks, Criterion("Exact-L's own Monte-Carlo error", percent(floor))),
        "All are below a tenth of an sd; Laplace-L misses the skewness that the coin has.",
    )


def pseudo_bias(results: Results) -> Finding:
    sizes = [n for n in results.sizes("4x4", "pseudo") if results.count("4x4", n, "reference")]
    if not sizes:
        raise NotRun("4x4, Pseudo-L")
    first, last = sizes[0], sizes[-1]
    size = [error_of(results, measures.mean_error_sds, "4x4", n, "pseudo") for n in (first, last)]
    shift = [error_of(results, measures.mean_shift_sds, "4x4", n, "pseudo") for n in (first, last)]
    larger = f"above {percent(size[1])}, that of n = {last:,}"
    half = abs(shift[0].value) > 0.5 * size[0].value
    return Finding(
        f"the common shift is {percent(shift[0])} of an sd",
        (
            compared(f"n = {first:,}: distance, of an sd", percent(size[0]), larger, size[0].value > size[1].value),
            compared(f"n = {first:,}: common shift, of an sd", percent(shift[0]), "above half of the distance", half),
            Criterion(f"n = {last:,}: common shift, of an sd", percent(shift[1])),
        ),
        "It is worse at small n, but the footnote's reason, bias, is the small part: most of the distance has no "
        "common sign, does not fade relative to the sd, and is the lower efficiency of the pseudolikelihood estimate.",
    )


def pseudo_sd(results: Results) -> Finding:
    checks, number = [], ""
    for grid in _grids(results, "pseudo"):
        pseudo = error_of(results, measures.sd_error_relative, grid, 100, "pseudo")
        others = {m: error_of(results, measures.sd_error_relative, grid, 100, m) for m in ("laplace", "mle-0")}
        second = max(others, key=lambda m: others[m].value)
        bound = f"above {METHODS[second].label}'s {percent(others[second])}"
        what = f"{grid}, n = 100: error of Pseudo-L's sd"
        checks.append(compared(what, percent(pseudo), bound, pseudo.value > others[second].value))
        ratio = error_of(results, measures.sd_ratio, grid, 100, "pseudo")
        checks.append(Criterion(f"{grid}, n = 100: sd ratio of Pseudo-L", ratio.text(1, 3)))
        number = number or f"Pseudo-L's sd is off by {percent(pseudo)}"
    if results.count("4x4", 1000, "persistent"):
        late = error_of(results, measures.sd_error_relative, "4x4", 1000, "pseudo", beside=["persistent"])
        noisy = error_of(results, measures.sd_error_relative, "4x4", 1000, "persistent")
        bound = f"above PersistMC's {percent(noisy)}"
        checks.append(
            compared("4x4, n = 1,000: error of Pseudo-L's sd", percent(late), bound, late.value > noisy.value)
        )
    return Finding(
        number,
        tuple(checks),
        "Of the likelihood rows it has. The product of conditionals uses every edge twice as if it were two "
        "observations: its posterior is too narrow at every n. PersistMC is too wide by more at large n.",
    )


def laplace_sd(results: Results) -> Finding:
    checks, number = [], ""
    for grid in _grids(results, "laplace"):
        bethe = error_of(results, measures.sd_error_relative, grid, 100, "laplace")
        mle = error_of(results, measures.sd_error_relative, grid, 100, "mle-0")
        exact = results.errors(measures.sd_error_relative, grid, 100, "laplace", setting="laplace-exact")
        for name, found in (("Bethe information", bethe), ("exact information", exact)):
            if found.count:
                what, bound = f"{grid}, n = 100: Laplace-L's sd, {name}", f"above MLE-L's {percent(mle)}"
                checks.append(compared(what, percent(found), bound, found.value > mle.value))
        number = number or f"{quotient(bethe, mle).text(1, 1)} times as large on {grid}"
    return Finding(
        number,
        tuple(checks),
        "It holds with the Bethe information that the paper's source uses: at uniform messages that is a diagonal "
        "without loops. With the exact information Laplace-L has the better sd of the two.",
    )


def as_good_as_persistent(results: Results) -> Finding:
    checks, number = [], ""
    for n in settings.TABLE_SIZES:
        if not results.count("4x4", n, "persistent"):
            continue
        for measure, name in BOTH:
            mle = error_of(results, measure, "4x4", n, "mle-0", beside=["persistent"])
            persistent = error_of(results, measure, "4x4", n, "persistent")
            checks.append(smaller(f"n = {n:,}: error of MLE-L's {name}", mle, "PersistMC's", persistent, WAYS))
            number = f"PersistMC's sd error is {quotient(persistent, mle).text(1, 0)} times as large"
    if not checks:
        raise NotRun("4x4, PersistMC")
    noise = results.number("noise", "4x4", 1000, "persistent")
    return Finding(
        number,
        tuple(checks),
        "Its means are as good or nearly so; its sds are far better. With 1,000 particles the averaged ratio enters "
        f"as its n-th power, whose noise ({noise.text(1, 1)} nats at n = 1,000) widens PersistMC's posterior, more "
        "so with n. (The same replications for both.)",
    )


def rho_does_not_matter(results: Results) -> Finding:
    checks, number = [], ""
    for grid in _grids(results, "mle-0.1"):
        names = ("mle-0", "mle-0.05", "mle-0.1")
        rows = [error_of(results, measures.sd_ratio, grid, 100, name, beside=names) for name in names]
        floor = max(error_of(results, measures.sd_error_relative, grid, 100, "exact").value, SAME_RATIO)
        apart = max(r.value for r in rows) - min(r.value for r in rows)
        what, text = f"{grid}: sd ratio for rho = 0, 0.05, 0.1", ", ".join(row.text(1, 3) for row in rows)
        checks.append(compared(what, text, f"equal within {floor:.3f}", apart < floor))
        number = number or f"sd ratio {rows[0].text(1, 3)} for each rho"
    mean = results.number("correlation", "4x4", 100, "reference")
    least = results.number("least_correlation", "4x4", 100, "reference")
    return Finding(
        number,
        tuple(checks),
        "It cannot matter: a copula leaves every mean and sd as it is, and nothing else was measured. Where rho "
        "does matter, in joint statements, a positive one has the wrong sign: correlations of the exact posterior "
        f"average {mean.text(1, 3)} (4x4), the least is {least.text(1, 2)}.",
    )


LAPLACE_READINGS = (
    ("adapted", measures.mean_error_sds, "mean, at the MLE"),
    ("laplace-theta", measures.mean_error_sds, "mean, quadratic in theta"),
    ("laplace-centre", measures.mean_error_sds, "mean, at the Bethe estimate"),
    ("laplace-particles", measures.sd_error_relative, "sd, information from 1,000 particles"),
)


def laplace_deteriorates(results: Results) -> Finding:
    checks, number = [], ""
    for setting, measure, name in LAPLACE_READINGS:
        grids = [g for g in settings.GRIDS if results.errors(measure, g, 500, "laplace", setting=setting).count]
        found = [error_of(results, measure, grid, 500, "laplace", setting=setting) for grid in grids]
        if len(found) < 2:
            continue
        text = ", ".join(f"{percent(e)} ({g})" for g, e in zip(grids, found, strict=True))
        text += "".join(_none_exists(results, grid, setting) for grid in settings.GRIDS)
        worse = found[-1].value > 2 * found[0].value or found[-1].value > 1.0
        checks.append(compared(f"n = 500: {name}", text, "doubles, or above 100 %", worse))
        number = number or f"{quotient(found[-1], found[0]).text(1, 2)} times as large on 8x8"
    if not checks:
        raise NotRun("Laplace-L on larger grids at n = 500")
    return Finding(
        number,
        tuple(checks),
        "A quadratic at the MLE, in either coordinate, does not deteriorate (the number: the mean at the MLE, 8x8 over "
        "4x4). Two readings do. At the maximum of the Bethe likelihood, as in the work that the paper cites, it is off "
        "by whole sds, and more with n, because Bethe leaves out the loops of the field. Past a strength it even sees "
        "an order that the field does not have; the data sets without a maximum are those furthest past it "
        "(`benchmarks/bethe_order.py`). And an information matrix from particles has noise that its inverse turns into "
        "width: about p / 2 over the number of particles, so a sampler with a few hundred of them fails at p = 112. "
        "(With the printed proposal every method gets worse with size, Exact-L too: see the settings.)",
    )


def _none_exists(results: Results, grid: str, setting: str) -> str:
    refused = results.refusals(grid, 500, "laplace", setting)
    every = refused + results.count(grid, 500, "laplace", setting)
    return f", none for {refused} of {every} data sets on {grid}" if refused else ""


def mle_stays(results: Results) -> Finding:
    grids = _grids(results, "mle-0")
    if len(grids) < 2:
        raise NotRun("MLE-L on larger grids")
    checks, number = [], ""
    for measure, name in BOTH:
        for grid in grids:
            error = error_of(results, measure, grid, 100, "mle-0")
            checks.append(below(f"{grid}, n = 100: error of the {name}", error))
            number = f"{grid}: sd off by {percent(error)}"
    for grid in grids:
        best = results.errors(measures.sd_error_relative, grid, 100, "calibrated")
        if best.count:
            checks.append(Criterion(f"{grid}, n = 100: error of the sd of calibrated coins", percent(best, 2)))
    return Finding(
        number,
        tuple(checks),
        "Errors grow a little with size (more loops around an edge) and stay small on these weakly coupled fields. "
        "Larger and stronger fields are in the section beyond the paper's sizes.",
    )


def more_accurate(results: Results) -> Finding:
    checks, number = [], ""
    for grid in _grids(results, "mle-0", n=500):
        for measure, name in BOTH:
            own = error_of(results, measure, grid, 500, "mle-0")
            for method in ("pseudo", "laplace"):
                other = error_of(results, measure, grid, 500, method)
                label = f"{METHODS[method].label}'s"
                checks.append(smaller(f"{grid}, n = 500: error of MLE-L's {name}", own, label, other))
                if not number and method == "pseudo":
                    number = f"Pseudo-L's error is {quotient(other, own).text(1, 0)} times as large"
    return Finding(
        number,
        tuple(checks),
        "Against Pseudo-L by an order of magnitude. Against Laplace-L it is the information that decides: see its "
        "claim. The number is the error of the mean on 4x4.",
    )


def truth_tells_little(results: Results) -> Finding:
    checks, number = [], ""
    for grid in ("6x6", "8x8"):
        if not results.count(grid, 1000, "exact"):
            continue
        exact, mle, pseudo = (
            error_of(results, measures.mean_error, grid, 1000, m, base="truth") for m in ("exact", "mle-0", "pseudo")
        )
        what = f"{grid}, n = 1,000: distance of MLE-L to the truth, thousandths"
        near = abs(mle.value / exact.value - 1) < 0.05
        checks.append(compared(what, mle.text(1000, 2), f"that of Exact-L, {exact.text(1000, 2)}, within 5 %", near))
        checks.append(Criterion(f"{grid}, n = 1,000: distance of Pseudo-L", pseudo.text(1000, 2)))
        number = f"MLE-L's distance is {quotient(mle, exact).text(1, 3)} times Exact-L's"
    if not checks:
        raise NotRun("6x6 and 8x8 at n = 1,000")
    return Finding(
        number,
        tuple(checks),
        "True and uninformative: the distance to the truth is the sampling error of the data, which all methods share; "
        "only Pseudo-L adds a tenth to it. Against the exact posterior (figure 3) they are orders of magnitude apart.",
    )


def marginal_wise(results: Results) -> Finding:
    checks, number = [], ""
    for grid in _grids(results, "mle-0", n=500):
        worst = error_of(results, measures.worst_sd, grid, 500, "mle-0")
        ratio = error_of(results, measures.sd_ratio, grid, 500, "mle-0")
        checks.append(below(f"{grid}, n = 500: error of the worst edge's sd", worst, CLOSE))
        checks.append(Criterion(f"{grid}, n = 500: sd ratio", ratio.text(1, 3)))
        number = f"worst edge's sd off by {percent(worst)}"
    return Finding(
        number,
        tuple(checks),
        "Modes are right, spreads are not: with eta held fixed the coin has the conditional spread of an edge, the "
        "diagonal of the information instead of the diagonal of its inverse, so every sd is too small. Sklar's "
        "theorem preserves marginals; it does not make them right. The number is that of the largest grid.",
    )


ACCURACY = (
    Claim("Abstract, Sec. 1", "MLE-L is more accurate than Pseudo-L, Laplace-L", "figure3", more_accurate, (12, 12)),
    Claim("Secs. 1, 2.3, 4", "The joint likelihood has accurate marginals", "figure3", marginal_wise, (1, 3)),
    Claim("Secs. 2.3, 3.3", "The copula's rho does not matter", "figure3", rho_does_not_matter, (3, 3)),
    Claim("Sec. 3.3, Fig. 2a", "All posterior means are close, more so with n", "figure1", means_close, (10, 12)),
    Claim("Sec. 3.3, Fig. 2a", "PersistMC, Laplace-L, MLE-L are comparable on 4x4", "figure1", comparable, (3, 3)),
    Claim("Footnote", "Pseudo-L is worse at small n by its bias", "figure1", pseudo_bias, (1, 2)),
    Claim("Sec. 3.3, Fig. 2b", "Pseudo-L has the largest error of the sd", "figure1", pseudo_sd, (3, 4)),
    Claim("Sec. 3.3, Fig. 2b", "Laplace-L has a larger error of the sd than MLE-L", "figure1", laplace_sd, (3, 6)),
    Claim("Secs. 3.3, 4", "MLE-L is nearly as good as PersistMC", "figure1", as_good_as_persistent, (5, 6)),
    Claim("Secs. 3.3, 4, Fig. 3", "Laplace-L deteriorates quickly with size", "studies", laplace_deteriorates, (2, 4)),
    Claim("Abstract, Secs. 3.3, 4", "MLE-L stays satisfactory as the field grows", "figure3", mle_stays, (6, 6)),
    Claim("Sec. 3.3, Fig. 3", "Distance to the truth compares the methods", "figure2", truth_tells_little, (2, 2)),
)
