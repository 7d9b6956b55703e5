"""Predictions against data, methods against the exact posterior, and quantities over temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mrfbayes.base.checks import one_of
from mrfbayes.base.errors import InputError
from mrfbayes.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.estimation.estimate import Estimate
    from mrfbayes.queries.correlations import Correlations, PopulationCounts
    from mrfbayes.queries.thermodynamics import Thermodynamics
    from mrfbayes.results.predictive import PredictiveCheck
    from mrfbayes.sampling.compare import Comparison

NAMES = {"log_z": "log Z", "energy": "energy", "entropy": "entropy (nats)", "heat_capacity": "heat capacity"}
MANY_POINTS = 2_000  # past which points are an image inside the picture: vectors would take megabytes
LONG = 200  # iterations, from where on the axis is logarithmic
NAMED_STATISTICS, SURPRISING = 5, 0.01


def predictive(check: PredictiveCheck, *, ax: Axes | None = None) -> Axes:
    """Draw the observed value of each statistic against its mean in the replicates, with two sds.

    Statistics that do not fit have their names beside them.

    Parameters
    ----------
    check : PredictiveCheck
        Result of `mrfbayes.predictive_check`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    mrfbayes.predictive_check : Makes the check.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> check = mb.predictive_check(posterior, replicates=50, rng=1, progress=False)
    >>> mb.plots.data(mb.plots.predictive(check)).shape[0]
    7
    """
    table = check.table
    ax = style.axes_or_new(ax, figsize=(4.8, 4.6))
    low, high = _identity(ax, table["observed"], table["replicated"])
    margin = 0.06 * max(high - low, 1e-9)
    for fitted, colour, marker, words in (
        (True, style.POSITIVE, "o", "counts that were fitted"),
        (False, style.COLOURS[4], "s", "statistics that were not fitted"),
    ):
        part = table[table["fitted"] == fitted]
        if len(part):
            bars, is_image = 2 * part["replicated_sd"], len(table) > MANY_POINTS
            text = f"{words} ({len(part)})"
            look = {"ms": 3.2, "alpha": 0.75, "rasterized": is_image}
            style.points(ax, part["observed"], part["replicated"], marker, colour, text, yerr=bars, **look)
    is_unusual = table["p_value"] < SURPRISING
    for name, row in table[is_unusual].nsmallest(NAMED_STATISTICS, "p_value").iterrows():
        where = (row["observed"], row["replicated"])
        ax.annotate(style.label(name), where, (6, -8), textcoords="offset points", fontsize=7, color=style.INK)
    ax.set_xlim(low - margin, high + margin)
    ax.legend(fontsize=8, frameon=False, loc="upper left")
    by_chance = SURPRISING * len(table)
    text = f"{is_unusual.sum()} of {len(table)} statistics below p = {SURPRISING:g} ({by_chance:.1f} by chance)"
    return style.finish(ax, table, text, x="observed, per observation", y="replicated: mean and two sds", grid="both")


def comparison(result: Comparison, *, ax: Sequence[Axes] | None = None) -> Figure:
    """Draw errors of means and ratios of sds against the exact posterior, by parameter.

    Parameters
    ----------
    result : Comparison
        Result of `mrfbayes.compare`.
    ax : sequence of Axes, optional
        Two axes, for (mean - exact mean) / exact sd and for sd / exact sd; by default a new figure.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    InputError
        If there is no exact posterior to compare with, or nothing else.

    See Also
    --------
    mrfbayes.compare : Several methods on the same data.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> result = mb.compare(model, data, methods=["exact", "mle"], rng=1, progress=False)
    >>> len(mb.plots.comparison(result).axes)
    2
    """
    if result.reference is None:
        raise InputError("plots.comparison: there is no exact posterior to compare with; none was feasible here.")
    base = result.posteriors[result.reference]
    others = [(name, post) for name, post in result.posteriors.items() if name != result.reference]
    if not others:
        raise InputError("plots.comparison: there is only the exact posterior; compare at least one other method.")
    left, right = style.panels_or_new(ax, 1, 2, figsize=(8.5, 1.0 + 0.42 * len(others)), sharey=True)[0]
    rng = np.random.default_rng(0)  # jitter only
    errors, ratios = {}, {}
    for k, (name, post) in enumerate(others):
        height = k + 0.22 * rng.uniform(-1, 1, base.mean.size)
        colour = style.nth_colour(k)
        errors[name], ratios[name] = (post.mean - base.mean) / base.sd, post.sd / base.sd
        for panel, values in ((left, errors[name]), (right, ratios[name])):
            panel.plot(values, height, ".", ms=4, alpha=0.5, color=colour, mew=0)
            panel.plot([values.mean()] * 2, [k - 0.3, k + 0.3], color=style.INK, lw=1.4, zorder=3)
        if result.table.loc[name, "verdict"] == "stuck":
            left.annotate("stuck", (0.01, k), xycoords=("axes fraction", "data"), fontsize=8, va="center")
    left.axvline(0, color=style.MUTED, lw=0.8, zorder=0)
    right.axvline(1, color=style.MUTED, lw=0.8, zorder=0)
    left.set_yticks(range(len(others)), [style.escape(name) for name, _ in others])
    left.invert_yaxis()
    name = "error of the posterior mean, in exact sds"
    parts = {"mean_error": pd.DataFrame(errors, base.parameters), "sd_ratio": pd.DataFrame(ratios, base.parameters)}
    table = pd.concat({name: part.stack() for name, part in parts.items()}, axis=1)
    table = table.rename_axis(["parameter", "method"]).reset_index("method")
    for panel, text in ((left, name), (right, "sd / exact sd (bars: averages)")):
        style.finish(panel, table, x=text, spines=["bottom"], grid="x").tick_params(axis="y", length=0)
    made: Figure = style.keep_table(left.figure, table)
    return made


def temperature_scan(scan: Thermodynamics, quantity: str = "heat_capacity", *, ax: Axes | None = None) -> Axes:
    """Draw a thermodynamic quantity over temperature, with the posterior interval as a band; T = 1 is marked.

    Parameters
    ----------
    scan : Thermodynamics
        Result of `mrfbayes.thermodynamics` with several temperatures.
    quantity : {"heat_capacity", "entropy", "energy", "log_z"}, default "heat_capacity"
        The quantity.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    mrfbayes.thermodynamics : The quantities.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> scan = mb.thermodynamics(mb.graph([("a", "b")]), mb.Ising(1.0), temperatures=[0.5, 1.0, 2.0])
    >>> mb.plots.data(mb.plots.temperature_scan(scan)).shape[0]
    3
    """
    one_of("quantity", quantity, NAMES)
    part = scan.table.loc[quantity]
    ax = style.axes_or_new(ax, figsize=(5.2, 3.4))
    _band(ax, part)
    ax.plot(part.index, part["value"], color=style.POSITIVE, lw=1.6)
    ax.axvline(1.0, color=style.MUTED, lw=0.8, ls=":")
    text = f"{NAMES[quantity]} over temperature"
    return style.finish(ax, part, text, x="temperature (1: as fitted)", y=NAMES[quantity], grid="both")


def correlations(found: Correlations, order: int = 3, *, ax: Axes | None = None) -> Axes:
    """Draw observed against predicted correlations of one order, with two standard errors and the posterior interval.

    Parameters
    ----------
    found : Correlations
        Result of `mrfbayes.correlations`.
    order : {2, 3}, default 3
        Pairs or triplets.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    InputError
        If the table has no correlations of that order.

    See Also
    --------
    population_counts : Numbers of active variables.
    mrfbayes.correlations : The table.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> found = mb.correlations(model, 0.8, mb.simulate(model, 0.8, 200, rng=1))
    >>> mb.plots.data(mb.plots.correlations(found, 2)).shape[0]
    3
    """
    if order not in found.table.index.get_level_values("order"):
        raise InputError(f"order = {order!r}: the table has no correlations of that order.")
    part = found.table.loc[order]
    ax = style.axes_or_new(ax, figsize=(4.6, 4.4))
    observed, predicted = part["observed"], part["predicted"]
    _identity(ax, observed, predicted)
    ends = _ends(part)
    bars = [(predicted - ends[0]).clip(lower=0), (ends[1] - predicted).clip(lower=0)] if ends else None
    error, is_image = 2 * part["observed_error"], len(part) > MANY_POINTS
    look = {"ecolor": style.COLOURS[5], "alpha": 0.7, "rasterized": is_image}
    style.points(ax, observed, predicted, "o", style.POSITIVE, "", xerr=error, yerr=bars, ms=2.6, **look)
    is_far = (observed - predicted).abs() > error
    text = f"order {order}: {is_far.sum()} of {len(part)} beyond two standard errors"
    return style.finish(ax, part, text, x="observed", y="predicted", grid="both")


def population_counts(found: PopulationCounts, *, ax: Axes | None = None) -> Axes:
    """Draw the predicted and observed distribution of the number of active units on a log scale.

    Parameters
    ----------
    found : PopulationCounts
        Result of `mrfbayes.population_counts`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    correlations : Pairs and triplets.
    mrfbayes.population_counts : The table.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> counts = mb.population_counts(mb.graph([("a", "b"), ("b", "c")]), 0.8)
    >>> mb.plots.data(mb.plots.population_counts(counts)).shape[0]
    4
    """
    table = found.table
    ax = style.axes_or_new(ax, figsize=(5.2, 3.4))
    _band(ax, table)
    ax.plot(table.index, table["predicted"], color=style.POSITIVE, lw=1.6, label="predicted")
    if "observed" in table:
        seen = table[table["observed"] > 0]
        error = 2 * seen["observed_error"]
        bars = [error.clip(upper=0.9 * seen["observed"]), error]
        style.points(ax, seen.index, seen["observed"], "o", style.INK, "observed", yerr=bars, ms=3.2)
        ax.set_ylim(bottom=0.3 * seen["observed"].min())
        ax.set_xlim(right=seen.index.max() + 1.5)
    ax.set_yscale("log")
    ax.legend(fontsize=8, frameon=False)
    return style.finish(ax, table, "number of active units", x="active units", y="probability", grid="both")


def _ends(table: pd.DataFrame) -> list[pd.Series]:
    """The columns of the interval's ends; none where there is no interval."""
    columns = [table[name] for name in table.columns if str(name).startswith("q")]
    return columns if len(columns) == 2 else []


