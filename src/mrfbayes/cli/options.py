"""Options that several commands share, and the model that they describe."""

from __future__ import annotations

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

MergeEdges = Annotated[
    bool, typer.Option("--merge-edges", help="Take an edge that is given twice once.", rich_help_panel="Model")
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", help="Leave out this column (with --complete); repeatable.", rich_help_panel="Data"),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(
        "--levels",
        help="Order of text labels, lowest first, as 'never<rarely<often', or for one column 'mood=low<high'; "
        "repeatable.",
        rich_help_panel="Data",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Of a text file, as ';' or tab; else recognised.", rich_help_panel="Data"),
]
Missing = Annotated[
    str,
    typer.Option("--missing", help="refuse, or drop: leave out rows with missing values.", rich_help_panel="Data"),
]
MissingDrop = Annotated[bool, typer.Option("--missing-drop", help="As --missing drop.", rich_help_panel="Data")]
Weights = Annotated[
    str | None, typer.Option("--weights", help="Column with the rows' weights.", rich_help_panel="Data")
]


def read_data(
    model: Model,
    data: Path,
    *,
    levels: list[str] | None = None,
    delimiter: str | None = None,
    missing: str = "refuse",
    weights: str | None = None,
) -> Statistics:
    """The counts of a data file, as the options describe it; which label is which state is printed."""
    from mrfbayes.cli.show import show_states
    from mrfbayes.data.statistics import count

    statistics = count(
        model,
        data,
        weights=weights,
        missing=missing,
        delimiter=as_delimiter(delimiter),
        levels=[_in_order(text) for text in levels] if levels else None,
    )
    show_states(statistics.levels)
    return statistics


def as_delimiter(text: str | None) -> str | None:
    """A delimiter as people write it on a command line."""
    return {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}.get(text or "", text)


def _in_order(text: str) -> str:
    if "<" not in text:
        raise InputError(f"--levels {text!r}: write the labels in ascending order with '<' between, as 'low<high'.")
    return text


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
        rows, _, cols = grid.lower().partition("x")
        if not (grid.isascii() and rows.isdigit() and cols.isdigit()):
            raise InputError(f"--grid {grid}: write rows x columns, for example 8x8.")
        return build_grid(int(rows), int(cols), states=states, fields=fields, tied=tie, coupling=coupling)
    if tie == "direction":
        raise InputError("--tied direction is for grids: only there edges have directions.")
    if complete:
        if not columns:
            raise InputError("--complete needs a data file whose columns have names, and at least one of them.")
        return build_complete(columns, states=states, fields=fields, tied=bool(tie), coupling=coupling)
    return build_graph(graph, states=states, fields=fields, tied=bool(tie), coupling=coupling, merge_edges=merge_edges)
