"""Files that are there whole or not at all, and places that are looked at before any work is done for them.

Everything that the package writes is written under another name beside its place, brought to the disk, and renamed. A
full disk, a kill or a power cut leaves what stood there before. `check_targets` looks at all files of a call at once,
before anything is computed: a run must not find out at its end that it cannot keep what it made.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from mrfbayes.base.errors import InputError, OutputError
from mrfbayes.base.interrupts import InterruptFlag

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TRIAL_BYTES = 4096  # a full disk still takes an empty file
PathName = str | os.PathLike[str]


@contextmanager
def replacing(path: PathName, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A new binary file that takes the place of ``path`` when the block ends without an exception.

    Parameters
    ----------
    path : where the file shall be
    overwrite : whether a file that is already there may be replaced; looked at when the block begins and again at
        its end, so that nobody's file is lost
    """
    target = _path("path", path)
    _refuse_existing("", target, overwrite, "overwrite=True")
    beside = _beside(target)
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _move(beside, target, overwrite)
        sync_folder(target.parent)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise cannot_write(target, error) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _beside(target: Path) -> Path:
    return target.with_name(f".mrfbayes-{os.getpid()}-{secrets.token_hex(4)}.part")


def write_bytes(path: PathName, content: bytes | memoryview, overwrite: bool = False) -> None:
    """Write ``content`` as the file ``path``, whole or not at all."""
    with replacing(path, overwrite) as file:
        file.write(content)


def write_text(path: PathName, text: str, overwrite: bool = False) -> None:
    """Write ``text`` as the UTF-8 file ``path``, whole or not at all."""
    write_bytes(path, text.encode(), overwrite)


def sync_folder(folder: Path) -> None:
    """Bring the names of the files in ``folder`` to the disk."""
    if os.name == "nt":
        return  # Windows opens no folders, and keeps names by itself
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cannot_write(target: Path, error: OSError) -> OutputError:
    """What a failed write means to the user, in one line."""
    remedy = "free some space, or choose another place" if error.errno in _FULL else "choose another place"
    return OutputError(f"{target}: cannot be written ({error.strerror or error}): {remedy}.")


def check_targets(
    new: Mapping[str, PathName | None] | None = None,
    *,
    continued: Mapping[str, PathName | None] | None = None,
    inputs: Mapping[str, object] | None = None,
    overwrite: bool = False,
    permission: str = "overwrite=True",
) -> None:
    """Refuse files that could not be written at the end of a call, or that would destroy another file of the call.

    Parameters
    ----------
    new : by argument, files that will be written whole; None where the argument was not given
    continued : by argument, files that are appended to, and may be there (checkpoints)
    inputs : by argument, files that are read, or lists of such; whatever is not a path is left alone
    overwrite : whether files of ``new`` may replace what is there; an input is never replaced
    permission : how the user gives that permission, for the message
    """
    written = {name: _path(name, path) for name, path in {**(new or {}), **(continued or {})}.items() if path}
    read = {
        f"{name}[{k}]" if isinstance(given, (list, tuple)) else name: Path(path)
        for name, given in (inputs or {}).items()
        for k, path in enumerate(given if isinstance(given, (list, tuple)) else (given,))
        if isinstance(path, (str, os.PathLike))
    }
    for name, target in written.items():
        _refuse_escape(name, target)
        _refuse_existing(f"{name} ", target, overwrite or name in (continued or {}), permission)
        for other, path in {**read, **written}.items():
            if other != name and _is_same(target, path):
                raise InputError(f"{name} and {other} are the same file, {target}: choose another one for {name}.")
        _try_folder(name, target)


def _path(name: str, path: str | os.PathLike[str]) -> Path:
    try:
        target = Path(os.fsdecode(path))
    except TypeError:
        raise InputError(f"{name} = {path!r}: give the path of a file.") from None
    if "\0" in str(target) or not target.name:
        raise InputError(f"{name} = {str(path)!r}: this is not the path of a file.")
    return target


def _refuse_existing(name: str, target: Path, overwrite: bool, permission: str) -> None:
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{name}{target}: cannot be written ({error.strerror}): choose another place.") from None
    if stat.S_ISLNK(status.st_mode):
        raise InputError(f"{name}{target} is a link to {os.readlink(target)}: name the file itself.")
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder: name a file in it" if stat.S_ISDIR(status.st_mode) else "not a regular file: rename it"
        raise InputError(f"{name}{target} is {kind}.")
    if not overwrite:
        raise InputError(f"{name}{target} exists: choose another name, or pass {permission}.")


