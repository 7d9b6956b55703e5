"""Counting folders of Parquet: as one table in this process, and as a Dask data frame by two workers.

    python benchmarks/bench_folders.py --out benchmarks/results/folders.md
    python benchmarks/bench_folders.py --files 1000 --out benchmarks/results/folders_billion.md

Rows of a 4x4 field, 10^6 per file, no two files alike. Both ways give the same statistics, the digest included where
all rows together are few enough to be kept (1 GiB, packed). Where they are not, as with 10^9 rows, only sums travel;
for fewer that is measured with the limit set low. `--folder` keeps the files, and uses those that are there.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from record import recorded

import mrfbayes as mb
from mrfbayes.data import collections, tally

if TYPE_CHECKING:
    from dask.dataframe import DataFrame
    from distributed import Client

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
        here = in_this_process(model, folder)
        by_dask(model, folder, here)


def write(model: mb.Model, folder: Path, files: int) -> None:
    """The first files lie in a folder of their own, which is a part of the whole."""
    (folder / "first").mkdir(parents=True, exist_ok=True)
    for k in range(files):
        place = (folder / "first" if k < FIRST else folder) / f"part-{k:04}.parquet"
        if not place.exists():
            x = mb.simulate(model, 0.6, ROWS, rng=k, progress=False)
            pl.DataFrame(x, schema=list(model.nodes)).write_parquet(place)


def in_this_process(model: mb.Model, folder: Path) -> mb.Statistics:
    mb.Data(folder / "first" / "part-0000.parquet").count(model)  # compiles
    before = peak_mib()
    print("One process, memory at the peak beyond that after a single file:\n")
    print("| rows | processor seconds | by the clock | MiB |\n|---:|---:|---:|---:|")
    parts = [folder / "first"] + [folder] * any(folder.glob("*.parquet"))
    for part in parts:
        started, clock = time.process_time(), time.perf_counter()
        found = mb.Data(part).count(model)
        spent, clock = time.process_time() - started, time.perf_counter() - clock
        print(f"| {found.n:,.0f} | {spent:.2f} | {clock:.2f} | {peak_mib() - before:.0f} |")
    print()
    return found


def by_dask(model: mb.Model, folder: Path, here: mb.Statistics) -> None:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        frame = dd.read_parquet([str(path) for path in sorted(folder.rglob("*.parquet"))])
        mb.Data(frame.partitions[:2]).count(model)  # compiles on the workers
        if here.n * model.n_nodes / 8 <= tally.RETAINED_BYTES:
            there = timed(model, frame, client, "rows packed and sent here")
            assert there.digest == here.digest
            client.run(lower_limit)
            lower_limit()
        there = timed(model, frame, client, "only sums sent")
        assert there.n == here.n
        assert np.array_equal(there.counts, here.counts)


def timed(model: mb.Model, frame: DataFrame, client: Client, what: str) -> mb.Statistics:
    started, clock, before = time.process_time(), time.perf_counter(), peak_mib()
    on_workers = sum(client.run(time.process_time).values())
    there = mb.Data(frame).count(model)
    spent, clock = time.process_time() - started, time.perf_counter() - clock
    on_workers = sum(client.run(time.process_time).values()) - on_workers
    print(
        f"- Dask, 2 workers, {what}: {on_workers:.2f} s on the workers, {spent:.2f} s here, {clock:.1f} s by the clock"
    )
    print(f"  ({peak_mib() - before:.0f} MiB more here at the peak)")
    return there


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def lower_limit() -> None:
    """Nothing of the rows is kept."""
    collections.RETAINED_BYTES = 0


if __name__ == "__main__":
    main()
