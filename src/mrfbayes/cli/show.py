"""What commands print: sentences and tables for people, JSON for machines."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mrfbayes.base.plain_text import visible as safe
from mrfbayes.base.types import Scale

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from mrfbayes.data.data import Data
    from mrfbayes.model.field import Model
    from mrfbayes.model.result import Result
    from mrfbayes.model.schema import Schema
    from mrfbayes.report.findings import Findings
    from mrfbayes.results.posterior import Posterior

LINES = 40  # parameters shown before the table is cut


def console(to_stderr: bool = False) -> Console:
    """The console that everything is printed on; standard error where standard output is for machines."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, markup=False, stderr=to_stderr)


@contextmanager
def quiet_warnings() -> Iterator[None]:
    """Keep our own warnings off standard error: the result records and prints them."""
    from mrfbayes.base.errors import MRFWarning

    with warnings.catch_warnings(action="ignore", category=MRFWarning):
        yield


def lines(texts: Iterable[str], to_stderr: bool = False, style: str = "") -> None:
    """Print lines without control characters that came from outside."""
    for line in texts:
        console(to_stderr).print("\n".join(safe(part) for part in line.splitlines()), style=style or None)


def messages(texts: Iterable[str], notes: Iterable[str] = (), to_stderr: bool = False) -> None:
    """Print warnings, then notes."""
    lines((f"warning: {text}" for text in texts), to_stderr, "yellow")
    lines((f"note: {text}" for text in notes), to_stderr)


def as_json(content: Mapping[str, object]) -> None:
    """Print facts as JSON; what is not a finite number is null."""
    typer.echo(json.dumps(_plain(content), indent=1))


def facts(use_json: bool, content: Mapping[str, object]) -> None:
    """Print a few facts, in one line or as JSON."""
    if use_json:
        as_json(content)
    else:
        typer.echo(safe(", ".join(f"{name}: {value}" for name, value in content.items())))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1, to_stderr: bool = False) -> None:
    """Print a table whose first columns ``texts`` are on the left, then numbers; nothing in it is taken as markup.

    On a narrow terminal texts go on in the next line; numbers are never cut.
    """
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    for k, name in enumerate(columns):
        if k < texts:
            made.add_column(Text(safe(name)), overflow="fold")
        else:
            width = max(len(safe(text)) for text in (name, *(row[k] for row in rows)))
            made.add_column(Text(safe(name)), justify="right", no_wrap=True, min_width=width)
    for row in rows:
        made.add_row(*(Text(safe(cell)) for cell in row))
    console(to_stderr).print(made)


def data(source: Data, to_stderr: bool = False) -> None:
    """The table of variables, warnings and notes."""
    from mrfbayes.data.data import VARIABLE_COLUMNS

    lines([repr(source)[1:-1]], to_stderr)
    if source.image_shape is None:
        table(VARIABLE_COLUMNS, source._variable_rows(LINES), 3, to_stderr)
        if len(source.schema) > LINES:
            lines([f"... and {len(source.schema) - LINES:,} more variables."], to_stderr)
    lines((*(f"warning: {text}" for text in source.warnings), *source.notes), to_stderr)


def model(field: Model, to_stderr: bool = False) -> None:
    """The field that is learned, in one line."""
    lines([repr(field)[1:-1] + "."], to_stderr)


def schema(coding: Schema) -> None:
    """Which label of the data is which state."""
    from mrfbayes.data.coding import coding_lines

    lines(f"states: {line}" for line in coding_lines(coding))


