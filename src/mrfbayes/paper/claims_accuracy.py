"""Judges of what the paper says about precision."""

from __future__ import annotations

from mrfbayes.paper import constants as settings
from mrfbayes.paper import results as measures
from mrfbayes.paper.claims import CLOSE, Claim, Finding, NotRun, error_of, verdict
from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.results import Results

SIZES = (100, 1000)
WAYS = 1.25  # errors are called different when one is larger by this factor


def _run(results: Results, method: str, setting: str = "adapted", n: int = 100) -> list[str]:
    """Grids on which there is something."""
    found = [
        grid for grid in settings.GRIDS if results.errors(measures.sd_ratio, grid, n, method, setting=setting).count
    ]
    if not found:
        raise NotRun(f"{METHODS[method].label} ({setting}) at n = {n}")
    return found


def _list(parts: list[str]) -> str:
    return "; ".join(parts)


def means_close(results: Results) -> Finding:
    parts, shrink, close = [], [], []
    for method in ("pseudo", "laplace", "mle-0", "persistent"):
        if not all(results.count("4x4", n, method) for n in SIZES):
            continue
        theta = [error_of(results, measures.mean_error, "4x4", n, method) for n in SIZES]
        relative = [error_of(results, measures.mean_error_sds, "4x4", n, method) for n in SIZES]
        parts.append(
            f"{METHODS[method].label} {theta[0].text(1000, 2)} → {theta[1].text(1000, 2)} (thousandths), "
            f"{relative[0].text(100, 1)} → {relative[1].text(100, 1)} % of the sd"
        )
        shrink.append(theta[1].value < theta[0].value)
        close.append(max(r.value for r in relative) < CLOSE)
    if not parts:
        raise NotRun("4x4 at n = 100 and 1,000")
    return Finding(
        "error of the mean from n = 100 to 1,000: " + _list(parts),
        verdict(all(shrink), all(close)),
        "In theta all errors shrink, as the posterior itself does. In posterior sds those of Pseudo-L do not: its "
        "centre is another estimator, as far from the MLE as a share of the sampling error whatever n is; "
        "PersistMC's grow with the noise of its ratios.",
    )


def comparable(results: Results) -> Finding:
    found = {m: error_of(results, measures.mean_error_sds, "4x4", 100, m) for m in ("mle-0", "laplace")}
    if results.count("4x4", 100, "persistent"):
        found["persistent"] = error_of(results, measures.mean_error_sds, "4x4", 100, "persistent")
    floor = error_of(results, measures.mean_error_sds, "4x4", 100, "exact")
    text = ", ".join(f"{METHODS[m].label} {e.text(100, 1)}" for m, e in found.items())
    return Finding(
        f"n = 100, % of the posterior sd: {text}; Exact-L's own Monte-Carlo error {floor.text(100, 1)}",
        verdict(all(e.value < CLOSE for e in found.values())),
        "All are below a tenth of an sd; Laplace-L misses the skewness that the coin has.",
    )


def pseudo_bias(results: Results) -> Finding:
    sizes = [n for n in results.sizes("4x4", "pseudo") if results.count("4x4", n, "reference")]
    if not sizes:
        raise NotRun("4x4, Pseudo-L")
    first, last = sizes[0], sizes[-1]
    size = [error_of(results, measures.mean_error_sds, "4x4", n, "pseudo") for n in (first, last)]
    shift = [error_of(results, measures.mean_shift_sds, "4x4", n, "pseudo") for n in (first, last)]
    return Finding(
        f"n = {first:,}: off by {size[0].text(100, 1)} % of the sd, on average to one side by "
        f"{shift[0].text(100, 1)} %; n = {last:,}: {size[1].text(100, 1)} %, {shift[1].text(100, 1)} %",
        verdict(size[0].value > size[1].value, abs(shift[0].value) > 0.5 * size[0].value),
        "Worse it is, but the footnote's reason is the small part: most of the distance has no common sign, does "
        "not fade relative to the sd, and is the lower efficiency of the pseudolikelihood estimate.",
    )


