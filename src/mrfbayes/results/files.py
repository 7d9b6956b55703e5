"""Results as files: netCDF by way of xarray, readable by ArviZ and everything that reads HDF5.

A file is made in memory, sealed with a checksum of all of it, and written whole or not at all. The fields of a result
are arrays in the groups that its class names, and JSON text; its model is a group. Only numbers and text are stored,
and loading builds only arrays and checks all of them: nothing in a file is ever executed, links to other files are
refused, and the size is looked at before anything is unpacked.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import h5py
import numpy as np

from mrfbayes.base.atomic_files import check_targets, write_bytes
from mrfbayes.base.digests import is_sealed, seal
from mrfbayes.base.errors import InputError, OutputError
from mrfbayes.model.result import Result, StoredFields, StoredResult
from mrfbayes.priors import Prior, stored_prior
from mrfbayes.results.stored import Group, model_to_dataset, read_model, require

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "mrfbayes result 1"
ARVIZ_GROUPS = ("posterior", "sample_stats", "observed_data", "log_likelihood")
UNPACKED = 100  # times its own size that a file may take in memory
LEAST_UNPACKED = 2**26
_LARGEST = float(np.finfo(float).max)
_COUNT, _SHARE, _REAL = (0.0, _LARGEST), (0.0, 1.0), (-_LARGEST, _LARGEST)
# Smallest and largest value of each field; where it is a table or an array, of each entry.
RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("n", "steps", "warmup", "timings", "iterations", "monte_carlo_error", "log_z_error"), _COUNT),
    **dict.fromkeys(("inclusion_error", "coordinate_sd", "sd", "sd_error", "standard_error"), _COUNT),
    **dict.fromkeys(("counts", "log_odds", "coordinates", "coordinate_mean", "rate", "mean", "residual"), _REAL),
    **dict.fromkeys(("acceptance", "inclusion", "absence", "prior_inclusion", "size_probability"), _SHARE),
    **dict.fromkeys(("theta", "probabilities"), _SHARE),
    "thin": (1.0, _LARGEST),
    "log_likelihood": (-np.inf, _LARGEST),
}
# Not known of every result: of a single draw, of a method without a likelihood, of an edge that is always there, and
# of a search that was stopped before its first sweep.
MAY_BE_NAN = {
    *("log_likelihood", "sd", "sd_error", "acceptance", "standard_error"),
    *("inclusion", "absence", "inclusion_error", "size_probability", "mean", "coordinate_mean", "coordinate_sd"),
}
Kind = TypeVar("Kind", bound=StoredResult)


# From a result to a file.


def groups_of(result: StoredResult) -> dict[str, xr.Dataset]:
    """The arrays of a result in the groups that its class names, with labelled axes."""
    import xarray as xr

    variables: dict[str, dict[str, tuple[tuple[str, ...], np.ndarray]]] = {}
    for name, (group, variable, axes) in result._arrays.items():
        if (array := result._stored(name)) is not None:
            variables.setdefault(group, {})[variable] = (axes, array)
    labels = {axis: np.array(names, dtype=object) for axis, names in result._labels().items()}
    groups = {group: xr.Dataset(inside) for group, inside in variables.items()}
    return {
        name: group.assign_coords({a: labels[a] for a in group.sizes if a in labels}) for name, group in groups.items()
    }


def to_arviz(result: Result) -> xr.DataTree:
    """The groups that ArviZ knows."""
    import xarray as xr

    if not isinstance(result, StoredResult):
        raise InputError(f"to_arviz: a {type(result).__name__} holds several results; ask one of them.")
    groups = groups_of(result)
    for name, more in result._arviz_groups().items():
        groups[name] = groups[name].merge(more) if name in groups else more
    found = {name: groups[name] for name in ARVIZ_GROUPS if name in groups}
    for dataset in found.values():
        for axis in {"chain", "draw"} & set(dataset.sizes):
            dataset.coords[axis] = np.arange(dataset.sizes[axis])
    return xr.DataTree.from_dict(found)


def tree_of(result: StoredResult) -> xr.DataTree:
    """What the file of a result holds."""
    import xarray as xr

    groups = {**groups_of(result), **result._more_groups(), "model": model_to_dataset(result.model)}
    tree = xr.DataTree.from_dict(groups)
    values = {field.name: getattr(result, field.name) for field in _plain_fields(type(result))}
    tree.attrs |= {"format": FORMAT, "kind": type(result).__name__, "data_digest": result.data_digest}
    tree.attrs["fields"] = json.dumps(values, default=_plain)
    return tree


def packed(result: StoredResult) -> bytes:
    """A result as a netCDF file with a checksum at its end."""
    return sealed(tree_of(result))


def sealed(tree: xr.DataTree) -> bytes:
    """A tree as a netCDF file with a checksum at its end."""
    with ExitStack() as stack:
        if "dask" in sys.modules:  # beside a client xarray asks its scheduler for a lock, also where there is no file
            stack.enter_context(sys.modules["dask"].config.set(scheduler="synchronous"))
        content = tree.to_netcdf(None, engine="h5netcdf")
    return b"".join([content, seal(content)])


def _plain_fields(kind: type[StoredResult]) -> list[Field[Any]]:
    """The fields that are stored as text: neither arrays, nor the model, nor what only a live result has."""
    return [f for f in fields(kind) if f.name != "model" and f.name not in kind._arrays and f.name[0] != "_"]


def _plain(value: object) -> object:
    """NumPy's numbers and arrays as JSON has them, priors and records as lists; anything else as text."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, Prior):
        return stored_prior(value)
    return [getattr(value, f.name) for f in fields(value)] if is_dataclass(value) else str(value)


