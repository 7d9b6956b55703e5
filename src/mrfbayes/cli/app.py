"""All commands. Each has a file and imports what it needs when it runs, so that ``--help`` answers at once."""

from __future__ import annotations

from typing import Any

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


app = typer.Typer(
    name="mrfbayes",
    cls=Commands,
    help="Bayesian parameter learning of discrete Markov random fields.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


@grouped
def demo(common: Common) -> None:
    """The main job on embedded data: from a questionnaire to the posterior of every coupling."""
    from mrfbayes.cli.demo import run_demo
    from mrfbayes.cli.show import console

    path = run_demo(console(to_stderr=common.json))
    if common.json:
        print_json({"report": str(path.resolve())})


for command in (
    *(fit, info, sample, estimate, compare, evidence),  # on data
    *(summary, edges, report, plot, predict, export),  # on a saved result
    *(cost, simulate, methods, demo, reproduce),
):
    app.command()(command)
