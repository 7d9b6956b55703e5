"""What a data file seems to hold, said before anything is computed: rows, columns, states, gaps, rarities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mrfbayes.base.errors import InputError
from mrfbayes.cli.columns import choose_columns
from mrfbayes.report.wording import listed, plural

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

ORDERED_LEVELS = 12  # whole numbers up to which a column counts as ordered levels
RARE = 0.02  # share of rows below which a state of a yes/no column is called rare
UNPACKED = 100  # times its size that a file may take in memory
GAPS = ("", "NA", "N/A", "NaN", "nan", "null", "?")


@dataclass(frozen=True)
class Understood:
    """A file at a glance."""

    path: Path
    rows: int
    columns: list[str]
    left_out: list[str] = field(default_factory=list)
    values: dict[str, dict[object, int]] = field(default_factory=dict)  # column -> value -> how often
    missing: dict[str, int] = field(default_factory=dict)
    image: np.ndarray | None = None  # a single observation of a grid

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

    def lines(self) -> list[str]:
        """What there is to say about the file, a sentence each."""
        if self.image is not None:
            rows, columns = self.image.shape
            return [f"{self.path.name}: one image of {rows} x {columns} pixels, {self.image.mean():.0%} of them 1."]
        size = f"{plural(self.rows, 'row')} of {plural(len(self.columns), 'column')}"
        said = [f"{self.path.name}: {size}: {listed(self.columns, 8)}."]
        if self.left_out:
            said.append(f"Left out: {listed(self.left_out, 8)}.")
        levels = self.levels
        if levels:
            shown = ", ".join(str(value) for value in levels[:ORDERED_LEVELS])
            said.append(f"Values found: {shown}{', ...' if len(levels) > ORDERED_LEVELS else ''}.")
        gaps = {name: count for name, count in self.missing.items() if count}
        if gaps:
            worst = sorted(gaps, key=lambda name: -gaps[name])
            said.append(f"{plural(sum(gaps.values()), 'cell')} missing, in {listed(worst, 6)}.")
        else:
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


def understand(
    path: Path,
    wanted: Sequence[str],
    without: Sequence[str],
    grid: tuple[int, int] | None,
    delimiter: str | None = None,
) -> Understood:
    """Look at the file; what cannot be read here is left to `mrfbayes.count`, which says what is wrong and where."""
    if not path.is_file():
        raise InputError(f"{path}: no such file.")
    if grid is not None:
        image = _image(path, grid)
        if image is not None:
            return Understood(path, 1, [], image=image)
    frame = read_frame(path, delimiter)
    if frame is None:
        from mrfbayes.data.read import columns_but

        names = columns_but(path, (), delimiter)
        chosen = choose_columns(names, wanted, without, path.name)
        return Understood(path, 0, chosen, [name for name in names if name not in chosen])
    names = frame.columns
    chosen = choose_columns(names, wanted, without, path.name)
    values: dict[str, dict[object, int]] = {}
    missing: dict[str, int] = {}
    for name in chosen:
        counts = frame[name].value_counts()
        found = {row[0]: int(row[1]) for row in counts.iter_rows() if row[0] is not None}
        missing[name] = int(frame[name].null_count()) + sum(found.pop(gap, 0) for gap in GAPS)
        values[name] = found
    return Understood(path, frame.height, list(chosen), [name for name in names if name not in chosen], values, missing)


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
            return pl.read_parquet(path)
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline()
        separator = delimiter or max(",;\t|", key=head.count)
        return pl.read_csv(path, separator=separator, infer_schema_length=None)
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError):
        return None


def _image(path: Path, grid: tuple[int, int]) -> np.ndarray | None:
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