def posterior(result: Posterior, scale: Scale | None = None, rows: int = LINES) -> None:
    """Header, summary table (edges by how sure they are, then nodes), timings and warnings.

    Parameters
    ----------
    scale : of the table; by default the one that is usual for such a model
    rows : at most so many edges and so many nodes are shown; 0 shows all
    """
    from mrfbayes.model.scales import scaled

    chains, draws, p = result.draws.shape
    frame = result.summary(scale=scale)
    in_scale = scaled(result.model, scale)
    head = f"{result.label} ({result.target} target): {p} parameters, {chains} chains of {draws} draws"
    lines([head], style="bold")
    lines([f"scale: {in_scale.scale}. {frame.attrs['meaning']}"])
    sure = (frame["mean"] - in_scale.neutral).abs() / frame["sd"].clip(lower=1e-300)
    cut = in_scale.n_edge_rows
    by_size = frame.iloc[:cut].loc[sure.iloc[:cut].sort_values(ascending=False, kind="stable").index]
    formats = {"ess_bulk": ".0f", "ess_tail": ".0f", "mcse_mean": ".1e"}
    for part in (by_size, frame.iloc[cut:]):
        shown = part if rows == 0 else part.head(rows)
        cells = [
            [str(name), *(format(value, formats.get(str(column), ".3f")) for column, value in row.items())]
            for name, row in shown.iterrows()
        ]
        if cells:
            table(["parameter", *map(str, frame.columns)], cells)
        if len(shown) < len(part):
            lines([f"... and {len(part) - len(shown):,} more; `mrfbayes summary FILE --rows 0` prints all of them."])
    if result.acceptance is not None:
        start = result.settings.get("start")
        lines([f"acceptance {result.acceptance.mean():.1%}" + (f" (start: {start})" if start else "")])
    lines(["seconds: " + ", ".join(f"{name} {value:.2f}" for name, value in result.timings.items())])
    messages(result.warnings, result.notes)


def frame(result: Result, made: pd.DataFrame, rows: int = LINES) -> None:
    """Any result's own table, and its messages."""
    lines([repr(result).strip("<>").splitlines()[0]], style="bold")
    details = ("positive", "log_bf10_error", "pareto_k", "bound", "fragile")  # --csv and --json have them
    made = made.drop(columns=[name for name in details if name in made])
    shown = made if rows == 0 else made.head(rows)
    names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in shown.index]
    values = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in shown.itertuples(index=False)]
    table(["parameter", *map(str, made.columns)], [[name, *row] for name, row in zip(names, values, strict=True)])
    if len(shown) < len(made):
        lines([f"... and {len(made) - len(shown):,} more; --rows 0 prints all of them, --csv FILE writes them."])
    messages(result.warnings, result.notes)


def edges(found: Findings, rows: int = LINES, to_stderr: bool = False) -> None:
    """Edges, or their differences between groups, as in the report: the best supported first."""
    from mrfbayes.model.scales import meaning
    from mrfbayes.report.tables import difference_table, edge_table

    made = edge_table(found) if found.groups is None else difference_table(found)
    lines([f"scale: {found.scale}. {meaning(found.model, found.scale)}"], to_stderr)
    shown = made.rows if rows == 0 else made.rows[:rows]
    cells = [[cell[0].replace(" \u2013 ", "--") for cell in row] for row in shown]
    table([column.title.split(" (")[0] for column in made.columns], cells, 2, to_stderr)
    if len(shown) < len(made.rows):
        more = f"... and {len(made.rows) - len(shown):,} more; --rows 0 prints all of them, --csv FILE writes them."
        lines([more], to_stderr)
    counts = Counter(row[1][0].partition(",")[0] for row in made.rows)
    lines([", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())], to_stderr)


def findings(
    found: Findings, sentences: Sequence[str], texts: Sequence[str], paths: Mapping[str, Path], as_json: bool
) -> None:
    """A finished fit: its results in sentences, warnings, and where everything is."""
    warned = list(dict.fromkeys((*texts, *found.data_problems, *found.doubts)))
    if as_json:
        result = found.posterior
        content = {
            "sentences": list(sentences),
            "verdicts": found.verdicts,
            "diagnostics": found.diagnostics,
            **{name: getattr(result, name) for name in ("method", "target", "n", "partial")},
            "scale": found.scale,
            "parameters": result.model.n_parameters,
            "warnings": warned,
            "notes": list(result.notes),
            "files": {name: str(path) for name, path in paths.items()},
        }
        typer.echo(json.dumps(content, indent=1))
        return
    lines(["", *sentences])
    messages(warned, found.posterior.notes)
    lines(["", f"report: {paths['report']}"], style="bold")
    others = [str(path) for name, path in paths.items() if name != "report"]
    lines([f"also written: {', '.join(others)}"] if others else [])
