"""Checks of arguments that several packages need."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mrfbayes.base.errors import InputError


def whole(name: str, value: object, least: int = 1) -> int:
    """``value`` as a whole number of at least ``least``, or an `InputError` that says what is wrong."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} = {value!r}: give a whole number, at least {least}.")
    return int(value)


def flag(name: str, value: object) -> bool:
    """``value`` as True or False; an `InputError` for anything else, numbers included."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} = {value!r}: choose True or False.")
    return bool(value)


def one_of(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a ``value`` that is none of ``choices``, with a list of them."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} = {value!r}: choose one of {', '.join(map(repr, choices))}.")


def interval_ends(ci_prob: object) -> tuple[float, float]:
    """The probabilities at both ends of the equal-tailed interval that holds ``ci_prob``."""
    if not isinstance(ci_prob, (float, np.floating)) or not 0 < ci_prob < 1:
        raise InputError(f"ci_prob = {ci_prob!r}: give a probability between 0 and 1, such as 0.9.")
    return (1 - float(ci_prob)) / 2, (1 + float(ci_prob)) / 2
