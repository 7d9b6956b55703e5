"""What files hold of a result beside its fields: the field, the data, the prior, and what was computed of a posterior.

Reading checks everything before it is used: a file may come from anywhere. What was computed comes back as it was; what
cannot be computed without the data says so when asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.base.errors import InputError, warn_user
from mrfbayes.base.types import Stored
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.statistics import Statistics
from mrfbayes.data.tally import IncompleteRows
from mrfbayes.methods.problem import Problem
from mrfbayes.model.build import grid
from mrfbayes.model.covariates import Covariate, CovariateModel
from mrfbayes.model.factors import MAX_STATES, FactorGroup
from mrfbayes.model.field import FieldArrays, Model
from mrfbayes.model.result import StoredFields, read_seed
from mrfbayes.model.schema import Schema
from mrfbayes.priors import read_prior, stored_prior
from mrfbayes.results.bayes_factors import EdgeEvidence, edge_blocks, needs_rows
from mrfbayes.results.predictability import PREDICTABILITY_COLUMNS
from mrfbayes.results.predictive import LEAST_ROWS, ObservedAverages, statistic_names
from mrfbayes.targets.corrected import WeightedProposals
from mrfbayes.targets.facts import RunFacts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from mrfbayes.results.posterior import Posterior

INTERVALS = (0.5, 0.8, 0.9, 0.95, 0.99)  # whose ends are saved where quantiles are in closed form
MANY_NAMES = 100_000  # parameters past which only those of the default interval are
AVERAGES = ("fitted", "pairs", "sums", "shares")
EVIDENCE = ("log_bf10", "error", "pareto_k")


class Group(NamedTuple):
    """What one group of a file holds."""

    arrays: dict[str, np.ndarray]
    attributes: dict[str, object]

    def text(self, name: str) -> str:
        """An attribute that is a text."""
        value = self.attributes[name]
        require(isinstance(value, str), name)
        return str(value)

    def number(self, name: str) -> float:
        """An attribute that is a number."""
        value = self.attributes[name]
        require(isinstance(value, (int, float)), name)
        return float(str(value))

    def numbers(self, name: str, *shape: int | None) -> np.ndarray:
        """An array of this shape, None where any size is right."""
        array = self.arrays[name]
        require(array.ndim == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True)), name)
        return array.astype(float)

    def whole(self, name: str, n_axes: int) -> np.ndarray:
        """An array of whole numbers."""
        array = self.arrays[name]
        require(array.ndim == n_axes and array.dtype.kind in "iu", name)
        return array.astype(np.int64)


def require(is_right: bool | np.bool_, what: str) -> None:
    """Refuse a file in which ``what`` is not that of a result."""
    if not is_right:
        raise InputError(f"its {what} cannot be those of a result")


def model_to_dataset(model: Model) -> xr.Dataset:
    """The field: states, edges, and the tables, scopes and blocks of its groups of factors."""
    import xarray as xr

    if isinstance(model, CovariateModel):
        field = model_to_dataset(model.field)
        stored = [[list(c) for c in model.covariates], model.effects, model.offset, model.n_designs]
        return field.assign_attrs(covariates=json.dumps(stored))
    variables: dict[str, object] = {"states": (("node",), model.states), "edges": (("edge", "end"), model.edges)}
    for k, group in enumerate(model.groups):
        axes = tuple(f"group{k}_axis{a}" for a in range(group.table.ndim))
        variables[f"group{k}_table"] = (axes, group.table)
        variables[f"group{k}_scope"] = ((f"group{k}_factor", f"group{k}_variable"), group.scope)
        variables[f"group{k}_block"] = ((f"group{k}_factor",), group.block)
    attributes = {
        "is_score": [bool(group.is_score) for group in model.groups],
        "is_centred": [bool(group.is_centred) for group in model.groups],
        "grid_shape": model.grid_shape,
        "named": model.named,
        "nodes": model._names,
        "blocks": model._block_names,
        "schema": None if model.schema is None else model.schema.to_dict(),
    }
    return xr.Dataset(variables, attrs={name: json.dumps(value) for name, value in attributes.items()})


def read_model(group: Group) -> Model:
    """The field that `model_to_dataset` wrote; an `InputError` where the arrays are not those of a field."""
    states, edges = group.whole("states", 1), group.whole("edges", 2).reshape(-1, 2)
    require(states.size > 0 and ((states >= 2) & (states <= MAX_STATES)).all(), "numbers of states")
    require(((edges >= 0) & (edges < states.size)).all() and (edges[:, 0] != edges[:, 1]).all(), "edges")
    groups = []
    is_score, is_centred = (json.loads(group.text(name)) for name in ("is_score", "is_centred"))
    for k in range(len(is_score)):
        scope, block = group.whole(f"group{k}_scope", 2), group.whole(f"group{k}_block", 1)
        table = group.whole(f"group{k}_table", scope.shape[1])
        groups.append(FactorGroup(table, bool(is_score[k]), scope, block, bool(is_centred[k])))
    n_factors = sum(len(factors.scope) for factors in groups)
    for factors in groups:
        _check_group(factors, states, n_factors)
    used = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(factors.block for factors in groups)]))
    require(np.array_equal(used, np.arange(used.size)), "blocks")
    names, blocks, shape = (json.loads(group.text(name)) for name in ("nodes", "blocks", "grid_shape"))
    require(_are_names(names, states.size) if names is not None else shape is not None, "names of nodes")
    require(blocks is None or _are_names(blocks, used.size), "names of blocks")
    if shape is not None:
        shape = (int(shape[0]), int(shape[1]))
        require(min(shape) > 0 and shape[0] * shape[1] == states.size, "grid")
        require(np.array_equal(edges, grid(*shape).edges), "grid")
    schema = json.loads(group.text("schema"))
    if schema is not None:
        require(isinstance(schema, list) and all(isinstance(entry, dict) for entry in schema), "codings of variables")
        schema = Schema.from_dict(schema)
        is_same = list(schema.names) == names and [variable.n_states for variable in schema] == states.tolist()
        require(is_same, "codings of variables")
    arrays = FieldArrays(names, states, edges, groups, blocks, shape, bool(json.loads(group.text("named"))))
    model = Model._from_arrays(arrays)._with_schema(schema)
    if "covariates" not in group.attributes:
        return model
    covariates, effects, offset, n_designs = json.loads(group.text("covariates"))
    for name, *numbers in covariates:
        is_right = isinstance(name, str) and all(isinstance(number, (int, float)) for number in numbers)
        require(is_right and np.isfinite(numbers).all() and numbers[1] > 0, "covariates")
    require(offset is None or isinstance(offset, str), "covariates")
    return CovariateModel.of(model, [Covariate(*one) for one in covariates], effects, offset, int(n_designs))


def _check_group(group: FactorGroup, states: np.ndarray, n_factors: int) -> None:
    scope, table, block = group.scope, group.table, group.block
    require(group.arity in (1, 2) and len(scope) > 0 and block.shape == (len(scope),), "factors")
    require(((scope >= 0) & (scope < states.size)).all(), "factors")
    require(((block >= 0) & (block < n_factors)).all(), "blocks")
    require(table.ndim == group.arity and (states[scope] == table.shape).all(), "tables")
    require(table.min() >= 0 and 1 <= table.max() <= MAX_STATES**2, "tables")
    require(not group.is_centred or (group.arity == 2 and not group.is_score), "tables")
    require(group.is_score or np.array_equal(np.unique(table), np.arange(table.max() + 1)), "tables")


def _are_names(names: object, count: int) -> bool:
    return isinstance(names, list) and len(names) == count and all(isinstance(name, str) for name in names)


def problem_to_dataset(problem: Problem) -> xr.Dataset:
    """Counts and prior: what Bayes factors are computed from. A custom prior is a function, which is not stored."""
    import xarray as xr

    statistics, incomplete = problem.statistics, problem.statistics.incomplete
    attributes: dict[str, object] = {"n": float(statistics.n), "n_rows": int(statistics.n_rows)}
    variables: dict[str, object] = {"counts": (("parameter",), np.asarray(statistics.counts, dtype=float))}
    if incomplete is not None:
        variables["incomplete"] = (("incomplete_row", "node"), incomplete.rows)
        variables["incomplete_weight"] = (("incomplete_row",), incomplete.weight)
        attributes |= {"n_incomplete": incomplete.n_rows, "n_empty": incomplete.n_empty}
    return xr.Dataset(variables, attrs={**attributes, "prior": json.dumps(stored_prior(problem.prior))})


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
    rows, weight = group.whole("incomplete", 2), group.numbers("incomplete_weight", None)
    is_missing = rows == MISSING_CODE
    is_right = rows.shape == (weight.size, model.n_nodes) and (weight > 0).all()
    is_right = is_right and (is_missing | ((rows >= 0) & (rows < model.states))).all()
    require(is_right and (is_missing.any(axis=1) & ~is_missing.all(axis=1)).all(), "rows with missing cells")
    n_rows, n_empty = (int(group.number(name)) for name in ("n_incomplete", "n_empty"))
    return IncompleteRows(rows.astype(np.uint8), weight, n_rows, n_empty)


def more_groups(posterior: Posterior) -> dict[str, xr.Dataset]:
    """The groups "data", "observed", "edges", "predictability", "weighted", "quantiles", as far as they are known."""
    import xarray as xr

    groups, observed, weighted = {}, posterior._observed, posterior._weighted
    if posterior._problem is not None:
        groups["data"] = problem_to_dataset(posterior._problem)
    if "_edge_evidence" in posterior.__dict__:
        evidence = posterior._edge_evidence
        columns = {name: (("edge",), getattr(evidence, name)) for name in EVIDENCE}
        groups["edges"] = xr.Dataset(columns, attrs={"source": evidence.source})
    if observed is not None:
        parts = {name: ((name,), getattr(observed, name)) for name in AVERAGES}
        groups["observed"] = xr.Dataset(parts, attrs={"n": float(observed.n), "n_rows": int(observed.n_rows)})
    if "_predictability" in posterior.__dict__:
        table = posterior._predictability
        columns = {name: (("node",), table[name].to_numpy()) for name in table.columns}
        groups["predictability"] = xr.Dataset(columns, attrs=dict(table.attrs))
    if weighted is not None:
        draws = {"theta": (("proposal", "parameter"), weighted.theta), "weight": (("proposal",), weighted.weights)}
        if weighted.log_odds is not None:
            draws["log_odds"] = (("proposal", "parameter"), weighted.log_odds)
        groups["weighted"] = xr.Dataset(draws)
    elif posterior._quantile is not None:
        intervals = INTERVALS if posterior.model.n_parameters <= MANY_NAMES else (0.9,)
        at = [level for interval in intervals for level in ((1 - interval) / 2, (1 + interval) / 2)]
        values = np.stack([posterior._quantile(level) for level in at])
        levels = {"probability": (("level",), np.array(at)), "log_odds": (("level", "parameter"), values)}
        groups["quantiles"] = xr.Dataset(levels)
    return groups


def _saved_quantile(at: np.ndarray, values: np.ndarray, draws: np.ndarray, probability: float) -> np.ndarray:
    """Quantiles (p,) of the log-odds: those in closed form when the result was saved, else those of its draws."""
    if (near := np.flatnonzero(np.abs(at - probability) < 1e-9)).size:
        return np.asarray(values[near[0]])
    warn_user(
        f"the {100 * probability:g} % quantiles of this loaded result are those of its draws: in closed form it holds "
        f"{', '.join(f'{100 * q:g}' for q in np.sort(at))} %.",
    )
    return np.asarray(np.quantile(draws, probability, axis=(0, 1)))


def restore(values: StoredFields, groups: Mapping[str, Group]) -> dict[str, object]:
    """Add to the fields of a posterior what its file holds beside them; return what had been computed from it."""
    model: Model = values["model"]
    computed: dict[str, object] = {}
    require(((values["draws"] >= 0) & (values["draws"] <= 1)).all(), "draws")
    require(np.isfinite(values["mean"]).all(), "mean")  # theta is bounded: its mean exists
    RunFacts.of(values["details"])  # refuses what cannot be the facts of a run
    if "data" in groups:
        values["_problem"] = read_problem(groups["data"], model, values["settings"]["seed"], values["data_digest"])
    if "weighted" in groups:
        weights = groups["weighted"].numbers("weight", None)
        theta = groups["weighted"].numbers("theta", weights.size, model.n_parameters)
        require((weights >= 0).all() and ((theta >= 0) & (theta <= 1)).all(), "weighted draws")
        w = None
        if "log_odds" in groups["weighted"].arrays:
            w = groups["weighted"].numbers("log_odds", weights.size, model.n_parameters)
        values["_weighted"] = weighted = WeightedProposals.of(weights, theta, w)
        values["_quantile"] = weighted.quantile
    if "quantiles" in groups:
        at = groups["quantiles"].numbers("probability", None)
        table = groups["quantiles"].numbers("log_odds", at.size, model.n_parameters)
        w = values.get("w")
        draws = model.chart.log_odds(values["draws"]) if w is None else w
        values["_quantile"] = partial(_saved_quantile, at, table, draws)
    if "edges" in groups:
        columns = {name: groups["edges"].numbers(name, edge_blocks(model).size) for name in EVIDENCE}
        computed["_edge_evidence"] = EdgeEvidence(**columns, source=groups["edges"].text("source"))
    if "observed" in groups:
        computed["_observed"] = _read_observed(groups["observed"], model)
    if "predictability" in groups:
        computed["_predictability"] = _read_predictability(groups["predictability"], model)
    return computed


def _read_observed(group: Group, model: Model) -> ObservedAverages:
    parts = {name: group.numbers(name, None) for name in AVERAGES}
    found = ObservedAverages(group.number("n"), int(group.number("n_rows")), **parts)
    is_right = found.fitted.size == model.n_parameters and found.shares.size in (0, int(model.states.sum()))
    require(is_right, "observed averages")
    require(len(statistic_names(model, found)) == found.flat.size or found.n_rows < LEAST_ROWS, "observed averages")
    return found


def _read_predictability(group: Group, model: Model) -> pd.DataFrame:
    import pandas as pd

    columns = {name: group.numbers(name, model.n_nodes) for name in PREDICTABILITY_COLUMNS}
    table = pd.DataFrame(columns, index=pd.Index(model.nodes, name="node"))
    table.attrs |= {name: int(group.number(name)) for name in ("rows", "draws")}
    return table
