"""CSV and TSV files as batches: plain lines by polars, anything else line by line."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.batch import Batch, Coded, Source, check_columns

if TYPE_CHECKING:
    import polars as pl

BLOCK_BYTES = 1 << 22
LINES_LOOKED_AT = 10  # after the first, for the delimiter
TEXT_LINES = 8192  # lines turned into Python text at a time
TEXT_BYTES = 1 << 16  # a file up to this size is read line by line: importing polars would take longer
MAX_LINE = 1 << 28
NUMBERED_COLUMNS = 12
UNPACKED_FREE = 1 << 26  # a compressed file may always unpack to 64 MiB ...
UNPACKED_RATIO = 100  # ... and to a hundred times its size: discrete data do not reach that, bombs exceed it
UNPACKED_MOST = 1 << 31
_PACKERS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip (an Excel file?)",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"PAR1": "Parquet: call it .parquet",
    b"$FL": "an SPSS file",
    b"<stata_dta>": "a Stata file",
}


class DelimitedFile(Source):
    """A delimited text file with or without a header line; rows are numbered by line, from 1."""

    is_parsed = True

    def __init__(self, path: Path, where: str, delimiter: str | None) -> None:
        self.where = where
        self.path = path
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
            raise InputError(
                f"delimiter = {delimiter!r}: give a single character, as ',' or ';' or '\\t' (--delimiter)."
            )
        with self._open() as stream:
            self._start = self._check_head(stream.read(16))
            self._first = 1  # number of the line that begins there
            stream.seek(self._start)
            line = stream.readline(MAX_LINE)
            told = _TOLD_DELIMITER.fullmatch(line)
            if told is not None:
                delimiter = delimiter or told[1].decode("latin-1")
                self._start, self._first = self._start + len(line), 2
                line = stream.readline(MAX_LINE)
            self._skip = self._start + len(line)
            following = [stream.readline(MAX_LINE) for _ in range(LINES_LOOKED_AT)]
        first_line = self._check_first_line(line.removesuffix(b"\n"))
        is_tabs = {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes}
        self.delimiter = delimiter or ("\t" if is_tabs else recognise_delimiter([first_line, *following]))
        problems = Problems()
        cells = self._split([first_line], self._first, problems)[0] or []
        problems.refuse()
        if first_line.startswith(b"#") and first_line.count(self._mark) != following[0].count(self._mark):
            raise InputError(f"{where}:{self._first}: a comment? Remove it: the first line holds the column names.")
        if delimiter is None:
            self._check_delimiter(first_line, cells)
        cells = [cell.strip() for cell in cells]
        self.n_columns = len(cells)
        first = list(map(_with_point, cells)) if self._has_decimal_commas else cells
        self.has_header = not _all_numbers(first) or _are_numbered_columns(cells)
        self.names = tuple(cells) if self.has_header else None
        if self.names is not None:
            check_columns(self.names, f"{where}:{self._first}")

    @property
    def _mark(self) -> bytes:
        return self.delimiter.encode()

    @property
    def _quoted(self) -> re.Pattern[bytes]:
        """A cell in quotes that holds neither quotes nor delimiters."""
        mark = re.escape(self._mark)
        return re.compile(rb'(?<![^%b\n])"[^"%b\n]*"(?![^%b\n])' % (mark, mark, mark))

    def _open(self) -> BinaryIO:
        try:
            with self.path.open("rb") as raw:
                packed = raw.read(2) == b"\x1f\x8b"
            if packed:
                return io.BytesIO(self._unpack())
            return self.path.open("rb")
        except OSError as problem:
            raise InputError(f"{self.where}: {problem.strerror or problem}; check the path.") from None

    def _unpack(self) -> bytes:
        """The content of a gzip file, unless it unpacks to far more than data do."""
        size = self.path.stat().st_size
        limit = min(max(UNPACKED_FREE, UNPACKED_RATIO * size), UNPACKED_MOST)
        try:
            with gzip.open(self.path) as stream:
                content = stream.read(limit + 1)
        except (OSError, EOFError, zlib.error) as problem:
            raise InputError(f"{self.where}: damaged gzip file ({problem}); compress it again.") from None
        if len(content) > limit:
            raise InputError(
                f"{self.where}: {size:,} bytes unpack to more than {limit:,}; refused as a compressed bomb: unpack it "
                "yourself if you trust it."
            )
        return content

    def _check_head(self, head: bytes) -> int:
        """How many bytes come before the text: those of a byte-order mark, if there is one."""
        if not head:
            raise InputError(f"{self.where}: the file is empty; expected a header line and one line per observation.")
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{self.where}: byte 0 is {head[0]:#04x}, the mark of UTF-16; save the file as UTF-8.")
        for mark, packer in _PACKERS.items():
            if head.startswith(mark):
                raise InputError(f"{self.where}: this is {packer}, not text; unpack it or export it as CSV.")
        return 3 if head.startswith(b"\xef\xbb\xbf") else 0

    def _check_first_line(self, line: bytes) -> bytes:
        if not line.strip():
            raise InputError(f"{self.where}:{self._first}: the first line is blank; expected column names.")
        if b"\r" in line.strip():
            raise InputError(
                f"{self.where}:{self._first}: lines end in a carriage return alone, as on old Macintoshes; save the "
                "file with the line ends of Windows or Unix."
            )
        return line

    def _check_delimiter(self, line: bytes, cells: list[str]) -> None:
        if len(cells) > 1:
            return
        for other, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"), (",", "commas"), (" ", "blanks")):
            if other != self.delimiter and line.strip().count(other.encode()):
                raise InputError(
                    f"{self.where}:{self._first}: one column, but the line holds {name}; is the delimiter {other!r}? "
                    f"Pass delimiter={other!r} (on the command line --delimiter {other!r})."
                )

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order; lines that cannot be read are left out and added to ``problems``."""
        line = self._first + self.has_header
        for block in self._blocks():
            n_lines = block.count(b"\n")
            parsed = self._parse(block, n_lines, columns) if len(block) > TEXT_BYTES else None
            if parsed is not None:
                yield Batch(parsed, line + np.arange(n_lines))
            else:
                lines = block.split(b"\n")
                for start in range(0, n_lines, TEXT_LINES):
                    part = lines[start : min(start + TEXT_LINES, n_lines)]
                    yield from self._text_batch(part, line + start, columns, problems)
            line += n_lines

    def _parse(self, block: bytes, n_lines: int, columns: Sequence[int]) -> np.ndarray | list[Coded] | None:
        """The chosen columns by polars, as small whole numbers or labels; None where a line is not plain."""
        text = block.replace(b"\r\n", b"\n")
        if (digits := self._digits(text, n_lines)) is not None:
            return digits[:, list(columns)]
        import polars as pl

        if b'"' in text:
            if 2 * len(self._quoted.findall(text)) != text.count(b'"'):
                return None
            text = text.replace(b'"', b"")
        if b"\r" in text or not self._has_whole_lines(text, n_lines):
            return None
        names = [str(j) for j in columns]
        for kind in (pl.Int16, pl.String):
            schema = {str(j): kind if j in columns else pl.String for j in range(self.n_columns)}
            options: dict[str, Any] = {"separator": self.delimiter, "quote_char": None, "schema": schema}
            try:
                frame = pl.read_csv(text, has_header=False, **options).select(names)
            except (pl.exceptions.PolarsError, UnicodeDecodeError):
                continue
            if frame.height != n_lines:
                return None
            if kind == pl.Int16 and not sum(frame.null_count().row(0)):
                return frame.to_numpy()
            if kind == pl.String:
                coded = [self._coded(frame[name]) for name in names]
                return None if any("\0" in label for one in coded for label in one.labels) else coded
        return None

    def _digits(self, text: bytes, n_lines: int) -> np.ndarray | None:
        """(n, columns) the cells of lines in which each is a single digit; None where one is not."""
        if len(text) != 2 * self.n_columns * n_lines:
            return None
        cells = np.frombuffer(text, dtype=np.uint8).reshape(n_lines, -1)
        values = (cells[:, ::2] - ord("0")).view(np.int8)
        is_parted = (cells[:, 1:-1:2] == ord(self.delimiter)).all() and (cells[:, -1] == ord("\n")).all()
        return values if is_parted and values.min() >= 0 and values.max() <= 9 else None

    def _has_whole_lines(self, text: bytes, n_lines: int) -> bool:
        """Whether every line has as many delimiters as the first one of the file."""
        array, per_line = np.frombuffer(text, dtype=np.uint8), self.n_columns - 1
        ends, marks = np.flatnonzero(array == ord("\n")), np.flatnonzero(array == ord(self.delimiter))
        if marks.size != n_lines * per_line:
            return False
        by_line = marks.reshape(n_lines, per_line)
        return not per_line or bool((by_line[:, -1] < ends).all() and (by_line[1:, 0] > ends[:-1]).all())

    def _coded(self, column: pl.Series) -> Coded:
        import polars as pl

        labels = column.fill_null("").unique(maintain_order=True)
        codes = column.fill_null("").cast(pl.Enum(labels)).to_physical().to_numpy()
        return Coded(codes, tuple(map(_with_point, labels) if self._has_decimal_commas else labels))

    def _blocks(self) -> Iterator[bytes]:
        """Whole lines, some megabytes at a time, each block ending with a newline."""
        with self._open() as stream:
            stream.seek(self._skip if self.has_header else self._start)
            rest = b""
            while chunk := stream.read(BLOCK_BYTES):
                block = rest + chunk
                cut = block.rfind(b"\n") + 1
                if cut == 0 and len(block) > MAX_LINE:
                    raise InputError(f"{self.where}: a line is longer than {MAX_LINE:,} bytes; is this a text table?")
                rest = block[cut:]
                if cut:
                    yield block[:cut]
            if rest:
                yield rest + b"\n"

    @property
    def _has_decimal_commas(self) -> bool:
        """Whether 1,0 is a number: where the comma does not part columns it cannot be anything else."""
        return self.delimiter != ","

    def _text_batch(
        self, lines: list[bytes], first: int, columns: Sequence[int], problems: Problems
    ) -> Iterator[Batch]:
        records, rows = [], []
        for k, cells in enumerate(self._split(lines, first, problems)):
            if not cells or (len(cells) == 1 and not cells[0].strip() and self.n_columns > 1):
                continue  # a blank line is no observation
            if len(cells) != self.n_columns:
                expected = "the header" if self.has_header else "the first line"
                problems.add(
                    f"{self.where}:{first + k}: {len(cells)} columns, {expected} has {self.n_columns}; check "
                    "delimiters and quotes in this line."
                )
                continue
            records.append(cells)
            rows.append(first + k)
        if records:
            values = np.empty((len(records), self.n_columns), dtype=object)
            values[:] = records
            if self._has_decimal_commas:
                values = np.array([[_with_point(cell) for cell in row] for row in records], dtype=object)
            yield Batch([values[:, j] for j in columns], np.array(rows))

    def _split(self, lines: list[bytes], first: int, problems: Problems) -> list[list[str] | None]:
        """Cells of each line, None where it cannot be read.

        A quote must close on its own line, so that a lost one cannot swallow the rest.
        """
        try:
            texts: list[str | None] = list(b"\n".join(lines).decode("utf-8").split("\n"))
        except UnicodeDecodeError:
            texts = [self._decode(line, first + k, problems) for k, line in enumerate(lines)]
        split: list[list[str] | None] = []
        for k, text in enumerate(texts):
            if text is None:
                split.append(None)
            elif "\0" in text:
                problems.add(
                    f"{self.where}:{first + k}: NUL byte at position {text.index(chr(0)) + 1}; the file is damaged, or "
                    "UTF-16 without a mark: save it as UTF-8 text."
                )
                split.append(None)
            elif '"' not in text:
                split.append(text.rstrip("\r").split(self.delimiter))
            else:
                split.append(self._split_quoted(text.rstrip("\r"), first + k, problems))
        return split

    def _split_quoted(self, text: str, row: int, problems: Problems) -> list[str] | None:
        try:
            return next(csv.reader([text], delimiter=self.delimiter, strict=True), [])
        except csv.Error:
            column = text[: text.rindex('"')].count(self.delimiter) + 1
            problems.add(
                f"{self.where}:{row}:{column}: a quote is not closed in this line, or is followed by text; close it or "
                "remove it."
            )
            return None

    def _decode(self, line: bytes, row: int, problems: Problems) -> str | None:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as problem:
            problems.add(
                f"{self.where}:{row}: byte {problem.start + 1} of the line is {line[problem.start]:#04x}, which is not "
                "UTF-8 (Latin-1?); save the file as UTF-8."
            )
            return None


