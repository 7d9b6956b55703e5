"""Pictures of thermodynamics: scans over temperature, correlations and population counts against the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.base.errors import InputError
from mrfbayes.plots.style import COLOURS, FAINT, INK, MUTED, POSITIVE, axes_or_new, keep_table, quiet, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from mrfbayes.queries.correlations import Correlations, PopulationCounts
    from mrfbayes.queries.thermodynamics import Thermodynamics

NAMES = {"log_z": "log Z", "energy": "energy", "entropy": "entropy (nats)", "heat_capacity": "heat capacity"}
MANY_POINTS = 2_000  # past which points are an image inside the picture


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
    """
    if quantity not in NAMES:
        raise InputError(f"quantity = {quantity!r}: choose one of {', '.join(map(repr, NAMES))}.")
    part = scan.table.loc[quantity]
    ax = axes_or_new(ax, figsize=(5.2, 3.4))
    low, high = _ends(part)
    if low:
        ax.fill_between(part.index, part[low], part[high], color=COLOURS[5], alpha=0.5, lw=0, label="interval")
    ax.plot(part.index, part["value"], color=POSITIVE, lw=1.6)
    ax.axvline(1.0, color=MUTED, lw=0.8, ls=":")
    title(ax, f"{NAMES[quantity]} over temperature")
    ax.set(xlabel="temperature (1: as fitted)", ylabel=NAMES[quantity])
    _finish(ax, part)
    return ax


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
    ax = axes_or_new(ax, figsize=(4.6, 4.4))
    ends = [part["observed"], part["predicted"]]
    low, high = min(e.min() for e in ends), max(e.max() for e in ends)
    ax.plot([low, high], [low, high], color=MUTED, lw=0.8, zorder=1)
    below, above = _ends(part)
    bars = [part["predicted"] - part[below], part[above] - part["predicted"]] if below else None
    many = len(part) > MANY_POINTS
    ax.errorbar(
        *(part["observed"], part["predicted"]),
        xerr=2 * part["observed_error"],
        yerr=None if bars is None else [bar.clip(lower=0) for bar in bars],
        fmt="o",
        ms=2.6,
        color=POSITIVE,
        ecolor=COLOURS[5],
        elinewidth=0.5,
        alpha=0.7,
        rasterized=many,
    )
    miss = (part["observed"] - part["predicted"]).abs() > 2 * part["observed_error"]
    title(ax, f"order {order}: {int(miss.sum())} of {len(part)} beyond two standard errors")
    ax.set(xlabel="observed", ylabel="predicted")
    _finish(ax, part)
    return ax


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

    Examples
    --------
    >>> import mrfbayes as mb
    >>> counts = mb.population_counts(mb.graph([("a", "b"), ("b", "c")]), 0.8)
    >>> mb.plots.data(mb.plots.population_counts(counts)).shape[0]
    4
    """
    table = found.table
    ax = axes_or_new(ax, figsize=(5.2, 3.4))
    low, high = _ends(table)
    if low:
        ax.fill_between(table.index, table[low], table[high], color=COLOURS[5], alpha=0.5, lw=0)
    ax.plot(table.index, table["predicted"], color=POSITIVE, lw=1.6, label="predicted")
    if "observed" in table:
        seen = table[table["observed"] > 0]
        error = 2 * seen["observed_error"]
        ax.errorbar(
            seen.index,
            seen["observed"],
            yerr=[error.clip(upper=0.9 * seen["observed"]), error],
            fmt="o",
            ms=3.2,
            color=INK,
            elinewidth=0.7,
            label="observed",
        )
        ax.set_ylim(bottom=0.3 * seen["observed"].min())
        ax.set_xlim(right=seen.index.max() + 1.5)
    ax.set_yscale("log")
    title(ax, "number of active units")
    ax.set(xlabel="active units", ylabel="probability")
    ax.legend(fontsize=8, frameon=False)
    _finish(ax, table)
    return ax


def _ends(table: pd.DataFrame) -> tuple[str, str] | tuple[None, None]:
    """Columns of the interval's ends, where there are any."""
    names = [name for name in table.columns if str(name).startswith("q")]
    return (names[0], names[1]) if len(names) == 2 else (None, None)


def _finish(ax: Axes, table: pd.DataFrame) -> None:
    ax.grid(color=FAINT, lw=0.5)
    ax.set_axisbelow(True)
    quiet(ax, "bottom", "left")
    keep_table(ax, table)
