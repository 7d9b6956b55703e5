"""`mrfbayes.fit`: data, model, posterior, graphs and groups in one call, with the defaults of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mrfbayes.base import random_streams
from mrfbayes.base.budget import Budget, budget
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import Scale
from mrfbayes.data.border import as_data
from mrfbayes.data.data import Data
from mrfbayes.fitting.image_model import image_model
from mrfbayes.model.edge_strength import edge_strengths
from mrfbayes.model.exports import edge_table
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema
from mrfbayes.priors import by_part
from mrfbayes.report.findings import Findings
from mrfbayes.results.posterior import Posterior
from mrfbayes.sampling.sample import check_call, sample
from mrfbayes.structure.compare_groups import compare_groups, group_coordinates, split_groups
from mrfbayes.structure.factors import edge_factors
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.moves import search_prior
from mrfbayes.structure.result import SearchResult
from mrfbayes.structure.select import select as search_graphs
from mrfbayes.structure.selection import Selection

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.data.statistics import Statistics
    from mrfbayes.report.structure_sections import Section

Call = Mapping[str, Any]  # settings of `sample` by name
MOST_GROUPS_COMPARED = 12
SHORTEST_SEARCH = 0.05  # seconds: the least time budget of a search
MATRIX_NODES = 5_000  # nodes up to which the matrix of couplings is written
SEARCHES = {"graphs": "The search over graphs", "groups": "The comparison of groups"}
# Files that `Fit.save` may write.
FIT_FILES = (
    *("report.html", "summary.csv", "edges.csv", "weights.csv", "posterior.nc", "settings.toml"),
    *("graphs.nc", "structure.csv", "groups.nc", "differences.csv"),
)


@dataclass(frozen=True, eq=False)
class Fit:
    """What `mrfbayes.fit` found.

    Attributes
    ----------
    data : Data
        The data with their coding.
    model : Model
        The field that was learned.
    posterior : Posterior
        The posterior of all parameters.
    selection : Selection or None
        Which edges are there, where that was asked for.
    groups : GroupComparison or None
        Which edges differ between the groups of the data, where it has groups.
    omitted : tuple of str
        Searches that a time budget was too short for.
    """

    data: Data
    model: Model
    posterior: Posterior
    selection: Selection | None = None
    groups: GroupComparison | None = None
    omitted: tuple[str, ...] = ()
    scale: Scale | None = field(default=None, repr=False)

    @property
    def schema(self) -> Schema:
        """Which value of the data is which state."""
        return self.posterior.schema

    @property
    def warnings(self) -> tuple[str, ...]:
        """What asks for a decision: of the data, the run and the searches."""
        parts = [self.data.warnings, self.posterior.warnings]
        parts += [found.warnings for found in (self.selection, self.groups) if found is not None]
        return tuple(dict.fromkeys(text for part in (*parts, self.omitted) for text in part))

    @cached_property
    def findings(self) -> Findings:
        """The tables behind the report."""
        return Findings(self.posterior, cast("Scale", self.scale))

    @property
    def sections(self) -> list[Section]:
        """The sections of the report on graphs and groups."""
        from mrfbayes.report.structure_sections import groups_section, selection_section

        found = [] if self.selection is None else [selection_section(self.selection)]
        return found if self.groups is None else [*found, groups_section(self.groups)]

    @property
    def sentences(self) -> list[str]:
        """The results in a few sentences."""
        from mrfbayes.report.sentences import brief
        from mrfbayes.report.structure_sections import groups_sentences, selection_sentences

        found = list(brief(self.findings))
        found += [] if self.selection is None else selection_sentences(self.selection, self.selection.edges())
        return found + ([] if self.groups is None else groups_sentences(self.groups, self.groups.differences()))

    def report(self, path: str | PathLike[str], *, title: str = "", overwrite: bool = False) -> Path:
        """Write the report, one self-contained HTML file.

        Parameters
        ----------
        path : str or path
            File to write.
        title : str
            Title of the page; by default the name of the data.
        overwrite : bool
            Whether a file that exists is replaced.

        Returns
        -------
        Path
            The file.
        """
        from mrfbayes.base.atomic_files import check_targets, write_text
        from mrfbayes.report.write import render

        target, source = Path(path), Path(self.data.where)
        check_targets({"path": target}, overwrite=overwrite)
        write_text(target, render(self.findings, title or source.stem, source.name, self.sections), overwrite)
        return target

    def save(self, folder: str | PathLike[str], *, title: str = "", overwrite: bool = False) -> dict[str, Path]:
        """Write report, tables and results into a folder.

        Parameters
        ----------
        folder : str or path
            Folder to write to; made where it does not exist.
        title : str
            Title of the report.
        overwrite : bool
            Whether files that exist are replaced.

        Returns
        -------
        dict
            Path of each file by its name.
        """
        from mrfbayes.base.atomic_files import check_targets
        from mrfbayes.plots.saving import write_table

        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise InputError(f"folder = {str(place)!r} is a file: name a folder.")
        names = ["posterior.nc", "summary.csv", "edges.csv", "weights.csv", "report.html"]
        names += [] if self.selection is None else ["graphs.nc", "structure.csv"]
        names += [] if self.groups is None else ["groups.nc", "differences.csv"]
        paths = {name.split(".")[0]: place / name for name in names}
        if self.model.n_nodes > MATRIX_NODES:
            del paths["weights"]
        place.mkdir(parents=True, exist_ok=True)
        check_targets({str(path): path for path in paths.values()}, overwrite=overwrite)
        findings = self.findings
        _ = findings.edges, findings.nodes  # computed before the result is saved, which keeps them
        self.posterior.save(paths["posterior"], overwrite=overwrite)
        write_table(self.posterior.summary(scale=findings.scale), paths["summary"], overwrite)
        write_table(findings.edges, paths["edges"], overwrite)
        if "weights" in paths:
            write_table(self.weights(), paths["weights"], overwrite)
        if self.selection is not None:
            self.selection.save(paths["graphs"], overwrite=overwrite)
            write_table(self.selection.edges(), paths["structure"], overwrite)
        if self.groups is not None:
            self.groups.save(paths["groups"], overwrite=overwrite)
            write_table(self.groups.differences(), paths["differences"], overwrite)
        self.report(paths["report"], title=title, overwrite=overwrite)
        return paths

    def weights(self) -> pd.DataFrame:
        """Posterior means of the couplings in log-odds as a symmetric matrix."""
        couplings = edge_strengths(self.model, self.posterior.log_odds.mean(axis=(0, 1)))
        return edge_table(self.model, couplings).rename_axis("node")

    def __repr__(self) -> str:
        extra = [name for name in ("selection", "groups") if getattr(self, name) is not None]
        return f"<Fit: {self.data!r}, {self.posterior!r}{''.join(f', {name}' for name in extra)}>"

    def _repr_html_(self) -> str:
        return self.data._repr_html_() + self.posterior._repr_html_()


def fit(
    source: object,
    *,
    model: Model | None = None,
    select: bool = False,
    prior: object = "default",
    slab: object = None,
    group_slab: object = None,
    method: str = "auto",
    chains: int = 4,
    workers: int = 1,
    seconds: float | None = None,
    rng: Seed | None = None,
    checkpoint: str | PathLike[str] | None = None,
    scale: Scale | None = None,
    **settings: object,
) -> Fit:
    """Learn a field from data: what ``mrfbayes fit`` does, in one call.

    Parameters
    ----------
    source : Data, or anything that `Data` reads
        The data. Where it has groups, they are compared, too.
    model : Model, optional
        The field; by default `Model.from_data`, and a grid for images.
    select : bool
        Whether to search which edges are there.
    prior, method, chains, workers, seconds, rng, checkpoint, **settings
        As for `mrfbayes.sample`. Of a time budget ``seconds`` each part gets its share.
    slab : str or distribution, optional
        Prior of a coupling that is there, in the search over graphs; by default that of the edges in ``prior``, else
        that of `select`.
    group_slab : str, distribution or mapping, optional
        Prior of a difference between groups that is there; by default that of `compare_groups`.
    scale : {"theta", "log-odds", "ising"}, optional
        Scale of the tables; by default the one that is usual for the model.

    Returns
    -------
    Fit
        With ``data``, ``model``, ``posterior``, ``selection`` and ``groups``; ``report(path)`` and ``save(folder)``
        write files, nothing else does.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> found = mb.fit({"a": [0, 1, 1, 0, 1, 0], "b": [0, 1, 1, 0, 0, 1]}, rng=1, progress=False)
    >>> found.model.n_edges
    1
    """
    call = {
        "prior": prior,
        "method": method,
        "chains": chains,
        "workers": workers,
        "rng": rng,
        "checkpoint": checkpoint,
    }
    data = as_data(source)
    call = {**call, "seconds": seconds, **settings}
    chosen = model or default_model(data)
    return run_fit(data, chosen, call, select=select, slabs=(slab, group_slab), scale=scale)


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
        groups = _groups(data, model) if has_groups else {}
        if groups:
            group_coordinates(
                model, len(groups), priors["groups"].get("slab", "normal(0, 1)"), priors["groups"]["prior"]
            )
        share = 0.4 if select or groups else 0.6
        budgeted = {"seconds": None if seconds is None else share * limit.left}
        posterior = sample(model, statistics, **{**call, **budgeted})
        on_posterior(posterior)
        found, omitted = _search(model, statistics, groups, select, call, priors)
    selection, comparison = found.get("graphs"), found.get("groups")
    return Fit(
        data,
        model,
        posterior,
        cast("Selection | None", selection),
        cast("GroupComparison | None", comparison),
        tuple(omitted),
        scale,
    )


def _groups(data: Data, model: Model) -> dict[str, Statistics]:
    n = len(data.group_labels)
    if not 2 <= n <= MOST_GROUPS_COMPARED:
        raise InputError(f"group: {n} different values; groups are 2 to {MOST_GROUPS_COMPARED}.")
    return split_groups(model, data)


def _search(
    model: Model,
    statistics: Statistics,
    groups: Mapping[str, Statistics],
    select: bool,
    call: Call,
    priors: Mapping[str, Call],
) -> tuple[dict[str, SearchResult], list[str]]:
    """Graphs and groups; of a time budget each gets its part, and a search for which that is too short is left out."""
    limit = budget()
    parts: list[tuple[str, Callable[..., SearchResult]]] = []
    if select:
        parts.append(("graphs", partial(search_graphs, model, statistics, **priors["graphs"])))
    if groups:
        parts.append(("groups", partial(compare_groups, model, dict(groups), **priors["groups"])))
    found: dict[str, SearchResult] = {}
    omitted = []
    for k, (name, run) in enumerate(parts):
        share = 1.0 / (len(parts) - k + 1)  # the last one leaves time for the Bayes factors and the report
        seconds = max(share * limit.left, SHORTEST_SEARCH) if isfinite(limit.left) else None
        place = call.get("checkpoint")
        rest = {"seconds": seconds, "checkpoint": None if place is None else Path(f"{place}.{name}")}
        shared = {key: call[key] for key in ("chains", "workers", "rng", "progress") if key in call}
        try:
            made = run(**shared, **rest)
        except CostError:
            if seconds is None:
                raise
            made = None
        if made is not None and made.steps:
            found[name] = made
        else:
            omitted.append(f"{SEARCHES[name]} was left out: the time budget was too short for it.")
    return found, omitted


def _search_priors(prior: object, slab: object, group_slab: object) -> dict[str, Call]:
    """Slab and prior of both searches, from the prior of `sample`: one for the edges, or a mapping."""
    given = {name: one for name, one in by_part(prior).items() if one != "default"}
    nodes = {name: one for name, one in given.items() if name != "edges"}
    slabs = {"graphs": given.get("edges") if slab is None else slab, "groups": group_slab}
    own = {name: {} if one is None else {"slab": one} for name, one in slabs.items()}
    return {"graphs": {**own["graphs"], "prior": nodes}, "groups": {**own["groups"], "prior": given}}
