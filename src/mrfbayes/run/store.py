"""Checkpoints: one append-only file of checked segments. No pickle: loading never executes anything.

Layout: a magic line, then segments. A segment is a 4-byte tag, the lengths of its header and body, the SHA-256 of both,
a JSON header (names, dtypes and shapes of the arrays, and free fields) and the raw bytes of the arrays. The first
segment identifies the run; each later one holds the draws since the one before and the complete state of all chains.
A torn tail is cut off; what stands before it is intact by its checksum.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from mrfbayes.base.errors import InputError

MAGIC = b"mrfbayes checkpoint 1\n"
_TAG = b"SEG\n"
_FRAME = struct.Struct("<4sQQ32s")
_DTYPES = {"float64", "int64", "uint64", "uint8", "int32", "bool"}
_MAX_HEADER = 1 << 24


def encode(fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """One segment as bytes."""
    listed = {}
    parts = []
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        if array.dtype.name not in _DTYPES:
            raise TypeError(f"array {name!r} of type {array.dtype} cannot be stored")
        listed[name] = [array.dtype.name, list(array.shape)]
        parts.append(array.tobytes())
    header = json.dumps({"fields": dict(fields), "arrays": listed}).encode()
    body = b"".join(parts)
    digest = hashlib.sha256(header + body).digest()
    return _FRAME.pack(_TAG, len(header), len(body), digest) + header + body


def decode(header: bytes, body: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Fields and arrays of a segment whose checksum was right."""
    content = json.loads(header)
    arrays = {}
    position = 0
    for name, (dtype, shape) in content["arrays"].items():
        if dtype not in _DTYPES:
            raise InputError(f"checkpoint: array {name!r} has type {dtype!r}, which is not one that is ever written.")
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        arrays[name] = np.frombuffer(body[position : position + size], dtype=dtype).reshape(shape).copy()
        position += size
    return content["fields"], arrays


def _read_segment(file: BinaryIO) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """The next segment, or None at the end or at a torn one."""
    frame = file.read(_FRAME.size)
    if len(frame) < _FRAME.size:
        return None
    tag, header_size, body_size, digest = _FRAME.unpack(frame)
    if tag != _TAG or header_size > _MAX_HEADER:
        return None
    left = os.fstat(file.fileno()).st_size - file.tell()
    if header_size + body_size > left:
        return None
    header, body = file.read(header_size), file.read(body_size)
    if hashlib.sha256(header + body).digest() != digest:
        return None
    return decode(header, body)


class Checkpoint:
    """An open, locked checkpoint file.

    Parameters
    ----------
    path : the file; created where it does not exist
    identity : what the run is (hashes of model, data and settings); a file of another run is refused
    """

    def __init__(self, path: str | os.PathLike[str], identity: Mapping[str, str]) -> None:
        self.path = Path(path)
        self.identity = dict(identity)
        existed = self.path.exists()
        try:
            self._file: BinaryIO = open(self.path, "r+b" if existed else "x+b")  # noqa: SIM115 (closed by close)
        except OSError as error:
            raise InputError(f"checkpoint {self.path}: cannot be written ({error.strerror}).") from None
        self.segments: list[tuple[dict[str, Any], dict[str, np.ndarray]]] = []
        try:
            self._lock()
            if existed and os.fstat(self._file.fileno()).st_size:
                self._recover()
            else:
                self._file.write(MAGIC)
                self.append({"identity": self.identity}, {})
                _sync_directory(self.path.parent)
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"checkpoint {self.path} is in use by another process: choose another file.") from None

    def _recover(self) -> None:
        self._file.seek(0)
        if self._file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"checkpoint {self.path} is not a checkpoint of mrfbayes: choose another file.")
        good = self._file.tell()
        first = True
        while (segment := _read_segment(self._file)) is not None:
            if first:
                self._check_identity(segment[0].get("identity", {}))
                first = False
            else:
                self.segments.append(segment)
            good = self._file.tell()
        self._file.seek(good)
        self._file.truncate()
        if first:
            self.append({"identity": self.identity}, {})

    def _check_identity(self, found: Mapping[str, str]) -> None:
        for key, value in self.identity.items():
            if found.get(key) != value:
                raise InputError(
                    f"checkpoint {self.path} belongs to another run: its {key} differs. Use the same data, settings "
                    "and version, or choose another file."
                )

    def append(self, fields: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Write one segment and make sure that it is on the disk."""
        self._file.write(encode(fields, arrays))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Release the file and its lock."""
        self._file.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _sync_directory(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
