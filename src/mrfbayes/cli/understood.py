"""What data files seem to hold, said before anything is computed: rows, columns, states, gaps, rarities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mrfbayes.base.errors import InputError
from mrfbayes.cli.columns import choose_columns
from mrfbayes.cli.field import grid_size
from mrfbayes.cli.options import DataOptions
from mrfbayes.report.wording import listed, plural

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from mrfbayes.model.field import Model

ORDERED_LEVELS = 12  # whole numbers up to which a column counts as ordered levels
RARE = 0.02  # share of rows below which a state of a yes/no column is called rare
UNPACKED = 100  # times its size that a file may take in memory
MOST_COLUMNS = 10_000  # columns that are looked at one by one; a graph of more is refused for its cost, or is a grid
GAPS = ("", "NA", "N/A", "NaN", "nan", "null", "?")
CODINGS = {(-1, 1): "-1 and +1 are taken as 0 and 1", (1, 2): "1 and 2 are taken as 0 and 1"}


@dataclass(frozen=True)
class Understood:
    """Data files at a glance; ``x`` is what is counted."""

    name: str
    rows: int
    columns: list[str]
    x: object
    left_out: list[str] = field(default_factory=list)
    values: dict[str, dict[object, int]] = field(default_factory=dict)  # column -> value -> how often
    missing: dict[str, int] = field(default_factory=dict)
    shape: tuple[int, int] | None = None  # of images
    ones: float | None = None  # share of the second of two greys
    frame: pl.DataFrame | None = None
    weights: str | None = None

    @property
    def levels(self) -> list[object]:
        """All values of all columns."""
        found = {value for column in self.values.values() for value in column}
        return sorted(found, key=lambda value: (isinstance(value, str), value))

    @property
    def is_binary(self) -> bool:
        """Whether two values are enough for every column."""
        return len(self.levels) <= 2 or all(len(column) <= 2 for column in self.values.values())

    @property
    def ordered_states(self) -> int:
        """Number of ordered levels where all values are a run of whole numbers from 0 or 1; else 0."""
        levels = self.levels
        numbers = [value for value in levels if isinstance(value, (int, float)) and value == int(value)]
        if not levels or len(numbers) < len(levels):
            return 0
        low, high = int(min(numbers)), int(max(numbers))
        return high - low + 1 if low in (0, 1) and high - low < ORDERED_LEVELS else 0

    def x_of(self, model: Model) -> object:
        """The data for this model: the chosen columns alone where columns are matched to nodes by their place."""
        if self.frame is None or not self.left_out or set(model.nodes) <= set(self.frame.columns):
            return self.x
        return self.frame.select([*self.columns, *([self.weights] if self.weights else ())])

    def lines(self) -> list[str]:
        """What there is to say about the data, a sentence each."""
        if self.shape is not None:
            images = "one image" if self.rows == 1 else f"{self.rows:,} images"
            greys = f"{self.ones:.0%} of them 1" if self.ones is not None else f"{len(self.levels)} greys"
            return [f"{self.name}: {images} of {self.shape[0]} x {self.shape[1]} pixels, {greys}."]
        size = f"{plural(self.rows, 'row')} of {plural(len(self.columns), 'column')}"
        said = [f"{self.name}: {size}: {listed(self.columns, 8)}."]
        if self.left_out:
            said.append(f"Left out: {listed(self.left_out, 8)}.")
        levels = self.levels
        if levels:
            shown = ", ".join(
                f"{value:g}" if isinstance(value, float) else str(value) for value in levels[:ORDERED_LEVELS]
            )
            said.append(f"Values found: {shown}{', ...' if len(levels) > ORDERED_LEVELS else ''}.")
        coding = next((text for values, text in CODINGS.items() if values == tuple(levels)), "")
        if coding:
            said.append(f"The values {coding}.")
        gaps = {name: count for name, count in self.missing.items() if count}
        if gaps:
            worst = sorted(gaps, key=lambda name: -gaps[name])
            said.append(f"{plural(sum(gaps.values()), 'cell')} missing, in {listed(worst, 6)}.")
        elif self.values:
            said.append("No cell is missing.")
        constant = [name for name, found in self.values.items() if len(found) == 1]
        if constant:
            said.append(f"{plural(len(constant), 'column is', 'columns are')} constant: {listed(constant, 6)}.")
        rare = [
            f"{name} ({min(found.values())} of {self.rows:,})"
            for name, found in self.values.items()
            if len(found) == 2 and min(found.values()) < RARE * self.rows
        ]
        if rare:
            said.append(f"{plural(len(rare), 'column is', 'columns are')} nearly constant: {listed(rare, 6)}.")
        return said


def understand(options: DataOptions) -> Understood:
    """Look at the files; what cannot be read here is left to `mrfbayes.count`, which says what is wrong and where."""
    from mrfbayes.data.images import is_image
    from mrfbayes.data.several import matching_files

    files = matching_files(options.data)
    for name in files:
        if not Path(name).exists():
            raise InputError(f"{name}: no such file.")
    if all(map(is_image, files)):
        return _images(files, options)
    if options.grid and len(files) == 1 and options.long is None and Path(files[0]).is_file():
        image = _text_image(Path(files[0]), grid_size(options.grid))
        if image is not None:
            return _of_images(files[0], image[None], image[None])
    return _table(files, options)


def table_of(options: DataOptions) -> pl.DataFrame | None:
    """All rows and columns of the files, wide; None where this simple reading fails."""
    from mrfbayes.data.several import matching_files

    files = matching_files(options.data)
    frame = _frame(files, options.reading.delimiter)
    return frame if options.long is None else _wide(frame, options.long, _name(files))


def _name(files: Sequence[str]) -> str:
    return Path(files[0]).name + (f" and {len(files) - 1} more" if len(files) > 1 else "")


def _table(files: list[str], options: DataOptions) -> Understood:
    reading = options.reading
    without = [*(options.without or ()), *([reading.weights] if reading.weights else ())]
    wanted = options.columns or ()
    name = _name(files)
    frame = table_of(options)
    x: object = frame if options.long is not None else files if len(files) > 1 else Path(files[0])
    if frame is None:
        from mrfbayes.data.read import columns_but

        if options.complete or wanted or without:
            names = columns_but(files[0], (), reading.delimiter)
            chosen = choose_columns(names, wanted, without, name)
            return Understood(name, 0, chosen, x, _others(names, chosen))
        return Understood(name, 0, [], x)
    names = frame.columns
    chosen = choose_columns(names, wanted, without, name)
    values: dict[str, dict[object, int]] = {}
    missing: dict[str, int] = {}
    for one in chosen:
        counts = frame[one].value_counts()
        found = {row[0]: int(row[1]) for row in counts.iter_rows() if row[0] is not None}
        missing[one] = int(frame[one].null_count()) + sum(found.pop(gap, 0) for gap in GAPS)
        values[one] = found
    _refuse_identifiers(values, missing, frame.height, name)
    left_out = _others(names, chosen)
    return Understood(
        name, frame.height, list(chosen), x, left_out, values, missing, frame=frame, weights=reading.weights
    )


def _others(names: Sequence[str], chosen: Sequence[str]) -> list[str]:
    taken = set(chosen)
    return [name for name in names if name not in taken]


def _refuse_identifiers(values: dict[str, dict[object, int]], missing: dict[str, int], rows: int, name: str) -> None:
    """A column with another value in every row names the rows: as a variable it would have a state per person."""
    found = [one for one, seen in values.items() if len(seen) == rows - missing[one] and len(seen) > ORDERED_LEVELS]
    if found:
        options = " ".join(f"--without {one!r}" if " " in one else f"--without {one}" for one in found)
        columns = listed([repr(one) for one in found], 6)
        has = "has" if len(found) == 1 else "have"
        raise InputError(f"{name}: {columns} {has} another value in every row, as names of rows do: add {options}.")


def _wide(frame: pl.DataFrame | None, columns: str, name: str) -> pl.DataFrame:
    from mrfbayes.data.long import wide

    parts = [part.strip() for part in columns.split(",")]
    if len(parts) != 3 or not all(parts):
        raise InputError(f"--long {columns}: name three columns, for row, column and value, as person,item,answer.")
    if frame is None:
        raise InputError(f"{name}: cannot be read as a long table; check the delimiter (--delimiter).")
    return wide(frame, *parts)


def _frame(files: Sequence[str], delimiter: str | None) -> pl.DataFrame | None:
    """All files as one table, or None where this simple reading fails."""
    import polars as pl

    frames = [None if Path(name).is_dir() else read_frame(Path(name), delimiter) for name in files]
    if any(frame is None for frame in frames):
        return None
    found = [frame for frame in frames if frame is not None]
    if len(found) == 1:
        return found[0]
    try:
        return pl.concat([frame.select(found[0].columns) for frame in found], how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        return None


def read_frame(path: Path, delimiter: str | None = None) -> pl.DataFrame | None:
    """The file as a table, or None where this simple reading fails."""
    import polars as pl

    from mrfbayes.base.memory import memory_limit
    from mrfbayes.data.frames import parquet

    if path.suffix == ".parquet":
        parquet(path, str(path))  # refuses what is damaged, and what unpacks to far more than its size
    if path.stat().st_size > memory_limit() // UNPACKED:
        return None  # counted in a stream, without a look at it first
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path) if len(pl.read_parquet_schema(path)) <= MOST_COLUMNS else None
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline()
        separator = delimiter or max(",;\t|", key=head.count)
        if head.count(separator) >= MOST_COLUMNS:
            return None
        return _numeric(pl.read_csv(path, separator=separator, infer_schema_length=None), separator)
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError):
        return None


def _numeric(frame: pl.DataFrame, separator: str) -> pl.DataFrame:
    """Numbers that were read as words, as "+1" and, beside other separators than the comma, "1,0", are numbers."""
    import polars as pl

    def number(name: str) -> pl.Expr:
        text = pl.col(name).str.strip_chars().str.strip_prefix("+")
        return (text if separator == "," else text.str.replace(",", ".")).cast(pl.Float64, strict=False)

    words = [name for name, kind in frame.schema.items() if kind == pl.String]
    lost = frame.select((number(name).is_null() & pl.col(name).is_not_null()).any().alias(name) for name in words)
    return frame.with_columns(number(name) for name in words if not lost[name][0])


def _images(files: list[str], options: DataOptions) -> Understood:
    """Image files; the grid is theirs where none is given."""
    import numpy as np

    from mrfbayes.data.images import read_image

    size = grid_size(options.grid) if options.grid else None
    images = []
    for name in files:
        part = read_image(name)
        if part.ndim == 2 and size is not None and part.shape != size and part.shape[1] == size[0] * size[1]:
            part = part.reshape(-1, *size)  # an array with an observation per row
        images.append(part[None] if part.ndim == 2 else part)
    shapes = {image.shape[1:] for image in images}
    if len(shapes) > 1:
        raise InputError(f"{files[0]} and others: images of different sizes, {sorted(shapes)[:3]}: cut them alike.")
    return _of_images(_name(files), np.concatenate(images), files if len(files) > 1 else files[0])


def _of_images(name: str, images: np.ndarray, x: object) -> Understood:
    import numpy as np

    greys, counts = np.unique(images, return_counts=True)
    ones = float(counts[1:].sum() / counts.sum()) if greys.size <= 2 else None
    if greys.size == 1:
        ones = float(greys[0] > 0)
    values: dict[str, dict[object, int]] = {"grey": {grey: int(count) for grey, count in enumerate(counts)}}
    rows, columns = images.shape[1:]
    return Understood(Path(name).name, len(images), [], x, values=values, shape=(rows, columns), ones=ones)


def _text_image(path: Path, grid: tuple[int, int]) -> np.ndarray | None:
    """A file of rows x columns zeros and ones without a header, taken as one observation; None if it is not one."""
    import numpy as np

    try:
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError):
        return None
    if len(lines) != grid[0]:
        return None
    cells = [line.replace(";", ",").replace("\t", ",").replace(" ", ",").split(",") for line in lines]
    if any(len(row) != grid[1] or any(cell.strip() not in ("0", "1") for cell in row) for row in cells):
        return None
    return np.array([[int(cell) for cell in row] for row in cells], dtype=np.uint8)
