"""Several files as one data set: the rows of all of them, columns matched by name."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.batch import Batch, Codebook, Source

_WILD = ("*", "?", "[")


def matching_files(given: Sequence[str]) -> list[str]:
    """Paths as they are, and the files that patterns such as ``wave*.csv`` stand for, in the order of their names."""
    found: list[str] = []
    for name in given:
        if os.path.exists(name) or not any(mark in name for mark in _WILD):
            found.append(name)
            continue
        files = sorted(glob.glob(name))
        if not files:
            raise InputError(f"{name}: no file matches this pattern.")
        found += files
    return found


class SeveralTables(Source):
    """Tables one after the other; columns are those of the first."""

    def __init__(self, tables: Sequence[Source]) -> None:
        self._tables = list(tables)
        first = self._tables[0]
        self.where = f"{first.where} and {len(self._tables) - 1} more"
        self.names, self.n_columns = first.names, first.n_columns
        self.is_parsed = any(table.is_parsed for table in tables)
        for other in self._tables[1:]:
            _check_alike(first, other)

    def categories(self, j: int) -> tuple[tuple[object, ...] | None, bool]:
        """What the types of all files say together: the levels of the first that has them all, if they are ordered."""
        found = [table.categories(self._place(table, j)) for table in self._tables]
        values, is_ordered = max(found, key=lambda one: len(one[0] or ()))
        agree = all(other is None or set(other) <= set(values or ()) for other, _ in found)
        return (values, is_ordered) if agree else (None, False)

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns of every table in turn."""
        for table in self._tables:
            for batch in table.batches([self._place(table, j) for j in columns], problems):
                yield Batch(batch.columns, batch.rows, table.where)

    def codebook(self, j: int) -> Codebook | None:
        """That of the first file."""
        return self._tables[0].codebook(j)

    def _place(self, table: Source, j: int) -> int:
        """Column ``j`` of the first table in another one."""
        return j if self.names is None or table.names is None else table.names.index(self.names[j])


def _check_alike(first: Source, other: Source) -> None:
    if (first.names is None) != (other.names is None):
        without = other.where if other.names is None else first.where
        raise InputError(f"{without}: no header, but another file of the data set has one; add a line of names.")
    if first.names is None or other.names is None:
        if first.n_columns != other.n_columns:
            raise InputError(
                f"{other.where} has {other.n_columns} columns, {first.where} has {first.n_columns}: files of one data "
                "set have the same columns."
            )
        return
    absent = [name for name in first.names if name not in other.names]
    if absent:
        raise InputError(
            f"{other.where}: no column {absent[0]!r}, which {first.where} has: files of one data set have the same "
            "columns."
        )
