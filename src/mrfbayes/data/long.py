"""Long tables, with a row for each answer, as wide ones, with a row for each observation."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrfbayes.base.errors import InputError
from mrfbayes.base.memory import require_memory

if TYPE_CHECKING:
    import polars as pl

CELL_BYTES = 24  # of a wide table while it is made


def wide(x: Any, row: str, column: str, value: str, delimiter: str = ",") -> pl.DataFrame:
    """A long table (who, what, answer) as one with a row per ``row`` and a column per ``column``.

    Observations and columns are in the order in which they first occur. What is not there is missing; an observation
    with two answers to one question is refused.

    Parameters
    ----------
    x : data frame (polars, pandas, Arrow), or the path of a CSV or Parquet file
    row, column, value : names of its columns that hold the observation, the variable and the value
    delimiter : of a text file

    Returns
    -------
    polars.DataFrame, for `mrfbayes.count`, `mrfbayes.sample` and the rest
    """
    import polars as pl

    frame, where = _frame(x, delimiter)
    for name in (row, column, value):
        if name not in frame.columns:
            raise InputError(f"{where} has no column {name!r}; it has {', '.join(map(repr, frame.columns[:6]))}.")
    if len({row, column, value}) < 3:
        raise InputError(f"row = {row!r}, column = {column!r}, value = {value!r}: name three different columns.")
    frame = frame.select(row, column, value)
    blank = frame.filter(pl.col(row).is_null() | pl.col(column).is_null())
    if blank.height:
        raise InputError(
            f"{where}: {blank.height} rows name no {row!r} or no {column!r}; fill them in or leave them out."
        )
    n, d = frame[row].n_unique(), frame[column].n_unique()
    require_memory(n * d * CELL_BYTES, f"a table of {n:,} rows and {d:,} columns", "choose fewer rows or columns")
    twice = frame.filter(pl.struct(row, column).is_duplicated())
    if twice.height:
        first = twice.row(0)
        raise InputError(
            f"{where}: {first[0]!r} has two values of {first[1]!r}; keep one (is another column, such as a time, part "
            "of what makes a row?)."
        )
    return frame.pivot(on=column, index=row, values=value).drop(row)


def _frame(x: Any, delimiter: str) -> tuple[pl.DataFrame, str]:
    import polars as pl

    if isinstance(x, (str, PathLike)):
        path = Path(fspath(x))
        if not path.is_file():
            raise InputError(f"{path}: no such file; check the path.")
        try:
            if path.suffix.lower() in (".parquet", ".pq", ".pqt"):
                return pl.read_parquet(path), str(path)
            return pl.read_csv(path, separator=delimiter, infer_schema_length=None), str(path)
        except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as problem:
            text = " ".join(str(problem).split())[:120]
            raise InputError(f"{path}: cannot be read as a long table ({text}).") from None
    if isinstance(x, pl.DataFrame):
        return x, "x"
    try:
        import narwhals as nw

        return nw.from_native(x, eager_only=True).to_polars(), "x"
    except TypeError:
        raise InputError(f"x is a {type(x).__name__}; expected a data frame or the path of a file.") from None
