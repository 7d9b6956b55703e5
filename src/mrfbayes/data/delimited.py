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
from mrfbayes.data.values import Batch, Coded, Source, check_columns

if TYPE_CHECKING:
    import polars as pl

BLOCK_BYTES = 1 << 22
SAMPLED_LINES = 10  # after the first, for the delimiter
TEXT_LINES = 8192  # lines turned into Python text at a time
TEXT_BYTES = 1 << 16  # a file up to this size is read line by line: importing polars would take longer
PARSED_BYTES = 1 << 28  # kept after the pass that decides the coding, so that counting does not parse them again
MAX_LINE = 1 << 28
NUMBERED_COLUMNS = 12
UNPACKED_FREE = 1 << 26  # a compressed file may always unpack to 64 MiB ...
UNPACKED_RATIO = 100  # ... and to a hundred times its size: discrete data do not reach that, bombs exceed it
UNPACKED_MOST = 1 << 31
_FORMATS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip (an Excel file?)",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"PAR1": "Parquet: call it .parquet",
    b"$FL": "an SPSS file",
    b"<stata_dta>": "a Stata file",
}
_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas", " ": "blanks"}
_EXCEL_DELIMITER = re.compile(rb"sep=(.)\s*", re.IGNORECASE)  # the first line that Excel reads, and may write
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")


