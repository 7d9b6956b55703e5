"""Files of commands: checked before the work, saved elsewhere where writing fails, with the settings of the run.

The settings of a run are a TOML file that ``--settings`` reads: the command can be repeated.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from mrfbayes.base.atomic_files import check_targets, replacing, write_text
from mrfbayes.base.errors import InputError, OutputError
from mrfbayes.base.plain_text import spreadsheet_cell

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior

_RUNNING: ContextVar[typer.Context | None] = ContextVar("mrfbayes_command", default=None)
NOT_KEPT = ("settings", "json", "help", "overwrite")  # of one run alone


class Kept(NamedTuple):
    """What became of a result: a line for the user, and the exit status that goes with it."""

    text: str
    status: int


@contextlib.contextmanager
def writing(
    new: Mapping[str, Path | None],
    inputs: Mapping[str, Path | Sequence[str] | None],
    overwrite: bool,
    continued: Mapping[str, Path | None] | None = None,
) -> Iterator[None]:
    """Check files by the option that names them; after the block, write the settings of the command beside each."""
    beside = {path: path.with_name(f"{path.name}.toml") for path in new.values() if path is not None and path.name}
    targets = {**new, **{f"the settings of {path}": settings for path, settings in beside.items()}}
    read = {name: given[0] if isinstance(given, list) and len(given) == 1 else given for name, given in inputs.items()}
    check_targets(targets, continued=continued, inputs=read, overwrite=overwrite, permission="--overwrite")
    yield
    for settings in beside.values():
        keep_settings(settings, overwrite)


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
        with contextlib.suppress(OutputError, InputError):
            posterior.save(other)
            return Kept(f"{problem} The result is saved to {other} instead.", 1)
    return Kept(f"{problem} The result could not be saved anywhere; only this output remains.", 1)


def write_rows(names: Sequence[str], rows: Iterable[Iterable[object]], path: Path, overwrite: bool = False) -> None:
    """Observations as CSV."""
    with replacing(path, overwrite) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text)
        writer.writerow([spreadsheet_cell(name) for name in names])
        writer.writerows(map(spreadsheet_cell, row) for row in rows)
        text.detach()


def write_csv(frame: pd.DataFrame, path: Path | None, overwrite: bool) -> None:
    """A table as CSV, where a file was asked for."""
    from mrfbayes.plots.saving import write_table

    if path is not None:
        write_table(frame, path, overwrite)


def _load(context: typer.Context, path: Path | None) -> Path | None:
    """Take the settings of the running command from a TOML file; unknown names are refused."""
    _RUNNING.set(context)
    if path is None:
        return None
    command = str(context.command.name)
    known = {str(option.name) for option in context.command.params} - {"settings", "help"}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"--settings {path}: no such file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--settings {path}: not a TOML file ({error}).") from None
    has_heading = isinstance(content.get(command), dict)
    table = content[command] if has_heading else content
    if unknown := sorted({*(set(content) - {command} if has_heading else ()), *(set(table) - known)}):
        raise InputError(
            f"--settings {path}: {unknown[0]!r} is not a setting of `mrfbayes {command}`; write them below "
            f"[{command}] or without a heading, and choose among {', '.join(sorted(known))}."
        )
    context.default_map = dict(table)
    return path


Settings = Annotated[
    Path | None,
    typer.Option(help="TOML file with settings; options on the command line win.", callback=_load, is_eager=True),
]


def run_seed(checkpoint: Path | None) -> int:
    """The seed of the run: as given, else that of its checkpoint, else a fresh one; the settings file keeps it."""
    from mrfbayes.base import random_streams
    from mrfbayes.run.store import recorded

    context = _RUNNING.get()
    given = None if context is None else context.params.get("rng")
    seed = int(recorded(checkpoint).get("seed", random_streams.fresh_seed())) if given is None else int(given)
    if context is not None:
        context.params["rng"] = seed
    return seed


def keep_settings(path: Path, overwrite: bool) -> Path:
    """Write the settings of the running command to ``path``."""
    if (context := _RUNNING.get()) is not None:
        values = {name: value for name, value in context.params.items() if name not in NOT_KEPT}
        write_text(path, settings_text(str(context.command.name), values, path.name), overwrite)
    return path


def settings_text(command: str, values: Mapping[str, object], name: str) -> str:
    """A TOML table that repeats a run, for a file of this name."""
    lines = [f"# Repeats this run: mrfbayes {command} --settings {name}", f"[{command}]"]
    lines += [f"{key} = {_toml(value)}" for key, value in values.items() if value not in (None, [], "")]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, (bool, int, float)):
        return repr(value).lower()
    # JSON's escapes are TOML's, but for what stands outside the first plane.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
