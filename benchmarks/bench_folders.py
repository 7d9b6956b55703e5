"""Counting folders of Parquet as one table, with the coding known and decided from the rows.

    python benchmarks/bench_folders.py --out benchmarks/results/folders.md
    python benchmarks/bench_folders.py --files 1000 --out benchmarks/results/folders_billion.md

Rows of a 4x4 field, 10^6 per file, in another order and with other columns flipped in each file. A Dask data frame of
the first files gives the same statistics.
`--folder` keeps the files, and uses those that are there.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from record import recorded

import mrfbayes as mb

ROWS = 1_000_000
FIRST = 10  # files that are counted alone as well, to see how memory grows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=FIRST)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    model = mb.grid(4, 4)
    with recorded(arguments.out), contextlib.ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write(model, folder, arguments.files)
        size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
        print(f"{arguments.files:,} files of {ROWS:,} rows x 16 columns, {size / 1e6:,.0f} MB\n")
        as_folders(model, folder)
        as_dask(model, folder)


def write(model: mb.Model, folder: Path, files: int) -> None:
    """The first files lie in a folder of their own, which is a part of the whole."""
    (folder / "first").mkdir(parents=True, exist_ok=True)
    x = mb.simulate(model, 0.6, ROWS, rng=1, progress=False)
    for k in range(files):
        place = (folder / "first" if k < FIRST else folder) / f"part-{k:04}.parquet"
        if not place.exists():
            flipped = np.roll(x, 977 * k, axis=0) ^ np.random.default_rng(k).integers(0, 2, size=16, dtype=np.uint8)
            pl.DataFrame(flipped, schema=list(model.nodes)).write_parquet(place)


def as_folders(model: mb.Model, folder: Path) -> None:
    mb.Data(folder / "first" / "part-0000.parquet").count(model)  # compiles
    before = peak_mib()
    print("Memory is the peak beyond that after a single file.\n")
    print("| rows | what | processor seconds | by the clock | MiB |\n|---:|---|---:|---:|---:|")
    parts = [folder / "first"] + [folder] * any(folder.glob("*.parquet"))
    for part in parts:
        for what in ("counted by a model", "schema, model of the data, counted"):
            started, clock = time.process_time(), time.perf_counter()
            data = mb.Data(part)
            found = data.count(model if what == "counted by a model" else mb.Model.from_data(data, model_edges(model)))
            spent, clock = time.process_time() - started, time.perf_counter() - clock
            print(f"| {found.n:,.0f} | {what} | {spent:.2f} | {clock:.2f} | {peak_mib() - before:.0f} |", flush=True)


def as_dask(model: mb.Model, folder: Path) -> None:
    import dask.dataframe as dd

    files = [str(path) for path in sorted((folder / "first").glob("*.parquet"))]
    started = time.process_time()
    there, here = mb.Data(dd.read_parquet(files)).count(model), mb.Data(folder / "first").count(model)
    assert there.digest == here.digest
    print(
        f"\nThe {here.n:,.0f} rows as a Dask data frame have the same digest ({time.process_time() - started:.2f} s)."
    )


def model_edges(model: mb.Model) -> list[tuple[str, str]]:
    return [(model.nodes[u], model.nodes[v]) for u, v in model.edges.tolist()]


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
