"""Where observations come from: arrays, tables, named axes or rows, Dask, long tables and files, each as a `Source`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from mrfbayes.base.checks import require_memory
from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.frames import PARQUET, ArrayTable, ColumnsTable, FrameTable, parquet
from mrfbayes.data.reading import plain_values
from mrfbayes.data.values import Batch, Codebook, Source, check_columns, is_missing, listed, unmasked
from mrfbayes.model.edges import pixel_names

if TYPE_CHECKING:
    import xarray as xr
    from dask.array import Array
    from dask.dataframe import DataFrame


Collection: TypeAlias = "DataFrame | Array"
_UNKNOWN = "__UNKNOWN_CATEGORIES__"  # what Dask calls categories that it has not looked at
CELL_BYTES = 24  # of a wide table while it is made


def open_source(x: object, delimiter: str | None = None, sheet: str | int | None = None) -> Source:
    """``x`` as a source: array, nested list, data frame; a file, a folder of Parquet, or several by list or pattern."""
    if isinstance(x, Source):
        return x
    if isinstance(x, (str, PathLike)):
        x = [x]
    if isinstance(x, (list, tuple)) and x and all(isinstance(one, (str, PathLike)) for one in x):
        return _open_files([fspath(one) for one in x], delimiter, sheet)
    if delimiter is not None or sheet is not None:
        name, value = ("delimiter", delimiter) if sheet is None else ("sheet", sheet)
        raise InputError(f"{name} = {value!r} is for files; x is a {type(x).__name__}: leave it out.")
    if hasattr(x, "__dask_graph__") and any(kind.__module__.split(".")[0] == "dask" for kind in type(x).__mro__):
        return DaskTable(x)
    if type(x).__module__.split(".")[0] == "xarray" and hasattr(x, "dims") and not hasattr(x, "data_vars"):
        x, names = _named_axes(cast("xr.DataArray", x))
        if names is not None:
            return ArrayTable(_checked(x), "x", names)
    elif isinstance(x, np.ndarray) and x.dtype.names:
        return ColumnsTable({name: _checked(unmasked(x[name]).ravel()) for name in x.dtype.names}, "x")
    elif isinstance(x, Mapping):
        return named_columns(x)
    elif isinstance(x, (list, tuple)):
        if (named := _named_rows(x)) is not None:
            return ColumnsTable(named, "x")
    elif not isinstance(x, np.ndarray) and (frame := _as_frame(x)) is not None:
        return frame
    try:
        array = unmasked(x)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.ndim == 3:
        return image_table(_checked(array), "x")
    if array.ndim != 2:
        _refuse_shape(x, array)
    return ArrayTable(_checked(array), "x")


def _open_files(names: Sequence[str], delimiter: str | None, sheet: str | int | None) -> Source:
    """One file, or several as one data set: all images, or all tables; patterns such as ``wave*.csv`` are expanded."""
    files: list[str] = []
    for name in names:
        is_pattern = not os.path.exists(name) and any(mark in name for mark in "*?[")
        matching = sorted(glob.glob(name)) if is_pattern else [name]
        if not matching:
            raise InputError(f"{name}: no file matches this pattern.")
        files += matching
    pictures = [is_image(name) for name in files]
    if all(pictures):
        return read_images(files)
    if any(pictures):
        raise InputError(f"{files[pictures.index(True)]} is an image and other files are tables: read them apart.")
    tables = [open_file(Path(name), name, delimiter, sheet) for name in files]
    return tables[0] if len(tables) == 1 else SeveralTables(tables)


def named_columns(x: Mapping[object, object]) -> Source:
    """Columns by name; Series of pandas or polars as the data frame that they make: rows go by their index."""
    kinds = {type(column).__module__.split(".")[0] for column in x.values()}
    table = {str(name): column for name, column in x.items()}
    frame: Source | None = None
    try:
        if "pandas" in kinds:
            import pandas as pd

            series = {name: column for name, column in table.items() if isinstance(column, pd.Series)}
            first = next(iter(series), "")
            for name, column in series.items():
                if len(column.index.symmetric_difference(series[first].index)):
                    raise InputError(f"x: {name!r} has another index than {first!r}: give the same rows in each.")
            frame = _as_frame(pd.DataFrame(table))
        elif "polars" in kinds:
            import polars as pl

            frame = _as_frame(pl.DataFrame(table))
    except InputError:
        raise
    except Exception as problem:
        raise InputError(f"x: its columns are no table ({' '.join(str(problem).split())[:120]}).") from None
    is_one = all(np.ndim(cast("float", column)) == 0 for column in table.values())  # one row: a value per name
    return frame or ColumnsTable(
        {name: _checked(unmasked([column] if is_one else column)) for name, column in table.items()}, "x"
    )


def _checked(array: np.ndarray) -> np.ndarray:
    """An array of numbers, booleans or text."""
    if array.dtype.kind not in "buifOUS":
        raise InputError(f"x holds {array.dtype}; expected whole numbers, booleans or text labels.")
    return array


def _named_axes(x: xr.DataArray) -> tuple[np.ndarray, list[str] | None]:
    """An xarray array as values and names of its columns: the axis that is labelled by texts, else the second."""
    values = np.asarray(x.values)
    if values.ndim != 2:
        return values, None
    rows, columns = (x[dim].values.tolist() if dim in x.coords else None for dim in x.dims)
    are_texts = [names is not None and all(isinstance(name, str) for name in names) for names in (rows, columns)]
    if are_texts == [True, False]:
        values, columns = values.T, rows
    return values, None if columns is None else [str(name) for name in columns]


def _refuse_shape(x: object, array: np.ndarray) -> None:
    hint = "expected (n, d), one row per observation and one column per variable"
    if isinstance(x, (list, tuple)) and x and len({np.array(row, dtype=object).shape for row in x}) > 1:
        raise InputError(f"x: its rows differ in length; {hint}.")
    if array.ndim == 0 or array.dtype == object:
        raise InputError(f"x is a {type(x).__name__}; expected an array, a data frame, or the path of a data file.")
    raise InputError(f"x has shape {array.shape}; {hint}; pass x.reshape(1, -1) if it is one observation.")


def _as_frame(x: object) -> Source | None:
    """A data frame of any library that narwhals knows, or None."""
    if type(x).__module__.split(".")[0] == "polars" and type(x).__name__ == "LazyFrame":
        return FrameTable(cast("Any", x), "x")
    import narwhals as nw

    # Called so by pyarrow, and by pandas and polars.
    columns = getattr(x, "column_names", None) or getattr(x, "columns", None)
    check_columns([] if columns is None else list(map(str, columns)), "x")  # before narwhals refuses in its words
    frame = nw.from_native(x, eager_only=True, pass_through=True)
    return FrameTable(frame, "x") if isinstance(frame, nw.DataFrame) else None


def open_file(path: Path, where: str, delimiter: str | None = None, sheet: str | int | None = None) -> Source:
    """A table in a file, by the ending of its name; what has no known ending is a delimited text file."""
    from mrfbayes.data.frames import EXCEL, STATISTICS, read_excel, read_statistics

    suffix = path.suffix.lower()
    if sheet is not None and suffix not in EXCEL:
        raise InputError(f"sheet = {sheet!r} is for workbooks; {where} is none: leave it out.")
    if not path.exists():
        hint = "; download it first" if "://" in where else "; check the path"
        raise InputError(f"{where}: no such file{hint}.")
    if suffix in PARQUET or path.is_dir():
        return parquet(path, where)
    if suffix in EXCEL:
        return read_excel(path, where, sheet)
    if suffix in STATISTICS:
        return read_statistics(path, where)
    from mrfbayes.data.delimited import DelimitedFile

    return DelimitedFile(path, where, delimiter)


def _named_rows(rows: Sequence[object]) -> dict[str, np.ndarray] | None:
    """Columns by name from rows whose cells have names, in whatever order; None where they have none."""
    first = _by_name(rows[0]) if rows else None
    if first is None:
        return None
    columns = {name: np.empty(len(rows), dtype=object) for name in first}
    for k, row in enumerate(map(_by_name, rows)):
        if row is None or row.keys() != first.keys():
            raise InputError(f"x: row {k} has other names than row 0; give every row the same ones.")
        for name, cell in row.items():
            columns[name][k] = cell
    return columns


def _by_name(row: object) -> Mapping[str, object] | None:
    """The cells of a mapping, of a named tuple, or of a Series with names."""
    to_dict = getattr(row, "_asdict", getattr(row, "to_dict", None))
    named = row if isinstance(row, Mapping) else to_dict() if callable(to_dict) else None
    return named if isinstance(named, Mapping) and all(isinstance(name, str) for name in named) else None


class DaskTable(Source):
    """A Dask data frame or array (n, d); rows are numbered from 0 in each partition, which messages name."""

    def __init__(self, x: Collection) -> None:
        is_table = hasattr(type(x), "columns")
        if not is_table and (not hasattr(type(x), "rechunk") or x.ndim != 2):
            raise InputError(f"x is a {type(x).__name__}; of Dask's collections give a data frame, or an array (n, d).")
        self.where = "x"
        self._x, self._is_table = x, is_table
        self._meta = open_source(x._meta if is_table else np.zeros((0, x.shape[1]), dtype=x.dtype))
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
            for batch in open_source(part.compute()).batches(range(len(columns)), problems):
                yield batch._replace(where=f"x, partition {number}")


class TypedTable(ColumnsTable):
    """Columns by name, each with the categories and the codebook of a column of another source."""

    def __init__(self, columns: Mapping[str, np.ndarray], where: str, source: Source, places: Sequence[int]) -> None:
        super().__init__(columns, where)
        self._types, self._places = source, places

    def categories(self, j: int) -> tuple[tuple[object, ...] | None, bool]:
        """Those of the other source."""
        return self._types.categories(self._places[j])

    def codebook(self, j: int) -> Codebook:
        """That of the other source."""
        return self._types.codebook(self._places[j])


def widened(source: Source, row: str, column: str, value: str) -> TypedTable:
    """Columns by name; observations and columns are in the order in which they first occur."""
    import pandas as pd

    names = source.names or ()
    for argument, name in (("row", row), ("column", column), ("value", value)):
        if name not in names:
            raise InputError(f"{argument} = {name!r}: {source.where} has no such column; it has {listed(names)}.")
    if len({row, column, value}) < 3:
        raise InputError(f"row = {row!r}, column = {column!r}, value = {value!r}: name three different columns.")
    problems, parts, places = Problems(), [], []
    for batch in source.batches([names.index(name) for name in (row, column, value)], problems):
        parts.append(np.array([plain_values(batch.column(j)) for j in range(3)], dtype=object))
        places += [f"{batch.where or source.where}:{place}" for place in batch.rows.tolist()]
    cells = np.concatenate([np.empty((3, 0), dtype=object), *parts], axis=1)
    is_absent = np.array([is_missing(who) or is_missing(what) for who, what in cells[:2].T.tolist()], dtype=bool)
    for k in np.flatnonzero(is_absent).tolist():
        problems.add(f"{places[k]}: no {row!r} or no {column!r}; fill it in or leave the row out.")
    texts = np.array([f"{what:g}" if isinstance(what, float) else str(what) for what in cells[1]], dtype=object)
    (person, people), (item, items) = pd.factorize(cells[0]), pd.factorize(texts)
    is_repeated = pd.DataFrame({"person": person, "item": item}).duplicated().to_numpy() & ~is_absent
    for k in np.flatnonzero(is_repeated).tolist():
        problems.add(
            f"{places[k]}: {cells[0, k]!r} has two values of {cells[1, k]!r}; keep one (or is a time missing?)."
        )
    problems.refuse()
    n, d = len(people), len(items)
    if not n:
        raise InputError(f"{source.where}: no rows; give at least one observation.")
    require_memory(n * d * CELL_BYTES, f"a table of {n:,} rows and {d:,} columns", "choose fewer rows or columns")
    wide = np.full((d, n), None, dtype=object)
    wide[item, person] = cells[2]
    return TypedTable(dict(zip(items, wide, strict=True)), "x", source, [names.index(value)] * d)


class SeveralTables(Source):
    """Tables one after the other; columns are those of the first."""

    def __init__(self, tables: Sequence[Source]) -> None:
        self._tables = list(tables)
        first = self._tables[0]
        self.where = f"{first.where} and {len(self._tables) - 1} more"
        self.names, self.n_columns = first.names, first.n_columns
        same = "files of one data set have the same columns"
        for other in self._tables[1:]:
            if (first.names is None) != (other.names is None):
                without = other.where if other.names is None else first.where
                raise InputError(
                    f"{without}: no header, but another file of the data set has one; add a line of names."
                )
            if first.names is None and first.n_columns != other.n_columns:
                sizes = f"{other.where} has {other.n_columns} columns, {first.where} has {first.n_columns}"
                raise InputError(f"{sizes}: {same}.")
            if absent := [name for name in first.names or () if name not in (other.names or ())]:
                raise InputError(f"{other.where}: no column {absent[0]!r}, which {first.where} has: {same}.")

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
                yield batch._replace(where=table.where)

    def codebook(self, j: int) -> Codebook:
        """That of the first file."""
        return self._tables[0].codebook(j)

    def _place(self, table: Source, j: int) -> int:
        """Column ``j`` of the first table in another one."""
        return j if self.names is None or table.names is None else table.names.index(self.names[j])


IMAGES = {".png", ".npy"}
MOST_PIXELS = 1 << 28


def is_image(name: str) -> bool:
    """Whether a file is called like one that this module reads."""
    return Path(name).suffix.lower() in IMAGES


def image_table(images: np.ndarray, where: str) -> ArrayTable:
    """Images (n, rows, columns) as a table whose columns are called like the pixels of a grid."""
    n, rows, columns = images.shape
    names = pixel_names(np.arange(rows * columns), columns)
    return ArrayTable(images.reshape(n, -1), where, names, (rows, columns))


def read_images(paths: Sequence[str]) -> ArrayTable:
    """Image files as one table; an NPY file of two dimensions is one image, as a PNG file is."""
    parts: list[np.ndarray] = []
    for path in paths:
        images = read_image(path)
        if images.ndim == 2:
            images = images[None]
        if images.ndim != 3:
            raise InputError(f"{path}: shape {images.shape}; expected an image, or images (n, rows, columns).")
        if not images.size:
            raise InputError(f"{path}: shape {images.shape} has no pixels; give at least one image.")
        if parts and images.shape[1:] != parts[0].shape[1:]:
            sizes = [f"{rows} x {columns}" for rows, columns in (images.shape[1:], parts[0].shape[1:])]
            raise InputError(f"{path}: {sizes[0]} pixels, {paths[0]} has {sizes[1]}: crop the images alike.")
        parts.append(images)
    size = sum(part.nbytes for part in parts)
    require_memory(3 * size, f"{len(paths):,} images", "use fewer of them, or smaller ones")
    where = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    return image_table(np.concatenate(parts), where)


def read_image(path: str) -> np.ndarray:
    """The greys of a PNG file, or the array of an NPY file."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; check the path.")
    try:
        if Path(path).suffix.lower() == ".npy":
            array = np.load(path, allow_pickle=False, mmap_mode="r")
        else:
            from matplotlib.image import imread

            array = imread(path)
    except Exception as problem:  # whatever a damaged head makes of a parser that is not ours
        text = " ".join(str(problem).split())[:100]
        raise InputError(f"{path}: cannot be read as an image ({text}).") from None
    if array.size > MOST_PIXELS:
        raise InputError(f"{path}: {array.size:,} pixels; cut the image into pieces.")
    if array.dtype.kind not in "buif":
        raise InputError(f"{path} holds {array.dtype}; expected numbers.")
    if array.ndim == 3 and Path(path).suffix.lower() == ".png":
        colours = array[..., :3]
        if not (colours == colours[..., :1]).all():
            raise InputError(f"{path}: a picture in colours; turn it into states first, one number per pixel.")
        array = colours[..., 0]
    return np.array(array)