def recognise_delimiter(lines: Sequence[bytes]) -> str:
    """The delimiter of a table that begins with ``lines``: a comma, unless another one parts every line alike.

    Semicolons go before commas where the commas are decimal ones: every cell between semicolons is then whole.
    """
    texts = [line.decode("utf-8", "replace").strip("\r\n") for line in lines if line.strip()]
    whole = {
        mark
        for mark in ",;\t|"
        if len({text.count(mark) for text in texts}) == 1 and texts[0].count(mark) and '"' not in "".join(texts)
    }
    for mark in (";", "\t", "|"):
        cells = [cell for text in texts[1:] for cell in text.split(mark)]
        if mark in whole and ("," not in texts[0] or all("," not in c or _DECIMAL_COMMA.fullmatch(c) for c in cells)):
            return mark
    if "," in texts[0]:
        return ","
    return next((mark for mark in (";", "\t", "|") if mark in texts[0]), ",")


_TOLD_DELIMITER = re.compile(rb"sep=(.)\s*", re.IGNORECASE)  # the first line that Excel reads, and may write
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _are_numbered_columns(cells: Sequence[str]) -> bool:
    """Whether a first line counts the columns, 0, 1, 2, ..., further than any scale goes."""
    return len(cells) > NUMBERED_COLUMNS and cells in (
        [*map(str, range(len(cells)))],
        [*map(str, range(1, len(cells) + 1))],
    )


def _all_numbers(cells: Sequence[str]) -> bool:
    """Whether a first line holds data rather than names."""
    try:
        return bool(np.isfinite([float(cell) for cell in cells]).all())
    except ValueError:
        return False
