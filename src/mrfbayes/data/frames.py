"""Arrays, data frames and Parquet files as batches."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.checks import describe_bytes, require_package
from mrfbayes.base.errors import CostError, InputError, Problems
from mrfbayes.data.values import NO_CODEBOOK, Batch, Codebook, Source, as_value, check_columns, listed

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
    from narwhals.dtypes import DType
    from narwhals.typing import IntoDataFrame, IntoSeries

    Order = tuple[object, ...]
    Frame = nw.DataFrame[IntoDataFrame]
    Series = nw.Series[IntoSeries]
    import pandas as pd
    from pyreadstat import metadata_container


FRAME_CELLS = 1 << 24
PARQUET = {".parquet", ".pq", ".pqt"}
BOMB_CELLS = 1 << 26  # a Parquet file with more cells than this ...
BOMB_CELLS_PER_BYTE = 100  # ... and more per byte than data that vary reach is refused (coins of odds 1:20 reach 28)


class ArrayTable(Source):
    """A two-dimensional NumPy array, its columns with names or without; rows and columns are numbered from 0."""

    def __init__(
        self, x: np.ndarray, where: str, names: Sequence[str] | None = None, shape: tuple[int, int] | None = None
    ) -> None:
        self.x, self.where, self.image_shape, self.n_columns = x, where, shape, x.shape[1]
        self.names: tuple[str, ...] | None = None if names is None else tuple(names)
        check_columns(self.names or (), where)

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order."""
        is_all = list(columns) == list(range(self.n_columns))
        for start, stop in _spans(len(self.x), columns):
            part = self.x[start:stop] if is_all else self.x[start:stop, list(columns)]
            yield Batch(list(part.T) if part.dtype.kind in "OUS" else part, np.arange(start, stop))


