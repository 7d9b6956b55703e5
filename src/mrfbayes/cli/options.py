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
    from mrfbayes.data.data import Data
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.model.field import Model
    from mrfbayes.results.posterior import Posterior

MODEL, DATA, RUN, SEARCH = "Model", "Data", "Run", "Structure"

ResultFile = Annotated[Path, typer.Argument(help="Result file, as posterior.nc of a fit.")]
ScaleChoice = Annotated[
    str | None, typer.Option("--scale", help="theta, log-odds or ising; default: depends on the model.")
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
class PriorOptions:
    """The prior: of the couplings, and apart from that of the node factors."""

    prior: Annotated[
        str,
        typer.Option(
            "--prior", help="Of the couplings, as 'normal(0, 1)'; 'uniform': of everything.", rich_help_panel=MODEL
        ),
    ] = "default"
    prior_edges: Annotated[
        str | None, typer.Option("--prior-edges", help="Of the couplings alone.", rich_help_panel=MODEL)
    ] = None
    prior_nodes: Annotated[
        str | None, typer.Option("--prior-nodes", help="Of the node factors (thresholds).", rich_help_panel=MODEL)
    ] = None

    @property
    def chosen_prior(self) -> str | dict[str, str]:
        """The prior as `mrfbayes.sample` takes it."""
        if self.prior_edges is None and self.prior_nodes is None:
            return self.prior
        if self.prior_edges is not None and self.prior != "default":
            raise InputError(f"--prior-edges {self.prior_edges!r}: --prior {self.prior!r} is given, too; choose one.")
        return {"edges": self.prior_edges or self.prior, "nodes": self.prior_nodes or "default"}


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
        bool, typer.Option("--merge-edges", help="Merge duplicate edges.", rich_help_panel=MODEL)
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
            help="CSV, TSV, Parquet, Excel, SPSS or Stata file, or images (PNG, NPY); several, or a pattern as "
            "'wave*.csv', are one data set."
        ),
    ]
    complete: Annotated[
        bool, typer.Option("--complete", help="Every pair of columns is an edge (the default).", rich_help_panel=MODEL)
    ] = False
    columns: Annotated[
        Many, typer.Option("--columns", help="Column, range a:z or pattern q*; repeatable.", rich_help_panel=DATA)
    ] = None
    drop: Annotated[
        Many, typer.Option("--drop", help="Leave out column, range or pattern; repeatable.", rich_help_panel=DATA)
    ] = None
    levels: Annotated[
        Many,
        typer.Option(
            "--levels",
            help="Order of labels: 'never<rarely<often'; for one column 'mood=low<high'. Repeatable.",
            rich_help_panel=DATA,
        ),
    ] = None
    kind: Annotated[
        Many,
        typer.Option(
            "--kind", help="binary, ordinal or nominal, as 'region=nominal'; repeatable.", rich_help_panel=DATA
        ),
    ] = None
    na: Annotated[
        Many,
        typer.Option("--na", help="Value that marks missing cells: -99, or 'q1=9'; repeatable.", rich_help_panel=DATA),
    ] = None
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            help="Rows with missing cells: model: use the cells that are there; drop: leave them out.",
            rich_help_panel=DATA,
        ),
    ] = "model"
    weights: Annotated[
        str | None, typer.Option("--weights", help="Column with the rows' weights.", rich_help_panel=DATA)
    ] = None
    sheet: Annotated[str | None, typer.Option("--sheet", help="Sheet of a workbook.", rich_help_panel=DATA)] = None
    delimiter: Annotated[
        str | None,
        typer.Option("--delimiter", help="Of a text file, as ';' or tab; else recognised.", rich_help_panel=DATA),
    ] = None
    long: Annotated[
        str | None,
        typer.Option(
            "--long",
            help="A long table: its columns for row, column and value, as person,item,answer.",
            rich_help_panel=DATA,
        ),
    ] = None

    def read(self, group: str | None = None) -> Data:
        """The data, lazily."""
        from mrfbayes.data.data import Data

        mark = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(
            self.delimiter or "", self.delimiter
        )
        kinds, kind_of = _by_column("--kind", self.kind)
        marks, marks_of = _by_column("--na", self.na)
        if (kinds and kind_of) or len(kinds) > 1:
            raise InputError(f"--kind {kinds[0]}: give one kind for all columns, or one per column, as region=nominal.")
        options: dict[str, Any] = {
            "columns": self.columns or None,
            "drop": self.drop or None,
            "levels": self._orders(),
            "kinds": kinds[0] if kinds else {name: one[-1] for name, one in kind_of.items()} or None,
            "missing": self.missing,
            "weights": self.weights,
            "group": group,
            "delimiter": mark,
            "sheet": int(self.sheet) if self.sheet is not None and self.sheet.isdigit() else self.sheet,
        }
        source = self.data[0] if len(self.data) == 1 else self.data
        if self.long is not None:
            roles = [part.strip() for part in self.long.split(",")]
            if len(roles) != 3 or not all(roles):
                raise InputError(
                    f"--long {self.long}: name three columns, for row, column and value, as person,item,answer."
                )
            return Data.from_long(source, *roles, **options, na_values=marks_of or marks or None)
        made = Data(source, **options, na_values=marks_of or marks or None)
        if marks and marks_of:
            every = {name: [*marks, *marks_of.get(name, ())] for name in made.column_names}
            made = Data(source, **options, na_values=every)
        return made

    def _orders(self) -> list[str] | None:
        for text in self.levels or ():
            if "<" not in text:
                raise InputError(
                    f"--levels {text!r}: write the labels in ascending order with '<' between, as 'low<high'."
                )
        return list(self.levels) if self.levels else None


def _by_column(option: str, texts: Many) -> tuple[list[str], dict[str, list[str]]]:
    """Values for all columns, and by column where they are written NAME=VALUE."""
    shared: list[str] = []
    named: dict[str, list[str]] = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if equals and not (name and value):
            raise InputError(f"{option} {text!r}: write VALUE, or NAME=VALUE for one column.")
        if equals:
            named.setdefault(name, []).append(value)
        else:
            shared.append(value)
    return shared, named


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The options that ask for a search over graphs and for a comparison of groups."""

    select: Annotated[bool, typer.Option("--select", help="Also which edges are there.", rich_help_panel=SEARCH)] = (
        False
    )
    group: Annotated[
        str | None,
        typer.Option("--group", help="Column whose values are groups: which edges differ?", rich_help_panel=SEARCH),
    ] = None
    slab: Annotated[
        str | None,
        typer.Option(
            "--slab",
            help="Prior of a coupling that is there (--select); default: --prior-edges.",
            rich_help_panel=SEARCH,
        ),
    ] = None
    group_slab: Annotated[
        str | None,
        typer.Option("--group-slab", help="Prior of a difference that is there (--group).", rich_help_panel=SEARCH),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SamplingOptions(PriorOptions):
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
    rng: SeedChoice = 0

    @property
    def call(self) -> dict[str, Any]:
        """The settings as `mrfbayes.sample` takes them."""
        own: dict[str, object] = {
            "method": self.method,
            "steps": self.steps,
            "warmup": self.warmup,
            "chains": self.chains,
            "prior": self.chosen_prior,
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
        from mrfbayes.sampling.sample import check_call

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