class DelimitedFile(Source):
    """A delimited text file with or without a header line; rows are numbered by line, from 1."""

    def __init__(self, path: Path, where: str, delimiter: str | None) -> None:
        self.where, self.path = where, path
        self._parsed: tuple[list[int], list[Batch]] = ([], [])  # columns, and their batches where they were kept
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
            raise InputError(f"delimiter = {delimiter!r}: give one character, as ',' or ';' or '\\t' (--delimiter).")
        with self._open() as stream:
            self._start = self._check_head(stream.read(16))
            self._first = 1  # number of the line that begins there
            stream.seek(self._start)
            line = stream.readline(MAX_LINE)
            if (excel := _EXCEL_DELIMITER.fullmatch(line)) is not None:
                delimiter = delimiter or excel[1].decode("latin-1")
                self._start, self._first = self._start + len(line), 2
                line = stream.readline(MAX_LINE)
            self._skip = self._start + len(line)
            following = [stream.readline(MAX_LINE) for _ in range(SAMPLED_LINES)]
        place, line = f"{where}:{self._first}", line.removesuffix(b"\n")
        if not line.strip():
            raise InputError(f"{place}: the first line is blank; expected column names.")
        if b"\r" in line.strip():
            raise InputError(f"{place}: lines end in a carriage return only; save the file with Unix or Windows lines.")
        is_tabs = {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes}
        self.delimiter = delimiter or ("\t" if is_tabs else recognise_delimiter([line, *following]))
        problems = Problems()
        cells = [cell.strip() for cell in self._split(line, self._first, problems) or []]
        problems.refuse()
        if line.startswith(b"#") and line.count(self._mark) != following[0].count(self._mark):
            raise InputError(f"{place}: a comment? Remove it: the first line holds the column names.")
        for other, name in _DELIMITERS.items() if delimiter is None and len(cells) == 1 else ():
            if other != self.delimiter and other.encode() in line.strip():
                raise InputError(
                    f"{place}: one column, but the line holds {name}; is the delimiter {other!r}? "
                    f"Pass delimiter={other!r} (on the command line --delimiter {other!r})."
                )
        self.n_columns = len(cells)
        first = list(map(_with_point, cells)) if self._has_decimal_commas else cells
        counted = [list(map(str, range(start, start + len(cells)))) for start in (0, 1)]  # further than any scale goes
        is_counted = len(cells) > NUMBERED_COLUMNS and cells in counted
        self.has_header = not _all_numbers(first) or is_counted
        self.names = tuple(cells) if self.has_header else None
        check_columns(self.names or (), place)

    @property
    def _mark(self) -> bytes:
        return self.delimiter.encode()

    def _open(self) -> BinaryIO:
        try:
            with self.path.open("rb") as raw:
                is_packed = raw.read(2) == b"\x1f\x8b"
            return io.BytesIO(self._unpack()) if is_packed else self.path.open("rb")
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
            bomb = f"{size:,} bytes unpack to more than {limit:,}; refused as a compressed bomb"
            raise InputError(f"{self.where}: {bomb}: unpack it yourself if you trust it.")
        return content

    def _check_head(self, head: bytes) -> int:
        """How many bytes come before the text: those of a byte-order mark, if there is one."""
        if not head:
            raise InputError(f"{self.where}: the file is empty; expected a header line and one line per observation.")
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{self.where}: byte 0 is {head[0]:#04x}, the mark of UTF-16; save the file as UTF-8.")
        for mark, kind in _FORMATS.items():
            if head.startswith(mark):
                raise InputError(f"{self.where}: this is {kind}, not text; unpack it or export it as CSV.")
        return 3 if head.startswith(b"\xef\xbb\xbf") else 0

    def batches(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        """The chosen columns, in that order; lines that cannot be read are left out and added to ``problems``."""
        known, batches = self._parsed
        if set(columns) <= set(known):
            yield from (batch.select([known.index(j) for j in columns]) for batch in batches)
            return
        kept: list[Batch] | None = []
        n_bytes = 0
        for batch in self._read(columns, problems):
            is_compact = isinstance(batch.columns, np.ndarray) or isinstance(batch.column(0), Coded)
            n_bytes += len(batch.rows) * len(columns) * (1 if is_compact else 64)  # a text takes 64 bytes
            kept = None if kept is None or n_bytes > PARSED_BYTES else [*kept, batch]
            yield batch
        if kept is not None and not problems:
            self._parsed = list(columns), kept

    def _read(self, columns: Sequence[int], problems: Problems) -> Iterator[Batch]:
        line = self._first + self.has_header
        for block in self._blocks():
            n_lines = block.count(b"\n")
            parsed = self._parse(block, n_lines, columns) if len(block) > TEXT_BYTES else None
            if parsed is not None:
                yield Batch(parsed, line + np.arange(n_lines))
            else:
                lines = block.split(b"\n")[:n_lines]
                for start in range(0, n_lines, TEXT_LINES):
                    yield from self._text_batch(lines[start : start + TEXT_LINES], line + start, columns, problems)
            line += n_lines

    def _parse(self, block: bytes, n_lines: int, columns: Sequence[int]) -> np.ndarray | list[Coded] | None:
        """The chosen columns by polars, as small whole numbers or labels; None where a line is not plain."""
        text = block.replace(b"\r\n", b"\n")
        if (digits := self._digits(text, n_lines)) is not None:
            return digits[:, list(columns)]
        import polars as pl

        if b'"' in text:
            mark = re.escape(self._mark)  # plain: cells in quotes that hold neither quotes nor delimiters
            plain = re.findall(rb'(?<![^%b\n])"[^"%b\n]*"(?![^%b\n])' % (mark, mark, mark), text)
            if 2 * len(plain) != text.count(b'"'):
                return None
            text = text.replace(b'"', b"")
        if b"\r" in text or not self._has_whole_lines(text, n_lines):
            return None
        names = [str(j) for j in columns]
        for kind in (pl.Int8, pl.String):
            schema = {str(j): kind if j in columns else pl.String for j in range(self.n_columns)}
            options: dict[str, Any] = {"separator": self.delimiter, "quote_char": None, "schema": schema}
            try:
                frame = pl.read_csv(text, has_header=False, **options).select(names)
            except (pl.exceptions.PolarsError, UnicodeDecodeError):
                continue
            if frame.height != n_lines:
                return None
            if kind == pl.Int8 and not sum(frame.null_count().row(0)):
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
        for row, line in enumerate(lines, start=first):
            cells = self._split(line, row, problems)
            if not cells or (len(cells) == 1 and not cells[0].strip() and self.n_columns > 1):
                continue  # a blank line is no observation
            if len(cells) != self.n_columns:
                expected = f"{'the header' if self.has_header else 'the first line'} has {self.n_columns}"
                problems.add(f"{self.where}:{row}: {len(cells)} columns, {expected}; check delimiters and quotes.")
                continue
            records.append(list(map(_with_point, cells)) if self._has_decimal_commas else cells)
            rows.append(row)
        if records:
            values = np.array(records, dtype=object)
            yield Batch([values[:, j] for j in columns], np.array(rows))

    def _split(self, line: bytes, row: int, problems: Problems) -> list[str] | None:
        """Cells of a line, None where it cannot be read. A quote must close on its line."""
        try:
            text = line.decode("utf-8").rstrip("\r")
            if "\0" not in text:
                is_quoted = '"' in text
                reader = csv.reader([text], delimiter=self.delimiter, strict=True)
                return next(reader, []) if is_quoted else text.split(self.delimiter)
            at = text.index("\0") + 1
            problem = f" NUL byte at position {at}; the file is damaged, or UTF-16: save it as UTF-8."
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} of the line is {line[error.start]:#04x}"
            problem = f" {byte}, which is not UTF-8 (Latin-1?); save the file as UTF-8."
        except csv.Error:
            column = text[: text.rindex('"')].count(self.delimiter) + 1
            problem = f"{column}: a quote is not closed in this line, or is followed by text; close it or remove it."
        problems.add(f"{self.where}:{row}:{problem}")
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


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _all_numbers(cells: Sequence[str]) -> bool:
    """Whether a first line holds data rather than names."""
    try:
        return bool(np.isfinite([float(cell) for cell in cells]).all())
    except ValueError:
        return False
