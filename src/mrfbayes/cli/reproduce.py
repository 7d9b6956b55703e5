"""``mrfbayes reproduce``: the paper's simulations, run as far as asked for, and what is made from them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import print_json
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common

Names = list[str] | None


@grouped
def reproduce(
    common: Common,
    profile: Annotated[str, typer.Option(help="quick (a test), standard (12 core-hours) or paper.")] = "quick",
    only: Annotated[
        Names, typer.Option(help="Part: table1, table2, figure1, figure2, figure3, ...; repeatable.")
    ] = None,
    method: Annotated[Names, typer.Option(help="Row, such as exact or mle-0; repeatable.")] = None,
    grid: Annotated[Names, typer.Option(help="4x4, 6x6 or 8x8; repeatable.")] = None,
    replications: Annotated[int | None, typer.Option(help="At most so many.", min=1)] = None,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Begin no cell after so many.", min=0)] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder; what is finished there is not done again.")] = Path(
        "reproduction"
    ),
    render: Annotated[bool, typer.Option(help="Write tables, figures and verdicts at the end.")] = True,
    run: Annotated[bool, typer.Option(help="--no-run: only write what the stored results give.")] = True,
) -> None:
    """Reproduce the simulations of Liu & Zheng: run cells that are missing, write tables, figures and verdicts."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # as in Dask's workers, before NumPy is loaded: small matrices are slower on two threads
    from mrfbayes.base.progress import Progress
    from mrfbayes.paper.journal import Store
    from mrfbayes.paper.page import write_all
    from mrfbayes.paper.profiles import PROFILES, cells_of, cost
    from mrfbayes.paper.runner import run_cells

    facts: dict[str, object] = {"out": str(out)}
    results, status = out / "results", 0
    cells = cells_of(profile, only or (), method or (), grid or (), replications)
    if run:
        with Store(results) as store:
            missing = [cell for cell in cells if cell not in store]
            typer.echo(f"{len(cells)} cells, {len(cells) - len(missing)} of them finished before", err=common.json)
            with Progress("seconds of work", round(sum(map(cost, missing)))) as bar:
                done = run_cells(cells, store, workers=cluster or workers, seconds=seconds, report=bar.update)
        if done.stopped_by:
            typer.echo(f"stopped by {done.stopped_by}; the same command goes on from here", err=common.json)
        for cell, reason in done.failures.items():
            typer.echo(f"failed: {cell}: {reason}", err=True)
        typer.echo(f"{done.finished} cells finished, stored in {results}", err=common.json)
        facts |= {
            "cells": len(cells),
            "finished": done.finished,
            "failed": len(done.failures),
            "stopped_by": done.stopped_by,
        }
        status = 130 if done.stopped_by == "Ctrl-C" else 1 if done.failures else 0
    if render and not status:
        for path in write_all(Store(results), out, PROFILES[profile].steps):
            typer.echo(f"written: {path}", err=common.json)
    if common.json:
        print_json(facts)
    if status:
        raise typer.Exit(status)
