"""Commands whose options are written down once: a command takes a group of options as one argument."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer has to see it: every argument that is a group of options becomes those options."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    parameters = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            found = _parameters(groups[parameter.name])
        else:
            found = [parameter.replace(annotation=hints[parameter.name])]
        parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in found]

    @functools.wraps(command)
    def run(**given: object) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)}) for name, kind in groups.items()
        }
        command(**made, **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        each.replace(annotation=hints[each.name])
        for each in inspect.signature(group).parameters.values()
        if each.name in hints
    ]