def pseudo_sd(results: Results) -> Finding:
    parts, largest = [], []
    for grid in _run(results, "pseudo"):
        pseudo = error_of(results, measures.sd_error_relative, grid, 100, "pseudo")
        others = [error_of(results, measures.sd_error_relative, grid, 100, m) for m in ("laplace", "mle-0")]
        ratio = error_of(results, measures.sd_ratio, grid, 100, "pseudo")
        parts.append(
            f"{grid}: {pseudo.text(100, 1)} % (sd ratio {ratio.text(1, 3)}), Laplace-L {others[0].text(100, 1)} %"
        )
        largest.append(pseudo.value > max(o.value for o in others))
    if results.count("4x4", 1000, "persistent"):
        late = error_of(results, measures.sd_error_relative, "4x4", 1000, "pseudo", beside=["persistent"])
        noisy = error_of(results, measures.sd_error_relative, "4x4", 1000, "persistent")
        parts.append(f"4x4 at n = 1,000: {late.text(100, 1)} %, PersistMC {noisy.text(100, 1)} %")
        largest.append(late.value > noisy.value)
    return Finding(
        "error of the sd at n = 100: " + _list(parts),
        verdict(*largest),
        "Of the likelihood rows it has. The product of conditionals uses every edge twice as if it were two "
        "observations: its posterior is too narrow at every n. PersistMC, where it was run, is too wide by more "
        "at large n.",
    )


def laplace_sd(results: Results) -> Finding:
    parts, larger = [], []
    for grid in _run(results, "laplace"):
        bethe = error_of(results, measures.sd_error_relative, grid, 100, "laplace")
        mle = error_of(results, measures.sd_error_relative, grid, 100, "mle-0")
        text = f"{grid}: Laplace-L {bethe.text(100, 1)} %, MLE-L {mle.text(100, 1)} %"
        exact = results.errors(measures.sd_error_relative, grid, 100, "laplace", setting="laplace-exact")
        if exact.count:
            text += f", Laplace-L with exact information {exact.text(100, 1)} %"
            larger.append(exact.value > mle.value)
        parts.append(text)
        larger.append(bethe.value > mle.value)
    return Finding(
        "error of the sd at n = 100: " + _list(parts),
        verdict(*larger),
        "It holds with the Bethe information that the paper's source uses: at uniform messages that is a diagonal "
        "without loops. With the exact information Laplace-L has the better sd of the two.",
    )


def as_good_as_persistent(results: Results) -> Finding:
    parts, good = [], []
    for n in settings.TABLE_SIZES:
        if not results.count("4x4", n, "persistent"):
            continue
        for measure, name in ((measures.mean_error_sds, "mean"), (measures.sd_error_relative, "sd")):
            mle = error_of(results, measure, "4x4", n, "mle-0", beside=["persistent"])
            persistent = error_of(results, measure, "4x4", n, "persistent")
            parts.append(f"n = {n:,} {name}: MLE-L {mle.text(100, 1)} %, PersistMC {persistent.text(100, 1)} %")
            good.append(mle.value < WAYS * persistent.value)
    if not parts:
        raise NotRun("4x4, PersistMC")
    noise = results.number("noise", "4x4", 1000, "persistent")
    return Finding(
        _list(parts),
        verdict(*good),
        "Its means are as good or nearly so; its sds are far better. With 1,000 particles the averaged ratio enters "
        f"as its n-th power, whose noise ({noise.text(1, 1)} nats at n = 1,000) widens PersistMC's posterior, more "
        "so with n. (The same replications for both.)",
    )


