r"""`mrfbayes.compare_groups`: which edges differ between groups of observations.

The log-odds of group g are :math:`w_g = \beta + \sum_k c_{gk}\delta_k`: a baseline and contrasts. The rates c are the
corners of a simplex with edges of length one, so that the difference between any two groups has the slab as its prior
(for two groups :math:`c = \pm\frac12` and :math:`\delta` is the difference, under any slab). With more groups that is
a property of independent normal contrasts alone, since the differences are sums of them, so other slabs are refused
there. An edge differs between all groups or between none; its baseline and the node factors are always there.
"""

from __future__ import annotations

import os
import warnings as python_warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.base.random_streams import Seed, seed_sequence
from mrfbayes.data.holes import MISSING_AT_RANDOM, hole_doubts
from mrfbayes.data.levels import Labels
from mrfbayes.data.statistics import Statistics, count
from mrfbayes.model.field import Model
from mrfbayes.priors import Cauchy, Distribution, Exchangeable, Logistic, Normal
from mrfbayes.structure.anchors import ANCHOR_PARTICLES, SearchProblem
from mrfbayes.structure.factors import EdgeFactors, edge_factors
from mrfbayes.structure.graph_priors import graph_prior
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.moves import Coordinates, named_edges, named_nodes, search_prior, slab_distribution
from mrfbayes.structure.running import SearchRequest, run_options, search

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

NAMED = 5  # thresholds that a warning lists


def compare_groups(
    model: Model,
    x: object,
    *,
    group: object = None,
    slab: object = "normal(0, 1)",
    differences: object = "bernoulli(0.5)",
    prior: object = None,
    engine: str | None = None,
    particles: int = ANCHOR_PARTICLES,
    steps: int | None = None,
    warmup: int | None = None,
    chains: int = 4,
    thin: int | None = None,
    rng: Seed | None = 0,
    workers: int = 1,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
    missing: str = "refuse",
) -> GroupComparison:
    """Which edges differ between groups: the posterior of baseline and differences, from the true likelihood.

    Parameters
    ----------
    model : the field of all groups, untied; a table coupling differs as a whole or not at all
    x : mapping from the groups' names to their data, each as in `sample`; or one table with the groups in a column
    group : name of that column, or one label per row of an array ``x``
    slab : prior of a difference that is there, and of the differences of node factors, which are always there; as
        {"edges": ..., "nodes": ...} where they are to differ; normal with more than two groups
    differences : prior of which edges differ: "bernoulli(0.5)", "beta-bernoulli(1, 1)", or one probability per edge
    prior : prior of the baseline, as {"edges": ..., "nodes": ...}; the default of `mrfbayes.priors` where left out
    engine, particles, steps, warmup, chains, thin, rng, workers, progress, checkpoint, seconds, missing : as in
        `select`; a category that is seen in any group is one of all
    """
    factors = edge_factors(model)
    data = split_groups(model, x, group, missing)
    coordinates = group_coordinates(model, len(data), slab, prior)
    graphs = graph_prior(model, differences, "differences")
    rest = {"chains": chains, "workers": workers, "progress": progress, "checkpoint": checkpoint, "seconds": seconds}
    options = run_options(coordinates.rate.shape[1] * model.n_parameters, steps, warmup, thin, **rest)
    settings = {
        "groups": list(data),
        "slab": named_edges(model, coordinates.priors[1]),
        "node_slab": ", ".join(dict.fromkeys(named_nodes(model, coordinates.priors[1]).values())),
        "differences": str(graphs),
        "difference_probabilities": graphs.probability.tolist(),
        "prior": f"edges {named_edges(model, coordinates.priors[0])}, "
        f"nodes {', '.join(dict.fromkeys(named_nodes(model, coordinates.priors[0]).values()))}",
    }
    if any(statistics.holes is not None for statistics in data.values()):
        settings["missing"] = MISSING_AT_RANDOM
    problem = SearchProblem(factors, tuple(data.values()), coordinates, graphs)
    doubts = (*_holes(data), *_resting_on_the_prior(factors, data))
    request = SearchRequest(engine, particles, options, seed_sequence(rng), settings, doubts=doubts)
    shared, run, summary = search(problem, request)
    n_chains, n_draws, _ = run.draws.shape
    return GroupComparison(
        **vars(shared),
        groups=tuple(data),
        coordinates=run.draws.reshape(n_chains, n_draws, coordinates.rate.shape[1], model.n_parameters),
        rate=coordinates.rate,
        coordinate_mean=summary.mean,
        coordinate_sd=summary.sd,
        n=tuple(statistics.n_all for statistics in data.values()),
    )