def _spans(n_rows: int, columns: Sequence[int]) -> Iterator[tuple[int, int]]:
    size = max(1, FRAME_CELLS // max(1, len(columns)))
    return ((start, min(start + size, n_rows)) for start in range(0, n_rows, size))


class ColumnsTable(Source):
    """One-dimensional arrays of one length, by name; rows are numbered from 0."""

    def __init__(self, columns: Mapping[str, np.ndarray], where: str) -> None:
        self.where, self._columns, self.n_columns = where, list(columns.values()), len(columns)
        self.names: tuple[str, ...] | None = tuple(columns)
        check_columns(self.names, where)
        shapes = {name: column.shape for name, column in columns.items()}
        if len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
            shown = ", ".join(f"{name!r} {shape}" for name, shape in list(shapes.items())[:5])
            raise InputError(f"{where}: its columns have the shapes {shown}; give one value per row in each.")

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order."""
        chosen = [self._columns[j] for j in columns]
        for start, stop in _spans(len(chosen[0]) if chosen else 0, columns):
            yield Batch([column[start:stop] for column in chosen], np.arange(start, stop))


class FrameTable(Source):
    """A data frame (pandas, polars, pyarrow; a polars LazyFrame in batches); rows are numbered from ``first_row``.

    ``orders`` are ordered categories of which the frame does not know the order.
    """

    def __init__(
        self,
        frame: Frame | pl.LazyFrame,
        where: str,
        first_row: int = 0,
        *,
        orders: Mapping[str, Order] | None = None,
        codebooks: Mapping[str, Codebook] | None = None,
    ) -> None:
        import narwhals as nw

        self.where, self._first_row, self._orders, self._codebooks = where, first_row, orders or {}, codebooks or {}
        self._lazy = None if isinstance(frame, nw.DataFrame) else frame
        with _polars_errors(where):
            eager = frame if isinstance(frame, nw.DataFrame) else nw.from_native(frame.head(0).collect())
        self._frame: nw.DataFrame[Any] = eager  # without rows where the table is lazy
        self.names: tuple[str, ...] | None = tuple(str(name) for name in self._frame.columns)
        self.n_columns = len(self.names)
        check_columns(self.names, where)

    def categories(self, j: int) -> tuple[tuple[object, ...] | None, bool]:
        """Categories of a categorical column, with those that do not occur, and whether they are ordered."""
        order = self._orders.get((self.names or ())[j])
        return _categories(self._frame[:, j]) if order is None else (order, True)

    def codebook(self, j: int) -> Codebook:
        """Value labels and missing codes of a file that has them."""
        return self._codebooks.get((self.names or ())[j], NO_CODEBOOK)

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order; refuses types that are no variables."""
        _refuse_types({(self.names or ())[j]: self._frame[:, j].dtype for j in columns}, self.where)
        start = self._first_row
        for part in self._parts(columns):
            rows = start + np.arange(len(part))
            start += len(part)
            series = [part[:, j] for j in range(part.shape[1])]
            is_whole = all(_kind(one.dtype) == "integers" and not one.null_count() for one in series)
            is_array = self._lazy is not None and is_whole
            yield Batch(np.asarray(part.to_numpy()) if is_array else [column_values(one) for one in series], rows)

    def _parts(self, columns: Sequence[int]) -> Iterator[Frame]:
        import narwhals as nw

        if self._lazy is None:
            chosen = self._frame[:, list(columns)]
            yield from (chosen[start:stop] for start, stop in _spans(len(chosen), columns))
            return
        names = [(self.names or ())[j] for j in columns]
        size = max(1, FRAME_CELLS // 4 // max(1, len(columns)))
        with _polars_errors(self.where):
            parts = iter(self._lazy.select(names).collect_batches(chunk_size=size, maintain_order=True))
        while True:
            with _polars_errors(self.where):
                part = next(parts, None)
            if part is None:
                return
            yield nw.from_native(part, eager_only=True)


def parquet(path: Path, where: str) -> FrameTable:
    """A Parquet file, or all those in a folder and the folders in it, in the order of their names, as one table.

    What begins with a dot or an underscore is left out: programs that write such folders put notes there.
    """
    import polars as pl

    files = [path]
    if path.is_dir():
        below = sorted(file.relative_to(path) for file in path.rglob("*") if file.suffix.lower() in PARQUET)
        files = [path / name for name in below if not any(part[0] in "._" for part in name.parts)]
        files = [file for file in files if file.is_file()]
    if not files:
        raise InputError(f"{where}: this folder holds no Parquet files; give a folder that does, or a CSV file.")
    size = sum(_whole_size(file, where if file == path else str(file)) for file in files)
    names = [FrameTable(_scan([file]), str(file)).names for file in files] if len(files) > 1 else []
    for file, own in zip(files, names, strict=False):
        if own != names[0]:
            raise InputError(f"{file}: its columns are not those of {files[0]}; a folder is one table: move it away.")
    with _polars_errors(where):
        frame = _scan(files)
        table = FrameTable(frame, where, 1, orders=_orders_of_pandas(files[0]) if len(files) == 1 else None)
        cells = int(frame.select(pl.len()).collect().item()) * table.n_columns
    if cells > BOMB_CELLS and cells > BOMB_CELLS_PER_BYTE * size:
        raise CostError(
            f"{where}: {size:,} bytes hold {cells:,} values, {describe_bytes(cells)} as states; refused as a "
            "compressed bomb. Give equal rows once, with a weights column."
        )
    return table


def _whole_size(path: Path, where: str) -> int:
    """Bytes of a file that begins and ends like Parquet."""
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r")
    except OSError as problem:
        raise InputError(f"{where}: {problem.strerror or problem}; check the path.") from None
    except ValueError:
        raise InputError(f"{where}: the file is empty; expected a Parquet file.") from None
    head, tail = content[:4].tobytes(), content[-4:].tobytes()
    if head != b"PAR1":
        raise InputError(f"{where}: starts with {head!r}, not with the mark of Parquet; is it another kind of file?")
    if tail != b"PAR1" or content.size < 12:
        raise InputError(f"{where}: the mark at the end of the file is missing, so it is truncated; write it again.")
    return content.size


def _scan(paths: Sequence[Path]) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)


def _orders_of_pandas(path: Path) -> dict[str, Order]:
    """Categories of ordered columns that pandas wrote: polars forgets their order, pyarrow (where it is) does not."""
    import polars as pl

    noted = json.loads(pl.read_parquet_metadata(path).get("pandas", "{}")).get("columns", [])
    ordered = [column["name"] for column in noted if (column.get("metadata") or {}).get("ordered") is True]
    if not ordered or find_spec("pyarrow") is None:
        return {}
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:  # whose notes may be older than its columns
        kept = [name for name in ordered if name in file.schema_arrow.names]
        part = next(file.iter_batches(batch_size=1, columns=kept), None)
    columns = {} if part is None else {name: part.column(name) for name in kept}
    return {name: tuple(c.dictionary.to_pylist()) for name, c in columns.items() if hasattr(c, "dictionary")}


@contextmanager
def _polars_errors(where: str) -> Iterator[None]:
    """Turns whatever polars says about a damaged file into one line of ours."""
    try:
        yield
    except (InputError, CostError):
        raise
    except BaseException as problem:
        # A panic inside polars is a BaseException of its own; anything else that is no Exception passes through.
        if not isinstance(problem, Exception) and type(problem).__name__ != "PanicException":
            raise
        text = " ".join(str(problem).split())[:120]
        raise InputError(f"{where}: cannot be read ({text}); is the file damaged or truncated?") from None


def _kind(dtype: DType) -> str:
    """What a column of this type holds; empty where it is no variable."""
    import narwhals as nw

    if dtype in (nw.Int128, nw.UInt128):
        return "large integers"  # which NumPy does not know
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown):
        return "text"
    is_number = dtype.is_float() or dtype == nw.Boolean
    return "integers" if dtype.is_integer() else "numbers" if is_number else "nothing" if str(dtype) == "Null" else ""


