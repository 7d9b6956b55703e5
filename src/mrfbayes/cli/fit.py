"""``mrfbayes fit``: from a data file to a folder with a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mrfbayes.cli.options import (
    Columns,
    Complete,
    CouplingChoice,
    DataFile,
    Delimiter,
    FieldsChoice,
    Graph,
    Grid,
    Json,
    Levels,
    Missing,
    MissingChoice,
    Overwrite,
    PriorChoice,
    Reading,
    ScaleChoice,
    SeedChoice,
    StatesChoice,
    TiedChoice,
    Weights,
    Without,
)
from mrfbayes.cli.settings_file import Settings

if TYPE_CHECKING:
    from mrfbayes.posterior.posterior import Posterior
    from mrfbayes.report.findings import Findings

FILES = ("report.html", "summary.csv", "edges.csv", "weights.csv", "posterior.nc", "settings.toml")
RUN = "Run"


def fit(
    data: DataFile,
    out: Annotated[Path, typer.Option("--out", help="Folder for report and tables.")] = Path("fit"),
    complete: Complete = False,
    graph: Graph = None,
    grid: Grid = "",
    columns: Columns = None,
    without: Without = None,
    coupling: CouplingChoice = None,
    fields: FieldsChoice = None,
    tied: TiedChoice = None,
    states: StatesChoice = None,
    prior: PriorChoice = "uniform",
    scale: ScaleChoice = None,
    method: Annotated[str, typer.Option(help="See `mrfbayes methods`.", rich_help_panel=RUN)] = "auto",
    steps: Annotated[int | None, typer.Option(help="Steps per chain after warm-up.", rich_help_panel=RUN)] = None,
    warmup: Annotated[int | None, typer.Option(help="Steps of warm-up.", rich_help_panel=RUN)] = None,
    chains: Annotated[int, typer.Option(help="Chains.", rich_help_panel=RUN)] = 4,
    workers: Annotated[int, typer.Option(help="Processes.", rich_help_panel=RUN)] = 1,
    seconds: Annotated[float | None, typer.Option(help="Time budget of the sampling.", rich_help_panel=RUN)] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File from which a killed run goes on.", rich_help_panel=RUN)
    ] = None,
    levels: Levels = None,
    delimiter: Delimiter = None,
    missing: MissingChoice = "refuse",
    missing_drop: Missing = False,
    weights: Weights = None,
    rng: SeedChoice = 0,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    settings: Settings = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Read a file, say what it holds, sample the posterior, and write report, tables and result into a folder."""
    import mrfbayes as mb
    from mrfbayes.base.errors import OutputError
    from mrfbayes.base.interrupts import InterruptFlag
    from mrfbayes.cli.defaults import ModelOptions, data_and_model
    from mrfbayes.cli.outputs import keep
    from mrfbayes.cli.results import print_findings, write_results
    from mrfbayes.cli.show import console, quiet_warnings, show_states
    from mrfbayes.cli.text import safe
    from mrfbayes.report.findings import Findings

    repeat = {name: value for name, value in locals().copy().items() if name in _PARAMETERS}
    _check_folder(out, data, overwrite)
    options = ModelOptions(
        grid, graph, complete, fields, tied, states, coupling, tuple(columns or ()), tuple(without or ())
    )
    reading = Reading.of(levels, delimiter, missing, missing_drop, weights)
    model, x, lines = data_and_model(data, options, reading)
    screen = console(to_stderr=json)
    for line in lines:
        screen.print(safe(line), markup=False)
    with quiet_warnings():  # they are in the result, and printed with it
        statistics = reading.count(model, x)
        show_states(statistics.levels, json)
        with InterruptFlag() as interrupt:  # once there are draws, Ctrl-C waits until they are saved
            with interrupt.allowed():
                posterior: Posterior = mb.sample(
                    model,
                    statistics,
                    method,
                    steps=steps,
                    warmup=warmup,
                    chains=chains,
                    prior=prior,
                    workers=workers,
                    seconds=seconds,
                    checkpoint=checkpoint,
                    rng=rng,
                )
            out.mkdir(parents=True, exist_ok=True)
            kept = keep(posterior, out / "posterior.nc", True)
        if kept.status:
            raise OutputError(kept.text)
        findings: Findings = Findings(posterior, scale or "")
        paths = write_results(findings, out, title or data.stem, data.name, repeat)
    print_findings(findings, paths, json)
    if posterior.facts.stopped_by == "Ctrl-C":
        raise typer.Exit(130)


_PARAMETERS = (
    *("data", "out", "complete", "graph", "grid", "columns", "without", "coupling", "fields", "tied", "states"),
    *("prior", "scale", "method", "steps", "warmup", "chains", "workers", "seconds", "checkpoint", "rng", "title"),
    *("levels", "delimiter", "missing", "missing_drop", "weights"),
)


def _check_folder(out: Path, data: Path, overwrite: bool) -> None:
    from mrfbayes.base.atomic_files import check_targets
    from mrfbayes.base.errors import InputError

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a folder.")
    if out.is_dir():
        targets: dict[str, Any] = {f"--out {name}": out / name for name in FILES}
        check_targets(targets, inputs={"data": data}, overwrite=overwrite, permission="--overwrite")
    elif not out.parent.is_dir():
        raise InputError(f"--out {out}: there is no folder {out.parent}: make it first.")
