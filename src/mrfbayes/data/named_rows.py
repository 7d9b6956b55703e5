"""Rows whose cells have names: mappings, named tuples, labelled Series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from mrfbayes.base.errors import InputError


def named_rows(rows: Sequence[object]) -> dict[str, np.ndarray] | None:
    """Columns by name from rows whose cells have names, in whatever order; None where they have none."""
    names = _names(rows[0]) if rows else None
    if names is None:
        return None
    columns = {name: np.empty(len(rows), dtype=object) for name in names}
    for k, row in enumerate(rows):
        own = _names(row)
        if own is None or sorted(own) != sorted(names):
            raise InputError(f"x: row {k} has other names than row 0; give every row the same ones.")
        cells = row.values() if isinstance(row, Mapping) else cast("Iterable[object]", row)
        for name, cell in zip(own, cells, strict=True):
            columns[name][k] = cell
    return columns


def _names(row: object) -> tuple[str, ...] | None:
    names = tuple(row) if isinstance(row, Mapping) else getattr(row, "_fields", getattr(row, "index", None))
    if names is None or callable(names) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names)
