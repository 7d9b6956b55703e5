"""Commands without data: cost, simulate, methods, demo, reproduce."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import mrfbayes as mb
from mrfbayes.cli import show
from mrfbayes.cli.files import write_rows, writing
from mrfbayes.cli.options import Common, FieldOptions, Many, Overwrite, SeedChoice, grouped


@grouped
def cost(field: FieldOptions, common: Common) -> None:
    """Say what exact inference on a field would cost, before anything is run."""
    from mrfbayes.cli.field import build_field

    found = mb.cost(build_field(field))
    if common.json:
        work = {name: asdict(one) for name, one in found.work.items()}
        facts = {"recursion": found.recursion, "treewidth": found.treewidth, "feasible": found.feasible}
        seconds = {"seconds_of_1000_steps": found.methods, "seconds_of_preparation": found.preparation}
        show.as_json({**facts, "work": work, **seconds, "limit_bytes": found.limit})
    else:
        typer.echo(str(found))


@grouped
def simulate(
    theta: Annotated[str, typer.Argument(help="A weight for all parameters, a CSV of them (name, value), or 'ising'.")],
    n: Annotated[int, typer.Argument(help="Number of observations.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write.")],
    field: FieldOptions,
    common: Common,
    j: Annotated[str, typer.Option("--J", help="With ising: a coupling J for all edges, or a CSV (edge, J).")] = "",
    h: Annotated[str, typer.Option("--h", help="With ising: a field h for all nodes, or a CSV (node, h).")] = "0",
    temperature: Annotated[float, typer.Option(help="With ising: T.")] = 1.0,
    sampler: Annotated[str, typer.Option(help="auto, exact, cftp, gibbs or swendsen-wang.")] = "auto",
    overwrite: Overwrite = False,
    rng: SeedChoice = None,
) -> None:
    """Simulate observations of a field with weights theta, or with couplings J and h at a temperature."""
    from mrfbayes.cli.field import build_field, read_theta

    with writing({"--out": out}, {"--graph": field.graph}, overwrite):
        model = build_field(field)
        at = read_theta(model, theta, j, h, temperature)
        write_rows(model.nodes, mb.simulate(model, at, n, sampler=sampler, rng=rng).tolist(), out, overwrite)
        show.facts(common.json, {"observations": n, "nodes": model.n_nodes, "written": str(out)})


@grouped
def methods(common: Common) -> None:
    """List the methods."""
    from mrfbayes.engines.registry import engine_names
    from mrfbayes.methods.registry import REGISTRY

    rows = REGISTRY.values()
    if common.json:
        names = {row.key: {"label": row.label, "target": row.target, "engines": engine_names(row)} for row in rows}
        show.as_json({row.key: {**names[row.key], "about": row.summary} for row in rows})
    else:
        cells = [[row.key, row.label, row.target, row.summary] for row in rows]
        show.table(["method", "in the paper", "target", "what it is"], cells, texts=4)


@grouped
def demo(common: Common) -> None:
    """The main job on embedded data: from a questionnaire to the posterior of every coupling."""
    from mrfbayes.cli.demo import run_demo

    path = run_demo(to_stderr=common.json)
    if common.json:
        show.as_json({"report": str(path.resolve())})


@grouped
def reproduce(
    common: Common,
    profile: Annotated[str, typer.Option(help="quick (a test), standard (12 core-hours) or paper.")] = "quick",
    only: Annotated[
        Many, typer.Option(help="Part: table1, table2, figure1, figure2, figure3, ...; repeatable.")
    ] = None,
    method: Annotated[Many, typer.Option(help="Row, such as exact or mle-0; repeatable.")] = None,
    grid: Annotated[Many, typer.Option(help="4x4, 6x6 or 8x8; repeatable.")] = None,
    replications: Annotated[int | None, typer.Option(help="At most so many.", min=1)] = None,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Begin no cell after so many.", min=0)] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; what is finished there is not done again.")] = Path(
        "reproduction"
    ),
    render: Annotated[bool, typer.Option(help="Write tables, figures and verdicts at the end.")] = True,
    run: Annotated[bool, typer.Option(help="--no-run: only write what the stored results give.")] = True,
) -> None:
    """Reproduce the simulations of Liu & Zheng: run cells that are missing, write tables, figures and verdicts."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # before NumPy is loaded: small matrices are slower on two threads
    from mrfbayes.base.progress import Progress
    from mrfbayes.paper.journal import Store, run_cells
    from mrfbayes.paper.page import write_all
    from mrfbayes.paper.tasks import PROFILES, cells_of
    from mrfbayes.paper.tasks import cost as cell_cost

    facts: dict[str, object] = {"out": str(out)}
    results, status = out / "results", 0
    cells = cells_of(profile, only or (), method or (), grid or (), replications)
    if run:
        with Store(results) as store:
            missing = [cell for cell in cells if cell not in store]
            typer.echo(f"{len(cells)} cells, {len(cells) - len(missing)} of them finished before", err=common.json)
            with Progress("seconds of work", round(sum(map(cell_cost, missing)))) as bar:
                done = run_cells(cells, store, workers=cluster or workers, seconds=seconds, report=bar.update)
        if done.stopped_by:
            typer.echo(f"stopped by {done.stopped_by}; the same command goes on from here", err=common.json)
        for cell, reason in done.failures.items():
            typer.echo(f"failed: {cell}: {reason}", err=True)
        typer.echo(f"{done.finished} cells finished, stored in {results}", err=common.json)
        facts |= {"cells": len(cells), "finished": done.finished}
        facts |= {"failed": len(done.failures), "stopped_by": done.stopped_by}
        status = 130 if done.stopped_by == "Ctrl-C" else 1 if done.failures else 0
    if render and not status:
        for path in write_all(Store(results), out, PROFILES[profile].steps):
            typer.echo(f"written: {path}", err=common.json)
    if common.json:
        show.as_json(facts)
    if status:
        raise typer.Exit(status)
