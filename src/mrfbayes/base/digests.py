"""A digest of values of any kind by their numbers, not by how they print."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np


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
