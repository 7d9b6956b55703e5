"""Results as files: netCDF by way of xarray, readable by ArviZ and everything that reads HDF5.

A file is made in memory, sealed with a checksum of all of it, and written whole or not at all. Only numbers and text
are stored, and loading builds only arrays: nothing in a file is ever executed. What was computed comes back as it was
(Bayes factors of edges, predictability, quantiles in closed form); what cannot be computed without the data says so
when asked for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.atomic_files import check_targets, write_bytes
from mrfbayes.base.errors import InputError, OutputError, warn_user
from mrfbayes.base.sealed_files import is_sealed, seal
from mrfbayes.model.field import Model
from mrfbayes.results.bayes_factors import EdgeEvidence, edge_blocks
from mrfbayes.results.hdf5_groups import Group, probe, read_groups
from mrfbayes.results.observed import LEAST_ROWS, ObservedAverages, statistic_names
from mrfbayes.results.posterior import diagnosed
from mrfbayes.results.predictability import PREDICTABILITY_COLUMNS
from mrfbayes.results.saved_problem import model_to_dataset, problem_to_dataset, read_model, read_problem
from mrfbayes.results.stored_ranges import check_ranges
from mrfbayes.targets.corrected import WeightedProposals
from mrfbayes.targets.facts import RunFacts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from mrfbayes.results.posterior import Posterior

FORMAT, OLD_FORMAT = "mrfbayes posterior 2", "mrfbayes posterior 1"
INTERVALS = (0.5, 0.8, 0.9, 0.95, 0.99)  # whose ends are saved where quantiles are in closed form
MANY_NAMES = 100_000  # parameters past which only those of the default interval are
AVERAGES = ("fitted", "pairs", "sums", "shares")
_TEXT = ("method", "label", "target", "engine", "data_digest")
_NUMBERS = ("steps", "warmup", "thin", "n", "partial")
_JSON: dict[str, type] = {
    "seconds": dict, "settings": dict, "versions": dict, "warnings": list, "notes": list, "details": dict
}  # fmt: skip


def to_datatree(posterior: Posterior) -> xr.DataTree:
    """Groups "posterior" (theta), "sample_stats" (log-likelihood, acceptance), "moments", "model", and what is known.

    Known may be: "data" (counts and prior), "observed" (averages over the data), "edges" (Bayes factors) and
    "predictability", where they were asked for, "weighted" (independent draws and their weights) and "quantiles" (in
    closed form).
    """
    import xarray as xr

    coordinates = {
        "chain": np.arange(posterior.draws.shape[0]),
        "draw": np.arange(posterior.draws.shape[1]),
        "parameter": np.array(posterior.parameters, dtype=object),
    }
    theta = xr.Dataset({"theta": (("chain", "draw", "parameter"), posterior.draws)}, coords=coordinates)
    if posterior.w is not None and diagnosed(posterior.draws, posterior.w) is posterior.w:
        theta["log_odds"] = (("chain", "draw", "parameter"), posterior.w)
    statistics: dict[str, object] = {}
    if posterior.log_likelihood is not None:
        statistics["log_likelihood"] = (("chain", "draw"), posterior.log_likelihood)
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
    groups = {
        "posterior": theta,
        "sample_stats": xr.Dataset(statistics, coords=chain_coordinates),
        "moments": moments,
        "model": model_to_dataset(posterior.model),
    }
    if posterior.problem is not None:
        groups["data"] = problem_to_dataset(posterior.problem)
    if "edge_evidence" in posterior.__dict__:
        found = posterior.edge_evidence
        columns = {name: (("edge",), getattr(found, name)) for name in ("log_bf10", "error", "pareto_k")}
        groups["edges"] = xr.Dataset(columns, attrs={"source": found.source})
    if posterior.observed is not None:
        groups["observed"] = _observed_to_dataset(posterior.observed)
    if "predicted" in posterior.__dict__:
        table = posterior.predicted
        groups["predictability"] = xr.Dataset(
            {name: (("node",), table[name].to_numpy()) for name in table.columns}, attrs=dict(table.attrs)
        )
    if posterior.weighted is not None:
        theta_columns = {"theta": (("proposal", "parameter"), posterior.weighted.theta)}
        groups["weighted"] = xr.Dataset({**theta_columns, "weight": (("proposal",), posterior.weighted.weights)})
    elif posterior.quantile is not None:
        groups["quantiles"] = _quantiles_to_dataset(posterior.quantile, posterior.model.n_parameters)
    tree = xr.DataTree.from_dict(groups)
    tree.attrs["format"] = FORMAT
    for name in _TEXT:
        tree.attrs[name] = str(getattr(posterior, name))
    for name in _NUMBERS:
        tree.attrs[name] = float(getattr(posterior, name))
    for name in _JSON:
        value = getattr(posterior, name)
        tree.attrs[name] = json.dumps(list(value) if isinstance(value, tuple) else dict(value), default=_plain)
    return tree


def _plain(value: object) -> object:
    """NumPy's numbers and arrays as JSON has them; anything else as text."""
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else str(value)


