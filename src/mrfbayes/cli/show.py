"""Results on the terminal and as CSV."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mrfbayes.base.errors import MRFWarning
from mrfbayes.cli.text import safe

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.posterior.posterior import Posterior

LINES = 40  # parameters shown before the table is cut


def console() -> Console:
    """The console that everything is printed on."""
    return Console(highlight=False, soft_wrap=False)


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


def show_posterior(posterior: Posterior) -> None:
    """Header, summary table, timings and warnings."""
    out = console()
    chains, draws, p = posterior.draws.shape
    out.print(
        f"{posterior.label} ({posterior.target} target): {p} parameters, {chains} chains of {draws} draws", style="bold"
    )
    frame = posterior.summary()
    formats = {"ess_bulk": ".0f", "ess_tail": ".0f", "r_hat": ".3f", "mcse_mean": ".1e"}
    rows = [
        [str(name), *(format(value, formats.get(str(column), ".4f")) for column, value in row.items())]
        for name, row in frame.head(LINES).iterrows()
    ]
    out.print(table(["parameter", *map(str, frame.columns)], rows))
    if len(frame) > LINES:
        out.print(f"... and {len(frame) - LINES} more; `mrfbayes summary FILE --csv TABLE` writes all of them.")
    if posterior.acceptance is not None:
        out.print(f"acceptance {posterior.acceptance.mean():.1%} (start: {posterior.settings.get('start')})")
    out.print("seconds: " + ", ".join(f"{name} {value:.2f}" for name, value in posterior.seconds.items()))
    for text in posterior.warnings:
        out.print(Text(f"warning: {safe(text)}", style="yellow"))


def show_methods() -> None:
    """The registry as a table."""
    from mrfbayes.methods.registry import REGISTRY

    rows = [[row.key, row.label, row.target, row.summary] for row in REGISTRY.values()]
    console().print(table(["method", "in the paper", "target", "what it is"], rows, texts=4))


def neutral(cell: str) -> str:
    """A text cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell[:1] in "=+-@\t\r" else cell


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """A summary as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["parameter", *map(str, frame.columns)])
        for name, row in zip(frame.index, frame.to_numpy(), strict=True):
            writer.writerow([neutral(str(name)), *row])


def write_rows(names: Sequence[str], rows: Any, path: Path) -> None:
    """Observations as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([neutral(name) for name in names])
        writer.writerows(rows.tolist())
