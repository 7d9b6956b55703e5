"""Checks of arguments that several rooms need."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import InputError


def whole(name: str, value: object, least: int = 1) -> int:
    """``value`` as a whole number of at least ``least``, or an `InputError` that says what is wrong."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} = {value!r}: give a whole number, at least {least}.")
    return int(value)


def interval_ends(ci_prob: object) -> tuple[float, float]:
    """The probabilities at both ends of the equal-tailed interval that holds ``ci_prob``."""
    if not isinstance(ci_prob, (float, np.floating)) or not 0 < ci_prob < 1:
        raise InputError(f"ci_prob = {ci_prob!r}: give a probability between 0 and 1, such as 0.9.")
    return (1 - float(ci_prob)) / 2, (1 + float(ci_prob)) / 2