def simplex(n_groups: int) -> np.ndarray:
    """(G, G - 1) corners of a simplex whose edges have length one and whose centre is the origin."""
    if n_groups == 2:
        return np.array([[-0.5], [0.5]])
    centred = np.eye(n_groups) - 1.0 / n_groups
    basis = np.linalg.svd(centred)[0][:, : n_groups - 1]
    return np.asarray(centred @ basis / np.sqrt(2))


def group_coordinates(model: Model, n_groups: int, slab: object, prior: object) -> Coordinates:
    """Baseline and contrasts with their priors."""
    both = dict(slab) if isinstance(slab, Mapping) else {"edges": slab, "nodes": slab}
    unknown = [key for key in both if key not in ("edges", "nodes")]
    if unknown:
        raise InputError(f"slab has an entry for {unknown[0]!r}: give {{'edges': ..., 'nodes': ...}}.")
    edges, own = (_difference(both.get(key, "normal(0, 1)"), n_groups) for key in ("edges", "nodes"))
    given = dict(prior) if isinstance(prior, Mapping) else {} if prior is None else {"edges": prior, "nodes": prior}
    edge_prior = given.pop("edges", None)
    baseline = search_prior(model, None if edge_prior == "default" else edge_prior, given, "prior['edges']")
    contrasts = search_prior(model, edges, {"nodes": own})
    rate = np.concatenate([np.ones((n_groups, 1)), simplex(n_groups)], axis=1)
    k = n_groups - 1
    return Coordinates(rate, (baseline, *[contrasts] * k), (False, *[True] * k))


def _difference(slab: object, n_groups: int) -> Distribution:
    """The prior of a difference."""
    found = slab_distribution(slab)
    if isinstance(found, Exchangeable):
        return found
    if not isinstance(found, (Normal, Cauchy, Logistic)) or found.location != 0:
        raise InputError(
            f"slab = {slab!r}: the prior of a difference is centred at zero, whichever group comes first: "
            "'normal(0, 1)', 'cauchy(0, 1)' or 'logistic(0, 1)'."
        )
    if n_groups > 2 and not isinstance(found, Normal):
        raise InputError(
            f"slab = {slab!r}: with {n_groups} groups only a normal slab is the prior of the difference between any "
            f"two of them. Differences are sums of {n_groups - 1} independent contrasts, and a sum of independent "
            "normals is the slab again whichever two groups are compared, while one of Cauchy or logistic variables is "
            "wider, or of another kind, differently for each pair: use 'normal(0, 1)', or compare two groups at a time."
        )
    return found


def split_groups(model: Model, x: object, group: object, missing: str = "refuse") -> dict[str, Statistics]:
    """The counted data of each group, all coded alike; ``missing`` as in `count`."""
    named = dict(x) if _is_groups(x, group) and isinstance(x, Mapping) else _by_label(x, group)
    parts = {str(name): part for name, part in named.items()}
    if len(parts) < 2:
        raise InputError(f"x has {len(parts)} group ({', '.join(map(repr, parts))}): give at least two.")
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", MRFWarning)  # a category that one group lacks is named below
        are_tables = _are_tables(parts.values())
        labels = count(model, _pooled(list(parts.values())), missing=missing).labels if are_tables else None
        return {name: _counted(model, name, part, labels, missing) for name, part in parts.items()}


