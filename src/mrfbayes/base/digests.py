"""Digests: of values of any kind by their numbers, and a checksum at the end of a file, by which damage is noticed.

The checksum stands behind the end of the contents, where HDF5 and its readers do not look.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from mrfbayes.base.errors import InputError


def digest_of(value: object) -> str:
    """SHA-256 of numbers, texts, arrays, and lists, tuples and mappings of them, in hexadecimal digits."""
    total = hashlib.sha256()
    for part in _parts(value):
        total.update(len(part).to_bytes(8, "little") + part)
    return total.hexdigest()


def _parts(value: object) -> list[bytes]:
    if isinstance(value, Mapping):
        items = sorted((str(key), part) for key, part in value.items())
        return [b"mapping", *(b for key, part in items for b in (key.encode(), *_parts(part)))]
    if isinstance(value, (list, tuple)):
        return [b"sequence %d" % len(value), *(b for part in value for b in _parts(part))]
    if isinstance(value, bytes):
        return [b"bytes", value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return [type(value).__name__.encode(), repr(value).encode()]
    array = np.ascontiguousarray(value)
    if array.dtype.hasobject:
        objects = ((type(part).__name__.encode(), str(part).encode()) for part in array.ravel().tolist())
        return [b"objects", *(b for pair in objects for b in pair)]
    return [b"array", f"{array.dtype.str} {array.shape}".encode(), array.tobytes()]


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
