"""Dask collections as sources: partitions are fetched one after the other, so that one has to fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.batch import Batch, Source

if TYPE_CHECKING:
    from dask.array import Array
    from dask.dataframe import DataFrame

Collection: TypeAlias = "DataFrame | Array"
_UNKNOWN = "__UNKNOWN_CATEGORIES__"  # what Dask calls categories that it has not looked at


def is_collection(x: object) -> bool:
    """Whether ``x`` is an array or a data frame of Dask."""
    return hasattr(x, "__dask_graph__") and any(kind.__module__.split(".")[0] == "dask" for kind in type(x).__mro__)


class DaskTable(Source):
    """A Dask data frame or array (n, d); rows are numbered from 0 in each partition, which messages name."""

    def __init__(self, x: Collection, opened: Callable[[object], Source]) -> None:
        is_table = hasattr(type(x), "columns")
        if not is_table and (not hasattr(type(x), "rechunk") or x.ndim != 2):
            raise InputError(f"x is a {type(x).__name__}; of Dask's collections give a data frame, or an array (n, d).")
        self.where = "x"
        self._x, self._opened, self._is_table = x, opened, is_table
        self._meta = opened(x._meta if is_table else np.zeros((0, x.shape[1]), dtype=x.dtype))
        self.names, self.n_columns = self._meta.names, self._meta.n_columns

    def categories(self, j: int) -> tuple[tuple[object, ...] | None, bool]:
        """Categories of the collection's type, where Dask knows them."""
        values, is_ordered = self._meta.categories(j)
        return (None, False) if values is not None and _UNKNOWN in values else (values, is_ordered)

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns of every partition in turn."""
        if self._is_table:
            chosen = self._x[[self._x.columns[j] for j in columns]]  # so that files are not read further than that
            parts = chosen.to_delayed()
        else:
            parts = self._x.rechunk({1: -1})[:, list(columns)].to_delayed().ravel()
        for number, part in enumerate(parts):
            source = self._opened(part.compute())
            for batch in source.batches(range(len(columns)), problems):
                yield Batch(batch.columns, batch.rows, f"x, partition {number}")
