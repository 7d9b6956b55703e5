"""Arrays and attributes of an HDF5 file, read with suspicion: the file may come from anywhere.

Nothing outside the file is opened (links to other files and virtual arrays are refused), only numbers and text are
taken, and the size is looked at before anything is unpacked. HDF5 itself does not survive every damaged file, so one
without a checksum is read by another process first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    import h5py

UNPACKED = 100  # times its own size that a file may take in memory
LEAST_UNPACKED = 2**26
PROBE_SECONDS = 60.0


class Group(NamedTuple):
    """What one group of the file holds."""

    arrays: dict[str, np.ndarray]
    attributes: dict[str, object]

    def text(self, name: str) -> str:
        """An attribute that is a text."""
        value = self.attributes[name]
        if not isinstance(value, str):
            raise InputError(f"its {name} is no text")
        return value

    def number(self, name: str) -> float:
        """An attribute that is a number."""
        value = self.attributes[name]
        if not isinstance(value, (int, float)):
            raise InputError(f"its {name} is no number")
        return float(value)


def root_attribute(path: str | os.PathLike[str], name: str) -> object:
    """One attribute of the whole file, without reading anything else."""
    import h5py

    with h5py.File(path, "r") as file:
        return file.attrs.get(name)


def probe(path: str | os.PathLike[str]) -> None:
    """Let another process read a file that has no checksum first: damaged, it can make HDF5 crash or never end."""
    if not sys.executable:
        return
    code = "import sys; from mrfbayes.results.hdf5_groups import read_groups; read_groups(sys.argv[1])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", code, os.path.abspath(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        raise InputError("HDF5 comes to no end in it") from None
    if done.returncode < 0:
        raise InputError("HDF5 crashes in it")


def read_groups(path: str | os.PathLike[str]) -> dict[str, Group]:
    """The root ("/") and the groups in it, by name; text arrays are left out."""
    import h5py

    with h5py.File(path, "r") as file:
        places = {"/": file} | {name: item for name, item in _items(file).items() if isinstance(item, h5py.Group)}
        found = {name: _datasets(group) for name, group in places.items()}
        size, needed = os.path.getsize(path), sum(d.nbytes for sets in found.values() for d in sets.values())
        if needed > max(UNPACKED * size, LEAST_UNPACKED):
            raise InputError(f"its {size} bytes would unpack to {needed}")
        return {
            name: Group({key: np.asarray(data[()]) for key, data in found[name].items()}, _attributes(group))
            for name, group in places.items()
        }


def _items(group: h5py.Group) -> dict[str, h5py.Group | h5py.Dataset]:
    import h5py

    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise InputError(f"{name!r} is a link, which no result file has")
    return {str(name): group[name] for name in group}


def _datasets(group: h5py.Group) -> dict[str, h5py.Dataset]:
    import h5py

    found = {name: item for name, item in _items(group).items() if isinstance(item, h5py.Dataset)}
    for name, data in found.items():
        if data.is_virtual or data.external:
            raise InputError(f"{name!r} refers to other files")
    return {name: data for name, data in found.items() if data.dtype.kind in "fiu" and data.shape is not None}


def _attributes(group: h5py.Group) -> dict[str, object]:
    """Attributes as plain text and numbers; of an array of one, its entry."""
    found = {}
    for name, value in group.attrs.items():
        if isinstance(value, bytes):
            value = value.decode()
        if isinstance(value, np.ndarray):
            value = value.reshape(-1)[0] if value.size == 1 else value
        found[str(name)] = value.item() if isinstance(value, np.generic) else value
    return found
