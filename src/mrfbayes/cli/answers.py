"""How commands answer: sentences for people, JSON for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping

import typer

from mrfbayes.cli.text import safe


def say(lines: Iterable[str], to_stderr: bool = False) -> None:
    """Print lines, with whatever came from outside made harmless."""
    from mrfbayes.cli.show import console

    for line in lines:
        console(to_stderr).print("\n".join(safe(part) for part in line.splitlines()), markup=False)


def print_json(facts: Mapping[str, object]) -> None:
    """Print facts as JSON; what is not a finite number is null."""
    typer.echo(json.dumps(_plain(facts), indent=1))


def tell(as_json: bool, facts: Mapping[str, object]) -> None:
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
