"""Files that commands write: looked at before the work, written whole, and saved elsewhere where that fails."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mrfbayes.base.atomic_files import check_targets, replacing
from mrfbayes.base.errors import InputError, OutputError
from mrfbayes.base.plain_text import spreadsheet_cell

if TYPE_CHECKING:
    from mrfbayes.results.posterior import Posterior


class Kept(NamedTuple):
    """What became of a result: a line for the user, and the exit status that goes with it."""

    text: str
    status: int


def check_files(
    new: Mapping[str, Path | None],
    inputs: Mapping[str, Path | Sequence[str] | None],
    overwrite: bool,
    continued: Mapping[str, Path | None] | None = None,
) -> None:
    """`mrfbayes.base.atomic_files.check_targets` in the words of the command line."""
    read = {name: given[0] if isinstance(given, list) and len(given) == 1 else given for name, given in inputs.items()}
    check_targets(new, continued=continued, inputs=read, overwrite=overwrite, permission="--overwrite")


def keep(posterior: Posterior, out: Path | None, overwrite: bool) -> Kept:
    """Save a result to ``out``, or to another place that is named: draws that took hours are not thrown away."""
    if out is None:
        return Kept("", 0)
    with contextlib.suppress(OSError):  # then saving says what is wrong
        out.parent.mkdir(exist_ok=True)
    try:
        posterior.save(out, overwrite=overwrite)
        return Kept(f"saved to {out}", 0)
    except (OutputError, InputError) as error:
        problem = str(error).removesuffix(" The result is still in memory: save() it to another place.")
    for folder in dict.fromkeys((tempfile.gettempdir(), os.path.expanduser("~"), os.getcwd())):
        other = Path(folder) / f"mrfbayes-{os.getpid()}-{out.name}"
        try:
            posterior.save(other)
        except (OutputError, InputError):
            continue
        return Kept(f"{problem} The result is saved to {other} instead.", 1)
    return Kept(f"{problem} No other place could take the result either: what is printed is all there is of it.", 1)


def write_rows(names: Sequence[str], rows: Iterable[Iterable[object]], path: Path, overwrite: bool = False) -> None:
    """Observations as CSV."""
    with replacing(path, overwrite) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        writer.writerow([spreadsheet_cell(name) for name in names])
        writer.writerows(map(spreadsheet_cell, row) for row in rows)
        text.detach()