def _refuse_escape(name: str, target: Path) -> None:
    """Refuse a path that is written as if it stayed in its folder, and leads out of it by '..' or by a link."""
    if target.is_absolute() and ".." in target.parts:
        raise InputError(f"{name} {target}: write the path without '..', {Path(os.path.realpath(target))}.")
    if target.is_absolute() or not target.parent.is_dir():
        return
    folder, here = os.path.realpath(target.parent), os.path.realpath(os.curdir)
    if os.path.commonpath([folder, here]) != here:
        by = "'..'" if ".." in target.parts else "a link"
        raise InputError(
            f"{name} {target} leads out of the present folder by {by}: if that is meant, write the whole path, "
            f"{Path(folder) / target.name}."
        )


def _is_same(first: Path, second: Path) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return os.path.realpath(first) == os.path.realpath(second)


def _try_folder(name: str, target: Path) -> None:
    """Write a little beside ``target``: permissions do not tell of read-only or full disks."""
    if not target.parent.is_dir():
        raise InputError(f"{name} {target}: there is no folder {target.parent}: make it first.")
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"{name} {target}: cannot be written (it is read-only): choose another place.")
    trial = _beside(target)
    try:
        with open(trial, "xb") as file:
            file.write(bytes(_TRIAL_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"{name} {cannot_write(target, error)}") from None
    finally:
        with suppress(OSError):
            trial.unlink()


def _move(beside: Path, target: Path, overwrite: bool) -> None:
    """Rename, atomically; without leave to overwrite, a file that appeared meanwhile is kept."""
    if not overwrite:
        try:
            os.link(beside, target)
            return
        except FileExistsError:
            raise OutputError(f"{target} was made by someone else meanwhile: choose another name.") from None
        except OSError:
            pass  # a file system without hard links
    os.replace(beside, target)


@contextmanager
def replacing_folder(path: PathName, names: Collection[str], argument: str = "folder") -> Iterator[Path]:
    """A new folder that takes the place of ``path`` when the block ends without an exception.

    While the block runs, no other process gets the same ``path``. Where it fails, or where an earlier process was
    killed, files that were finished are kept in a folder whose name ends in "-unfinished".

    Parameters
    ----------
    path : str or path
        Where the folder shall be. Whether something there may be replaced is for the caller to check.
    names : collection of str
        Names of files that such a folder may hold. Other files of an earlier folder are the user's: they stay.
    argument : str, default "folder"
        Name of the caller's argument, for messages.

    Yields
    ------
    Path
        The folder to fill.

    Raises
    ------
    InputError
        Where ``path`` is a file, a link or the present folder, or is being written by another process.
    """
    target = Path(os.path.abspath(path))
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InputError(f"{argument} {path} is a {'link' if target.is_symlink() else 'file'}: name a folder.")
    if Path.cwd().is_relative_to(target):
        raise InputError(f"{argument} {path} is the present folder, or holds it: name a folder inside.")
    part, old = (target.with_name(f".{target.name}.mrfbayes-{kind}") for kind in ("part", "old"))
    with locked(target.with_name(f".{target.name}.mrfbayes-lock"), f"{argument} {path}", remove=True):
        _recover(target, part, old, names)
        try:
            part.mkdir()
        except OSError as error:
            raise cannot_write(target, error) from error
        try:
            yield part
            with InterruptFlag():  # Ctrl-C waits until one of the two folders is in its place
                _commit(target, part, old, names)
        except BaseException as error:
            kept = _set_aside(target, part)
            if kept is not None and isinstance(error, (KeyboardInterrupt, InputError, OutputError, RuntimeError)):
                error.args = (f"{error} What was finished is in {kept}.".strip(),)
            raise


def _commit(target: Path, part: Path, old: Path, names: Collection[str]) -> None:
    try:
        sync_folder(part)
        if target.exists():
            os.rename(target, old)
        try:
            os.rename(part, target)
        except OSError:
            if old.exists():
                os.rename(old, target)
            raise
        sync_folder(target.parent)
        _empty(old, target, names)
    except OSError as error:
        raise cannot_write(target, error) from error


def _recover(target: Path, part: Path, old: Path, names: Collection[str]) -> None:
    """Finish what a killed process began: no file is lost, whenever it was killed."""
    if old.exists() and not target.exists():
        os.rename(old, target)
    _empty(old, target, names)
    _set_aside(target, part)


def _empty(old: Path, target: Path, names: Collection[str]) -> None:
    """Move the user's own files from ``old`` to ``target``, and remove ``old``."""
    if not old.exists():
        return
    for entry in old.iterdir():
        if entry.name not in names and not os.path.lexists(target / entry.name):
            os.rename(entry, target / entry.name)
    shutil.rmtree(old)


def _set_aside(target: Path, part: Path) -> Path | None:
    """Where finished files of ``part`` are now; None where there are none."""
    if not part.is_dir():
        return None
    if not any(part.iterdir()):
        part.rmdir()
        return None
    number, kept = 1, target.with_name(f"{target.name}-unfinished")
    while os.path.lexists(kept):
        number += 1
        kept = target.with_name(f"{target.name}-unfinished-{number}")
    os.rename(part, kept)
    return kept


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
