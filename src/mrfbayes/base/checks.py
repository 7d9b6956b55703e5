"""Checks of arguments that several rooms need."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import InputError


def whole(name: str, value: object, least: int = 1) -> int:
    """``value`` as a whole number of at least ``least``, or an `InputError` that says what is wrong."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} = {value!r}: give a whole number, at least {least}.")
    return int(value)
