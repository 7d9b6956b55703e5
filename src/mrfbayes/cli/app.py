"""All commands. Each has a file and imports what it needs when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import typer.core

from mrfbayes.cli.answers import print_json
from mrfbayes.cli.compare import compare
from mrfbayes.cli.cost import cost
from mrfbayes.cli.edges import edges
from mrfbayes.cli.estimate import estimate
from mrfbayes.cli.evidence import evidence
from mrfbayes.cli.export import export
from mrfbayes.cli.fit import fit
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.info import info
from mrfbayes.cli.methods import methods
from mrfbayes.cli.options import Common
from mrfbayes.cli.plot import plot
from mrfbayes.cli.predict import predict
from mrfbayes.cli.report import report
from mrfbayes.cli.reproduce import reproduce
from mrfbayes.cli.sample import sample
from mrfbayes.cli.simulate import simulate
from mrfbayes.cli.summary import summary


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

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Plain text: what draws boxes around the options of a command would take half the time of this page."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(limit=200)) for name in names])
        self.format_options(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text("mrfbayes COMMAND --help tells what a command takes.")

    def format_commands(self, *_: object) -> None:
        """The commands are listed by what they work on, before the options."""


def _show_version(is_asked: bool) -> None:
    from mrfbayes import __version__

    if is_asked:
        typer.echo(f"mrfbayes {__version__}")
        raise typer.Exit()


app = typer.Typer(
    name="mrfbayes",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


@app.callback()
def mrfbayes(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Bayesian parameter learning of discrete Markov random fields."""


@grouped
def demo(common: Common) -> None:
    """The main job on embedded data: from a questionnaire to the posterior of every coupling."""
    from mrfbayes.cli.demo import run_demo
    from mrfbayes.cli.show import console

    path = run_demo(console(to_stderr=common.json))
    if common.json:
        print_json({"report": str(path.resolve())})


COMMANDS = {
    "On data": (fit, info, sample, estimate, compare, evidence),
    "On a saved result": (summary, edges, report, plot, predict, export),
    "Without data": (cost, simulate, methods, demo, reproduce),
}
SECTIONS = {title: [command.__name__ for command in commands] for title, commands in COMMANDS.items()}
for commands in COMMANDS.values():
    for command in commands:
        app.command()(command)
