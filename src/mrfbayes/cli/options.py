"""Options that several commands share; see `mrfbayes.cli.grouped` for how a command takes them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mrfbayes.base.errors import InputError
from mrfbayes.cli.settings_file import Settings

if TYPE_CHECKING:
    from mrfbayes.cli.outputs import Kept
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.model.field import Model
    from mrfbayes.posterior.posterior import Posterior

MODEL, DATA, RUN = "Model", "Data", "Run"

ResultFile = Annotated[Path, typer.Argument(help="Result file, as posterior.nc of a fit.")]
ScaleChoice = Annotated[
    str | None, typer.Option("--scale", help="theta, log-odds or ising; default: as such models are quoted.")
]
PriorChoice = Annotated[
    str, typer.Option("--prior", help="Such as 'uniform' or 'normal(0, 1)'.", rich_help_panel=MODEL)
]
SeedChoice = Annotated[int, typer.Option("--rng", help="Seed.", min=0)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Many = list[str] | None


@dataclass(frozen=True, kw_only=True)
class Common:
    """What every command has: how it answers, and settings from a file."""

    json: Json = False
    settings: Settings = None


@dataclass(frozen=True, kw_only=True)
class FieldOptions:
    """Which field; None or empty where the choice is left to the command."""

    grid: Annotated[
        str, typer.Option("--grid", help="Grid, as ROWSxCOLUMNS.", metavar="RxC", rich_help_panel=MODEL)
    ] = ""
    graph: Annotated[
        Path | None, typer.Option("--graph", help="Edge list (CSV) or GraphML file.", rich_help_panel=MODEL)
    ] = None
    coupling: Annotated[
        str | None, typer.Option("--coupling", help="agreement, both-one, score or table.", rich_help_panel=MODEL)
    ] = None
    fields: Annotated[
        bool | None, typer.Option("--fields/--no-fields", help="A factor per node.", rich_help_panel=MODEL)
    ] = None
    tied: Annotated[
        str | None,
        typer.Option("--tied", help="no, yes or direction (grids): share parameters.", rich_help_panel=MODEL),
    ] = None
    states: Annotated[
        Many,
        typer.Option(
            "--states", help="States per node: 3, or of one column mood=5; repeatable.", rich_help_panel=MODEL
        ),
    ] = None
    merge_edges: Annotated[
        bool, typer.Option("--merge-edges", help="Take an edge that is given twice once.", rich_help_panel=MODEL)
    ] = False
    neighbours: Annotated[
        int, typer.Option("--neighbours", help="Of a pixel: 4 or 8 (grids).", rich_help_panel=MODEL)
    ] = 4
    periodic: Annotated[
        bool,
        typer.Option("--periodic", help="The first row and column follow the last (grids).", rich_help_panel=MODEL),
    ] = False
    mask: Annotated[
        Path | None,
        typer.Option(
            "--mask",
            help="CSV, PNG or NPY of zeros and ones: the pixels that belong to the grid.",
            rich_help_panel=MODEL,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class DataOptions(FieldOptions):
    """Which data, how they are read, and which field is learned from them."""

    data: Annotated[
        list[str],
        typer.Argument(
            help="CSV or Parquet file, or images (PNG, NPY); several, or a pattern as 'wave*.csv', are one data set."
        ),
    ]
    complete: Annotated[
        bool, typer.Option("--complete", help="Every pair of the data's columns is an edge.", rich_help_panel=MODEL)
    ] = False
    columns: Annotated[
        Many, typer.Option("--columns", help="Column, range a:z or pattern q*; repeatable.", rich_help_panel=DATA)
    ] = None
    without: Annotated[
        Many, typer.Option("--without", help="Leave out column, range or pattern; repeatable.", rich_help_panel=DATA)
    ] = None
    levels: Annotated[
        Many,
        typer.Option(
            "--levels",
            help="Order of text labels: 'never<rarely<often'; for one column 'mood=low<high'. Repeatable.",
            rich_help_panel=DATA,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", help="Of a text file, as ';' or tab; else recognised.", rich_help_panel=DATA),
    ] = None
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            help="Rows with missing values: refuse; drop: leave them out; model: use the cells that are there.",
            rich_help_panel=DATA,
        ),
    ] = "refuse"
    missing_drop: Annotated[bool, typer.Option("--missing-drop", help="As --missing drop.", rich_help_panel=DATA)] = (
        False
    )
    weights: Annotated[
        str | None, typer.Option("--weights", help="Column with the rows' weights.", rich_help_panel=DATA)
    ] = None
    long: Annotated[
        str | None,
        typer.Option(
            "--long",
            help="A long table: its columns for row, column and value, as person,item,answer.",
            rich_help_panel=DATA,
        ),
    ] = None

    @property
    def reading(self) -> Reading:
        """How the files are read."""
        return Reading.of(self.levels, self.delimiter, self.missing, self.missing_drop, self.weights)


@dataclass(frozen=True, kw_only=True)
class SamplingOptions:
    """How draws are made."""

    method: Annotated[str, typer.Option("--method", help="See `mrfbayes methods`.", rich_help_panel=RUN)] = "auto"
    steps: Annotated[
        int | None, typer.Option("--steps", help="Steps per chain after warm-up.", rich_help_panel=RUN)
    ] = None
    warmup: Annotated[int | None, typer.Option("--warmup", help="Steps of warm-up.", rich_help_panel=RUN)] = None
    chains: Annotated[int, typer.Option("--chains", help="Chains.", rich_help_panel=RUN)] = 4
    workers: Annotated[int, typer.Option("--workers", help="Processes.", rich_help_panel=RUN)] = 1
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Time budget of everything that is computed.", rich_help_panel=RUN)
    ] = None
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", help="File from which a killed run goes on.", rich_help_panel=RUN)
    ] = None
    option: Annotated[
        Many,
        typer.Option(
            "--option",
            help="Any other setting that a message names, as thin=8, engine=mh or particles=4096; repeatable.",
            rich_help_panel=RUN,
        ),
    ] = None
    prior: PriorChoice = "uniform"
    rng: SeedChoice = 0

    @property
    def call(self) -> dict[str, Any]:
        """The settings as `mrfbayes.sample` takes them."""
        own: dict[str, object] = {
            "method": self.method,
            "steps": self.steps,
            "warmup": self.warmup,
            "chains": self.chains,
            "prior": self.prior,
            "workers": self.workers,
            "seconds": self.seconds,
            "checkpoint": self.checkpoint,
            "rng": self.rng,
        }
        for text in self.option or ():
            name, equals, value = text.partition("=")
            if not (equals and name.isidentifier() and value):
                raise InputError(f"--option {text!r}: write NAME=VALUE, as thin=8.")
            if name in own:
                raise InputError(f"--option {text!r}: given twice, or as --{name}; choose one.")
            own[name] = _value_of(value)
        return own

    def check(self, model: Model) -> None:
        """Refuse what can be refused without the data."""
        from mrfbayes.posterior.sample import check_call

        check_call(model, self.call)

    def sample(self, statistics: Statistics, out: Path | None, overwrite: bool) -> tuple[Posterior, Kept]:
        """The posterior, saved to ``out``; once there are draws, Ctrl-C waits until they are saved."""
        import mrfbayes as mb
        from mrfbayes.base.interrupts import InterruptFlag
        from mrfbayes.cli.outputs import keep

        with InterruptFlag() as interrupt:
            with interrupt.allowed():
                posterior = mb.sample(statistics.model, statistics, **self.call)
            return posterior, keep(posterior, out, overwrite)


def _value_of(text: str) -> object:
    """A number, a truth value or a list where the text is one, else the text."""
    try:
        return ast.literal_eval(text.capitalize() if text.lower() in ("true", "false", "none") else text)
    except (SyntaxError, ValueError):
        return text


@dataclass(frozen=True)
class Reading:
    """How a data file is read."""

    levels: tuple[str, ...] = ()
    delimiter: str | None = None
    missing: str = "refuse"
    weights: str | None = None

    @classmethod
    def of(
        cls,
        levels: Many,
        delimiter: str | None,
        missing: str,
        missing_drop: bool,
        weights: str | None,
    ) -> Reading:
        """The options of a command, checked as far as they can be without the file."""
        for text in levels or ():
            if "<" not in text:
                raise InputError(
                    f"--levels {text!r}: write the labels in ascending order with '<' between, as 'low<high'."
                )
        mark = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(delimiter or "", delimiter)
        if mark is not None and (len(mark) != 1 or not mark.isascii()):
            raise InputError(f"--delimiter {mark!r}: give a single character, as ',' or ';', or tab.")
        if missing_drop and missing == "model":
            raise InputError("--missing-drop leaves rows out, --missing model uses them: give one of the two.")
        return cls(tuple(levels or ()), mark, "drop" if missing_drop else missing, weights)

    @property
    def n_levels(self) -> int:
        """How many labels the longest of the given orders has; 0 where none is given."""
        return max((text.count("<") + 1 for text in self.levels), default=0)

    def count(self, model: Model, x: object) -> Statistics:
        """The counts of a file or of a table."""
        from mrfbayes.data.statistics import count

        return count(
            model,
            x,
            weights=self.weights,
            missing=self.missing,
            delimiter=self.delimiter,
            levels=list(self.levels) or None,
        )