def rho_does_not_matter(results: Results) -> Finding:
    parts, same = [], []
    for grid in _run(results, "mle-0.1"):
        names = ("mle-0", "mle-0.05", "mle-0.1")
        rows = [error_of(results, measures.sd_ratio, grid, 100, name, beside=names) for name in names]
        floor = error_of(results, measures.sd_error_relative, grid, 100, "exact")
        parts.append(f"{grid}: {', '.join(row.text(1, 3) for row in rows)}")
        same.append(max(r.value for r in rows) - min(r.value for r in rows) < max(floor.value, 0.005))
    mean = results.number("correlation", "4x4", 100, "reference")
    least = results.number("least_correlation", "4x4", 100, "reference")
    return Finding(
        "sd ratio for rho = 0, 0.05, 0.1 at n = 100: " + _list(parts),
        verdict(*same),
        "It cannot matter: a copula leaves every mean and sd as it is, and nothing else was measured. Where rho "
        "does matter, in joint statements, a positive one has the wrong sign: correlations of the exact posterior "
        f"average {mean.text(1, 3)} (4x4), the least is {least.text(1, 2)}.",
    )


def laplace_deteriorates(results: Results) -> Finding:
    parts, worse = [], []
    variants = (
        ("adapted", measures.mean_error_sds, "mean, at the MLE"),
        ("laplace-theta", measures.mean_error_sds, "mean, quadratic in theta"),
        ("laplace-centre", measures.mean_error_sds, "mean, at the Bethe estimate"),
        ("laplace-particles", measures.sd_error_relative, "sd, information from 1,000 particles"),
    )
    for setting, measure, name in variants:
        grids = [g for g in settings.GRIDS if results.errors(measure, g, 500, "laplace", setting=setting).count]
        found = [error_of(results, measure, grid, 500, "laplace", setting=setting) for grid in grids]
        if len(found) > 1:
            parts.append(f"{name}: " + ", ".join(f"{e.text(100, 1)} ({g})" for g, e in zip(grids, found, strict=True)))
            parts[-1] += "".join(_none_exists(results, grid, setting) for grid in settings.GRIDS)
            worse.append(found[-1].value > 2 * found[0].value or found[-1].value > 1.0)
    if not parts:
        raise NotRun("Laplace-L on larger grids at n = 500")
    return Finding(
        "errors in % of the sd, n = 500: " + _list(parts),
        verdict(*worse),
        "A quadratic at the MLE, in either coordinate, does not deteriorate. Two readings do. At the maximum of the "
        "Bethe likelihood, as in the work that the paper cites, it is off by whole sds, and more with n, because "
        "Bethe leaves out the loops of the field. Past a strength it even sees an order that the field does not have; "
        "the data sets without a maximum are those furthest past it (`benchmarks/bethe_order.py`). And an information "
        "matrix from particles has noise that its inverse turns into width: about p / 2 over the number of particles, "
        "so a sampler with a few hundred of them fails at p = 112. (With the printed proposal every method gets worse "
        "with size, Exact-L too: see the settings.)",
    )


def _none_exists(results: Results, grid: str, setting: str) -> str:
    refused = results.refusals(grid, 500, "laplace", setting)
    every = refused + results.count(grid, 500, "laplace", setting)
    return f", for {refused} of {every} data sets on {grid} there is none" if refused else ""


def mle_stays(results: Results) -> Finding:
    parts, steady = [], []
    grids = _run(results, "mle-0")
    for measure, name in ((measures.mean_error_sds, "mean"), (measures.sd_error_relative, "sd")):
        found = [error_of(results, measure, grid, 100, "mle-0") for grid in grids]
        parts.append(
            f"{name} " + ", ".join(f"{e.text(100, 1)} ({g})" for g, e in zip(grids, found, strict=True)) + " %"
        )
        steady.append(found[-1].value < CLOSE)
    if len(grids) < 2:
        raise NotRun("MLE-L on larger grids")
    better = ""
    if all(results.count(grid, 100, "calibrated") for grid in grids):
        best = [error_of(results, measures.sd_error_relative, grid, 100, "calibrated") for grid in grids]
        better = " Calibrated coins: sd " + ", ".join(e.text(100, 2) for e in best) + " %."
    return Finding(
        "n = 100: " + _list(parts) + "." + better,
        verdict(*steady),
        "Errors grow a little with size (more loops around an edge) and stay small on these weakly coupled fields.",
    )


