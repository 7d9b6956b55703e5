"""Columns chosen by name, range or pattern."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from mrfbayes.base.errors import InputError


def choose_columns(names: Sequence[str], wanted: Sequence[str], without: Sequence[str], where: str) -> list[str]:
    """The columns among ``names`` that ``wanted`` asks for (all where it is empty), but for ``without``, in file order.

    Each request is a name, a range ``first:last``, or a pattern with ``*`` and ``?``.
    """
    keep = (
        {name for request in wanted for name in _matches(names, request, "--columns", where)} if wanted else set(names)
    )
    drop = {name for request in without for name in _matches(names, request, "--without", where)}
    left = [name for name in names if name in keep and name not in drop]
    if not left:
        raise InputError(f"--columns and --without leave no column of {where}.")
    return left


def _matches(names: Sequence[str], request: str, option: str, where: str) -> list[str]:
    if request in names:
        return [request]
    first, colon, last = request.partition(":")
    if colon and first in names and last in names:
        a, b = names.index(first), names.index(last)
        if a > b:
            raise InputError(f"{option} {request}: {first!r} stands after {last!r} in {where}; write {last}:{first}.")
        return list(names[a : b + 1])
    found = [name for name in names if fnmatchcase(name, request)] if any(c in request for c in "*?[") else []
    if not found:
        close = get_close_matches(request, names, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise InputError(f"{option} {request}: {where} has no such column{hint}; it has {_some(names)}.")
    return found


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
