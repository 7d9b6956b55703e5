"""Counting folders of Parquet: as one table in this process, and as a Dask data frame by two workers.

    python benchmarks/bench_folders.py --out benchmarks/results/folders.md

Rows of a 4x4 field, 10^6 per file. Both ways give the same statistics, the digest included. With the limit of what is
kept of the rows set low, only sums travel, as with 10^9 rows.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import polars as pl
from record import recorded

import mrfbayes as mb
from mrfbayes.data import collections

FILES, ROWS = 10, 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    model = mb.grid(4, 4)
    with recorded(arguments.out), tempfile.TemporaryDirectory() as name:
        for k in range(FILES):
            x = mb.simulate(model, 0.6, ROWS, rng=k, progress=False)
            pl.DataFrame(x, schema=list(model.nodes)).write_parquet(Path(name) / f"part-{k}.parquet")
        bytes_ = sum(path.stat().st_size for path in Path(name).iterdir())
        print(f"{FILES} files of {ROWS:,} rows x 16 columns, {bytes_ / 1e6:.0f} MB\n")
        mb.count(model, Path(name) / "part-0.parquet")  # compiles
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.process_time()
        here = mb.count(model, name)
        spent = time.process_time() - started
        more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"- a folder, one process: {spent:.2f} processor seconds, {more:.0f} MiB more at the peak; ", end="")
        print(f"10^9 rows would take {spent * 1e9 / (FILES * ROWS):.0f} s")
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            frame = dd.read_parquet(f"{name}/part-*.parquet")
            mb.count(model, frame.partitions[:2])  # compiles on the workers
            started, on_workers = time.process_time(), sum(client.run(time.process_time).values())
            there = mb.count(model, frame)
            spent, on_workers = time.process_time() - started, sum(client.run(time.process_time).values()) - on_workers
            assert there.digest == here.digest
            print(
                f"- Dask, 2 workers, rows packed and sent here: {on_workers:.2f} s on the workers, {spent:.2f} s here"
            )
            client.run(lower_limit)
            lower_limit()
            started, on_workers = time.process_time(), sum(client.run(time.process_time).values())
            there = mb.count(model, frame)
            spent, on_workers = time.process_time() - started, sum(client.run(time.process_time).values()) - on_workers
            assert (there.counts == here.counts).all()
            print(f"- Dask, 2 workers, only sums sent: {on_workers:.2f} s on the workers, {spent:.2f} s here")


def lower_limit() -> None:
    """Nothing of the rows is kept."""
    collections.RETAINED_BYTES = 0


if __name__ == "__main__":
    main()
