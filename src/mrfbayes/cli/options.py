"""Options that several commands share, and the model that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.model.field import Model

Grid = Annotated[str, typer.Option("--grid", help="Grid, as ROWSxCOLUMNS.", metavar="RxC", rich_help_panel="Model")]
Graph = Annotated[
    Path | None, typer.Option("--graph", help="Edge list (CSV) or GraphML file.", rich_help_panel="Model")
]
Complete = Annotated[
    bool, typer.Option("--complete", help="Every pair of the data's columns is an edge.", rich_help_panel="Model")
]
Fields = Annotated[bool, typer.Option("--fields/--no-fields", help="A factor per node.", rich_help_panel="Model")]
Tied = Annotated[
    str, typer.Option("--tied", help="no, yes or direction (grids): share parameters.", rich_help_panel="Model")
]
States = Annotated[int, typer.Option("--states", help="States per node.", rich_help_panel="Model")]
Coupling = Annotated[
    str, typer.Option("--coupling", help="agreement, both-one, score or table.", rich_help_panel="Model")
]

ResultFile = Annotated[Path, typer.Argument(help="Result file, as posterior.nc of a fit.")]
DataFile = Annotated[Path, typer.Argument(help="CSV or Parquet file, one observation per row.")]
Columns = Annotated[
    list[str] | None, typer.Option(help="Column, range a:z or pattern q*; repeatable.", rich_help_panel="Model")
]
Without = Annotated[
    list[str] | None, typer.Option(help="Leave out column, range or pattern; repeatable.", rich_help_panel="Model")
]
CouplingChoice = Annotated[
    str | None, typer.Option("--coupling", help="agreement, both-one, score or table.", rich_help_panel="Model")
]
FieldsChoice = Annotated[
    bool | None, typer.Option("--fields/--no-fields", help="A factor per node.", rich_help_panel="Model")
]
TiedChoice = Annotated[
    str | None, typer.Option("--tied", help="no, yes or direction (grids).", rich_help_panel="Model")
]
StatesChoice = Annotated[int | None, typer.Option("--states", help="States per node.", rich_help_panel="Model")]
PriorChoice = Annotated[
    str, typer.Option("--prior", help="Such as 'uniform' or 'normal(0, 1)'.", rich_help_panel="Model")
]
ScaleChoice = Annotated[
    str | None, typer.Option("--scale", help="theta, log-odds or ising; default: as such models are quoted.")
]
DATA = "Data"
Missing = Annotated[bool, typer.Option("--missing-drop", help="As --missing drop.", rich_help_panel=DATA)]
MissingChoice = Annotated[
    str,
    typer.Option(
        "--missing",
        help="Rows with missing values: refuse; drop: leave them out; model: use the cells that are there.",
        rich_help_panel=DATA,
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        "--levels",
        help="Order of text labels, lowest first: 'never<rarely<often'; for one column 'mood=low<high'. Repeatable.",
        rich_help_panel=DATA,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Of a text file, as ';' or tab; else recognised.", rich_help_panel=DATA),
]
Weights = Annotated[str | None, typer.Option("--weights", help="Column with the rows' weights.", rich_help_panel=DATA)]
MergeEdges = Annotated[
    bool, typer.Option("--merge-edges", help="Take an edge that is given twice once.", rich_help_panel="Model")
]
SeedChoice = Annotated[int, typer.Option("--rng", help="Seed.", min=0)]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


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
        levels: list[str] | None,
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


def build_model(
    grid: str,
    graph: Path | None,
    complete: bool,
    fields: bool,
    tied: str,
    states: int,
    coupling: str,
    columns: list[str] | None = None,
    merge_edges: bool = False,
) -> Model:
    """The model that the options describe."""
    from mrfbayes.model.build import complete as build_complete
    from mrfbayes.model.build import graph as build_graph
    from mrfbayes.model.build import grid as build_grid

    if (bool(grid) + (graph is not None) + complete) != 1:
        raise InputError("which field? Give exactly one of --grid RxC, --graph FILE and --complete.")
    if tied not in ("no", "yes", "direction"):
        raise InputError(f"--tied {tied}: choose no, yes or direction.")
    tie: bool | str = {"no": False, "yes": True}.get(tied, "direction")
    if grid:
        rows, cols = grid_size(grid)
        return build_grid(rows, cols, states=states, fields=fields, tied=tie, coupling=coupling)
    if tie == "direction":
        raise InputError("--tied direction is for grids: only there edges have directions.")
    if complete:
        if not columns:
            raise InputError("--complete needs a data file whose columns have names, and at least one of them.")
        return build_complete(columns, states=states, fields=fields, tied=bool(tie), coupling=coupling)
    return build_graph(graph, states=states, fields=fields, tied=bool(tie), coupling=coupling, merge_edges=merge_edges)


def grid_size(text: str) -> tuple[int, int]:
    """Rows and columns of ``--grid``."""
    rows, _, cols = text.lower().partition("x")
    if not (text.isascii() and rows.isdigit() and cols.isdigit()):
        raise InputError(f"--grid {text}: write rows x columns, for example 8x8.")
    return int(rows), int(cols)
