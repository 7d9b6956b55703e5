"""The paper's result figures, and those that it could not draw: errors by n and by size, with error bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from mrfbayes.paper.claims import Average, Results
from mrfbayes.paper.constants import METHODS, PRINTED_TIMES, TABLE_SIZES, TEN
from mrfbayes.paper.tables import FIELD_MEASURES, FIELD_PANELS, LARGER_METHODS, SATISFACTORY, LargerField

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that survive colour blindness (Okabe & Ito 2008); the same method has the same one everywhere.
LOOKS: Mapping[str, tuple[str, str]] = {
    "pseudo": ("#D55E00", "s"),
    "laplace": ("#009E73", "^"),
    "mle-0": ("#0072B2", "o"),
    "mle-0.05": ("#56B4E9", "o"),
    "mle-0.1": ("#56B4E9", "P"),
    "persistent": ("#CC79A7", "D"),
    "calibrated": ("#000000", "v"),
    "exact": ("#999999", "x"),
}
PAPER_ROWS = ("pseudo", "laplace", "mle-0", "persistent")
TIMES_N = 1000  # the n of the figure of run times
SHIFT = 7.0  # between neighbouring error bars, in units of n

Share = Literal["row", "col"] | bool
Panel = tuple[str, str, str, str]  # grid, measure, label, what it is measured against
EXACT_LABELS = (("mean_error", "mean of |posterior mean - exact|"), ("sd_error", "mean of |posterior sd - exact|"))
# By figure: title, panels, methods.
DRAWN: Mapping[str, tuple[str, Sequence[Panel], Sequence[str]]] = {
    "figure1": (
        "Simulation 1, 4x4 grid: errors against the exact posterior",
        [("4x4", measure, label, "reference") for measure, label in EXACT_LABELS],
        (*PAPER_ROWS, "calibrated", "exact"),
    ),
    "figure2": (
        "Simulation 2: errors of the posterior mean against the truth",
        [(grid, "mean_error", "mean of |posterior mean - truth|", "truth") for grid in ("6x6", "8x8")],
        (*PAPER_ROWS, "exact"),
    ),
    "figure3": (
        "6x6 and 8x8 grids: errors against the exact posterior",
        [(grid, measure, label, "reference") for grid in ("6x6", "8x8") for measure, label in EXACT_LABELS],
        (*PAPER_ROWS, "calibrated", "exact"),
    ),
}


def largest_error(results: Results, name: str) -> tuple[float, str] | None:
    """The largest standard error of a point of a figure as a share of the point, and the point in words."""
    if name == "times":
        points = [
            (results.timing(grid, TIMES_N, method), f"{METHODS[method].label}, {grid}")
            for grid in PRINTED_TIMES
            for method in TEN
        ]
    else:
        _, panels, methods = DRAWN[name]
        points = [
            (
                results.errors(measure, grid, n, method, base=base),
                f"{METHODS[method].label}, {grid}, n = {n:,}, {label}",
            )
            for grid, measure, label, base in panels
            for method in methods
            for n in results.sizes(grid, method)
        ]
    return max(((p.error / p.value, text) for p, text in points if p.value and p.error >= 0), default=None)


def _figure(
    rows: int, columns: int, size: tuple[float, float], sharex: Share = False, sharey: Share = False
) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey).ravel())
    for ax in axes:
        ax.grid(alpha=0.25)
    return figure, axes


def _finish(figure: Figure, axes: Sequence[Axes], title: str, columns: int) -> Figure:
    """One legend for all panels, and the title."""
    handles: dict[str, Artist] = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(text, handle)
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=9
    )
    figure.suptitle(title, fontsize=11)
    return figure


def _bars(
    ax: Axes,
    method: str,
    points: Mapping[float, Average],
    label: str = "",
    line: str = "",
    face: str | None = None,
    width: float = 1.2,
) -> None:
    """Averages by x with their errors."""
    colour, marker = LOOKS[method]
    ax.errorbar(
        list(points),
        [point.value for point in points.values()],
        [point.error if point.count > 1 else 0.0 for point in points.values()],
        color=colour,
        marker=marker,
        markersize=4.5,
        markerfacecolor=face,
        capsize=2,
        linewidth=width,
        linestyle=line,
        label=label or None,
    )


def times(results: Results) -> Figure | None:
    """Run times of 10^6 steps on the three grids, with those that the paper prints as open marks."""
    if not any(results.count(grid, TIMES_N, "mle-0") for grid in PRINTED_TIMES):
        return None
    figure, axes = _figure(1, 3, (10.5, 4.6), sharey=True)
    column = TABLE_SIZES.index(TIMES_N)
    for ax, (grid, paper) in zip(axes, PRINTED_TIMES.items(), strict=True):
        for place, method in enumerate(reversed(TEN)):
            timing = results.timing(grid, TIMES_N, method)
            if timing.count:
                error = 0.0 if math.isnan(timing.error) else timing.error
                ax.errorbar([timing.value], [place], xerr=[error], fmt="o", c="#0072B2", ms=5, capsize=2, label="ours")
            if method in paper:
                seconds = paper[method][column] / 1000
                ax.plot([seconds], [place], "D", mfc="none", mec="#D55E00", ms=6, label="printed in the paper")
        ax.set_title(grid, loc="left", fontsize=10)
        ax.set_xscale("log")
        ax.set_xlabel("seconds")
    axes[0].set_yticks(range(len(TEN)), [METHODS[method].label for method in reversed(TEN)])
    title = f"Run time of 10^6 steps at n = {TIMES_N:,} (bars: standard error of the median)"
    return _finish(figure, axes, title, 2)


def errors_by_n(results: Results, name: str) -> Figure | None:
    """A figure of `DRAWN`; None where nothing was run."""
    title, panels, methods = DRAWN[name]
    if not any(results.sizes(grid, "reference") for grid, *_ in panels):
        return None
    rows = -(-len(panels) // 2)
    figure, axes = _figure(rows, 2, (9.5, 0.9 + 3.4 * rows))
    spans = {method: _replications(results, panels, method) for method in methods}
    usual = max(spans.values(), key=list(spans.values()).count)
    for letter, ax, (grid, measure, label, base) in zip("abcd", axes, panels, strict=False):
        most = max(len(results.sizes(grid, method)) for method in methods)  # points with gaps between get no line
        for place, method in enumerate(methods):
            found = {n: results.errors(measure, grid, n, method, base=base) for n in results.sizes(grid, method)}
            found = {n: error for n, error in found.items() if error.count}
            if not found:
                continue
            text = METHODS[method].label + (" (Monte-Carlo error)" if method == "exact" and base != "truth" else "")
            text += f", {spans[method]} replications" if spans[method] not in (usual, "") else ""
            line = "" if len(found) < most else "--" if method == "exact" else "-"
            shift = SHIFT * (place - len(methods) / 2)
            _bars(ax, method, {n + shift: error for n, error in found.items()}, text, line)
        ax.set_xlabel("n")
        if base != "truth":
            ax.set_yscale("log")  # the methods are two orders of magnitude apart
        ax.set_title(f"({letter}) {grid}", loc="left", fontsize=10)
        ax.set_ylabel(label)
    return _finish(figure, axes, f"{title} (replications: {usual}; bars: standard error)", 3)


def _replications(results: Results, panels: Sequence[Panel], method: str) -> str:
    """Replications behind the points of a method."""
    counts = sorted({results.count(grid, n, method) for grid, *_ in panels for n in results.sizes(grid, method)})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else ""


def larger_fields(fields: Sequence[LargerField]) -> Figure | None:
    """Three measures against the number of parameters: grids joined by lines, strips and others as open marks."""
    if not fields:
        return None
    figure, axes = _figure(len(FIELD_MEASURES), len(FIELD_PANELS), (11, 9), sharex="col", sharey="row")
    places = [(measure, panel) for measure in FIELD_MEASURES for panel in FIELD_PANELS]
    for ax, (measure, panel) in zip(axes, places, strict=True):
        for method in LARGER_METHODS:
            for family in ("grid", "complete", "strip", "questionnaire"):
                own = [f for f in fields if (f.panel, f.family) == (panel, family) and method in f.measured]
                if not own:
                    continue
                points = {float(f.parameters): f.measured[method][measure] for f in own}
                if family in ("grid", "complete"):
                    _bars(ax, method, points, METHODS[method].label, "-", width=1.1)
                else:
                    _bars(ax, method, points, face="none", width=1.1)
        ax.set_xscale("log")
        ax.axhline({"mean_error": SATISFACTORY, "sd_ratio": 1.0, "coverage": 0.9}[measure], color="0.5", lw=0.8)
        if measure == "mean_error":
            ax.set_yscale("symlog", linthresh=0.01)
            ax.set_ylim(0, 6)  # PersistMC on the questionnaire: 4 sds
            ax.set_title(FIELD_PANELS[panel], fontsize=10)
        if measure == "sd_ratio":
            ax.set_yscale("log", base=2)
            ax.yaxis.set_major_formatter("{x:g}")
        if measure == "coverage":
            ax.set_xlabel("number of parameters")
        if panel == "weak":
            ax.set_ylabel(FIELD_MEASURES[measure])
    title = "Beyond the paper's sizes (bars: standard error; open marks: strips, the questionnaire)"
    return _finish(figure, axes, title, 4)


FIGURES: Mapping[str, Callable[[Results], Figure | None]] = {
    **{name: partial(errors_by_n, name=name) for name in DRAWN},
    "times": times,
}
