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
    from rich.console import Console

    from mrfbayes.data.data import Data
    from mrfbayes.model.field import Model
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

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)
        yield


def show_lines(lines: Iterable[str], to_stderr: bool = False, style: str = "") -> None:
    """Print lines without control characters that came from outside."""
    for line in lines:
        console(to_stderr).print("\n".join(safe(part) for part in line.splitlines()), style=style or None)


def show_warnings(texts: Iterable[str], notes: Iterable[str] = (), to_stderr: bool = False) -> None:
    """Print warnings, then notes."""
    show_lines((f"warning: {text}" for text in texts), to_stderr, "yellow")
    show_lines((f"note: {text}" for text in notes), to_stderr)


def print_json(facts: Mapping[str, object]) -> None:
    """Print facts as JSON; what is not a finite number is null."""
    typer.echo(json.dumps(_plain(facts), indent=1))


def show_facts(as_json: bool, facts: Mapping[str, object]) -> None:
    """Print a few facts, in one line or as JSON."""
    if as_json:
        print_json(facts)
    else:
        typer.echo(safe(", ".join(f"{name}: {value}" for name, value in facts.items())))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool)) or value is None else str(value)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1, to_stderr: bool = False) -> None:
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


def show_data(data: Data, to_stderr: bool = False) -> None:
    """The table of variables, warnings and notes."""
    from mrfbayes.data.data import VARIABLE_COLUMNS

    show_lines([repr(data)[1:-1]], to_stderr)
    if data.image_shape is None:
        show_table(VARIABLE_COLUMNS, data._variable_rows(LINES), 3, to_stderr)
        if len(data.schema) > LINES:
            show_lines([f"... and {len(data.schema) - LINES:,} more variables."], to_stderr)
    show_lines((*(f"warning: {text}" for text in data.warnings), *data.notes), to_stderr)


def show_model(model: Model, to_stderr: bool = False) -> None:
    """The field that is learned, in one line."""
    show_lines([repr(model)[1:-1] + "."], to_stderr)


def show_schema(schema: Schema) -> None:
    """Which label of the data is which state."""
    from mrfbayes.data.coding import coding_lines

    show_lines(f"states: {line}" for line in coding_lines(schema))


def show_posterior(posterior: Posterior, scale: Scale | None = None, rows: int = LINES) -> None:
    """Header, summary table (edges by how sure they are, then nodes), timings and warnings.

    Parameters
    ----------
    scale : of the table; by default the one that is usual for such a model
    rows : at most so many edges and so many nodes are shown; 0 shows all
    """
    from mrfbayes.model.scales import scaled

    chains, draws, p = posterior.draws.shape
    frame = posterior.summary(scale=scale)
    in_scale = scaled(posterior.model, scale)
    head = f"{posterior.label} ({posterior.target} target): {p} parameters, {chains} chains of {draws} draws"
    show_lines([head], style="bold")
    show_lines([f"scale: {in_scale.scale}. {frame.attrs['meaning']}"])
    sure = (frame["mean"] - in_scale.neutral).abs() / frame["sd"].clip(lower=1e-300)
    cut = in_scale.n_edge_rows
    edges = frame.iloc[:cut].loc[sure.iloc[:cut].sort_values(ascending=False, kind="stable").index]
    formats = {"ess_bulk": ".0f", "ess_tail": ".0f", "mcse_mean": ".1e"}
    for part in (edges, frame.iloc[cut:]):
        shown = part if rows == 0 else part.head(rows)
        cells = [
            [str(name), *(format(value, formats.get(str(column), ".3f")) for column, value in row.items())]
            for name, row in shown.iterrows()
        ]
        if cells:
            show_table(["parameter", *map(str, frame.columns)], cells)
        if len(shown) < len(part):
            show_lines(
                [f"... and {len(part) - len(shown):,} more; `mrfbayes summary FILE --rows 0` prints all of them."]
            )
    if posterior.acceptance is not None:
        start = posterior.settings.get("start")
        show_lines([f"acceptance {posterior.acceptance.mean():.1%}" + (f" (start: {start})" if start else "")])
    show_lines(["seconds: " + ", ".join(f"{name} {value:.2f}" for name, value in posterior.timings.items())])
    show_warnings(posterior.warnings, posterior.notes)


def show_edges(findings: Findings, rows: int = LINES, to_stderr: bool = False) -> None:
    """Edges, or their differences between groups, as in the report: the best supported first."""
    from mrfbayes.model.wording import meaning
    from mrfbayes.report.tables import difference_table, edge_table

    made = edge_table(findings) if findings.groups is None else difference_table(findings)
    show_lines([f"scale: {findings.scale}. {meaning(findings.model, findings.scale)}"], to_stderr)
    shown = made.rows if rows == 0 else made.rows[:rows]
    cells = [[cell[0].replace(" \u2013 ", "--") for cell in row] for row in shown]
    show_table([column.title.split(" (")[0] for column in made.columns], cells, 2, to_stderr)
    if len(shown) < len(made.rows):
        more = f"... and {len(made.rows) - len(shown):,} more; --rows 0 prints all of them, --csv FILE writes them."
        show_lines([more], to_stderr)
    counts = Counter(row[1][0].partition(",")[0] for row in made.rows)
    show_lines([", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())], to_stderr)


def show_findings(
    findings: Findings,
    sentences: Sequence[str],
    texts: Sequence[str],
    paths: Mapping[str, Path],
    as_json: bool,
) -> None:
    """A finished fit: its results in sentences, warnings, and where everything is."""
    told = list(dict.fromkeys((*texts, *findings.data_problems, *findings.doubts)))
    if as_json:
        posterior = findings.posterior
        facts = {
            "sentences": list(sentences),
            "verdicts": findings.verdicts,
            "diagnostics": findings.diagnostics,
            "method": posterior.method,
            "target": posterior.target,
            "scale": findings.scale,
            "n": posterior.n,
            "parameters": posterior.model.n_parameters,
            "partial": posterior.partial,
            "warnings": told,
            "notes": list(posterior.notes),
            "files": {name: str(path) for name, path in paths.items()},
        }
        typer.echo(json.dumps(facts, indent=1))
        return
    show_lines(["", *sentences])
    show_warnings(told, findings.posterior.notes)
    show_lines(["", f"report: {paths['report']}"], style="bold")
    others = [str(path) for name, path in paths.items() if name != "report"]
    show_lines([f"also written: {', '.join(others)}"] if others else [])
