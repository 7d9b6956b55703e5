"""Options that several commands share, written down once: a command takes a group of them as one argument."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.models import OptionInfo

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Coupling, Scale
from mrfbayes.cli.files import Settings, run_seed

if TYPE_CHECKING:
    from mrfbayes.data.data import Data
    from mrfbayes.model.field import Model


def _panel(name: str | None) -> Callable[..., OptionInfo]:
    """A function of help text and names that makes an option under this heading of ``--help``."""
    return lambda text, *names, **rest: typer.Option(*names, help=text, rich_help_panel=name, **rest)


_plain, _model, _data, _run, _search = map(_panel, (None, "Model", "Data", "Run", "Structure"))
DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
DATA_HELP = (
    "CSV, TSV, Parquet, Excel, SPSS or Stata file, or images (PNG, NPY); several are one data set ('wave*.csv')."
)

ResultFile = Annotated[Path, typer.Argument(help="Result file, as posterior.nc of a fit.")]
ScaleChoice = Annotated[Scale | None, _plain("theta, log-odds or ising; default: depends on the model.", "--scale")]


def seed_or_fresh(context: typer.Context, seed: int | None) -> int | None:
    """The seed of a command; one that may continue from a checkpoint chooses it when it runs."""
    from mrfbayes.base import random_streams

    has_checkpoint = any(option.name == "checkpoint" for option in context.command.params)
    return random_streams.fresh_seed() if seed is None and not has_checkpoint else seed


SeedChoice = Annotated[
    int | None,
    _plain("Seed; by default a fresh one, or that of the checkpoint.", "--rng", min=0, callback=seed_or_fresh),
]
RowsShown = Annotated[int, _plain("Rows that are printed; 0 prints all.", "--rows", min=0)]
TableFile = Annotated[Path | None, _plain("Write the table here as CSV, all rows and digits.", "--csv")]
Overwrite = Annotated[bool, _plain("Replace what is there.", "--overwrite")]
Many = list[str] | None


@dataclass(frozen=True, kw_only=True)
class Common:
    """What every command has: how it answers, and settings from a file."""

    json: Annotated[bool, _plain("Print the result as JSON.", "--json")] = False
    settings: Settings = None


@dataclass(frozen=True, kw_only=True)
class PriorOptions:
    """The prior: of the couplings, and apart from that of the node factors."""

    prior: Annotated[str, _model("Of the couplings, as 'normal(0, 1)'; 'uniform': of everything.")] = "default"
    prior_edges: Annotated[str | None, _model("Of the couplings alone.")] = None
    prior_nodes: Annotated[str | None, _model("Of the node factors (thresholds).")] = None

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

    grid: Annotated[str, _model("Grid, as ROWSxCOLUMNS.", metavar="RxC")] = ""
    graph: Annotated[Path | None, _model("Edge list (CSV) or GraphML file.")] = None
    coupling: Annotated[Coupling | None, _model("agreement, both-one, score or table.")] = None
    fields: Annotated[bool | None, _model("A factor per node.", "--fields/--no-fields")] = None
    tied: Annotated[str | None, _model("no, yes or direction (grids): share parameters.")] = None
    states: Annotated[Many, _model("States per node: 3, or of one column mood=5; repeatable.")] = None
    merge_edges: Annotated[bool, _model("Merge duplicate edges.", "--merge-edges")] = False
    neighbours: Annotated[int, _model("Of a pixel: 4 or 8 (grids).")] = 4
    periodic: Annotated[bool, _model("The first row and column follow the last (grids).", "--periodic")] = False
    mask: Annotated[Path | None, _model("CSV, PNG or NPY of zeros and ones: the pixels that belong to the grid.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class DataOptions(FieldOptions):
    """Which data, how they are read, and which field is learned from them."""

    data: Annotated[list[str], typer.Argument(help=DATA_HELP)]
    complete: Annotated[bool, _model("Every pair of columns is an edge (the default).", "--complete")] = False
    columns: Annotated[Many, _data("Column, range a:z or pattern q*; repeatable.")] = None
    drop: Annotated[Many, _data("Leave out column, range or pattern; repeatable.")] = None
    levels: Annotated[Many, _data("Order of labels: 'low<high', or of one column 'mood=low<high'; repeatable.")] = None
    kind: Annotated[Many, _data("binary, ordinal or nominal, as 'region=nominal'; repeatable.")] = None
    na: Annotated[Many, _data("Value that marks missing cells: -99, or 'q1=9'; repeatable.")] = None
    missing: Annotated[str, _data("Rows with missing cells: model (use their other cells) or drop.")] = "model"
    weights: Annotated[str | None, _data("Column with the rows' weights.")] = None
    sheet: Annotated[str | None, _data("Sheet of a workbook.")] = None
    delimiter: Annotated[str | None, _data("Of a text file, as ';' or tab; else recognised.")] = None
    long: Annotated[str | None, _data("Long table: columns for row, column and value, as person,item,answer.")] = None

    def read(self, group: str | None = None) -> Data:
        """The data, lazily."""
        from mrfbayes.data.data import Data

        kinds, kind_of = _by_column("--kind", self.kind)
        marks, marks_of = _by_column("--na", self.na)
        if (kinds and kind_of) or len(kinds) > 1:
            raise InputError(f"--kind {kinds[0]}: give one kind for all columns, or one per column, as region=nominal.")
        for text in self.levels or ():
            if "<" not in text:
                raise InputError(f"--levels {text!r}: write labels in ascending order, as 'low<high'.")
        options: dict[str, Any] = {
            "columns": self.columns or None,
            "drop": self.drop or None,
            "levels": list(self.levels) if self.levels else None,
            "kinds": kinds[0] if kinds else {name: one[-1] for name, one in kind_of.items()} or None,
            "missing": self.missing,
            "weights": self.weights,
            "group": group,
            "delimiter": DELIMITERS.get(self.delimiter or "", self.delimiter),
            "sheet": int(self.sheet) if self.sheet is not None and self.sheet.isdigit() else self.sheet,
        }
        source = self.data[0] if len(self.data) == 1 else self.data
        if self.long is not None:
            roles = [part.strip() for part in self.long.split(",")]
            if len(roles) != 3 or not all(roles):
                raise InputError(f"--long {self.long}: name three columns, as person,item,answer.")
            return Data.from_long(source, *roles, **options, na_values=marks_of or marks or None)
        made = Data(source, **options, na_values=marks_of or marks or None)
        if marks and marks_of:
            every = {name: [*marks, *marks_of.get(name, ())] for name in made.column_names}
            made = Data(source, **options, na_values=every)
        return made


def _by_column(option: str, texts: Many) -> tuple[list[str], dict[str, list[str]]]:
    """Values for all columns, and by column where they are written NAME=VALUE."""
    shared: list[str] = []
    named: dict[str, list[str]] = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if equals and not (name and value):
            raise InputError(f"{option} {text!r}: write VALUE, or NAME=VALUE for one column.")
        (named.setdefault(name, []) if equals else shared).append(value)
    return shared, named


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """The options that ask for a search over graphs and for a comparison of groups."""

    select: Annotated[bool, _search("Also which edges are there.", "--select")] = False
    group: Annotated[str | None, _search("Column whose values are groups: which edges differ?")] = None
    slab: Annotated[str | None, _search("Prior of a coupling that is there (--select); default: --prior-edges.")] = None
    group_slab: Annotated[str | None, _search("Prior of a difference that is there (--group).")] = None


@dataclass(frozen=True, kw_only=True)
class SamplingOptions(PriorOptions):
    """How draws are made."""

    method: Annotated[str, _run("See `mrfbayes methods`.")] = "auto"
    draws: Annotated[int | None, _run("Draws kept per chain, after warm-up.")] = None
    warmup: Annotated[int | None, _run("Steps of warm-up.")] = None
    chains: Annotated[int, _run("Chains.")] = 4
    workers: Annotated[int, _run("Processes.")] = 1
    seconds: Annotated[float | None, _run("Time budget of everything that is computed.")] = None
    checkpoint: Annotated[Path | None, _run("File from which a killed run goes on.")] = None
    option: Annotated[Many, _run("Any other setting, as thin=8, engine=mh or particles=4096; repeatable.")] = None
    rng: SeedChoice = None

    @property
    def call(self) -> dict[str, Any]:
        """The settings as `mrfbayes.sample` takes them."""
        names = ("method", "draws", "warmup", "chains", "workers", "seconds", "checkpoint")
        settings: dict[str, object] = {name: getattr(self, name) for name in names}
        settings |= {"prior": self.chosen_prior, "rng": run_seed(self.checkpoint)}
        for text in self.option or ():
            name, equals, value = text.partition("=")
            if not (equals and name.isidentifier() and value):
                raise InputError(f"--option {text!r}: write NAME=VALUE, as thin=8.")
            if name in settings:
                raise InputError(f"--option {text!r}: given twice, or as --{name}; choose one.")
            settings[name] = _value_of(value)
        return settings

    def check(self, model: Model) -> None:
        """Refuse what can be refused without the data."""
        from mrfbayes.sampling.sample import check_call

        check_call(model, self.call)


def _value_of(text: str) -> object:
    """A number, a truth value or a list where the text is one, else the text."""
    try:
        return ast.literal_eval(text.capitalize() if text.lower() in ("true", "false", "none") else text)
    except (SyntaxError, ValueError):
        return text


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer has to see it: every argument that is a group of options becomes those options."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    parameters: list[inspect.Parameter] = []
    for name, own in inspect.signature(command).parameters.items():
        kinds = hints if name not in groups else get_type_hints(groups[name], include_extras=True)
        found = [own] if name not in groups else inspect.signature(groups[name]).parameters.values()
        parameters += [one.replace(annotation=kinds[one.name], kind=one.KEYWORD_ONLY) for one in found]

    @functools.wraps(command)
    def run(**given: object) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        command(**made, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
