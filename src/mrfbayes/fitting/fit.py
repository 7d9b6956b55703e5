"""`mrfbayes.fit`: data, model, posterior, graphs and groups in one call, with the defaults of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any, cast

from mrfbayes.base import random_streams
from mrfbayes.base.budget import Budget, budget
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, DistributionLike, Option, PriorLike, Scale
from mrfbayes.data.border import as_data
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.result import Estimate
from mrfbayes.fitting.result import Fit
from mrfbayes.model.build import grid
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.scales import scaled
from mrfbayes.priors import by_part
from mrfbayes.report.codebook import read_codebook
from mrfbayes.results.posterior import Posterior
from mrfbayes.sampling.sample import check_call, sample
from mrfbayes.structure.groups import GroupComparison, compare_groups, group_coordinates, split_groups
from mrfbayes.structure.moves import search_prior
from mrfbayes.structure.problem import edge_factors
from mrfbayes.structure.reruns import RERUN_LENGTH
from mrfbayes.structure.result import SearchResult
from mrfbayes.structure.search import check_weights
from mrfbayes.structure.selection import Selection
from mrfbayes.structure.selection import select as search_graphs

BALANCED = (0.4, 0.6)  # share of ones between which an image needs no thresholds


def image_model(data: Data, shape: tuple[int, int], **options: Any) -> Model:
    """A grid with agreement couplings: tied for a single image, with thresholds where one of two states is commoner.

    Parameters
    ----------
    data : Data
        Images, or a table with a column per pixel.
    shape : tuple of int
        Rows and columns of the grid.
    **options
        As for `mrfbayes.grid`; they win.
    """
    totals = data.value_totals()
    total = sum(totals.values())
    values = sorted(totals, key=lambda value: (isinstance(value, str), value))
    ones = 1.0 - totals[values[0]] / total if len(values) == 2 else float(values[0] != 0) if len(values) == 1 else 0.5
    highest = values[-1]
    is_count = all(isinstance(value, float) and value >= 0 for value in values) and len(values) <= 12
    n_states = int(highest) + 1 if is_count and isinstance(highest, float) and highest < 12 else len(values)
    chosen = {
        "states": max(n_states, 2),
        "fields": not BALANCED[0] <= ones <= BALANCED[1],
        "tied": data.n_rows == 1,
        "coupling": "agreement",
    }
    return grid(*shape, **{**chosen, **{name: value for name, value in options.items() if value is not None}})


Call = Mapping[str, Any]  # settings of `sample` by name
MOST_GROUPS_COMPARED = 12
SHORTEST_SEARCH = 0.05  # seconds: the least time budget of a search
SEARCHES = {"graphs": "The search over graphs", "groups": "The comparison of groups"}
RERUNS = {"graphs": "The panel of priors", "groups": "The evidence of no difference"}
RERUN_COST = {"graphs": 6 * RERUN_LENGTH, "groups": 7 * RERUN_LENGTH}  # sweeps of two chains


def fit(
    source: DataLike,
    *,
    model: Model | None = None,
    select: bool = False,
    prior: PriorLike = "default",
    slab: DistributionLike | None = None,
    group_slab: DistributionLike | Mapping[str, DistributionLike] | None = None,
    method: str = "auto",
    chains: int = 4,
    workers: int = 1,
    seconds: float | None = None,
    rng: Seed | None = None,
    checkpoint: str | PathLike[str] | None = None,
    scale: Scale | None = None,
    codebook: Mapping[str, str] | str | PathLike[str] | None = None,
    **settings: Option | Estimate,
) -> Fit:
    """Learn a field from data in one call, as the command ``mrfbayes fit`` does.

    Parameters
    ----------
    source : DataLike
        `Data`, or anything that `Data` reads. If it has groups, they are compared.
    model : Model, optional
        The field; by default `Model.from_data`, and a grid for images.
    select : bool, default False
        Whether to search over graphs.
    prior : PriorLike, default "default"
        Prior, as in `mrfbayes.sample`.
    slab : str or distribution, optional
        Prior of a present coupling in the search over graphs; by default that of the edges in ``prior``, else that of
        `select`.
    group_slab : str, distribution or mapping, optional
        Prior of a difference between groups; by default that of `compare_groups`.
    method : str, default "auto"
        Method, as in `mrfbayes.sample`.
    chains : int, default 4
        Number of independent chains.
    workers : int, default 1
        Number of processes.
    seconds : float, optional
        Time budget; each part gets its share.
    rng : int, SeedSequence or Generator, optional
        Seed.
    checkpoint : str or path, optional
        File from which an interrupted run continues.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale of the tables; by default the usual one for the model.
    codebook : mapping of str to str, str or path, optional
        Texts of the items by name, or a CSV file with a name and a text in each row; used in the report.
    **settings : float, str or array_like
        Other arguments of `mrfbayes.sample`.

    Returns
    -------
    Fit
        Has ``data``, ``model``, ``posterior``, ``selection`` and ``groups``; ``report(path)`` and ``save(folder)``
        write files.

    Raises
    ------
    InputError
        If the data or the model have covariates, which `mrfbayes.sample` takes.

    See Also
    --------
    sample : The posterior of one model.
    select : The posterior over graphs.
    compare_groups : Differences between groups.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> found = mb.fit({"a": [0, 1, 1, 0, 1, 0], "b": [0, 1, 1, 0, 0, 1]}, rng=1, progress=False)
    >>> found.model.n_edges
    1
    """
    call: dict[str, object] = {"prior": prior, "method": method, "chains": chains, "workers": workers, **settings}
    call |= {"rng": rng, "checkpoint": checkpoint, "seconds": seconds}
    data = as_data(source)
    chosen = default_model(data) if model is None else model
    require_model(chosen)
    if chosen.field is not chosen or data._covariates or data._given:
        raise InputError(
            "covariates: fit takes none; use sample(Model.from_data(data, covariates='thresholds'), data)."
        )
    texts = read_codebook(codebook, chosen)
    return replace(run_fit(data, chosen, call, select=select, slabs=(slab, group_slab), scale=scale), codebook=texts)


def default_model(data: Data) -> Model:
    """The field that is learned where none is given: `Model.from_data`, and a grid for images."""
    return Model.from_data(data) if data.image_shape is None else image_model(data, data.image_shape)


def run_fit(
    data: Data,
    model: Model,
    call: Call,
    *,
    select: bool = False,
    slabs: tuple[object, object] = (None, None),
    scale: Scale | None = None,
    on_posterior: Callable[[Posterior], None] = lambda posterior: None,
) -> Fit:
    """The work of `fit`; ``slabs`` are those of graphs and of groups.

    ``on_posterior`` is called with the posterior before graphs and groups are searched.
    """
    has_groups, (slab, group_slab) = data.has_group, slabs
    if call["rng"] is None and call["checkpoint"] is None:
        call = {**call, "rng": random_streams.fresh_seed()}  # one seed of all parts
    check_call(model, call)
    scaled(model, scale)  # refuses one that the model does not have
    seconds = call["seconds"]
    for name, value, is_asked, how in (
        ("slab", slab, select, "the search over graphs: give select=True (--select)"),
        ("group_slab", group_slab, has_groups, "the comparison of groups: name the column of groups (--group)"),
    ):
        if value is not None and not is_asked:
            raise InputError(f"{name} = {value!r} is for {how}.")
    priors = _search_priors(call["prior"], slab, group_slab)
    if select or has_groups:
        edge_factors(model)  # what cannot be searched is refused before anything is computed
    if select:
        search_prior(model, priors["graphs"].get("slab"), priors["graphs"]["prior"])
    with Budget(seconds).as_current() as limit:
        statistics = data.count(model)
        groups: dict[str, Statistics] = {}
        if has_groups:
            if not 2 <= (n := len(data.group_labels)) <= MOST_GROUPS_COMPARED:
                raise InputError(f"group: {n} different values; groups are 2 to {MOST_GROUPS_COMPARED}.")
            groups, of_groups = split_groups(model, data), priors["groups"]
            group_coordinates(model, len(groups), of_groups.get("slab", "normal(0, 1)"), of_groups["prior"])
        for part in [*groups.values(), *([statistics] if select else [])]:
            check_weights(part)
        seconds = None if seconds is None else (0.4 if select or groups else 0.6) * limit.left
        posterior = sample(model, statistics, **{**call, "seconds": seconds})
        on_posterior(posterior)
        found, omitted = _search(model, statistics, groups, select, call, priors)
        omitted += _reruns(found, call)
    searches = cast("Selection | None", found.get("graphs")), cast("GroupComparison | None", found.get("groups"))
    return Fit(data, model, posterior, *searches, tuple(omitted), scale, data.where)


def _search(
    model: Model,
    statistics: Statistics,
    groups: Mapping[str, Statistics],
    select: bool,
    call: Call,
    priors: Mapping[str, Call],
) -> tuple[dict[str, SearchResult], list[str]]:
    """Graphs and groups; of a time budget each gets its part, and a search for which that is too short is left out."""
    limit, place = budget(), call.get("checkpoint")
    runs: dict[str, Callable[..., SearchResult]] = {}
    if select:
        runs["graphs"] = partial(search_graphs, model, statistics)
    if groups:
        runs["groups"] = partial(compare_groups, model, dict(groups))
    shared = {key: call[key] for key in ("chains", "workers", "rng", "progress") if key in call}
    found: dict[str, SearchResult] = {}
    omitted = []
    for k, (name, run) in enumerate(runs.items()):
        share = 1.0 / (len(runs) - k + 1)  # the last one leaves time for the Bayes factors and the report
        seconds = max(share * limit.left, SHORTEST_SEARCH) if isfinite(limit.left) else None
        checkpoint = None if place is None else Path(f"{place}.{name}")
        made = None
        with suppress(*[] if seconds is None else [CostError]):
            made = run(**priors[name], **shared, seconds=seconds, checkpoint=checkpoint)
        if made is not None and made.steps:
            found[name] = made
        else:
            omitted.append(f"{SEARCHES[name]} was left out: the time budget was too short for it.")
    return found, omitted


def _reruns(found: dict[str, SearchResult], call: Call) -> list[str]:
    """Make the short runs behind sensitivity and the evidence of no difference; what there is no time for is named."""
    omitted, limit, shown = [], budget(), bool(call.get("progress", True))
    for name, result in found.items():
        sweeps = max(result.steps + result.warmup, 1) * max(len(result.log_likelihood), 1)
        if 2 * RERUN_COST[name] * result.timings["run"] / sweeps > limit.left:
            found[name] = replace(result, _rerun=None)
            omitted.append(f"{RERUNS[name]} was left out: the time budget was too short for it.")
        elif isinstance(result, Selection):
            result.sensitivity(progress=shown)
        elif isinstance(result, GroupComparison):
            result.no_difference(progress=shown)
    return omitted


def _search_priors(prior: PriorLike, slab: object, group_slab: object) -> dict[str, Call]:
    """Slab and prior of both searches, from the prior of `sample`: one for the edges, or a mapping."""
    given = {name: one for name, one in by_part(prior).items() if one != "default"}
    nodes = {name: one for name, one in given.items() if name != "edges"}
    slabs = {"graphs": given.get("edges") if slab is None else slab, "groups": group_slab}
    own = {name: {} if one is None else {"slab": one} for name, one in slabs.items()}
    return {"graphs": {**own["graphs"], "prior": nodes}, "groups": {**own["groups"], "prior": given}}
