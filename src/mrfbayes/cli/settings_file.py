"""Settings of a run as a TOML file: read by ``--settings``, and written by every run so that it can be repeated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.base.errors import InputError


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


def settings_text(command: str, values: Mapping[str, object], comment: str) -> str:
    """A TOML table that repeats a run."""
    lines = [f"# {line}" for line in comment.splitlines()] + [f"[{command}]"]
    for name, value in values.items():
        if value is not None and value != [] and value != "":
            lines.append(f"{name} = {_value(value)}")
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_value, value)) + "]"
    # JSON's escapes are TOML's, but for what stands outside the first plane.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
