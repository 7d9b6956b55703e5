"""Posteriors over graphs as files, and the one function that loads any result.

The files are netCDF like those of `mrfbayes.results.netcdf`: sealed with a checksum, written whole or not at all, and
nothing in them is ever executed.
"""

from __future__ import annotations

import json
import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.atomic_files import check_targets
from mrfbayes.base.errors import InputError
from mrfbayes.base.sealed_files import is_sealed
from mrfbayes.results.hdf5_groups import Group, read_groups, root_attribute
from mrfbayes.results.netcdf import check_result_file, write_sealed
from mrfbayes.results.posterior import Posterior
from mrfbayes.results.posterior import load as load_posterior
from mrfbayes.results.saved_problem import model_to_dataset, read_model
from mrfbayes.results.stored_ranges import check_ranges
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.result import SearchResult
from mrfbayes.structure.selection import Selection

if TYPE_CHECKING:
    import xarray as xr

STORED_FORMATS: dict[str, type[Selection] | type[GroupComparison]] = {
    "mrfbayes selection 1": Selection,
    "mrfbayes group comparison 1": GroupComparison,
}
NOT_SAVED = ("model", "rerun")
_WHOLE = ("steps", "warmup", "thin")


def to_datatree(result: SearchResult) -> xr.DataTree:
    """Groups "arrays" (every array of the result, by the name of its attribute) and "model"; the rest as attributes."""
    import xarray as xr

    values = {field.name: getattr(result, field.name) for field in fields(result) if field.name not in NOT_SAVED}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    dataset = xr.Dataset(
        {name: (tuple(f"{name}_axis{k}" for k in range(array.ndim)), array) for name, array in arrays.items()}
    )
    tree = xr.DataTree.from_dict({"arrays": dataset, "model": model_to_dataset(result.model)})
    tree.attrs["format"] = next(name for name, kind in STORED_FORMATS.items() if isinstance(result, kind))
    tree.attrs["said"] = json.dumps({name: value for name, value in values.items() if name not in arrays}, default=str)
    return tree


def save(result: SearchResult, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write ``result`` to ``path``, whole or not at all."""
    check_targets({"path": path}, overwrite=overwrite)
    write_sealed(to_datatree(result), path, overwrite)


def load(path: str | os.PathLike[str]) -> Posterior | Selection | GroupComparison:
    """The result that ``save`` wrote to ``path``: a `Posterior`, a `Selection` or a `GroupComparison`."""
    check_result_file(path)
    # Of a file without a checksum nothing is believed; the posterior's own reader says what is wrong with it.
    if not is_sealed(path):
        return load_posterior(path)
    try:
        kind = STORED_FORMATS.get(str(root_attribute(path, "format")))
        if kind is not None:
            return _build(kind, read_groups(path))
    except Exception as error:
        raise InputError(f"{path}: not a result file of mrfbayes, or a damaged one ({error}).") from None
    return load_posterior(path)


def _build(kind: type[Selection] | type[GroupComparison], groups: dict[str, Group]) -> Selection | GroupComparison:
    said = json.loads(groups["/"].text("said"))
    arrays = groups["arrays"].arrays  # and the lengths of their axes, which netCDF stores as arrays too
    values: dict[str, Any] = {"model": read_model(groups["model"])}
    for field in fields(kind):
        if field.name in arrays:
            values[field.name] = arrays[field.name]
        elif field.name in said:
            value = said[field.name]
            values[field.name] = tuple(value) if isinstance(value, list) else value
    values |= {name: int(values[name]) for name in _WHOLE}
    check_ranges(values)
    return kind(**values)
