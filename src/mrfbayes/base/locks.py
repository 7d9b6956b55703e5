"""A file that one process at a time holds, so that two runs do not write into the same place."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from mrfbayes.base.errors import InputError


def hold(file: IO[bytes] | io.FileIO) -> None:
    """Lock an open file until it is closed; an `OSError` where another process holds it."""
    if os.name == "nt":
        import msvcrt

        place = file.tell()
        file.seek(0x7FFF_0000)  # a lock there is in nobody's way: on Windows locked bytes cannot be read
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        finally:
            file.seek(place)
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path: str | os.PathLike[str], what: str, remove: bool = False) -> Iterator[None]:
    """Hold the lock file ``path`` while the block runs.

    ``what`` names what it guards, for the message; ``remove`` deletes the file at the end.
    """
    while True:
        try:
            file = open(path, "ab")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"{what}: cannot be written ({error.strerror}): choose another place.") from None
        with file:
            try:
                hold(file)
            except OSError:
                raise InputError(f"{what} is in use by another process: choose another, or wait for it.") from None
            if not _is_at(file, path):
                continue  # its last holder removed it meanwhile
            try:
                yield
            finally:
                if remove:
                    with suppress(OSError):
                        os.unlink(path)
            return


def _is_at(file: IO[bytes], path: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
