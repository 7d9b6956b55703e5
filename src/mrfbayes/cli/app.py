"""The commands. Each imports what it needs when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from mrfbayes.cli.data_commands import compare, estimate, evidence, info
from mrfbayes.cli.fit import fit
from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.options import (
    Complete,
    Coupling,
    Delimiter,
    Fields,
    Graph,
    Grid,
    Levels,
    MergeEdges,
    Missing,
    MissingChoice,
    Reading,
    ScaleChoice,
    States,
    Tied,
    Weights,
    build_model,
)
from mrfbayes.cli.reproduce import reproduce
from mrfbayes.cli.result_commands import edges, export, plot, predict, report


class Interrupted(Exception):
    """Ctrl-C inside a command, with what it says: typer would end without a word."""


class Commands(typer.core.TyperGroup):
    """The commands as a group."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise Interrupted(str(stop)) from None


app = typer.Typer(
    name="mrfbayes",
    cls=Commands,
    help="Bayesian parameter learning of discrete Markov random fields.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)

Data = Annotated[Path, typer.Argument(help="CSV or Parquet file, one observation a row.")]
Without = Annotated[
    list[str] | None, typer.Option("--without", help="Leave out this column (with --complete); repeatable.")
]
Seed = Annotated[int, typer.Option("--rng", help="Seed.", min=0)]


@app.command()
def sample(
    data: Data,
    grid: Grid = "",
    graph: Graph = None,
    complete: Complete = False,
    fields: Fields = False,
    tied: Tied = "no",
    states: States = 2,
    coupling: Coupling = "agreement",
    merge_edges: MergeEdges = False,
    method: Annotated[str, typer.Option(help="Method; see `mrfbayes methods`.")] = "auto",
    steps: Annotated[int | None, typer.Option(help="Steps a chain after warm-up.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Steps of warm-up.")] = None,
    chains: Annotated[int, typer.Option(help="Chains.")] = 4,
    prior: Annotated[str, typer.Option(help="Prior, e.g. 'uniform', 'beta(2, 2)', 'normal(0, 1)'.")] = "uniform",
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
    checkpoint: Annotated[Path | None, typer.Option(help="File from which a killed run goes on.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Time budget.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Result file (netCDF).")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace the result file.")] = False,
    without: Without = None,
    levels: Levels = None,
    delimiter: Delimiter = None,
    missing: MissingChoice = "refuse",
    missing_drop: Missing = False,
    weights: Weights = None,
    rng: Seed = 0,
) -> None:
    """Draw from the posterior of every parameter and print a summary."""
    import mrfbayes as mb
    from mrfbayes.base.errors import InputError
    from mrfbayes.base.interrupts import InterruptFlag
    from mrfbayes.cli.outputs import check_files, keep
    from mrfbayes.cli.show import quiet_warnings, show_posterior, show_states
    from mrfbayes.data.read import columns_but

    inputs = {"the data": data, "--graph": graph}
    check_files({"--out": out}, inputs, overwrite, continued={"--checkpoint": checkpoint})
    if without and not complete:
        raise InputError("--without goes with --complete: a graph takes the columns that are called like its nodes.")
    reading = Reading.of(levels, delimiter, missing, missing_drop, weights)
    left_out = [*(without or ()), *([weights] if weights else ())]
    columns = columns_but(data, left_out, reading.delimiter) if complete else None
    model = build_model(grid, graph, complete, fields, tied, states, coupling, columns, merge_edges)
    with quiet_warnings():  # they are in the result and printed with it
        statistics = reading.count(model, data)
        show_states(statistics.levels)
        with InterruptFlag() as interrupt:  # once there are draws, Ctrl-C waits until they are saved
            with interrupt.allowed():
                posterior = mb.sample(
                    model,
                    statistics,
                    method,
                    steps=steps,
                    warmup=warmup,
                    chains=chains,
                    prior=prior,
                    workers=workers,
                    checkpoint=checkpoint,
                    seconds=seconds,
                    rng=rng,
                )
            kept = keep(posterior, out, overwrite)
    show_posterior(posterior)
    if kept.text:
        typer.echo(kept.text, err=bool(kept.status))
    if posterior.facts.stopped_by == "Ctrl-C":
        raise typer.Exit(130)
    if kept.status:
        raise typer.Exit(kept.status)


@app.command()
def summary(
    result: Annotated[Path, typer.Argument(help="Result file.")],
    csv: Annotated[Path | None, typer.Option(help="Write the table here as CSV, all rows and digits.")] = None,
    scale: ScaleChoice = None,
    rows: Annotated[int, typer.Option(help="Rows that are printed; 0 prints all.", min=0)] = 40,
    overwrite: Annotated[bool, typer.Option(help="Replace the CSV file.")] = False,
) -> None:
    """Print the summary of a saved result: edges by how sure they are, then nodes."""
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import show_posterior, show_states
    from mrfbayes.model.wording import natural_scale
    from mrfbayes.plots.saving import write_table

    check_files({"--csv": csv}, {"the result": result}, overwrite)
    posterior = load_posterior(result)
    show_states(posterior.settings.get("levels", ()))
    scale = scale or natural_scale(posterior.model)
    show_posterior(posterior, scale, rows)
    if csv is not None:
        write_table(posterior.summary(scale=scale), csv, overwrite)
        typer.echo(f"written to {csv}")


@app.command()
def cost(
    grid: Grid = "",
    graph: Graph = None,
    fields: Fields = False,
    tied: Tied = "no",
    states: States = 2,
    coupling: Coupling = "agreement",
    merge_edges: MergeEdges = False,
) -> None:
    """Say what exact inference on a field would cost, before anything is run."""
    import mrfbayes as mb

    typer.echo(str(mb.cost(build_model(grid, graph, False, fields, tied, states, coupling, None, merge_edges))))


@app.command()
def simulate(
    theta: Annotated[float, typer.Argument(help="One weight for all parameters.")],
    n: Annotated[int, typer.Argument(help="Number of observations.")],
    out: Annotated[Path, typer.Option("--out", help="CSV file to write.")],
    grid: Grid = "",
    graph: Graph = None,
    fields: Fields = False,
    tied: Tied = "no",
    states: States = 2,
    coupling: Coupling = "agreement",
    merge_edges: MergeEdges = False,
    sampler: Annotated[str, typer.Option(help="auto, exact, cftp, gibbs or swendsen-wang.")] = "auto",
    overwrite: Annotated[bool, typer.Option(help="Replace the file.")] = False,
    rng: Seed = 0,
) -> None:
    """Simulate observations of a field."""
    import mrfbayes as mb
    from mrfbayes.cli.outputs import check_files, write_rows

    check_files({"--out": out}, {"--graph": graph}, overwrite)
    model = build_model(grid, graph, False, fields, tied, states, coupling, None, merge_edges)
    write_rows(model.nodes, mb.simulate(model, theta, n, sampler=sampler, rng=rng).tolist(), out, overwrite)
    typer.echo(f"{n} observations of {model.n_nodes} nodes written to {out}")


@app.command()
def methods() -> None:
    """List the methods."""
    from mrfbayes.cli.show import show_methods

    show_methods()


@app.command()
def demo() -> None:
    """The main job on embedded data: from a questionnaire to the posterior of every coupling."""
    from mrfbayes.cli.demo import run_demo

    run_demo()


app.command()(reproduce)
app.command()(fit)
for command in (info, estimate, compare, evidence, edges, report, plot, predict, export):
    app.command()(command)
