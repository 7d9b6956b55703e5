"""Arrays, data frames and Parquet files as batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.errors import CostError, InputError, Problems
from mrfbayes.base.memory import describe_bytes
from mrfbayes.data.batch import Batch, Codebook, Source, check_columns

if TYPE_CHECKING:
    import narwhals as nw
    import polars as pl
    from narwhals.dtypes import DType
    from narwhals.typing import IntoDataFrame, IntoSeries

    Order = tuple[object, ...]
    Frame = nw.DataFrame[IntoDataFrame]
    Series = nw.Series[IntoSeries]

FRAME_CELLS = 1 << 24
PARQUET = {".parquet", ".pq", ".pqt"}
BOMB_CELLS = 1 << 26  # a Parquet file with more cells than this ...
BOMB_CELLS_PER_BYTE = 100  # ... and more per byte than data that vary reach is refused (coins of odds 1:20 reach 28)


class ArrayTable(Source):
    """A two-dimensional NumPy array, its columns with names or without; rows and columns are numbered from 0."""

    def __init__(
        self,
        x: np.ndarray,
        where: str,
        names: Sequence[str] | None = None,
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.where = where
        self.image_shape = image_shape
        self.names: tuple[str, ...] | None = None if names is None else tuple(names)
        self.x = x
        self.n_columns = x.shape[1]
        check_columns(self.names or (), where)

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order."""
        everything = list(columns) == list(range(self.n_columns))
        size = max(1, FRAME_CELLS // max(1, len(columns)))
        for start in range(0, len(self.x), size):
            part = self.x[start : start + size]
            part = part if everything else part[:, list(columns)]
            rows = start + np.arange(len(part))
            yield Batch([part[:, j] for j in range(part.shape[1])] if part.dtype.kind in "OUS" else part, rows)


class ColumnsTable(Source):
    """One-dimensional arrays of one length, by name; rows are numbered from ``first_row``."""

    first_row = 0

    def __init__(self, columns: Mapping[str, np.ndarray], where: str) -> None:
        self.where, self._columns = where, list(columns.values())
        self.names: tuple[str, ...] | None = tuple(columns)
        self.n_columns = len(columns)
        check_columns(self.names, where)
        sizes = {name: column.shape for name, column in columns.items()}
        if len(set(sizes.values())) > 1 or any(len(shape) != 1 for shape in sizes.values()):
            shown = ", ".join(f"{name!r} {shape}" for name, shape in list(sizes.items())[:5])
            raise InputError(f"{where}: its columns have the shapes {shown}; give one value per row in each.")

    def values(self, columns: Sequence[int]) -> list[np.ndarray]:
        """The chosen columns."""
        return [self._columns[j] for j in columns]

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order."""
        chosen = self.values(columns)
        size = max(1, FRAME_CELLS // max(1, len(columns)))
        for start in range(0, len(chosen[0]) if chosen else 0, size):
            part = [column[start : start + size] for column in chosen]
            yield Batch(part, self.first_row + start + np.arange(len(part[0])))


class FrameTable(ColumnsTable):
    """An eager data frame (pandas, polars, pyarrow), through narwhals."""

    def __init__(
        self, frame: Frame, where: str, first_row: int = 0, codebooks: Mapping[str, Codebook] | None = None
    ) -> None:
        self.where, self.frame, self.first_row, self._codebooks = where, frame, first_row, codebooks or {}
        self.names = tuple(str(name) for name in frame.columns)
        self.n_columns = len(self.names)
        check_columns(self.names, where)

    def categories(self, j: int) -> tuple[tuple[object, ...] | None, bool]:
        """Categories of a categorical column, with those that do not occur, and whether they are ordered."""
        return _categories(self.frame[:, j])

    def codebook(self, j: int) -> Codebook | None:
        """Value labels and missing codes of a file that has them."""
        return self._codebooks.get((self.names or ())[j])

    def values(self, columns: Sequence[int]) -> list[np.ndarray]:
        """The chosen columns; refuses types that are no variables."""
        _refuse_types({(self.names or ())[j]: self.frame[:, j].dtype for j in columns}, self.where)
        return [column_values(self.frame[:, j]) for j in columns]


class LazyTable(Source):
    """A polars LazyFrame, as from a Parquet file, read in batches; rows are numbered from ``first_row``."""

    def __init__(
        self, frame: pl.LazyFrame, where: str, first_row: int = 0, orders: Mapping[str, Order] | None = None
    ) -> None:
        self.where = where
        self.frame = frame
        self._orders = orders or {}
        self.first_row = first_row
        with _polars_errors(where):
            self.names: tuple[str, ...] | None = tuple(frame.collect_schema().names())
        self.n_columns = len(self.names or ())
        check_columns(self.names or (), where)

    def categories(self, j: int) -> tuple[tuple[object, ...] | None, bool]:
        """Categories of a column whose type orders them."""
        import polars as pl

        order = self._orders.get((self.names or ())[j])
        if order is not None:
            return order, True
        dtype = self.frame.collect_schema().dtypes()[j]
        return (tuple(dtype.categories), True) if isinstance(dtype, pl.Enum) else (None, False)

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order."""
        import narwhals as nw

        names = [(self.names or ())[j] for j in columns]
        start = self.first_row
        chosen = self.frame.select(names)
        size = max(1, FRAME_CELLS // 4 // max(1, len(columns)))
        with _polars_errors(self.where):
            parts = iter(chosen.collect_batches(chunk_size=size, maintain_order=True))
        while True:
            with _polars_errors(self.where):
                part = next(parts, None)
            if part is None:
                return
            frame = nw.from_native(part, eager_only=True)
            if start == self.first_row:
                _refuse_types(dict(frame.schema), self.where)
            rows = start + np.arange(len(part))
            start += len(part)
            dtypes = frame.schema.values()
            if all(_is_plain(dtype) and not _is_wide(dtype) for dtype in dtypes) and not _has_nulls(part):
                yield Batch(part.to_numpy(), rows)
            else:
                yield Batch([column_values(frame[:, j]) for j in range(len(names))], rows)


def parquet(path: Path, where: str) -> LazyTable:
    """A Parquet file, checked to be whole before polars sees it."""
    return _parquet([path], where, _whole_size(path, where))


def parquet_folder(path: Path, where: str) -> LazyTable:
    """All Parquet files in a folder and the folders in it, in the order of their names, as one table.

    What begins with a dot or an underscore is left out: programs that write such folders put notes there.
    """
    below = sorted(file.relative_to(path) for file in path.rglob("*") if file.suffix.lower() in PARQUET)
    files = [path / name for name in below if not any(part[0] in "._" for part in name.parts)]
    files = [file for file in files if file.is_file()]
    if not files:
        raise InputError(f"{where}: this folder holds no Parquet files; give a folder that does, or a CSV file.")
    size = sum(_whole_size(file, str(file)) for file in files)
    schemas = [LazyTable(_scan([file]), str(file)).names for file in files]
    for file, names in zip(files, schemas, strict=True):
        if names != schemas[0]:
            raise InputError(
                f"{file}: its columns are not those of {files[0]}; the files of a folder are one table: leave out "
                "others."
            )
    return _parquet(files, where, size)


def _whole_size(path: Path, where: str) -> int:
    """Bytes of a file that begins and ends like Parquet."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(4)
            stream.seek(max(0, size - 4))
            tail = stream.read(4)
    except OSError as problem:
        raise InputError(f"{where}: {problem.strerror or problem}; check the path.") from None
    if not size:
        raise InputError(f"{where}: the file is empty; expected a Parquet file.")
    if head != b"PAR1":
        raise InputError(f"{where}: starts with {head!r}, not with the mark of Parquet; is it another kind of file?")
    if tail != b"PAR1" or size < 12:
        raise InputError(f"{where}: the mark at the end of the file is missing, so it is truncated; write it again.")
    return size


def _scan(paths: Sequence[Path]) -> pl.LazyFrame:
    import polars as pl

    return pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)


def _parquet(paths: Sequence[Path], where: str, size: int) -> LazyTable:
    import polars as pl

    with _polars_errors(where):
        frame = _scan(paths)
        table = LazyTable(frame, where, 1, _orders_of_pandas(paths[0]) if len(paths) == 1 else None)
        n_rows = int(frame.select(pl.len()).collect().item())
    cells = n_rows * table.n_columns
    if cells > BOMB_CELLS and cells > BOMB_CELLS_PER_BYTE * size:
        raise CostError(
            f"{where}: {size:,} bytes hold {cells:,} values, {cells // size:,} times as many, {describe_bytes(cells)} "
            "as states; refused as a compressed bomb: data that vary take more. Rows that repeat can be given once, "
            "with a weights column."
        )
    return table


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


def _is_plain(dtype: DType) -> bool:
    import narwhals as nw

    return bool(dtype.is_integer() or dtype.is_float() or dtype == nw.Boolean)


def _is_wide(dtype: DType) -> bool:
    """Whether these are integers that NumPy does not know."""
    import narwhals as nw

    return dtype in (nw.Int128, nw.UInt128)


def _has_nulls(frame: pl.DataFrame) -> bool:
    return any(frame[name].null_count() for name in frame.columns)


def _is_text(dtype: DType) -> bool:
    import narwhals as nw

    return dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Unknown)


def _refuse_types(dtypes: Mapping[str, DType], where: str) -> None:
    """Columns hold numbers, booleans or text; others are named, all of them."""
    problems = Problems()
    for name, dtype in dtypes.items():
        if not (_is_plain(dtype) or _is_text(dtype) or str(dtype) == "Null"):
            problems.add(
                f"{where}:{name}: column of type {dtype}; expected whole numbers, booleans or text: convert or leave "
                "it out."
            )
    problems.refuse()


def column_values(series: Series) -> np.ndarray:
    """A narwhals series as numbers (NaN where missing) or as Python objects (None where missing)."""
    import narwhals as nw

    if _is_plain(series.dtype):
        if _is_wide(series.dtype):
            series = series.cast(nw.Float64)
        absent = np.asarray(series.is_null().to_numpy(), dtype=bool)
        if not absent.any():
            values = np.asarray(series.to_numpy())
            return values if values.dtype.kind in "buif" else values.astype(float)
        filled = np.array(series.fill_null(False if series.dtype == nw.Boolean else 0).to_numpy(), dtype=float)
        filled[absent] = np.nan
        return filled
    if not _is_text(series.dtype):  # of type Null
        return np.full(len(series), None, dtype=object)
    absent = np.asarray(series.is_null().to_numpy(), dtype=bool)
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    values[absent] = None
    return values


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
