"""Where observations come from: arrays, tables, named axes and files, each as a `Source`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.data.batch import Source, check_columns
from mrfbayes.data.frames import PARQUET, ArrayTable, ColumnsTable, FrameTable, LazyTable, parquet, parquet_folder
from mrfbayes.data.images import flatten, is_image, read_images
from mrfbayes.data.masks import unmasked
from mrfbayes.data.named_rows import named_rows
from mrfbayes.data.several import SeveralTables, matching_files
from mrfbayes.model.field import Model
from mrfbayes.model.lattice import pixels_of

if TYPE_CHECKING:
    import polars as pl
    import xarray as xr


def open_source(model: Model, x: object, delimiter: str | None) -> Source:
    """``x`` as a source: array, nested list, data frame; a file, a folder of Parquet, or several by list or pattern."""
    if isinstance(x, (str, PathLike)):
        x = [x]
    if isinstance(x, (list, tuple)) and x and all(isinstance(one, (str, PathLike)) for one in x):
        return _open_files(model, matching_files([fspath(one) for one in x]), delimiter)
    if type(x).__module__.split(".")[0] == "xarray" and hasattr(x, "dims") and not hasattr(x, "data_vars"):
        x, names = _named_axes(model, cast("xr.DataArray", x))
        if names is not None:
            return ArrayTable(_checked(x), "x", names)
    elif isinstance(x, np.ndarray) and x.dtype.names:
        return ColumnsTable({name: _checked(unmasked(x[name]).ravel()) for name in x.dtype.names}, "x")
    elif isinstance(x, Mapping):
        return named_columns(x) or ColumnsTable({str(name): _checked(unmasked(x[name])) for name in x}, "x")
    elif isinstance(x, (list, tuple)):
        named = named_rows(x)
        if named is not None:
            return ColumnsTable(named, "x")
    elif not isinstance(x, np.ndarray):
        frame = _as_frame(x)
        if frame is not None:
            return frame
    try:
        array = unmasked(x)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.ndim == 3 and pixels_of(model.nodes) is not None:
        array = flatten(model, array, "x")
    if array.ndim != 2:
        _refuse_shape(model, x, array)
    _checked(array)
    if array.shape == model.grid_shape and model.n_nodes != array.shape[1]:
        raise InputError(
            f"x has the shape {array.shape} of the grid: it is one observation? Pass x.reshape(1, -1); several images "
            "of shape (n, rows, columns) as x.reshape(len(x), -1)."
        )
    return ArrayTable(array, "x")


def _open_files(model: Model, files: Sequence[str], delimiter: str | None) -> Source:
    """One file, or several as one data set: all images, or all tables."""
    pictures = [is_image(name) for name in files]
    if all(pictures):
        return ArrayTable(*_images(model, files))
    if any(pictures):
        raise InputError(f"{files[pictures.index(True)]} is an image and other files are tables: read them apart.")
    most = int(model.states.max())
    tables = [open_file(Path(name), name, delimiter, model.nodes, most) for name in files]
    return tables[0] if len(tables) == 1 else SeveralTables(tables)


def _images(model: Model, names: Sequence[str]) -> tuple[np.ndarray, str, None, tuple[str, ...]]:
    array, notes = read_images(model, names)
    return array, names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more", None, notes


def named_columns(x: Mapping[object, object]) -> Source | None:
    """Series of pandas or polars as the data frame that they make: rows go by their index, orders are kept."""
    kinds = {type(column).__module__.split(".")[0] for column in x.values()}
    table = {str(name): column for name, column in x.items()}
    try:
        if "pandas" in kinds:
            import pandas as pd

            return _as_frame(pd.DataFrame(table))
        if "polars" in kinds:
            import polars as pl

            return _as_frame(pl.DataFrame(table))
    except Exception as problem:
        raise InputError(f"x: its columns are no table ({' '.join(str(problem).split())[:120]}).") from None
    return None


def _checked(array: np.ndarray) -> np.ndarray:
    """An array of numbers, booleans or text."""
    if array.dtype.kind not in "buifOUS":
        raise InputError(f"x holds {array.dtype}; expected whole numbers 0..r-1, booleans or text labels.")
    return array


def _named_axes(model: Model, x: xr.DataArray) -> tuple[np.ndarray, list[str] | None]:
    """An xarray array as values and names of its columns: whichever axis is labelled with the nodes is theirs."""
    values = np.asarray(x.values)
    if values.ndim != 2:
        return values, None
    rows, columns = ([str(name) for name in x[dim].values] if dim in x.coords else None for dim in x.dims)
    nodes = set(model.nodes)
    if rows is not None and nodes <= set(rows) and not (columns is not None and nodes <= set(columns)):
        return values.T, rows
    return values, columns


def _refuse_shape(model: Model, x: object, array: np.ndarray) -> None:
    hint = f"expected (n, {model.n_nodes}), one row per observation and one column per node"
    if isinstance(x, (list, tuple)) and x and len({np.shape(row) for row in _tried(x)}) > 1:
        raise InputError(f"x: its rows differ in length; {hint}.")
    if array.ndim == 0 or array.dtype == object:
        raise InputError(
            f"x is a {type(x).__name__}; expected an array, a data frame, or the path of a CSV or Parquet file."
        )
    if array.ndim == 1 and array.size == model.n_nodes > 1:
        hint = "pass x.reshape(1, -1) if it is one observation"
    raise InputError(f"x has shape {array.shape}; {hint}.")


def _tried(rows: Sequence[object]) -> Iterator[np.ndarray]:
    for row in rows:
        yield np.array(row, dtype=object)


def _as_frame(x: object) -> Source | None:
    """A data frame of any library that narwhals knows, or None."""
    module = type(x).__module__.split(".")[0]
    if module == "polars" and type(x).__name__ == "LazyFrame":
        return LazyTable(cast("pl.LazyFrame", x), "x")
    import narwhals as nw

    # Called so by pyarrow, and by pandas and polars.
    columns = getattr(x, "column_names", None) or getattr(x, "columns", None)
    check_columns(
        [str(name) for name in (() if columns is None else columns)], "x"
    )  # before narwhals, which would refuse in its own words
    frame = nw.from_native(x, eager_only=True, pass_through=True)
    return FrameTable(frame, "x") if isinstance(frame, nw.DataFrame) else None


def open_file(path: Path, where: str, delimiter: str | None, nodes: Sequence[str], max_states: int) -> Source:
    if path.is_dir():
        return parquet_folder(path, where)
    if not path.exists():
        hint = "; download it first" if "://" in where else "; check the path"
        raise InputError(f"{where}: no such file{hint}.")
    if path.suffix.lower() in PARQUET:
        return parquet(path, where)
    from mrfbayes.data.delimited import DelimitedFile

    return DelimitedFile(path, where, delimiter, nodes, max_states)
