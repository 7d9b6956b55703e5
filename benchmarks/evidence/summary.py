"""The page docs/evidence.md with its tables and pictures, from the stored results of `run.py` and `intervals.py`.

python benchmarks/evidence/summary.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot

from mrfbayes.plots.style import COLOURS

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
METHODS = ("calibrated", "calibrated (order)", "mle", "laplace (exact)", "laplace (bethe)", "pseudo")
BARS = {"paper": (0.02, 0.01), "strong": (0.04, 0.03)}  # mean error in sds, relative sd error
KINDS = {
    "paper": "grids, theta in (.5, .8)",
    "strong": "grids, (.6, .9) and (.7, .9)",
    "mixed signs": "grids, (.2, .8)",
    "graphs": "regular, small-world, complete graphs",
    "surveys": "adhd and reinis",
}
RANGES = ("(0.5,0.8)", "(0.6,0.9)", "(0.7,0.9)", "(0.2,0.8)")


def averages(table: pd.DataFrame) -> str:
    """Errors of all methods, averaged over parameters and cells."""
    lines = ["| fields | cells | reference noise | " + " | ".join(METHODS) + " |", "|---|---:|---:|" + "---:|" * 6]
    for kind, label in KINDS.items():
        part = table[table["kind"] == kind]
        if not len(part):
            continue
        exact = part[part["method"] == "exact"]
        entries = [f"{0.8 * 100 * exact['noise_mean'].mean():.2f} / {0.8 * 100 * exact['noise_sd'].mean():.2f}"]
        for method in METHODS:
            rows = part[part["method"] == method]
            known = rows.dropna(subset=["mean_error"])
            left = len(rows) - len(known)
            star = f" ({left} refused)" if left else ""
            pair = (
                f"{100 * known['mean_error'].mean():.2f} / {100 * known['sd_error'].mean():.2f}" if len(known) else "-"
            )
            entries.append(pair + star)
        lines.append(f"| {label} | {len(exact)} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def bars(table: pd.DataFrame) -> str:
    """The bars that were set beforehand, on averages, and the cells that are past them."""
    lines = []
    own = table[table["method"] == "calibrated"]
    for name, (mean_bar, sd_bar) in BARS.items():
        part = own[own["kind"] == name]
        mean, sd = part["mean_error"].mean(), part["sd_error"].mean()
        verdict = "met" if mean <= mean_bar and sd <= sd_bar else "**not met**"
        past = part[(part["mean_error"] > mean_bar) | (part["sd_error"] > sd_bar)]
        named = ", ".join(past["cell"]) if len(past) else "none"
        lines.append(
            f"- {KINDS[name]}: mean {mean:.2%} of an sd (bar {mean_bar:.0%}), sd {sd:.2%} (bar "
            f"{sd_bar:.0%}) over {len(part)} cells: {verdict}; cells past a bar: {named}."
        )
    worse = []
    for kind in KINDS:
        part = table[table["kind"] == kind]
        if not len(part):
            continue
        for method in ("mle", "laplace (exact)", "laplace (bethe)", "pseudo"):
            both = part[part["method"].isin(["calibrated", method])]
            both = both.pivot(index="cell", columns="method", values=["mean_error", "sd_error"]).dropna()
            for error in ("mean_error", "sd_error"):
                if len(both) and both[error]["calibrated"].mean() > both[error][method].mean():
                    worse.append(f"{method}, {error} on {KINDS[kind]}")
    text = "nowhere" if not worse else "; ".join(worse)
    lines.append(f"- `calibrated` worse on average than another method, in any row of the table: {text}.")
    return "\n".join(lines)


def worst(table: pd.DataFrame, count: int = 10) -> str:
    """Where `calibrated` is worst."""
    own = table[table["method"] == "calibrated"].sort_values("sd_error", ascending=False).head(count)
    lines = ["| cell | mean error, % of an sd (largest) | sd error, % (largest) | mle | laplace (exact) | noted |"]
    lines.append("|---|---:|---:|---:|---:|---|")
    for _, row in own.iterrows():
        others = []
        for method in ("mle", "laplace (exact)"):
            other = table[(table["cell"] == row["cell"]) & (table["method"] == method)].iloc[0]
            others.append(f"{100 * other['mean_error']:.1f} / {100 * other['sd_error']:.1f}")
        note = row["note"] if isinstance(row["note"], str) else ""
        lines.append(
            f"| {row['cell']} | {100 * row['mean_error']:.2f} ({100 * row['mean_error_max']:.1f}) | "
            f"{100 * row['sd_error']:.2f} ({100 * row['sd_error_max']:.1f}) | {' | '.join(others)} | {note} |"
        )
    return "\n".join(lines)


def coverage(table: pd.DataFrame) -> str:
    """Shares of parameters inside intervals, with standard errors over data sets."""
    lines = ["| field | data sets | method | 50 % | 90 % |", "|---|---:|---|---:|---:|"]
    for (cell, method), part in table.groupby(["cell", "method"], sort=False):
        entries = [
            f"{100 * part[name].mean():.1f} +- {100 * part[name].std() / np.sqrt(len(part)):.1f}"
            for name in ("cover50", "cover90")
        ]
        lines.append(f"| {cell} | {len(part)} | {method} | {' | '.join(entries)} |")
    return "\n".join(lines)


def draw_grids(table: pd.DataFrame, path: Path) -> None:
    """Errors against n on grids, a column a range of theta."""
    shown = ("calibrated", "mle", "laplace (exact)", "laplace (bethe)", "pseudo")
    figure, axes = pyplot.subplots(2, 4, figsize=(11, 5.2), sharex=True, sharey="row", layout="constrained")
    for column, name in enumerate(RANGES):
        part = table[table["cell"].str.startswith("grid") & table["cell"].str.contains(name, regex=False)]
        for row, (error, noise, label) in enumerate(
            (("mean_error", "noise_mean", "mean, % of an sd"), ("sd_error", "noise_sd", "sd, %"))
        ):
            ax = axes[row, column]
            for method, colour in zip(shown, COLOURS, strict=False):
                rows = part[part["method"] == method]
                line = rows.groupby("n")[error].mean()
                ax.plot(line.index, 100 * line, color=colour, marker="o", markersize=3, label=method)
                if method == "calibrated":
                    ax.scatter(rows["n"], 100 * rows[error], s=9, color=colour, alpha=0.35, linewidths=0)
            floor = 0.8 * part[part["method"] == "exact"].groupby("n")[noise].mean()
            ax.fill_between(floor.index, 1e-3, 100 * floor, color="0.85", label="noise of the reference", linewidth=0)
            kind = {"(0.5,0.8)": "paper", "(0.2,0.8)": ""}.get(name, "strong")
            if kind:
                ax.axhline(100 * BARS[kind][row], color="black", linewidth=0.8, linestyle="--", label="bar")
            ax.set(xscale="log", yscale="log", ylim=(0.005, 100))
            if row == 0:
                ax.set_title(f"theta in {name}", fontsize=10)
            if column == 0:
                ax.set_ylabel(f"error of the {label}")
            if row == 1:
                ax.set_xlabel("n")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)


def draw_coverage(table: pd.DataFrame, path: Path) -> None:
    """Shares inside intervals, with two standard errors."""
    cells, methods = list(dict.fromkeys(table["cell"])), list(dict.fromkeys(table["method"]))
    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained", sharey=True)
    for ax, level in zip(axes, (50, 90), strict=True):
        for k, cell in enumerate(cells):
            rows = [table[(table["cell"] == cell) & (table["method"] == m)][f"cover{level}"] for m in methods]
            error = [200 * r.std() / np.sqrt(len(r)) for r in rows]
            height = np.arange(len(methods)) + 0.15 * (k - (len(cells) - 1) / 2)
            ax.errorbar([100 * r.mean() for r in rows], height, xerr=error, fmt="o", color=COLOURS[k], label=cell)
        ax.axvline(level, color="black", linewidth=0.8, linestyle="--")
        ax.set(xlabel=f"inside {level} % intervals, %", yticks=range(len(methods)), yticklabels=methods)
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Write the page."""
    table = pd.read_csv(HERE / "results" / "cells.csv")
    covers = pd.read_csv(HERE / "results" / "coverage.csv")
    pictures = DOCS / "pictures"
    draw_grids(table, pictures / "evidence_grids.png")
    draw_coverage(covers, pictures / "evidence_coverage.png")
    template = (HERE / "page.md").read_text(encoding="utf-8")
    text = template.format(
        cells=table["cell"].nunique(),
        averages=averages(table),
        bars=bars(table),
        worst=worst(table),
        coverage=coverage(covers),
    )
    (DOCS / "evidence.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
