"""All commands. Each imports what it needs when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import typer.core

from mrfbayes.cli.on_data import compare, estimate, evidence, fit, info, sample
from mrfbayes.cli.on_result import edges, export, plot, predict, report, summary
from mrfbayes.cli.without_data import cost, demo, methods, reproduce, simulate


class Interrupted(Exception):
    """Ctrl-C inside a command, with its message: typer would end without one."""


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
        formatter.write_text("mrfbayes COMMAND --help lists the options of a command.")

    def format_commands(self, *_: object) -> None:
        """The commands are listed by what they work on, before the options."""


def _show_version(is_asked: bool) -> None:
    from mrfbayes import __version__

    if is_asked:
        typer.echo(f"mrfbayes {__version__}")
        raise typer.Exit()


app = typer.Typer(name="mrfbayes", cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def mrfbayes(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Bayesian parameter learning of discrete Markov random fields."""


COMMANDS = {
    "On data": (fit, info, sample, estimate, compare, evidence),
    "On a saved result": (summary, edges, report, plot, predict, export),
    "Without data": (cost, simulate, methods, demo, reproduce),
}
SECTIONS = {title: [command.__name__ for command in commands] for title, commands in COMMANDS.items()}
for commands in COMMANDS.values():
    for command in commands:
        app.command()(command)
