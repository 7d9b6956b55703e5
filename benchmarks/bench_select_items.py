"""Processor seconds of a search over graphs of 17 five-level items, at its defaults and with as many sweeps as before.

python benchmarks/bench_select_items.py [--out benchmarks/results/select_items.md]
"""

import argparse
import platform
import time
from pathlib import Path

import numpy as np

import mrfbayes as mb

ITEMS, ROWS, SEED = 17, 900, 7
RUNS = {"default": {}, "4,000 sweeps, 16,384 samples": {"draws": 2_000, "thin": 2, "particles": 16_384}}


def answers() -> np.ndarray:
    """Two correlated factors, each behind nine items, cut into five levels; 2 % of the cells are missing."""
    rng = np.random.default_rng(SEED)
    loading = np.zeros((ITEMS, 2))
    loading[:9, 0], loading[8:, 1] = rng.uniform(0.5, 0.95, 9), rng.uniform(0.5, 0.95, 9)
    factors = rng.multivariate_normal([0, 0], [[1, 0.35], [0.35, 1]], ROWS)
    cells = np.digitize(factors @ loading.T + rng.normal(size=(ROWS, ITEMS)), [-1.2, -0.4, 0.4, 1.3]).astype(float)
    cells[rng.random(cells.shape) < 0.02] = np.nan
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/select_items.md"))
    place = parser.parse_args().out
    data = mb.Data(answers())
    model = mb.Model.from_data(data)
    mb.select(model, data, draws=20, warmup=20, progress=False)  # compiled before anything is timed
    lines = [
        f"`python benchmarks/bench_select_items.py`, mrfbayes {mb.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}; processor seconds of one process.\n",
        "| run | processor s | sweeps per chain | largest error | mean error | largest difference | warnings |",
        "|---|---|---|---|---|---|---|",
    ]
    found = {}
    for name, options in RUNS.items():
        started = time.process_time()
        found[name] = result = mb.select(model, data, progress=False, **options)
        seconds = time.process_time() - started
        gap = np.abs(result.inclusion - found["default"].inclusion).max()
        said = len(result.warnings) - len(data.count(model).warnings)
        error = result.inclusion_error
        errors = f"{error.max():.4f} | {error.mean():.4f} | {gap:.4f}"
        lines.append(f"| {name} | {seconds:.1f} | {result.steps:,} | {errors} | {said} |")
        print(lines[-1], flush=True)
    place.write_text("# A search over graphs of 17 five-level items\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