def _band(ax: Axes, table: pd.DataFrame) -> None:
    if ends := _ends(table):
        ax.fill_between(table.index, *ends, color=style.COLOURS[5], alpha=0.5, lw=0)


def _identity(ax: Axes, x: pd.Series, y: pd.Series) -> tuple[float, float]:
    """A line on which both are equal, and its ends."""
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    ax.plot([low, high], [low, high], color=style.MUTED, lw=0.8, zorder=1)
    return low, high


def estimate_trace(estimate: Estimate, *, ax: Axes | None = None) -> Axes:
    """Draw the log-odds of a few parameters against the iteration of an estimate, with their final values.

    Numbers on the right are indices of the parameters. Long runs have a logarithmic axis.

    Parameters
    ----------
    estimate : Estimate
        Result of `mrfbayes.estimate`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    mrfbayes.estimate : Makes the estimate.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> estimate = mb.estimate(model, mb.simulate(model, 0.7, 200, rng=1), algorithm="exact")
    >>> len(mb.plots.estimate_trace(estimate).lines) > 0
    True
    """
    ax = style.axes_or_new(ax, figsize=(7, 2.6))
    trace = estimate.trace
    for k, j in enumerate(trace.tracked):
        colour = style.nth_colour(k)
        ax.plot(trace.iteration, trace.log_odds[:, k], lw=0.8, color=colour)
        ax.axhline(estimate.log_odds[j], lw=0.6, ls=":", color=colour)
        where = (1.01, estimate.log_odds[j])
        ax.annotate(str(j), where, xycoords=ax.get_yaxis_transform(), color=colour, fontsize=7, va="center")
    if trace.iteration.size and trace.iteration[-1] > LONG:
        ax.set_xscale("log")
    state = "converged" if estimate.converged else "not converged"
    text = f"{estimate.method}: {state}, {estimate.iterations} iterations, {estimate.timings['run']:.2f} s"
    ax.set_title(text, fontsize=9)
    ax.set(xlabel="iteration", ylabel="log-odds")
    names = [estimate.model.parameters[j] for j in trace.tracked]
    index = pd.Index(trace.iteration, name="iteration")
    return style.keep_table(ax, pd.DataFrame(trace.log_odds, columns=names, index=index))
