"""The paper's result figures, and the one that it could not draw: errors by n, with error bars over replications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from mrfbayes.paper import results as measures
from mrfbayes.paper.constants import METHODS
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
    "persistent": ("#CC79A7", "D"),
    "calibrated": ("#000000", "v"),
    "exact": ("#999999", "x"),
}
PAPER_ROWS = ("pseudo", "laplace", "mle-0", "persistent")
SHIFT = 7.0  # between neighbouring error bars, in units of n


def figure1(results: Results) -> Figure | None:
    """Simulation 1: errors of mean and sd against the exact posterior on 4x4."""
    return _panels(
        results,
        [
            ("4x4", measures.mean_error, "mean of |posterior mean - exact|", "reference"),
            ("4x4", measures.sd_error, "mean of |posterior sd - exact|", "reference"),
        ],
        (*PAPER_ROWS, "calibrated", "exact"),
        "Simulation 1, 4x4 grid: errors against the exact posterior",
    )


def figure2(results: Results) -> Figure | None:
    """Simulation 2: error of the posterior mean against the truth on 6x6 and 8x8."""
    return _panels(
        results,
        [
            ("6x6", measures.mean_error, "mean of |posterior mean - truth|", "truth"),
            ("8x8", measures.mean_error, "mean of |posterior mean - truth|", "truth"),
        ],
        (*PAPER_ROWS, "exact"),
        "Simulation 2: errors of the posterior mean against the truth",
    )


def figure3(results: Results) -> Figure | None:
    """Errors of mean and sd against the exact posterior on 6x6 and 8x8."""
    return _panels(
        results,
        [
            (grid, measure, label, "reference")
            for grid in ("6x6", "8x8")
            for measure, label in (
                (measures.mean_error, "mean of |posterior mean - exact|"),
                (measures.sd_error, "mean of |posterior sd - exact|"),
            )
        ],
        (*PAPER_ROWS, "calibrated", "exact"),
        "6x6 and 8x8 grids: errors against the exact posterior",
    )


def _panels(
    results: Results, panels: Sequence[tuple[str, Measure, str, str]], methods: Sequence[str], title: str
) -> Figure | None:
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


def _span(results: Results, panels: Sequence[tuple[str, Measure, str, str]], method: str) -> str:
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
    "figure1": figure1,
    "figure2": figure2,
    "figure3": figure3,
}
