"""The one shape in which every source of data hands over its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mrfbayes.base.errors import Problems


class Coded(NamedTuple):
    """A column of text as positions (k,) in a list of labels."""

    codes: np.ndarray
    labels: tuple[str, ...]


Values = np.ndarray | Coded


class Codebook(NamedTuple):
    """Names of the values of a column, which of them mark missing cells, and whether they have no order."""

    texts: Mapping[float, str]
    missing: frozenset[float | str]
    is_nominal: bool


class Batch(NamedTuple):
    """Some rows and their numbers: a (k, c) array of numbers, or c columns of numbers, objects or coded text."""

    columns: np.ndarray | Sequence[Values]
    rows: np.ndarray
    where: str = ""  # the file that these rows are from, where a source has several

    def column(self, j: int) -> Values:
        """Values of one column."""
        return self.columns[:, j] if isinstance(self.columns, np.ndarray) else self.columns[j]

    def select(self, places: Sequence[int]) -> Batch:
        """Some of the columns, in the order of ``places``."""
        if isinstance(self.columns, np.ndarray):
            is_all = list(places) == list(range(self.columns.shape[1]))
            return self if is_all else Batch(self.columns[:, list(places)], self.rows, self.where)
        return Batch([self.columns[j] for j in places], self.rows, self.where)

    def compact(self) -> Batch:
        """The same batch with small whole numbers in a byte each, column by column."""
        columns = self.columns
        if not isinstance(columns, np.ndarray) or columns.dtype.kind != "i":
            return self
        is_small = columns.size and -128 <= columns.min() and columns.max() < 128
        return Batch(columns.astype(np.int8, order="F"), self.rows, self.where) if is_small else self

    @property
    def n_bytes(self) -> int:
        """Memory of the columns; text is taken to have 64 bytes a cell."""
        if isinstance(self.columns, np.ndarray):
            return self.columns.nbytes
        sizes = [one.codes.nbytes if isinstance(one, Coded) else one.nbytes for one in self.columns]
        is_text = [not isinstance(one, Coded) and one.dtype.kind == "O" for one in self.columns]
        return sum(sizes) + 64 * len(self.rows) * sum(is_text)


class Source:
    """A table that can be read more than once."""

    where: str
    names: tuple[str, ...] | None  # None where columns have no names
    n_columns: int
    notes: tuple[str, ...] = ()  # what has to be said about how it was read
    image_shape: tuple[int, int] | None = None  # of images, one per row
    is_parsed = False  # whether reading it means parsing text

    def categories(self, j: int) -> tuple[tuple[object, ...] | None, bool]:
        """All values that the type of column ``j`` allows, if it says so, and whether it orders them."""
        return None, False

    def codebook(self, j: int) -> Codebook | None:
        """What the source says of the codes of column ``j``, as SPSS and Stata files do."""
        return None

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order; rows that cannot be read are left out and added to ``problems``."""
        raise NotImplementedError


def check_columns(names: Sequence[str], where: str) -> None:
    """Column names are non-empty and unique."""
    seen: dict[str, int] = {}
    problems = Problems()
    for k, name in enumerate(names, start=1):
        if not name.strip():
            problems.add(f"{where}:{k}: column {k} has an empty name; name it (row names of R? write them without).")
        elif name in seen:
            problems.add(
                f"{where}:{k}: two columns are called {name!r} (the other is column {seen[name]}); rename one."
            )
        seen.setdefault(name, k)
    problems.refuse()
