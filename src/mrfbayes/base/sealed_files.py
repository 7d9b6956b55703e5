"""A checksum at the end of a file: whatever changes in it later, a single bit or its length, is noticed.

The seal stands behind the end of the contents, where HDF5 and its readers do not look.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from mrfbayes.base.errors import InputError

_MARK = b"\nmrfbayes sha256 "
_LENGTH = len(_MARK) + 64 + 1
_BLOCK = 1 << 20


def seal(content: bytes | memoryview) -> bytes:
    """What to append to ``content`` so that `is_sealed` recognises it."""
    return _MARK + hashlib.sha256(content).hexdigest().encode() + b"\n"


def is_sealed(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` has a seal; an `InputError` where it has one and the contents are not those that were sealed."""
    size = os.path.getsize(path)
    if size < _LENGTH:
        return False
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        left = size - _LENGTH
        while left and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
        end = file.read(_LENGTH)
    if not (end.startswith(_MARK) and end.endswith(b"\n")):
        return False
    if end[len(_MARK) : -1] != digest.hexdigest().encode():
        raise InputError(
            f"{Path(path)} is damaged: its contents are not those that were written (SHA-256 differs): restore it from "
            "a copy, or make it again."
        )
    return True
