"""Files of spreadsheets and statistics programs: Excel, SPSS, Stata; each needs an extra package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from mrfbayes.base.errors import InputError
from mrfbayes.data.batch import Codebook, Source
from mrfbayes.data.frames import FrameTable
from mrfbayes.data.values import as_value

if TYPE_CHECKING:
    import pandas as pd
    from pyreadstat import metadata_container

EXCEL = {".xlsx", ".xlsm", ".xls", ".ods"}
STATISTICS = {".sav", ".zsav", ".dta"}


def _require(module: str, extra: str, where: str) -> None:
    if find_spec(module) is None:
        raise InputError(f"{where}: reading this file needs {module}: pip install 'mrfbayes[{extra}]'.")


def read_excel(path: Path, where: str, sheet: str | int | None) -> Source:
    """A sheet of a workbook, the first by default; rows are numbered as the program shows them."""
    _require("fastexcel", "excel", where)
    import fastexcel
    import narwhals as nw

    try:
        book = fastexcel.read_excel(path)
        chosen = 0 if sheet is None else sheet
        if isinstance(chosen, str) and chosen not in book.sheet_names:
            names = ", ".join(map(repr, book.sheet_names[:6]))
            raise InputError(f"sheet = {sheet!r}: {where} has no such sheet; it has {names}.")
        if isinstance(chosen, int) and not 0 <= chosen < len(book.sheet_names):
            raise InputError(f"sheet = {sheet!r}: {where} has {len(book.sheet_names)} sheets, counted from 0.")
        frame = book.load_sheet(chosen).to_polars()
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
    _require("pyreadstat", "spss", where)
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
        codes = [code for code in meta.missing_user_values.get(name, ()) if isinstance(code, str)]
        if codes:
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