def _refuse_types(dtypes: Mapping[str, DType], where: str) -> None:
    """Columns hold numbers, booleans or text; others are named, all of them."""
    problems = Problems()
    for name, dtype in dtypes.items():
        if not _kind(dtype):
            what = f"column of type {dtype}; give whole numbers, booleans or text, or leave it out"
            problems.add(f"{where}:{name}: {what}.")
    problems.refuse()


def column_values(series: Series) -> np.ndarray:
    """A narwhals series as numbers (NaN where missing) or as Python objects (None where missing)."""
    import narwhals as nw

    absent, kind = np.asarray(series.is_null().to_numpy(), dtype=bool), _kind(series.dtype)
    if kind in ("text", "nothing"):
        values = np.full(len(series), None, dtype=object)
        if kind == "text":
            values[:] = series.to_list()
            values[absent] = None
        return values
    if kind == "large integers":
        series = series.cast(nw.Float64)
    if not absent.any():
        values = np.asarray(series.to_numpy())
        return values if values.dtype.kind in "buif" else values.astype(float)
    filled = np.array(series.fill_null(False if series.dtype == nw.Boolean else 0).to_numpy(), dtype=float)
    filled[absent] = np.nan
    return filled


def _categories(series: Series) -> tuple[tuple[object, ...] | None, bool]:
    import narwhals as nw

    native: Any = nw.to_native(series)  # whose categories each library keeps in its own way
    if series.implementation.is_pandas():
        if series.dtype not in (nw.Enum, nw.Categorical):
            return None, False
        return tuple(native.cat.categories), bool(native.cat.ordered)
    if isinstance(series.dtype, nw.Enum):
        return tuple(series.dtype.categories), True
    if series.implementation.is_pyarrow() and series.dtype == nw.Categorical:
        parts = [chunk.dictionary.to_pylist() for chunk in native.chunks]
        return (tuple(dict.fromkeys(value for part in parts for value in part)), bool(native.type.ordered))
    # polars' plain Categorical shares its categories with unrelated columns: only those that occur count there.
    return None, False