def _quantiles_to_dataset(quantile: Callable[[float], np.ndarray], p: int) -> xr.Dataset:
    import xarray as xr

    intervals = INTERVALS if p <= MANY_NAMES else (0.9,)
    at = [level for interval in intervals for level in ((1 - interval) / 2, (1 + interval) / 2)]
    values = np.stack([quantile(level) for level in at])
    return xr.Dataset({"probability": (("level",), np.array(at)), "theta": (("level", "parameter"), values)})


def _observed_to_dataset(observed: ObservedAverages) -> xr.Dataset:
    import xarray as xr

    parts = {name: (("fitted",) if name == "fitted" else (name,), getattr(observed, name)) for name in AVERAGES}
    return xr.Dataset(parts, attrs={"n": float(observed.n), "n_rows": int(observed.n_rows)})


class SavedQuantiles:
    """Quantiles that were in closed form when a result was saved; others come from its draws, with a warning."""

    def __init__(self, at: np.ndarray, values: np.ndarray, draws: np.ndarray) -> None:
        self.at, self.values, self._draws = at, values, draws
        self._said = False

    def __call__(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of theta."""
        near = np.flatnonzero(np.abs(self.at - probability) < 1e-9)
        if near.size:
            return np.asarray(self.values[near[0]])
        if not self._said:
            warn_user(
                f"the {100 * probability:g} % quantiles of this loaded result are those of its draws: in closed form "
                f"it holds {', '.join(f'{100 * q:g}' for q in np.sort(self.at))} %.",
            )
            self._said = True
        return np.asarray(np.quantile(self._draws, probability, axis=(0, 1)))


def packed(tree: xr.DataTree) -> bytes:
    """A tree as a netCDF file with a checksum at its end."""
    tree.attrs["sealed"] = 1
    with _without_cluster():
        content = tree.to_netcdf(None, engine="h5netcdf")
    return b"".join([content, seal(content)])


@contextmanager
def _without_cluster() -> Iterator[None]:
    """Beside a Dask client xarray asks its scheduler for a lock on the file, also where there is no file."""
    if "dask" not in sys.modules:
        yield
        return
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def save(posterior: Posterior, path: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write ``posterior`` to ``path``, whole or not at all."""
    check_targets({"path": path}, overwrite=overwrite)
    write_sealed(to_datatree(posterior), path, overwrite)


def write_sealed(tree: xr.DataTree, path: str | os.PathLike[str], overwrite: bool) -> None:
    """Write a tree to one netCDF file with a checksum at its end, whole or not at all."""
    content = packed(tree)  # in memory first: HDF5 does not survive a full disk
    try:
        write_bytes(path, content, overwrite)
    except OutputError as error:
        raise OutputError(f"{error} The result is still in memory: save() it to another place.") from error


def check_result_file(path: object) -> None:
    """Refuse what is not the path of a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path = {path!r}: give the path of a result file.")
    if not Path(path).is_file():
        raise InputError(f"{path}: {'a folder, not a result file' if Path(path).is_dir() else 'no such file'}.")


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of the posterior that `save` wrote to ``path``, and "edge_evidence" where that was computed."""
    check_result_file(path)
    sealed = is_sealed(path)
    try:
        if not sealed:
            probe(path)
        groups = read_groups(path)
        values = _fields(groups)
    except Exception as error:  # a file from anywhere makes HDF5 and JSON say anything
        reason = (str(error).strip().splitlines() or [""])[0][:200]
        raise InputError(
            f"{path}: not a result file of mrfbayes, or a damaged one ({type(error).__name__}: {reason})."
        ) from None
    if sealed:
        return values
    if "sealed" in groups["/"].attributes:
        raise InputError(
            f"{path} is damaged: the checksum at its end is missing or broken; it was cut short, or changed by another "
            "program: restore it from a copy, or make it again."
        )
    doubt = (
        f"{Path(path).name} has no checksum (an old file, or one that another program wrote): damage would not show."
    )
    warn_user(doubt)
    return values | {"warnings": (*values["warnings"], doubt)}


def _fields(groups: Mapping[str, Group]) -> dict[str, Any]:
    said = groups["/"]
    if said.attributes.get("format") not in (FORMAT, OLD_FORMAT):
        raise InputError(f"its format is {said.attributes.get('format')!r}")
    values: dict[str, Any] = {name: said.text(name) for name in _TEXT}
    for name, kind in _JSON.items():
        values[name] = json.loads(said.text(name)) if name != "notes" or name in said.attributes else []
        _require(isinstance(values[name], kind), name)
    RunFacts.of(values["details"])  # refuses what cannot be the facts of a run
    model = read_model(groups["model"])
    p = model.n_parameters
    draws = _numbers(groups["posterior"], "theta", (None, None, p))
    n_chains, n_draws, _ = draws.shape
    statistics, moments = groups["sample_stats"], groups["moments"]
    values |= {
        "model": model,
        "draws": draws,
        "w": _optional(groups["posterior"], "log_odds", draws.shape),
        "log_likelihood": _optional(statistics, "log_likelihood", (n_chains, n_draws)),
        "mean": _numbers(moments, "mean", (p,)),
        "sd": _numbers(moments, "sd", (p,)),
        "acceptance": _optional(statistics, "acceptance", (n_chains,)),
        "sd_error": _optional(moments, "sd_error", (p,)),
        "steps": int(said.number("steps")),
        "warmup": int(said.number("warmup")),
        "thin": int(said.number("thin")),
        "n": said.number("n"),
        "partial": bool(said.number("partial")),
        "warnings": tuple(map(str, values["warnings"])),
        "notes": tuple(map(str, values["notes"])),
    }
    check_ranges(values)
    _require(bool(np.isfinite(values["mean"]).all()), "mean")  # theta is bounded: its mean exists
    return values | _known_fields(groups, model, values)


def _known_fields(groups: Mapping[str, Group], model: Model, values: Mapping[str, Any]) -> dict[str, object]:
    """What newer files hold beside draws and moments."""
    known: dict[str, object] = {}
    if "data" in groups:
        known["problem"] = read_problem(groups["data"], model, values["settings"]["seed"], values["data_digest"])
    if "edges" in groups:
        shape = (edge_blocks(model).size,)
        columns = {name: _numbers(groups["edges"], name, shape) for name in ("log_bf10", "error", "pareto_k")}
        known["edge_evidence"] = EdgeEvidence(**columns, source=str(groups["edges"].attributes["source"]))
    if "observed" in groups:
        parts = {name: _numbers(groups["observed"], name, (None,)) for name in AVERAGES}
        _require(parts["fitted"].size == model.n_parameters, "observed averages")
        _require(parts["shares"].size in (0, int(model.states.sum())), "observed averages")
        said = groups["observed"]
        found = ObservedAverages(said.number("n"), int(said.number("n_rows")), **parts)
        is_whole = len(statistic_names(model, found)) == found.flat.size
        _require(is_whole or found.n_rows < LEAST_ROWS, "observed averages")
        if is_whole:  # earlier versions took every pair of few rows by itself, with which nothing can be checked
            known["observed"] = found
    if "predictability" in groups:
        known["predicted"] = _read_predictability(groups["predictability"], model)
    if "weighted" in groups:
        weights = _numbers(groups["weighted"], "weight", (None,))
        theta = _numbers(groups["weighted"], "theta", (weights.size, model.n_parameters))
        _require(bool((weights >= 0).all() and ((theta >= 0) & (theta <= 1)).all()), "weighted draws")
        known["weighted"] = weighted = WeightedProposals.of(weights, theta)
        known["quantile"] = weighted.quantile
    if "quantiles" in groups:
        at = _numbers(groups["quantiles"], "probability", (None,))
        table = _numbers(groups["quantiles"], "theta", (at.size, model.n_parameters))
        known["quantile"] = SavedQuantiles(at, table, values["draws"])
    return known


def _read_predictability(group: Group, model: Model) -> pd.DataFrame:
    import pandas as pd

    columns = {name: _numbers(group, name, (model.n_nodes,)) for name in PREDICTABILITY_COLUMNS}
    table = pd.DataFrame(columns, index=pd.Index(model.nodes, name="node"))
    table.attrs |= {name: int(group.number(name)) for name in ("rows", "draws")}
    return table


def _numbers(group: Group, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    array = group.arrays[name]
    fits = array.ndim == len(shape) and all(
        wanted in (None, found) for wanted, found in zip(shape, array.shape, strict=True)
    )
    _require(fits, name)
    return array.astype(float)


def _optional(group: Group, name: str, shape: tuple[int | None, ...]) -> np.ndarray | None:
    """The array called ``name``, or None where the group has none."""
    return _numbers(group, name, shape) if name in group.arrays else None


def _require(is_right: bool, what: str) -> None:
    if not is_right:
        raise InputError(f"its {what} cannot be those of a result")
