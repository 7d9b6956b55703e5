"""What a file of a posterior holds beside its fields: data, prior, Bayes factors, predictability, quantiles.

What was computed comes back as it was; what cannot be computed without the data says so when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import warn_user
from mrfbayes.model.result import StoredFields
from mrfbayes.results.bayes_factors import EdgeEvidence, edge_blocks
from mrfbayes.results.files import Group, require
from mrfbayes.results.observed import LEAST_ROWS, ObservedAverages, statistic_names
from mrfbayes.results.predictability import PREDICTABILITY_COLUMNS
from mrfbayes.results.stored_model import problem_to_dataset, read_problem
from mrfbayes.targets.corrected import WeightedProposals
from mrfbayes.targets.facts import RunFacts

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from mrfbayes.model.field import Model
    from mrfbayes.results.posterior import Posterior

INTERVALS = (0.5, 0.8, 0.9, 0.95, 0.99)  # whose ends are saved where quantiles are in closed form
MANY_NAMES = 100_000  # parameters past which only those of the default interval are
AVERAGES = ("fitted", "pairs", "sums", "shares")


def more_groups(posterior: Posterior) -> dict[str, xr.Dataset]:
    """The groups "data", "observed", "edges", "predictability", "weighted", "quantiles", as far as they are known."""
    import xarray as xr

    groups = {}
    if posterior._problem is not None:
        groups["data"] = problem_to_dataset(posterior._problem)
    if "_edge_evidence" in posterior.__dict__:
        found = posterior._edge_evidence
        columns = {name: (("edge",), getattr(found, name)) for name in ("log_bf10", "error", "pareto_k")}
        groups["edges"] = xr.Dataset(columns, attrs={"source": found.source})
    if (observed := posterior._observed) is not None:
        parts = {name: ((name,), getattr(observed, name)) for name in AVERAGES}
        groups["observed"] = xr.Dataset(parts, attrs={"n": float(observed.n), "n_rows": int(observed.n_rows)})
    if "_predictability" in posterior.__dict__:
        table = posterior._predictability
        groups["predictability"] = xr.Dataset(
            {name: (("node",), table[name].to_numpy()) for name in table.columns}, attrs=dict(table.attrs)
        )
    if posterior._weighted is not None:
        theta = {"theta": (("proposal", "parameter"), posterior._weighted.theta)}
        groups["weighted"] = xr.Dataset({**theta, "weight": (("proposal",), posterior._weighted.weights)})
    elif posterior._quantile is not None:
        groups["quantiles"] = _quantiles_to_dataset(posterior._quantile, posterior.model.n_parameters)
    return groups


def _quantiles_to_dataset(quantile: Callable[[float], np.ndarray], p: int) -> xr.Dataset:
    import xarray as xr

    intervals = INTERVALS if p <= MANY_NAMES else (0.9,)
    at = [level for interval in intervals for level in ((1 - interval) / 2, (1 + interval) / 2)]
    values = np.stack([quantile(level) for level in at])
    return xr.Dataset({"probability": (("level",), np.array(at)), "theta": (("level", "parameter"), values)})


class SavedQuantiles:
    """Quantiles that were in closed form when a result was saved; others come from its draws, with a warning."""

    def __init__(self, at: np.ndarray, values: np.ndarray, draws: np.ndarray) -> None:
        self.at, self.values, self._draws = at, values, draws
        self._has_warned = False

    def __call__(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of theta."""
        near = np.flatnonzero(np.abs(self.at - probability) < 1e-9)
        if near.size:
            return np.asarray(self.values[near[0]])
        if not self._has_warned:
            warn_user(
                f"the {100 * probability:g} % quantiles of this loaded result are those of its draws: in closed form "
                f"it holds {', '.join(f'{100 * q:g}' for q in np.sort(self.at))} %.",
            )
            self._has_warned = True
        return np.asarray(np.quantile(self._draws, probability, axis=(0, 1)))


def restore(values: StoredFields, groups: Mapping[str, Group]) -> dict[str, object]:
    """Add to the fields of a posterior what its file holds beside them; return what had been computed from it."""
    model: Model = values["model"]
    computed: dict[str, object] = {}
    require(bool(((values["draws"] >= 0) & (values["draws"] <= 1)).all()), "draws")
    require(bool(np.isfinite(values["mean"]).all()), "mean")  # theta is bounded: its mean exists
    RunFacts.of(values["details"])  # refuses what cannot be the facts of a run
    if "data" in groups:
        values["_problem"] = read_problem(groups["data"], model, values["settings"]["seed"], values["data_digest"])
    if "weighted" in groups:
        weights = groups["weighted"].numbers("weight", (None,))
        theta = groups["weighted"].numbers("theta", (weights.size, model.n_parameters))
        require(bool((weights >= 0).all() and ((theta >= 0) & (theta <= 1)).all()), "weighted draws")
        values["_weighted"] = weighted = WeightedProposals.of(weights, theta)
        values["_quantile"] = weighted.quantile
    if "quantiles" in groups:
        at = groups["quantiles"].numbers("probability", (None,))
        table = groups["quantiles"].numbers("theta", (at.size, model.n_parameters))
        values["_quantile"] = SavedQuantiles(at, table, values["draws"])
    if "edges" in groups:
        shape = (edge_blocks(model).size,)
        columns = {name: groups["edges"].numbers(name, shape) for name in ("log_bf10", "error", "pareto_k")}
        computed["_edge_evidence"] = EdgeEvidence(**columns, source=groups["edges"].text("source"))
    if "observed" in groups:
        computed["_observed"] = _read_observed(groups["observed"], model)
    if "predictability" in groups:
        computed["_predictability"] = _read_predictability(groups["predictability"], model)
    return computed


def _read_observed(group: Group, model: Model) -> ObservedAverages:
    parts = {name: group.numbers(name, (None,)) for name in AVERAGES}
    require(parts["fitted"].size == model.n_parameters, "observed averages")
    require(parts["shares"].size in (0, int(model.states.sum())), "observed averages")
    found = ObservedAverages(group.number("n"), int(group.number("n_rows")), **parts)
    require(len(statistic_names(model, found)) == found.flat.size or found.n_rows < LEAST_ROWS, "observed averages")
    return found


def _read_predictability(group: Group, model: Model) -> pd.DataFrame:
    import pandas as pd

    columns = {name: group.numbers(name, (model.n_nodes,)) for name in PREDICTABILITY_COLUMNS}
    table = pd.DataFrame(columns, index=pd.Index(model.nodes, name="node"))
    table.attrs |= {name: int(group.number(name)) for name in ("rows", "draws")}
    return table
