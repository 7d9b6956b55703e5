"""The commands. Each imports what it needs when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from mrfbayes.cli.data_commands import compare, estimate, evidence, info
from mrfbayes.cli.fit import fit
from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.option_groups import FieldOptions, ReadingOptions, SamplingOptions, grouped
from mrfbayes.cli.options import Complete, DataFile, ScaleChoice, SeedChoice
from mrfbayes.cli.reproduce import reproduce
from mrfbayes.cli.result_commands import edges, export, plot, predict, report


class Interrupted(Exception):
    """Ctrl-C inside a command, with what it says: typer would end without a word."""


class Commands(typer.core.TyperGroup):
    """The commands as a group."""

    def invoke(self, ctx: Any) -> object:
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


Without = Annotated[
    list[str] | None, typer.Option("--without", help="Leave out this column (with --complete); repeatable.")
]


@app.command()
@grouped
def sample(
    data: DataFile,
    field: FieldOptions,
    sampling: SamplingOptions,
    read: ReadingOptions,
    complete: Complete = False,
    without: Without = None,
    out: Annotated[Path | None, typer.Option("--out", help="Result file (netCDF).")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace the result file.")] = False,
) -> None:
    """Draw from the posterior of every parameter and print a summary."""
    from mrfbayes.base.errors import InputError
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import quiet_warnings, show_posterior, show_states
    from mrfbayes.data.read import columns_but

    inputs = {"the data": data, "--graph": field.graph}
    check_files({"--out": out}, inputs, overwrite, continued={"--checkpoint": sampling.checkpoint})
    if without and not complete:
        raise InputError("--without goes with --complete: a graph takes the columns that are called like its nodes.")
    reading = read.reading
    left_out = [*(without or ()), *([reading.weights] if reading.weights else ())]
    model = field.model(columns_but(data, left_out, reading.delimiter) if complete else None)
    with quiet_warnings():  # they are in the result and printed with it
        statistics = reading.count(model, data)
        show_states(statistics.levels)
        posterior, kept = sampling.sample(statistics, out, overwrite)
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
    show_states(posterior.levels)
    scale = scale or natural_scale(posterior.model)
    show_posterior(posterior, scale, rows)
    if csv is not None:
        write_table(posterior.summary(scale=scale), csv, overwrite)
        typer.echo(f"written to {csv}")


@app.command()
@grouped
def cost(field: FieldOptions) -> None:
    """Say what exact inference on a field would cost, before anything is run."""
    import mrfbayes as mb

    typer.echo(str(mb.cost(field.model())))


@app.command()
@grouped
def simulate(
    theta: Annotated[float, typer.Argument(help="One weight for all parameters.")],
    n: Annotated[int, typer.Argument(help="Number of observations.")],
    field: FieldOptions,
    out: Annotated[Path, typer.Option("--out", help="CSV file to write.")],
    sampler: Annotated[str, typer.Option(help="auto, exact, cftp, gibbs or swendsen-wang.")] = "auto",
    overwrite: Annotated[bool, typer.Option(help="Replace the file.")] = False,
    rng: SeedChoice = 0,
) -> None:
    """Simulate observations of a field."""
    import mrfbayes as mb
    from mrfbayes.cli.outputs import check_files, write_rows

    check_files({"--out": out}, {"--graph": field.graph}, overwrite)
    model = field.model()
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
