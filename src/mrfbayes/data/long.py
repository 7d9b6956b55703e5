"""Long tables, with a row for each answer, as wide ones, with a row for each observation."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.base.memory import require_memory
from mrfbayes.data.batch import Source
from mrfbayes.data.reading import plain_values
from mrfbayes.data.values import is_missing, listed

CELL_BYTES = 24  # of a wide table while it is made


def widened(source: Source, row: str, column: str, value: str) -> dict[str, np.ndarray]:
    """Columns by name; observations and columns are in the order in which they first occur."""
    names = source.names or ()
    for argument, name in (("row", row), ("column", column), ("value", value)):
        if name not in names:
            raise InputError(f"{argument} = {name!r}: {source.where} has no such column; it has {listed(names)}.")
    if len({row, column, value}) < 3:
        raise InputError(f"row = {row!r}, column = {column!r}, value = {value!r}: name three different columns.")
    people: dict[object, int] = {}
    cells: dict[str, dict[int, object]] = {}
    problems = Problems()
    for batch in source.batches([names.index(name) for name in (row, column, value)], problems):
        columns = (plain_values(batch.column(j)).tolist() for j in range(3))
        for place, who, what, answer in zip(batch.rows.tolist(), *columns, strict=True):
            if is_missing(who) or is_missing(what):
                problems.add(f"{source.where}:{place}: no {row!r} or no {column!r}; fill it in or leave the row out.")
                continue
            name = f"{what:g}" if isinstance(what, float) else str(what)
            number, known = people.setdefault(who, len(people)), cells.setdefault(name, {})
            if number in known:
                problems.add(
                    f"{source.where}:{place}: {who!r} has two values of {what!r}; keep one (is another column, such as "
                    "a time, part of what makes a row?)."
                )
            known[number] = answer
    problems.refuse()
    if not people:
        raise InputError(f"{source.where}: no rows; give at least one observation.")
    n, d = len(people), len(cells)
    require_memory(n * d * CELL_BYTES, f"a table of {n:,} rows and {d:,} columns", "choose fewer rows or columns")
    wide = {}
    for name, known in cells.items():
        wide[name] = np.full(n, None, dtype=object)
        wide[name][list(known)] = list(known.values())
    return wide
