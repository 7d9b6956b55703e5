"""The table of `run.py`'s results: averages over cells, the bars of the method, and the worst cells.

python benchmarks/evidence/summary.py results/*.csv > results/table.md
"""

from __future__ import annotations

import sys

import pandas as pd

STRONG = ("(0.6,0.9)", "(0.7,0.9)")
BARS = {"paper": (0.02, 0.01), "strong": (0.04, 0.03)}  # mean error in sds, relative sd error
METHODS = ("calibrated", "calibrated (order)", "mle", "laplace (exact)", "laplace (bethe)", "pseudo")


def kind(cell: str) -> str:
    """Which row of the table a cell belongs to."""
    if not cell.startswith("grid"):
        return "graphs" if not cell.startswith("adhd") else "adhd"
    if any(text in cell for text in STRONG):
        return "strong"
    return "paper" if "(0.5,0.8)" in cell else "mixed signs"


def main() -> None:
    """Print Markdown."""
    table = pd.concat([pd.read_csv(path) for path in sys.argv[1:]], ignore_index=True)
    table["kind"] = table["cell"].map(kind)
    table["noise"] = 0.8 / table["reference_ess"] ** 0.5
    print("Average over parameters and cells of |mean error| in posterior sds and of |sd ratio - 1|, in per cent.")
    print("A dash: nowhere measured; a star: some cells were too far from the exact posterior to be weighed.\n")
    print("| fields | cells | reference noise | " + " | ".join(METHODS) + " |")
    print("|---|---:|---:|" + "---:|" * len(METHODS))
    for name, part in table.groupby("kind"):
        cells = part["cell"].nunique()
        noise = part[part["method"] == "exact"]["noise"].mean()
        entries = []
        for method in METHODS:
            rows = part[part["method"] == method]
            known = rows.dropna(subset=["mean_error"])
            star = "*" if len(known) < len(rows) else ""
            mean, sd = 100 * known["mean_error"].mean(), 100 * known["sd_error"].mean()
            entries.append(f"{mean:.2f} / {sd:.2f}{star}" if len(known) else "-")
        print(f"| {name} | {cells} | {100 * noise:.2f} | " + " | ".join(entries) + " |")
    print("\nCoverage of equal-tailed intervals (share of true parameters inside), all simulated cells:\n")
    print("| method | 50 % | 90 % |\n|---|---:|---:|")
    for method in ("exact", "calibrated", "mle"):
        rows = table[(table["method"] == method)].dropna(subset=["cover50"])
        weights = rows["p"] / rows["p"].sum()
        print(f"| {method} | {100 * (rows['cover50'] @ weights):.1f} | {100 * (rows['cover90'] @ weights):.1f} |")
    own = table[table["method"] == "calibrated"]
    print("\nBars:\n")
    for name, (mean_bar, sd_bar) in BARS.items():
        part = own[own["kind"] == name]
        mean, sd = part["mean_error"].mean(), part["sd_error"].mean()
        verdict = "met" if mean <= mean_bar and sd <= sd_bar else "NOT met"
        print(f"- {name}: mean {mean:.2%} (bar {mean_bar:.0%}), sd {sd:.2%} (bar {sd_bar:.0%}): {verdict}")
    print("\nThe ten cells where `calibrated` is worst:\n")
    print("| cell | mean error, % of an sd | sd error, % | reference noise, % | note |\n|---|---:|---:|---:|---|")
    for _, row in own.sort_values("sd_error", ascending=False).head(10).iterrows():
        note = row["note"] if isinstance(row["note"], str) else ""
        print(
            f"| {row['cell']} | {100 * row['mean_error']:.2f} | {100 * row['sd_error']:.2f} | "
            f"{100 * row['noise']:.2f} | {note} |"
        )


if __name__ == "__main__":
    main()
