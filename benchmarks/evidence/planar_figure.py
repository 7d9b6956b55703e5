"""Errors against the exact posterior as the field grows, from 4x4 to 32x32: the picture, and the table that it prints.

    python benchmarks/evidence/planar_figure.py

Rows of 4x4 to 10x10 come from `results/cells.csv`, those of 16x16 to 32x32 from `results/planar.csv`; n = 1,000.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib import pyplot

HERE = Path(__file__).parent
PICTURE = HERE.parent.parent / "docs" / "pictures" / "evidence_planar.png"
RANGES = {"(0.5,0.8)": "weak, theta in (.5, .8)", "(0.6,0.9)": "strong, theta in (.6, .9)"}
METHODS = {"calibrated": "#0072B2", "mle": "#D55E00", "laplace (exact)": "#009E73", "pseudo": "#CC79A7"}
ABSOLUTE = 0.8  # of a standard error: what the absolute value of an error is on average


def rows():
    """One row a cell and method, with the side of the grid and the range of theta."""
    table = pd.concat([pd.read_csv(HERE / "results" / name) for name in ("cells.csv", "planar.csv")])
    found = table["cell"].str.extract(r"^grid (\d+)x(\d+) (\(.*\)) n=1000$")
    table["side"], table["range"] = pd.to_numeric(found[0]), found[2]
    table = table[(found[0] == found[1]) & table["range"].isin(RANGES)]
    return table[pd.to_numeric(table["mean_error"], errors="coerce").notna()]


def growth():
    """The table, in per cent; a test holds the page of evidence to it."""
    table = rows()
    lines = ["| field | reference noise | " + " | ".join(METHODS) + " |", "|---|---:|" + "---:|" * len(METHODS)]
    for key in RANGES:
        for side in (4, 8, 16, 24, 32):
            own = table[(table["range"] == key) & (table["side"] == side)].set_index("method")
            noise = ABSOLUTE * own.loc["exact", ["noise_mean", "noise_sd"]].astype(float)
            pairs = [noise, *(own.loc[method, ["mean_error", "sd_error"]].astype(float) for method in METHODS)]
            cells = " | ".join(f"{100 * mean:.2f} / {100 * sd:.2f}" for mean, sd in pairs)
            lines.append(f"| {side}x{side} {key} | {cells} |")
    return "\n".join(lines)


def main():
    """The picture and the table."""
    table = rows()
    figure, axes = pyplot.subplots(2, 2, figsize=(8, 6), sharex=True, layout="constrained")
    for column, (key, label) in enumerate(RANGES.items()):
        own = table[table["range"] == key]
        for row, (name, noise, title) in enumerate(
            (
                ("mean_error", "noise_mean", "error of the mean, sds"),
                ("sd_error", "noise_sd", "relative error of the sd"),
            )
        ):
            ax = axes[row, column]
            for method, colour in METHODS.items():
                one = own[own["method"] == method].sort_values("side")
                ax.plot(one["side"], one[name].astype(float), "o-", color=colour, label=method, markersize=4)
            exact = own[own["method"] == "exact"].sort_values("side")
            ax.fill_between(
                exact["side"], 1e-5, ABSOLUTE * exact[noise].astype(float), color="0.85", label="noise of the reference"
            )
            ax.set(yscale="log", ylim=(1e-4, 1), xscale="log", xticks=[4, 6, 8, 10, 16, 24, 32])
            ax.set_xticklabels(["4", "6", "8", "10", "16", "24", "32"])
            ax.minorticks_off()
            if row == 0:
                ax.set_title(label, fontsize=10)
            if row == 1:
                ax.set_xlabel("nodes along a side")
            if column == 0:
                ax.set_ylabel(title)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=8
    )
    figure.savefig(PICTURE, dpi=130)
    print(growth())


if __name__ == "__main__":
    main()
