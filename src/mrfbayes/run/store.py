"""Checkpoints: one append-only file of checked segments. No pickle: loading never executes anything.

Layout: a magic line, then segments. A segment is a 4-byte tag, the lengths of its header and body, the SHA-256 of both,
a JSON header (names, dtypes and shapes of the arrays, and free fields) and the raw bytes of the arrays. The first
segment identifies the run and keeps what was chosen for it (`recorded`); each later one holds the draws since the one
before and the complete state of all chains. A torn tail is cut off; what stands before it is intact by its checksum. A
segment that could not be written is taken back, so that a full disk costs no more than the steps since the last one.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np

from mrfbayes.base.atomic_files import cannot_write, hold, sync_folder
from mrfbayes.base.errors import InputError, warn_user

MAGIC = b"mrfbayes checkpoint 1\n"
_TAG = b"SEG\n"
_FRAME = struct.Struct("<4sQQ32s")
_DTYPES = {"float64", "int64", "uint64", "uint8", "int32", "bool"}
_MAX_HEADER = 1 << 24


def encode(fields: Mapping[str, object], arrays: Mapping[str, np.ndarray]) -> bytes:
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


def decode(header: bytes, body: bytes) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    """Fields and arrays of a segment whose checksum was right, which anyone can compute: nothing in it is trusted."""
    try:
        content = json.loads(header)
        fields, listed = dict(content["fields"]), dict(content["arrays"])
        arrays = {}
        position = 0
        for name, (dtype, shape) in listed.items():
            if dtype not in _DTYPES:
                raise InputError(
                    f"checkpoint: array {name!r} has type {dtype!r}, which is not one that is ever written."
                )
            size = math.prod(int(length) for length in shape) * np.dtype(dtype).itemsize
            if min(shape, default=0) < 0 or size > len(body) - position:
                raise InputError(f"checkpoint: array {name!r} of shape {shape} is larger than its segment.")
            arrays[name] = np.frombuffer(body[position : position + size], dtype=dtype).reshape(shape).copy()
            position += size
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"checkpoint: a segment is not one that is ever written ({error}).") from None
    return fields, arrays


def _read_segment(file: BinaryIO) -> tuple[dict[str, object], dict[str, np.ndarray]] | None:
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


def recorded(path: str | os.PathLike[str] | None) -> dict[str, int]:
    """What was chosen for the run that ``path`` is the checkpoint of; nothing where there is none to be read."""
    if path is None or not os.path.isfile(path):
        return {}
    with open(path, "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return {}
        segment = _read_segment(file)
    found = segment[0].get("chosen", {}) if segment else {}
    return dict(found) if isinstance(found, dict) else {}


class Checkpoint:
    """An open, locked checkpoint file.

    Parameters
    ----------
    path : the file; created where it does not exist
    identity : what the run is (hashes of model, data and settings); a file of another run is refused
    chosen : numbers that were chosen for the run, for `recorded`
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Mapping[str, str], chosen: Mapping[str, int] | None = None
    ) -> None:
        self.path = Path(path)
        self.identity = dict(identity)
        self._chosen = dict(chosen or {})
        existed = self.path.exists()
        try:
            # Unbuffered: what could not be written must not be tried again when the file is closed.
            self._file: io.FileIO = open(self.path, "r+b" if existed else "x+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise InputError(f"checkpoint {self.path}: cannot be written ({error.strerror}).") from None
        self.segments: list[tuple[dict[str, object], dict[str, np.ndarray]]] = []
        try:
            self._lock()
            if existed and os.fstat(self._file.fileno()).st_size:
                self._recover()
            else:
                self._begin()
        except BaseException:
            self._file.close()
            raise

    def _begin(self) -> None:
        """A new file, as long as nothing is in it that counts."""
        self._file.seek(0)
        self._file.truncate()
        self._write(MAGIC + encode({"identity": self.identity, "chosen": self._chosen}, {}))
        try:
            sync_folder(self.path.parent)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def _lock(self) -> None:
        try:
            hold(self._file)
        except OSError:
            raise InputError(f"checkpoint {self.path} is in use by another process: choose another file.") from None

    def _recover(self) -> None:
        self._file.seek(0)
        start = self._file.read(len(MAGIC))
        if start != MAGIC and not MAGIC.startswith(start):
            raise InputError(f"checkpoint {self.path} is not a checkpoint of mrfbayes: choose another file.")
        good = self._file.tell()
        first = True
        while (segment := self._next_segment()) is not None:
            if first:
                self._check_identity(segment[0].get("identity"))
                first = False
            else:
                self.segments.append(segment)
            good = self._file.tell()
        self._judge_tail(good, first)
        if first:
            self._begin()
        else:
            self._file.seek(good)
            self._file.truncate()

    def _next_segment(self) -> tuple[dict[str, object], dict[str, np.ndarray]] | None:
        try:
            return _read_segment(self._file)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None

    def _judge_tail(self, good: int, first: bool) -> None:
        """A torn tail is what a kill leaves; damage with whole segments behind it is not, and is said."""
        self._file.seek(good)
        behind = self._file.read()
        if _TAG not in behind[len(_TAG) :]:
            return
        if first:
            raise InputError(
                f"checkpoint {self.path} is damaged at its beginning, and its run cannot be identified: restore "
                "it from a copy, or choose another file."
            )
        warn_user(
            f"checkpoint {self.path} is damaged at byte {good}: the {len(behind)} bytes from there on are dropped, and "
            "their steps are run again."
        )

    def _check_identity(self, found: object) -> None:
        known = found if isinstance(found, dict) else {}
        for key, value in self.identity.items():
            if known.get(key) != value:
                raise InputError(
                    f"checkpoint {self.path} belongs to another run: its {key} differs. Use the same data, settings "
                    "and version, or choose another file."
                )

    def append(self, fields: Mapping[str, object], arrays: Mapping[str, np.ndarray]) -> None:
        """Write one segment and make sure that it is on the disk; an `OutputError` leaves the file as it was."""
        self._write(encode(fields, arrays))

    def _write(self, content: bytes) -> None:
        before = self._file.tell()
        left = memoryview(content)
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._take_back(before)
            raise cannot_write(self.path, error) from error
        except BaseException:
            self._take_back(before)
            raise

    def _take_back(self, size: int) -> None:
        with suppress(OSError):
            self._file.truncate(size)
        self._file.seek(size)

    def close(self) -> None:
        """Release the file and its lock."""
        self._file.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
