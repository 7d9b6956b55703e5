"""Run random cells of the paper's study again with the code of today, and compare them with the stored records.

    python benchmarks/paper_rerun.py [--cells 100] [--seed 1] [--seconds 3600]

Cells of the printed walk (a likelihood with the printed proposal) must agree byte for byte. Means of the others, whose
random streams may differ, must agree within their Monte-Carlo errors: z is the difference of two means over its
standard error. That error comes from the smallest effective sample size of each run, and equal runs have z = 0, so the
root mean square of z is below 1. The result is ``paper/rerun.json``, which `make paper` states on its page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path

import numpy as np

from mrfbayes.paper import constants as settings
from mrfbayes.paper.journal import Store
from mrfbayes.paper.page import RERUN
from mrfbayes.paper.tasks import Cell, CellOutcome, run_cell

ROOT = Path(__file__).parents[1]


def differences(stored: CellOutcome, again: CellOutcome) -> np.ndarray:
    """z of every mean."""
    error = np.array(stored.vectors["sd"]) * np.sqrt(1 / stored.numbers["ess"] + 1 / again.numbers["ess"])
    return np.subtract(again.vectors["mean"], stored.vectors["mean"]) / np.maximum(error, 1)


def compare(cells: list[Cell], store: Store, seconds: float) -> dict[str, object]:
    """Counts and the largest z, of as many cells as there is time for."""
    start = time.monotonic()
    same, printed, identical, others, values = 0, 0, 0, 0, [np.zeros(1)]
    for cell in cells:
        if time.monotonic() - start > seconds:
            break
        stored, again = store.outcomes[cell], run_cell(cell)
        is_equal = (stored.numbers, stored.vectors) == (again.numbers, again.vectors)
        is_walk = settings.SETTINGS[cell.setting].proposal == "printed" and cell.method in settings.LIKELIHOODS
        if is_walk or "ess" not in stored.numbers:
            printed += 1
            same += is_equal
        else:
            others += 1
            identical += is_equal
            values.append(differences(stored, again))
        print(f"{cell}: {same} of {printed} equal, largest |z| {abs(np.concatenate(values)).max():.2f}", flush=True)
    z = np.concatenate(values)
    commit = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    rms = float(np.sqrt((z**2).sum() / max(z.size - 1, 1)))
    counts = {"printed": printed, "equal": same, "others": others, "identical": identical, "means": z.size - 1}
    return {**counts, "commit": commit.strip(), "rms_z": round(rms, 3), "largest_z": round(float(abs(z).max()), 2)}


def main() -> None:
    """Choose, run, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no cell after so many")
    options = parser.parse_args()
    store = Store(ROOT / "paper" / "results")
    every = sorted(cell for cell in store.outcomes if cell.method != "coalescence" and cell.setting != "gibbs")
    chosen = np.random.Generator(np.random.PCG64(options.seed)).choice(len(every), options.cells, replace=False)
    result = compare([every[k] for k in chosen], store, options.seconds)
    (ROOT / "paper" / RERUN).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(result)


if __name__ == "__main__":
    main()
