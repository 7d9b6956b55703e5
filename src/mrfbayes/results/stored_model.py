"""What a result needs beside its draws to be judged later: the field, the counts and the prior, as arrays and text.

Reading checks everything before a model is built from it: a file may come from anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Stored
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.statistics import Statistics
from mrfbayes.data.tally import IncompleteRows
from mrfbayes.methods.problem import Problem
from mrfbayes.model.build import grid
from mrfbayes.model.covariates import Covariate, CovariateModel
from mrfbayes.model.factors import MAX_STATES, FactorGroup
from mrfbayes.model.field import FieldArrays, Model
from mrfbayes.model.result import read_seed
from mrfbayes.model.schema import Schema
from mrfbayes.priors import read_prior, stored_prior
from mrfbayes.results.bayes_factors import needs_rows

if TYPE_CHECKING:
    import xarray as xr

    from mrfbayes.results.files import Group


def model_to_dataset(model: Model) -> xr.Dataset:
    """The field: states, edges, and the tables, scopes and blocks of its groups of factors."""
    import xarray as xr

    if isinstance(model, CovariateModel):
        field = model_to_dataset(model.field)
        stored = [[list(c) for c in model.covariates], model.effects, model.offset, model.n_designs]
        field.attrs["covariates"] = json.dumps(stored)
        return field
    variables: dict[str, object] = {"states": (("node",), model.states), "edges": (("edge", "end"), model.edges)}
    for k, group in enumerate(model.groups):
        axes = tuple(f"group{k}_axis{a}" for a in range(group.table.ndim))
        variables[f"group{k}_table"] = (axes, group.table)
        variables[f"group{k}_scope"] = ((f"group{k}_factor", f"group{k}_variable"), group.scope)
        variables[f"group{k}_block"] = ((f"group{k}_factor",), group.block)
    attributes = {
        "is_score": json.dumps([bool(group.is_score) for group in model.groups]),
        "is_centred": json.dumps([bool(group.is_centred) for group in model.groups]),
        "grid_shape": json.dumps(model.grid_shape),
        "named": int(model.named),
        "nodes": json.dumps(None if model._names is None else list(model._names)),
        "blocks": json.dumps(None if model._block_names is None else list(model._block_names)),
        "schema": json.dumps(None if model.schema is None else model.schema.to_dict()),
    }
    return xr.Dataset(variables, attrs=attributes)


def read_model(group: Group) -> Model:
    """The field that `model_to_dataset` wrote; an `InputError` where the arrays are not those of a field."""
    states, edges = _whole(group, "states", 1), _whole(group, "edges", 2).reshape(-1, 2)
    groups = []
    is_centred = json.loads(group.text("is_centred")) if "is_centred" in group.attributes else ()
    for k, is_score in enumerate(json.loads(group.text("is_score"))):
        scope, block = _whole(group, f"group{k}_scope", 2), _whole(group, f"group{k}_block", 1)
        table = _whole(group, f"group{k}_table", scope.shape[1])
        groups.append(FactorGroup(table, bool(is_score), scope, block, k < len(is_centred) and bool(is_centred[k])))
    names, blocks = json.loads(group.text("nodes")), json.loads(group.text("blocks"))
    shape = json.loads(group.text("grid_shape"))
    _require(states.size > 0 and bool(((states >= 2) & (states <= MAX_STATES)).all()), "numbers of states")
    _require(bool(((edges >= 0) & (edges < states.size)).all() and (edges[:, 0] != edges[:, 1]).all()), "edges")
    n_factors = sum(len(factors.scope) for factors in groups)
    for factors in groups:
        _check_group(factors, states, n_factors)
    used = np.unique(np.concatenate([factors.block for factors in groups])) if groups else np.zeros(0, dtype=np.int64)
    _require(np.array_equal(used, np.arange(used.size)), "blocks")
    _require(names is None or _are_names(names, states.size), "names of nodes")
    _require(blocks is None or _are_names(blocks, used.size), "names of blocks")
    _require(names is not None or shape is not None, "names of nodes")
    if shape is not None:
        shape = (int(shape[0]), int(shape[1]))
        _require(min(shape) > 0 and shape[0] * shape[1] == states.size, "grid")
        _require(np.array_equal(edges, grid(*shape).edges), "grid")
    arrays = FieldArrays(names, states, edges, groups, blocks, shape, bool(group.number("named")))
    model = Model._from_arrays(arrays)._with_schema(_read_schema(group, names, states))
    return _with_covariates(model, group.text("covariates")) if "covariates" in group.attributes else model


def _with_covariates(field: Model, text: str) -> CovariateModel:
    """The field with the covariates that `model_to_dataset` wrote."""
    covariates, effects, offset, n_designs = json.loads(text)
    for name, centre, scale in covariates:
        numbers = (centre, scale)
        _require(isinstance(name, str) and all(isinstance(number, (int, float)) for number in numbers), "covariates")
        _require(bool(np.isfinite(numbers).all() and scale > 0), "covariates")
    _require(offset is None or isinstance(offset, str), "covariates")
    return CovariateModel.of(field, [Covariate(*one) for one in covariates], effects, offset, int(n_designs))


def _read_schema(group: Group, names: list[str] | None, states: np.ndarray) -> Schema | None:
    """The coding of the variables; None for explicit models."""
    stored = json.loads(group.text("schema"))
    if stored is None:
        return None
    _require(isinstance(stored, list) and all(isinstance(entry, dict) for entry in stored), "codings of variables")
    schema = Schema.from_dict(stored)
    counts = [variable.n_states for variable in schema]
    _require(list(schema.names) == names and counts == states.tolist(), "codings of variables")
    return schema


def _check_group(group: FactorGroup, states: np.ndarray, n_factors: int) -> None:
    scope, table = group.scope, group.table
    _require(group.arity in (1, 2) and len(scope) > 0 and group.block.shape == (len(scope),), "factors")
    _require(bool(((scope >= 0) & (scope < states.size)).all()), "factors")
    _require(bool(((group.block >= 0) & (group.block < n_factors)).all()), "blocks")
    _require(table.ndim == group.arity and bool((states[scope] == table.shape).all()), "tables")
    _require(bool(table.min() >= 0 and 1 <= table.max() <= MAX_STATES**2), "tables")
    _require(not group.is_centred or (group.arity == 2 and not group.is_score), "tables")
    _require(group.is_score or np.array_equal(np.unique(table), np.arange(table.max() + 1)), "tables")


def _whole(group: Group, name: str, n_axes: int) -> np.ndarray:
    array = group.arrays[name]
    _require(array.ndim == n_axes and array.dtype.kind in "iu", name)
    return array.astype(np.int64)


def _are_names(names: object, count: int) -> bool:
    return isinstance(names, list) and len(names) == count and all(isinstance(name, str) for name in names)


def _require(is_right: bool, what: str) -> None:
    if not is_right:
        raise InputError(f"the {what} in it are not those of a field")


def problem_to_dataset(problem: Problem) -> xr.Dataset:
    """Counts and prior: what Bayes factors are computed from. A custom prior is a function, which is not stored."""
    import xarray as xr

    prior, statistics = problem.prior, problem.statistics
    attributes: dict[str, object] = {"n": float(statistics.n), "n_rows": int(statistics.n_rows)}
    variables: dict[str, object] = {"counts": (("parameter",), np.asarray(statistics.counts, dtype=float))}
    if statistics.incomplete is not None:
        variables["incomplete"] = (("incomplete_row", "node"), statistics.incomplete.rows)
        variables["incomplete_weight"] = (("incomplete_row",), statistics.incomplete.weight)
        attributes |= {"n_incomplete": statistics.incomplete.n_rows, "n_empty": statistics.incomplete.n_empty}
    attributes["prior"] = json.dumps(stored_prior(prior))
    return xr.Dataset(variables, attrs=attributes)


def read_problem(group: Group, model: Model, seed: Sequence[Stored], digest: str) -> Problem | None:
    """The problem that `problem_to_dataset` wrote, or None where what it led to cannot be repeated from counts."""
    stored = json.loads(group.text("prior"))
    if stored is None or (group.number("n_rows") and needs_rows(model)):
        return None
    if isinstance(model, CovariateModel):  # there are no counts of all rows, and no rows in a file
        counts, rows = np.full(model.n_parameters, np.nan), np.zeros((0, model.n_nodes), dtype=np.uint8)
        statistics = Statistics(model, group.number("n"), 0, counts, None, None, rows, np.zeros(0), None, (), digest)
    else:
        incomplete = _read_incomplete(group, model)
        statistics = Statistics.from_counts(model, group.arrays["counts"], group.number("n"), incomplete)
    prior = read_prior(model, stored)
    return Problem(model, replace(statistics, digest=digest), prior, read_seed(seed), progress=False)


def _read_incomplete(group: Group, model: Model) -> IncompleteRows | None:
    """The rows with missing cells, checked; None where there are none."""
    if "incomplete" not in group.arrays:
        return None
    rows = _whole(group, "incomplete", 2)
    weight = group.arrays["incomplete_weight"].astype(float)
    hole = rows == MISSING_CODE
    _require(rows.shape == (weight.size, model.n_nodes) and bool((weight > 0).all()), "rows with missing cells")
    _require(bool((hole | ((rows >= 0) & (rows < model.states))).all()), "rows with missing cells")
    _require(bool((hole.any(axis=1) & ~hole.all(axis=1)).all()), "rows with missing cells")
    n_rows, n_empty = (int(group.number(name)) for name in ("n_incomplete", "n_empty"))
    return IncompleteRows(rows.astype(np.uint8), weight, n_rows, n_empty)
