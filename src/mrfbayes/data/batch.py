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
        if not isinstance(self.columns, np.ndarray):
            return self._replace(columns=[self.columns[j] for j in places])
        is_all = list(places) == list(range(self.columns.shape[1]))
        return self if is_all else self._replace(columns=self.columns[:, list(places)])

    def only(self, keep: np.ndarray) -> Batch:
        """The rows where ``keep`` is true."""
        columns = self.columns
        if isinstance(columns, np.ndarray):
            return self._replace(columns=columns[keep], rows=self.rows[keep])
        kept = [one._replace(codes=one.codes[keep]) if isinstance(one, Coded) else one[keep] for one in columns]
        return self._replace(columns=kept, rows=self.rows[keep])


class Source:
    """A table that can be read more than once."""

    where: str
    names: tuple[str, ...] | None  # None where columns have no names
    n_columns: int
    notes: tuple[str, ...] = ()  # what has to be said about how it was read
    image_shape: tuple[int, int] | None = None  # of images, one per row

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
            problems.add(f"{where}:{k}: two columns are called {name!r} (column {seen[name]}, too); rename one.")
        seen.setdefault(name, k)
    problems.refuse()