def _counted(model: Model, name: str, part: object, labels: Labels | None, missing: str) -> Statistics:
    """One group's data; what is wrong with them is said of that group."""
    try:
        return count(model, part, missing=missing, labels=None if isinstance(part, Statistics) else labels)
    except InputError as wrong:
        raise InputError(f"group {name!r}: {wrong}") from None


def _holes(data: Mapping[str, Statistics]) -> list[str]:
    """What has to be said of the groups with missing cells."""
    found = []
    for name, statistics in data.items():
        if statistics.holes is not None:
            texts = hole_doubts(statistics.model, statistics.holes, statistics.n)
            found.append(f"group {name!r}: {'; '.join(texts)}.")
    return found


def _is_groups(x: object, group: object) -> bool:
    if isinstance(x, Mapping):
        if group is not None:
            raise InputError("group: x is a mapping from groups to data already; leave group out.")
        return True
    if group is None:
        raise InputError("group is missing: give x as {'a': data, 'b': data}, or name the column with the groups.")
    return False


def _by_label(x: object, group: object) -> dict[str, object]:
    """One table taken apart by a column, or an array by labels."""
    if isinstance(group, str):
        import narwhals as nw
        import polars as pl

        if isinstance(x, (str, os.PathLike)):
            path = Path(x)
            x = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
        try:
            frame = nw.from_native(cast("IntoDataFrame", x), eager_only=True)
        except TypeError:
            raise InputError(
                f"group = {group!r} names a column, and x is a {type(x).__name__}: give a table."
            ) from None
        if group not in frame.columns:
            raise InputError(f"group = {group!r}: no column is called so; there are {', '.join(frame.columns[:8])}.")
        names = frame[group].unique().drop_nulls().sort().to_list()
        if frame[group].null_count():
            raise InputError(f"group = {group!r}: {frame[group].null_count()} rows belong to no group; remove them.")
        rest = [column for column in frame.columns if column != group]
        return {str(name): nw.to_native(frame.filter(nw.col(group) == name).select(rest)) for name in names}
    labels, rows = np.asarray(group), np.asarray(x)
    if labels.shape != rows.shape[:1]:
        raise InputError(f"group has shape {labels.shape}, x has {len(rows)} rows: give one label per row.")
    return {str(name): rows[labels == name] for name in np.unique(labels)}


def _are_tables(parts: Iterable[object]) -> bool:
    return not any(isinstance(part, (Statistics, str, os.PathLike)) for part in parts)


def _pooled(parts: Sequence[object]) -> object:
    """All groups as one table: what is in any of them counts when values become states."""
    if hasattr(parts[0], "columns"):
        import narwhals as nw

        return nw.to_native(nw.concat([nw.from_native(part, eager_only=True) for part in parts], how="vertical"))
    return np.concatenate([np.asarray(part) for part in parts])


def _resting_on_the_prior(factors: EdgeFactors, data: Mapping[str, Statistics]) -> tuple[str, ...]:
    """Thresholds of categories that a group never shows."""
    model, found = factors.model, []
    for name, statistics in data.items():
        for node, rows in enumerate(factors.nodes):
            first, n = int(factors.first[node]), statistics.n
            seen = statistics.counts[first : first + len(rows)]
            if statistics.holes is not None:
                offset = model.lowering.node_offset[node]
                cells = statistics.holes.seen_cells(model)[offset : offset + model.states[node]]
                seen, n = seen + rows @ cells, n + cells.sum()
            empty = [model.parameters[first + k] for k in np.flatnonzero(seen == 0)]
            if len(rows) and seen.sum() >= n:
                empty.append(f"{model.nodes[node]} (its first state)")
            found += [f"{parameter} in {name}" for parameter in empty]
    if not found:
        return ()
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return (f"never seen, so that the prior alone speaks: {', '.join(found[:NAMED])}{more}.",)