def save(result: Result, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write ``result`` to ``path``, whole or not at all."""
    assert isinstance(result, StoredResult)
    check_targets({"path": path}, overwrite=overwrite)
    content = packed(result)  # in memory first: HDF5 does not survive a full disk
    try:
        write_bytes(path, content, overwrite)
    except OutputError as error:
        raise OutputError(f"{error} The result is still in memory: save() it to another place.") from error


# From a file to a result.


def read(path: str | os.PathLike[str], kinds: Mapping[str, type[Kind]]) -> Kind:
    """The result that `save` wrote to ``path``, which has to be one of ``kinds``."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path = {path!r}: give the path of a result file.")
    if not Path(path).is_file():
        raise InputError(f"{path}: {'a folder, not a result file' if Path(path).is_dir() else 'no such file'}.")
    if not is_sealed(path):
        raise InputError(f"{path}: not a result file of mrfbayes, or damaged: the checksum at its end is missing.")
    try:
        groups = read_groups(path)
        root = groups["/"]
        if root.attributes.get("format") != FORMAT or root.text("kind") not in kinds:
            raise InputError(f"its format is {root.attributes.get('format')!r}, its kind {root.attributes.get('kind')}")
        return _build(kinds[root.text("kind")], groups)
    except Exception as error:  # a file from anywhere makes HDF5 and JSON say anything
        reason = (str(error).strip().splitlines() or [""])[0][:200]
        reason = f"{type(error).__name__}: {reason}"
        raise InputError(f"{path}: not a result file of mrfbayes, or a damaged one ({reason}).") from None


def _build(kind: type[Kind], groups: Mapping[str, Group]) -> Kind:
    model = read_model(groups["model"])
    stored = json.loads(groups["/"].text("fields"))
    require(isinstance(stored, dict), "fields")
    values: StoredFields = {"model": model}
    for field in _plain_fields(kind):
        values[field.name] = _checked(field.name, str(field.type), stored[field.name])
    sizes = {"parameter": model.n_parameters, "edge": model.n_edges, "node": model.n_nodes}
    types = {field.name: str(field.type) for field in fields(kind)}
    for name, (group, variable, axes) in kind._arrays.items():
        array = groups[group].arrays.get(variable) if group in groups else None
        require(array is not None or "None" in types[name], name)
        values[name] = None
        if array is not None:
            require(array.ndim == len(axes), name)
            for axis, size in zip(axes, array.shape, strict=True):
                require(sizes.setdefault(axis, size) == size, name)
            values[name] = array.astype(float)
    check_ranges(values)
    computed = kind._restore(values, groups)
    result = kind(**values)
    result.__dict__.update(computed)  # cached properties look there first
    return result


def _checked(name: str, annotation: str, value: object) -> object:
    """A value from JSON, which has to be of the type that the field has."""
    if value is None and "None" in annotation:
        return None
    kind = annotation.split("[")[0].split(" ")[0]
    types = {"tuple": list, "int": int | float, "float": int | float, "Mapping": dict, "str": str, "bool": bool}
    require(isinstance(value, types.get(kind, object)), name)
    made: Callable[..., object] | None = {"tuple": tuple, "int": int, "float": float}.get(kind)
    return value if made is None else made(value)


def check_ranges(values: Mapping[str, object]) -> None:
    """Refuse fields of a result with an `InputError` that names the first one which cannot be right, and its value."""
    for name, (low, high) in RANGES.items():
        value = values.get(name)
        if value is None:
            continue
        numbers = np.asarray(list(value.values()) if isinstance(value, Mapping) else value, dtype=float)
        is_right = (numbers >= low) & (numbers <= high)
        if name in MAY_BE_NAN:
            is_right |= np.isnan(numbers)
        if not is_right.all():
            raise InputError(f"its {name} = {numbers[~is_right].flat[0]:g} is outside [{low:g}, {high:g}]")


def root_attribute(path: str | os.PathLike[str], name: str) -> object:
    """One attribute of the whole file, without reading anything else."""
    with h5py.File(path, "r") as file:
        return file.attrs.get(name)


def read_groups(path: str | os.PathLike[str]) -> dict[str, Group]:
    """The root ("/") and the groups in it, by name; text arrays are left out."""
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
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise InputError(f"{name!r} is a link, which no result file has")
    return {str(name): group[name] for name in group}


def _datasets(group: h5py.Group) -> dict[str, h5py.Dataset]:
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
