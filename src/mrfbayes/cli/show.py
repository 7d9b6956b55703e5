"""Results on the terminal and as CSV."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mrfbayes.base.errors import MRFWarning
from mrfbayes.cli.text import safe

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.data.data import Data
    from mrfbayes.model.field import Model
    from mrfbayes.model.schema import Schema
    from mrfbayes.results.posterior import Posterior

LINES = 40  # parameters shown before the table is cut


def console(to_stderr: bool = False) -> Console:
    """The console that everything is printed on; standard error where standard output is for machines."""
    return Console(highlight=False, soft_wrap=False, stderr=to_stderr)


@contextmanager
def quiet_warnings() -> Iterator[None]:
    """Keep our own warnings off standard error: the result records and prints them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)
        yield


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", texts: int = 1) -> Table:
    """A plain table, its first columns ``texts`` on the left, then numbers; nothing in it is taken as markup.

    On a narrow terminal texts go on in the next line; numbers are never cut.
    """
    made = Table(
        title=title or None,
        title_justify="left",
        box=None,
        pad_edge=False,
        collapse_padding=True,
        header_style="bold",
    )
    for k, name in enumerate(columns):
        if k < texts:
            made.add_column(Text(safe(name)), overflow="fold")
        else:
            width = max(len(safe(text)) for text in (name, *(row[k] for row in rows)))
            made.add_column(Text(safe(name)), justify="right", no_wrap=True, min_width=width)
    for row in rows:
        made.add_row(*(Text(safe(cell)) for cell in row))
    return made


def show_data(data: Data, to_stderr: bool = False) -> None:
    """The table of variables, warnings and notes."""
    out = console(to_stderr)
    out.print(safe(repr(data)[1:-1]), markup=False)
    frame = data.variables
    rows = [
        [str(name), row["kind"], _labels(row["labels"], row["n"]), str(row["n_missing"])]
        for name, row in frame.head(LINES).iterrows()
    ]
    if data.image_shape is None:
        out.print(table(["variable", "kind", "labels (cells)", "missing"], rows, texts=3))
        if len(frame) > LINES:
            out.print(f"... and {len(frame) - LINES:,} more variables.")
    for text in (*(f"warning: {text}" for text in data.warnings), *data.notes):
        out.print(Text(safe(text)))


def _labels(labels: Sequence[str], counts: Sequence[int]) -> str:
    shown = [f"{label} ({count})" for label, count in zip(labels, counts, strict=True)]
    return ", ".join(shown[:12]) + (", ..." if len(shown) > 12 else "")


def show_model(model: Model, to_stderr: bool = False) -> None:
    """The field that is learned, in one line."""
    console(to_stderr).print(Text(safe(repr(model)[1:-1] + ".")))


def show_schema(schema: Schema, to_stderr: bool = False) -> None:
    """Which label of the data is which state."""
    from mrfbayes.data.coding import coding_lines

    for line in coding_lines(schema):
        console(to_stderr).print(Text(safe(f"states: {line}")))


def show_posterior(posterior: Posterior, scale: str | None = None, rows: int = LINES) -> None:
    """Header, summary table (edges by how sure they are, then nodes), timings and warnings.

    Parameters
    ----------
    scale : of the table; by default the one that people quote of such a model
    rows : at most so many edges and so many nodes are shown; 0 shows all
    """
    from mrfbayes.model.scales import scaled
    from mrfbayes.model.wording import natural_scale

    out = console()
    chains, draws, p = posterior.draws.shape
    scale = scale or natural_scale(posterior.model)
    frame = posterior.summary(scale=scale)
    in_scale = scaled(posterior.model, scale)
    out.print(
        f"{posterior.label} ({posterior.target} target): {p} parameters, {chains} chains of {draws} draws", style="bold"
    )
    out.print(f"scale: {scale}. {frame.attrs['meaning']}")
    sure = (frame["mean"] - in_scale.neutral).abs() / frame["sd"].clip(lower=1e-300)
    cut = in_scale.n_edge_rows
    edges = frame.iloc[:cut].loc[sure.iloc[:cut].sort_values(ascending=False, kind="stable").index]
    parts = [part for part in (edges, frame.iloc[cut:]) if len(part)]
    for part in parts:
        shown = part if rows == 0 else part.head(rows)
        out.print(table(["parameter", *map(str, frame.columns)], _summary_rows(shown)))
        if len(shown) < len(part):
            out.print(f"... and {len(part) - len(shown):,} more; `mrfbayes summary FILE --rows 0` prints all of them.")
    if posterior.acceptance is not None:
        start = posterior.settings.get("start")
        out.print(f"acceptance {posterior.acceptance.mean():.1%}" + (f" (start: {start})" if start else ""))
    out.print("seconds: " + ", ".join(f"{name} {value:.2f}" for name, value in posterior.seconds.items()))
    for text in posterior.warnings:
        out.print(Text(f"warning: {safe(text)}", style="yellow"))


def _summary_rows(frame: pd.DataFrame) -> list[list[str]]:
    formats = {"ess_bulk": ".0f", "ess_tail": ".0f", "r_hat": ".3f", "mcse_mean": ".1e"}
    return [
        [str(name), *(format(value, formats.get(str(column), ".3f")) for column, value in row.items())]
        for name, row in frame.iterrows()
    ]


def show_edges(model: Model, frame: pd.DataFrame, rows: int = LINES) -> None:
    """Edges with interval, probability of the sign, Bayes factor and verdict, the best supported first."""
    from mrfbayes.model.wording import meaning
    from mrfbayes.report.wording import bayes_factor

    out = console()
    scale = str(frame.attrs["scale"])
    out.print(f"scale: {scale}. {meaning(model, scale)}")
    ordered = frame.sort_values("log_bf10", ascending=False, kind="stable")
    shown = ordered if rows == 0 else ordered.head(rows)
    cells = [
        [
            str(name),
            str(row["verdict"]) + (" (fragile)" if row["fragile"] else ""),
            *(f"{row[column]:.3f}" for column in ("mean", "q5", "q95")),
            f"{max(row['positive'], 1 - row['positive']):.3f}",
            bayes_factor(row["log_bf10"], row["bound"]),
        ]
        for name, row in shown.iterrows()
    ]
    out.print(table(["edge", "verdict", "mean", "5%", "95%", "P(sign)", "Bayes factor"], cells, texts=2))
    if len(shown) < len(frame):
        out.print(f"... and {len(frame) - len(shown):,} more; --rows 0 prints all of them, --csv FILE writes them.")
    said = frame["verdict"].value_counts()
    out.print(", ".join(f"{count} {verdict}" for verdict, count in said.items()))


def show_methods() -> None:
    """The registry as a table."""
    from mrfbayes.methods.registry import REGISTRY

    rows = [[row.key, row.label, row.target, row.summary] for row in REGISTRY.values()]
    console().print(table(["method", "in the paper", "target", "what it is"], rows, texts=4))
