"""Settings of a run as a TOML file: read by ``--settings``, and written by every run so that it can be repeated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.base.errors import InputError

_RUNNING: ContextVar[typer.Context | None] = ContextVar("mrfbayes_command", default=None)
NOT_KEPT = ("settings", "json", "help", "overwrite")  # of one run alone


def read_settings(path: Path, command: str, known: set[str]) -> dict[str, object]:
    """The settings of ``command`` in a TOML file; unknown names are refused."""
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"--settings {path}: no such file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--settings {path}: not a TOML file ({error}).") from None
    table = content.get(command, {})
    unknown = sorted({*(set(content) - {command}), *(set(table) - known)})
    if unknown:
        raise InputError(
            f"--settings {path}: {unknown[0]!r} is not a setting of `mrfbayes {command}`; choose among "
            f"[{command}] {', '.join(sorted(known))}."
        )
    return dict(table)


def _load(context: typer.Context, path: Path | None) -> Path | None:
    _RUNNING.set(context)
    if path is not None:
        known = {str(option.name) for option in context.command.params} - {"settings", "help"}
        context.default_map = read_settings(path, str(context.command.name), known)
    return path


Settings = Annotated[
    Path | None,
    typer.Option(
        "--settings", help="TOML file with settings; options on the command line win.", callback=_load, is_eager=True
    ),
]


def beside(target: Path | None) -> Path | None:
    """Where the settings of a run go that writes ``target``."""
    return None if target is None or not target.name else target.with_name(f"{target.name}.toml")


def keep_settings(target: Path | None, overwrite: bool, is_own: bool = False) -> Path | None:
    """Write what repeats the command that is running: beside its output, or to ``target`` itself where ``is_own``."""
    from mrfbayes.base.atomic_files import write_text

    context = _RUNNING.get()
    path = target if is_own else beside(target)
    if path is None or context is None:
        return None
    command = str(context.command.name)
    values = {name: _plain(value) for name, value in context.params.items() if name not in NOT_KEPT}
    comment = f"Repeats this run: mrfbayes {command} --settings {path.name}"
    write_text(path, settings_text(command, values, comment), overwrite)
    return path


def settings_text(command: str, values: Mapping[str, object], comment: str) -> str:
    """A TOML table that repeats a run."""
    lines = [f"# {line}" for line in comment.splitlines()] + [f"[{command}]"]
    for name, value in values.items():
        if value is not None and value != [] and value != "":
            lines.append(f"{name} = {_value(value)}")
    return "\n".join(lines) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON's escapes are TOML's, but for what stands outside the first plane.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
