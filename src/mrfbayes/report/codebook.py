"""Texts of the items that a report shows beside their names."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model


def read_codebook(given: Mapping[str, str] | str | PathLike[str] | None, model: Model) -> dict[str, str]:
    """Texts of the items by name; a file has a name and a text in each row."""
    if given is None or given == {}:
        return {}
    if isinstance(given, Mapping):
        texts = {str(name): str(text) for name, text in given.items()}
    elif not isinstance(given, (str, PathLike)):
        raise InputError(f"codebook = {given!r}: give a mapping from names to texts, or the path of a CSV file.")
    else:
        try:
            with Path(given).open(encoding="utf-8-sig", newline="") as file:
                texts = {row[0].strip(): row[1].strip() for row in csv.reader(file) if len(row) > 1}
        except (OSError, UnicodeError, csv.Error) as error:
            raise InputError(f"codebook = {str(given)!r}: cannot be read ({error}).") from None
    if not set(texts) & set(model.nodes):
        names = ", ".join(model.nodes[:5])
        raise InputError(f"codebook: none of its {len(texts)} names is a variable, as {names}: give their texts.")
    return texts
