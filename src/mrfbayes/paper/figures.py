"""The paper's result figures, and the one that it could not draw: errors by n, with error bars over replications."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mrfbayes.paper import printed
from mrfbayes.paper import results as measures
from mrfbayes.paper.constants import METHODS, TABLE_SIZES, TEN
from mrfbayes.paper.results import Measure, Results

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


Panel = tuple[str, Measure, str, str]  # grid, measure, label, what it is measured against
EXACT_LABELS = (
    (measures.mean_error, "mean of |posterior mean - exact|"),
    (measures.sd_error, "mean of |posterior sd - exact|"),
)
# By figure: title, panels, methods.
DRAWN: Mapping[str, tuple[str, Sequence[Panel], Sequence[str]]] = {
    "figure1": (
        "Simulation 1, 4x4 grid: errors against the exact posterior",
        [("4x4", measure, label, "reference") for measure, label in EXACT_LABELS],
        (*PAPER_ROWS, "calibrated", "exact"),
    ),
    "figure2": (
        "Simulation 2: errors of the posterior mean against the truth",
        [(grid, measures.mean_error, "mean of |posterior mean - truth|", "truth") for grid in ("6x6", "8x8")],
        (*PAPER_ROWS, "exact"),
    ),
    "figure3": (
        "6x6 and 8x8 grids: errors against the exact posterior",
        [(grid, measure, label, "reference") for grid in ("6x6", "8x8") for measure, label in EXACT_LABELS],
        (*PAPER_ROWS, "calibrated", "exact"),
    ),
}


def precision(results: Results, name: str) -> str | None:
    """The largest standard error of a point of a figure as a share of the point, and where it is."""
    worst = largest_error(results, name)
    if worst is None:
        return None
    share, point = worst
    return f"{100 * share:.1f} % ({point})"


def largest_error(results: Results, name: str) -> tuple[float, str] | None:
    """The largest standard error relative to its point, and the point in words."""
    found = []
    if name == "times":
        for grid in ("4x4", "6x6", "8x8"):
            for method in TEN:
                timing = results.timing(grid, TIMES_N, method)
                if timing.count:
                    found.append((timing, f"{METHODS[method].label}, {grid}"))
    else:
        _, panels, methods = DRAWN[name]
        for grid, measure, label, base in panels:
            for method in methods:
                for n in results.sizes(grid, method):
                    error = results.errors(measure, grid, n, method, base=base)
                    found.append((error, f"{METHODS[method].label}, {grid}, n = {n:,}, {label}"))
    shares = [(one.error / one.value, point) for one, point in found if one.value and one.error >= 0]
    return max(shares, default=None)


def times(results: Results) -> Figure | None:
    """Run times of 10^6 steps on the three grids, with those that the paper prints as open marks."""
    from matplotlib.figure import Figure

    if not any(results.count(grid, TIMES_N, "mle-0") for grid in ("4x4", "6x6", "8x8")):
        return None
    figure = Figure(figsize=(10.5, 4.6), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    column = TABLE_SIZES.index(TIMES_N)
    for ax, (grid, paper) in zip(axes, {"4x4": printed.TABLE_1, **printed.TABLE_2}.items(), strict=True):
        for place, method in enumerate(reversed(TEN)):
            timing = results.timing(grid, TIMES_N, method)
            if timing.count:
                error = 0.0 if math.isnan(timing.error) else timing.error
                mark = {"color": "#0072B2", "marker": "o", "markersize": 5, "capsize": 2}
                ax.errorbar([timing.value], [place], xerr=[error], linestyle="", label="ours", **mark)
            if method in paper:
                mark = {"markerfacecolor": "none", "markeredgecolor": "#D55E00", "marker": "D", "markersize": 6}
                ax.plot([paper[method][column] / 1000], [place], linestyle="", label="printed in the paper", **mark)
        ax.set_title(grid, loc="left", fontsize=10)
        ax.set_xscale("log")
        ax.set_xlabel("seconds")
        ax.grid(alpha=0.25)
    axes[0].set_yticks(range(len(TEN)), [METHODS[method].label for method in reversed(TEN)])
    handles = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.suptitle(f"Run time of 10^6 steps at n = {TIMES_N:,} (bars: standard error of the median)", fontsize=11)
    return figure


def errors_by_n(results: Results, name: str) -> Figure | None:
    """A figure of `DRAWN`; None where nothing was run."""
    title, panels, methods = DRAWN[name]
    from matplotlib.figure import Figure

    if not any(results.sizes(grid, "reference") for grid, *_ in panels):
        return None
    rows = -(-len(panels) // 2)
    figure = Figure(figsize=(9.5, 0.9 + 3.4 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, squeeze=False).ravel()
    spans = {method: _span(results, panels, method) for method in methods}
    usual = max(spans.values(), key=list(spans.values()).count)
    notes = {method: f", {span} replications" for method, span in spans.items() if span not in (usual, "")}
    for letter, ax, (grid, measure, label, base) in zip("abcd", axes, panels, strict=False):
        _draw(ax, results, grid, measure, methods, base, notes)
        ax.set_title(f"({letter}) {grid}", loc="left", fontsize=10)
        ax.set_ylabel(label)
    handles: dict[str, Artist] = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(text, handle)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(f"{title} (replications: {usual}; bars: standard error)", fontsize=11)
    return figure


def _span(results: Results, panels: Sequence[Panel], method: str) -> str:
    """Replications behind the points of a method."""
    counts = sorted({results.count(grid, n, method) for grid, *_ in panels for n in results.sizes(grid, method)})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else ""


def _draw(
    ax: Axes,
    results: Results,
    grid: str,
    measure: Measure,
    methods: Sequence[str],
    base: str,
    notes: Mapping[str, str],
) -> None:
    most = max(len(results.sizes(grid, method)) for method in methods)  # points with gaps between them get no line
    for place, method in enumerate(methods):
        found = [(n, results.errors(measure, grid, n, method, base=base)) for n in results.sizes(grid, method)]
        found = [(n, error) for n, error in found if error.count]
        if not found:
            continue
        colour, marker = LOOKS[method]
        name = METHODS[method].label + (" (Monte-Carlo error)" if method == "exact" and base != "truth" else "")
        name += notes.get(method, "")
        ax.errorbar(
            [n + SHIFT * (place - len(methods) / 2) for n, _ in found],
            [error.value for _, error in found],
            [error.error if error.count > 1 else 0.0 for _, error in found],
            label=name,
            color=colour,
            marker=marker,
            markersize=4.5,
            linewidth=1.2,
            linestyle="" if len(found) < most else "--" if method == "exact" else "-",
            capsize=2,
        )
    ax.set_xlabel("n")
    if base != "truth":
        ax.set_yscale("log")  # the methods are two orders of magnitude apart
    ax.grid(alpha=0.25)


FIGURES: Mapping[str, Callable[[Results], Figure | None]] = {
    **{name: partial(errors_by_n, name=name) for name in DRAWN},
    "times": times,
}