EXCEL = {".xlsx", ".xlsm", ".xls", ".ods"}
STATISTICS = {".sav", ".zsav", ".dta"}
logging.getLogger("fastexcel").addHandler(logging.NullHandler())  # else it says on the terminal what it guesses


def read_excel(path: Path, where: str, sheet: str | int | None) -> Source:
    """A sheet of a workbook, the first by default; rows are numbered as the program shows them."""
    require_package("fastexcel", "excel", where)
    import fastexcel
    import narwhals as nw

    try:
        book = fastexcel.read_excel(path)
        chosen = 0 if sheet is None else sheet
        if isinstance(chosen, str) and chosen not in book.sheet_names:
            raise InputError(f"sheet = {sheet!r}: {where} has no such sheet; it has {listed(book.sheet_names)}.")
        if isinstance(chosen, int) and not 0 <= chosen < len(book.sheet_names):
            raise InputError(f"sheet = {sheet!r}: {where} has {len(book.sheet_names)} sheets, counted from 0.")
        names = book.load_sheet(chosen, header_row=None, n_rows=1, dtypes="string").to_polars()
        frame = book.load_sheet(chosen, schema_sample_rows=None).to_polars()  # types from all rows, not the first ones
        header = ["" if name is None else str(name) for row in names.rows() for name in row]
        check_columns(header, f"{where}:1")  # before the names that fastexcel makes of empty and repeated ones
        frame.columns = header
    except InputError:
        raise
    except Exception as problem:
        raise InputError(f"{where}: cannot be read as a workbook ({' '.join(str(problem).split())[:120]}).") from None
    table = FrameTable(nw.from_native(frame, eager_only=True), where, 2)
    if len(book.sheet_names) > 1 and sheet is None:
        table.notes = (f"{where}: the first of {len(book.sheet_names)} sheets, {book.sheet_names[0]!r}, was read.",)
    return table


def read_statistics(path: Path, where: str) -> Source:
    """An SPSS or Stata file with its value labels and the codes that it declares missing."""
    require_package("pyreadstat", "spss", where)
    import narwhals as nw
    import pyreadstat

    is_stata = path.suffix.lower() == ".dta"
    read = pyreadstat.read_dta if is_stata else pyreadstat.read_sav
    try:
        frame, meta = read(path, user_missing=True)
    except Exception as problem:
        raise InputError(f"{where}: cannot be read ({' '.join(str(problem).split())[:120]}); is it damaged?") from None
    books = {name: _codebook(frame[name], name, meta) for name in frame.columns}
    for name in frame.columns:  # Stata's .a to .z come as letters beside numbers
        if codes := [code for code in meta.missing_user_values.get(name, ()) if isinstance(code, str)]:
            frame[name] = frame[name].map(lambda value, codes=codes: None if value in codes else value)
    return FrameTable(nw.from_native(frame, eager_only=True), where, 1, codebooks=books)


def _codebook(column: pd.Series, name: str, meta: metadata_container) -> Codebook:
    texts = {}
    for code, text in meta.variable_value_labels.get(name, {}).items():
        value = as_value(code)
        if isinstance(value, float):
            texts[value] = str(text)
    missing = set()
    for span in meta.missing_ranges.get(name, ()):
        ends = (span["lo"], span["hi"]) if isinstance(span, dict) else (span, span)
        low, high = map(as_value, ends)
        if isinstance(low, str) or isinstance(high, str):
            missing |= {value for value in (low, high) if value is not None}
        elif low is not None and high is not None:
            values = {as_value(value) for value in column.unique()} | set(texts)
            missing |= {value for value in values if isinstance(value, float) and low <= value <= high}
    measure = meta.variable_measure.get(name, "unknown")
    return Codebook({k: v for k, v in texts.items() if k not in missing}, frozenset(missing), measure == "nominal")
