"""Checks of arguments that several packages need."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

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


def numbers(name: str, values: object) -> np.ndarray:
    """``values`` as a new array of floats, NaN where they are masked, or an `InputError`."""
    try:
        plain = np.ma.filled(values.astype(float), np.nan) if isinstance(values, np.ma.MaskedArray) else values
        return np.array(plain, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected numbers, got {type(values).__name__}.") from None


def require_package(package: str, extra: str, what: str) -> None:
    """Refuse ``what``, which needs a package that is not installed and comes with ``extra``."""
    if find_spec(package) is None:
        raise InputError(f"{what} needs {package}, which is not installed: pip install 'mrfbayes[{extra}]'.")


def interval_ends(ci_prob: object) -> tuple[float, float]:
    """The probabilities at both ends of the equal-tailed interval that holds ``ci_prob``."""
    if not isinstance(ci_prob, (float, np.floating)) or not 0 < ci_prob < 1:
        raise InputError(f"ci_prob = {ci_prob!r}: give a probability between 0 and 1, such as 0.9.")
    return (1 - float(ci_prob)) / 2, (1 + float(ci_prob)) / 2