def more_accurate(results: Results) -> Finding:
    parts, better = [], []
    for grid in _run(results, "mle-0", n=500):
        for measure, name in ((measures.mean_error_sds, "mean"), (measures.sd_error_relative, "sd")):
            found = {m: error_of(results, measure, grid, 500, m) for m in ("mle-0", "pseudo", "laplace")}
            parts.append(
                f"{grid} {name}: " + ", ".join(f"{METHODS[m].label} {e.text(100, 1)}" for m, e in found.items())
            )
            better += [found["mle-0"].value < found[m].value for m in ("pseudo", "laplace")]
    return Finding(
        "errors in % of the sd, n = 500: " + _list(parts),
        verdict(*better),
        "Against Pseudo-L by an order of magnitude. Against Laplace-L it is the information that decides: see there.",
    )


def truth_tells_little(results: Results) -> Finding:
    parts = []
    spread = []
    for grid in ("6x6", "8x8"):
        if not results.count(grid, 1000, "exact"):
            continue
        found = {
            m: error_of(results, measures.mean_error, grid, 1000, m, base="truth") for m in ("exact", "mle-0", "pseudo")
        }
        parts.append(f"{grid}: " + ", ".join(f"{METHODS[m].label} {e.text(1000, 2)}" for m, e in found.items()))
        spread.append(abs(found["mle-0"].value / found["exact"].value - 1))
    if not parts:
        raise NotRun("6x6 and 8x8 at n = 1,000")
    return Finding(
        "thousandths of theta, n = 1,000: " + _list(parts),
        verdict(*(s < 0.05 for s in spread)),
        "True and uninformative: the distance to the truth is the sampling error of the data, which all methods share; "
        "only Pseudo-L adds a tenth to it. Against the exact posterior (figure 3) they are orders of magnitude apart.",
    )


def marginal_wise(results: Results) -> Finding:
    parts, fine = [], []
    for grid in _run(results, "mle-0", n=500):
        ratio = error_of(results, measures.sd_ratio, grid, 500, "mle-0")
        worst = error_of(results, measures.worst_sd, grid, 500, "mle-0")
        parts.append(f"{grid}: sd ratio {ratio.text(1, 3)}, worst edge off by {worst.text(100, 1)} %")
        fine.append(worst.value < CLOSE)
    return Finding(
        "n = 500: " + _list(parts),
        verdict(*fine),
        "Modes are right, spreads are not: with eta held fixed the coin has the conditional spread of an edge, the "
        "diagonal of the information instead of the diagonal of its inverse, so every sd is too small. Sklar's "
        "theorem preserves marginals; it does not make them right.",
    )


ACCURACY = (
    Claim("Abstract, Sec. 1", "MLE-L is more accurate than Pseudo-L and Laplace-L", "figure3", more_accurate),
    Claim("Secs. 1, 2.3, 4", "The joint likelihood is accurate marginal by marginal", "table1", marginal_wise),
    Claim("Secs. 2.3, 3.3", "The copula's rho does not matter", "table1", rho_does_not_matter),
    Claim("Sec. 3.3, Fig. 2a", "All four posterior means are close to exact, more so with n", "figure1", means_close),
    Claim("Sec. 3.3, Fig. 2a", "PersistMC, Laplace-L and MLE-L are comparable on 4x4", "figure1", comparable),
    Claim("Footnote", "Pseudo-L is worse at small n because it is biased there", "figure1", pseudo_bias),
    Claim("Sec. 3.3, Fig. 2b", "Pseudo-L has the largest error of the sd", "figure1", pseudo_sd),
    Claim("Sec. 3.3, Fig. 2b", "Laplace-L has a larger error of the sd than MLE-L", "figure1", laplace_sd),
    Claim("Secs. 3.3, 4", "MLE-L is nearly as good as PersistMC", "figure1", as_good_as_persistent),
    Claim("Secs. 3.3, 4, Fig. 3", "Laplace-L deteriorates quickly with size", "studies", laplace_deteriorates),
    Claim("Abstract, Secs. 3.3, 4", "MLE-L stays satisfactory as the field grows", "figure3", mle_stays),
    Claim(
        "Sec. 3.3, Fig. 3",
        "On larger grids methods compare by their distance to the truth",
        "figure2",
        truth_tells_little,
    ),
)
