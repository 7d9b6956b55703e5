"""Results as files: netCDF by way of xarray, readable by ArviZ and everything that reads HDF5.

Only numbers and text are stored, and loading builds only arrays: nothing in a file is ever executed.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import FactorGroup, Model

if TYPE_CHECKING:
    import xarray as xr

    from mrfbayes.posterior.posterior import Posterior

FORMAT = "mrfbayes posterior 1"
_TEXT = ("method", "label", "target", "engine", "data_digest")
_NUMBERS = ("steps", "warmup", "thin", "n", "partial")
_JSON = ("seconds", "settings", "versions", "warnings", "details")


def to_datatree(posterior: Posterior) -> xr.DataTree:
    """Groups "posterior" (theta), "sample_stats" (log-likelihood, acceptance) and "model"."""
    import xarray as xr

    coordinates = {
        "chain": np.arange(posterior.draws.shape[0]),
        "draw": np.arange(posterior.draws.shape[1]),
        "parameter": np.array(posterior.parameters, dtype=object),
    }
    theta = xr.Dataset({"theta": (("chain", "draw", "parameter"), posterior.draws)}, coords=coordinates)
    statistics: dict[str, Any] = {"log_likelihood": (("chain", "draw"), posterior.log_likelihood)}
    if posterior.acceptance is not None:
        statistics["acceptance"] = (("chain",), posterior.acceptance)
    chain_coordinates = {name: coordinates[name] for name in ("chain", "draw")}
    vectors = {"mean": posterior.mean, "sd": posterior.sd}
    if posterior.sd_error is not None:
        vectors["sd_error"] = posterior.sd_error
    moments = xr.Dataset(
        {name: (("parameter",), vector) for name, vector in vectors.items()},
        coords={"parameter": coordinates["parameter"]},
    )
    tree = xr.DataTree.from_dict(
        {
            "posterior": theta,
            "sample_stats": xr.Dataset(statistics, coords=chain_coordinates),
            "moments": moments,
            "model": _model_to_dataset(posterior.model),
        }
    )
    tree.attrs["format"] = FORMAT
    for name in _TEXT:
        tree.attrs[name] = str(getattr(posterior, name))
    for name in _NUMBERS:
        tree.attrs[name] = float(getattr(posterior, name))
    for name in _JSON:
        value = getattr(posterior, name)
        tree.attrs[name] = json.dumps(list(value) if isinstance(value, tuple) else dict(value), default=str)
    return tree


def _model_to_dataset(model: Model) -> xr.Dataset:
    import xarray as xr

    variables: dict[str, Any] = {"states": (("node",), model.states), "edges": (("edge", "end"), model.edges)}
    for k, group in enumerate(model.groups):
        axes = tuple(f"group{k}_axis{a}" for a in range(group.table.ndim))
        variables[f"group{k}_table"] = (axes, group.table)
        variables[f"group{k}_scope"] = ((f"group{k}_factor", f"group{k}_variable"), group.scope)
        variables[f"group{k}_block"] = ((f"group{k}_factor",), group.block)
    attributes = {
        "is_score": json.dumps([bool(group.is_score) for group in model.groups]),
        "grid_shape": json.dumps(model.grid_shape),
        "named": int(model.named),
        "nodes": json.dumps(None if model._names is None else list(model._names)),
        "blocks": json.dumps(None if model._block_names is None else list(model._block_names)),
    }
    return xr.Dataset(variables, attrs=attributes)


def _model_from_dataset(data: xr.Dataset) -> Model:
    groups = []
    for k, is_score in enumerate(json.loads(data.attrs["is_score"])):
        scope = np.asarray(data[f"group{k}_scope"].values, dtype=np.int64)
        block = np.asarray(data[f"group{k}_block"].values, dtype=np.int64)
        table = np.asarray(data[f"group{k}_table"].values, dtype=np.int64)
        groups.append(FactorGroup(table, bool(is_score), scope, block))
    shape = json.loads(data.attrs["grid_shape"])
    return Model._from_arrays(
        json.loads(data.attrs["nodes"]),
        np.asarray(data["states"].values, dtype=np.int64),
        np.asarray(data["edges"].values, dtype=np.int64).reshape(-1, 2),
        groups,
        json.loads(data.attrs["blocks"]),
        None if shape is None else (int(shape[0]), int(shape[1])),
        bool(data.attrs["named"]),
    )


def save(posterior: Posterior, path: str | PathLike[str], overwrite: bool = False) -> None:
    """Write ``posterior`` to ``path``: first beside it, then moved into place, so that no half file is left."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise InputError(f"{target} exists: choose another name, or pass overwrite=True.")
    beside = target.with_name(target.name + ".part")
    try:
        to_datatree(posterior).to_netcdf(beside, engine="h5netcdf")
        beside.replace(target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror or error}).") from None
    finally:
        beside.unlink(missing_ok=True)


def read(path: str | PathLike[str]) -> dict[str, Any]:
    """The fields of the posterior that `save` wrote to ``path``."""
    import xarray as xr

    if not Path(path).is_file():
        raise InputError(f"{path}: no such file.")
    try:
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            tree.load()
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: not a result file of mrfbayes ({error}).") from None
    if tree.attrs.get("format") != FORMAT:
        raise InputError(f"{path}: not a result file of mrfbayes (its format is {tree.attrs.get('format')!r}).")
    values: dict[str, Any] = {name: tree.attrs[name] for name in _TEXT}
    values |= {name: json.loads(tree.attrs[name]) for name in _JSON}
    statistics = tree["sample_stats"]
    return values | {
        "model": _model_from_dataset(tree["model"].to_dataset()),
        "draws": np.asarray(tree["posterior/theta"].values),
        "log_likelihood": np.asarray(statistics["log_likelihood"].values),
        "mean": np.asarray(tree["moments/mean"].values),
        "sd": np.asarray(tree["moments/sd"].values),
        "sd_error": np.asarray(tree["moments/sd_error"].values) if "sd_error" in tree["moments"] else None,
        "acceptance": np.asarray(statistics["acceptance"].values) if "acceptance" in statistics else None,
        "steps": int(tree.attrs["steps"]),
        "warmup": int(tree.attrs["warmup"]),
        "thin": int(tree.attrs["thin"]),
        "n": float(tree.attrs["n"]),
        "partial": bool(tree.attrs["partial"]),
        "warnings": tuple(values["warnings"]),
    }
