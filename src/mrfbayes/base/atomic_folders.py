"""Folders of results that are there whole or not at all.

A folder is filled under another name beside its place, brought to the disk, and renamed. A kill, a full disk or Ctrl-C
leaves the folder that was there before, and whatever was finished by then under a name that says so.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from mrfbayes.base.atomic_files import PathName, cannot_write, sync_folder
from mrfbayes.base.errors import InputError, OutputError
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.locks import locked


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
            _name_unfinished(error, _set_aside(target, part))
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


def _name_unfinished(error: BaseException, kept: Path | None) -> None:
    """Add to the message where finished files are."""
    if kept is not None and isinstance(error, (KeyboardInterrupt, InputError, OutputError, RuntimeError)):
        error.args = (f"{error} What was finished is in {kept}.".strip(),)
