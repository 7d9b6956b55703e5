"""What ``fit --select`` and ``fit --group`` add: the search over graphs and the comparison of groups, as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrfbayes.base.errors import InputError
from mrfbayes.cli.options import DataOptions, Reading, SamplingOptions

if TYPE_CHECKING:
    import polars as pl

    from mrfbayes.data.statistics import Statistics
    from mrfbayes.report.structure_sections import Section
    from mrfbayes.structure.groups import GroupComparison
    from mrfbayes.structure.result import SearchResult
    from mrfbayes.structure.selection import Selection

SEARCH_PANEL = "Structure"
MOST_GROUPS = 12  # more are an id column
DEFAULT_SLAB = "normal(0, 1)"
SHORTEST = 0.05  # seconds, of which a search may say that they are too few
SEARCHES = {"graphs": "The search over graphs", "groups": "The comparison of groups"}


@dataclass(frozen=True)
class Structure:
    """The results that were asked for, or None; and what there was no time for."""

    selection: Selection | None = None
    comparison: GroupComparison | None = None
    lacking: tuple[str, ...] = ()

    @property
    def sections(self) -> list[Section]:
        """Of the report."""
        from mrfbayes.report.structure_sections import groups_section, selection_section

        found = [] if self.selection is None else [selection_section(self.selection)]
        return found if self.comparison is None else [*found, groups_section(self.comparison)]

    @property
    def sentences(self) -> list[str]:
        """What they say."""
        from mrfbayes.report.structure_sections import groups_sentences, selection_sentences

        found = [] if self.selection is None else selection_sentences(self.selection, self.selection.edges())
        return (
            found
            if self.comparison is None
            else found + groups_sentences(self.comparison, self.comparison.differences())
        )

    def write(self, folder: Path) -> dict[str, Path]:
        """Results and tables; their paths by name."""
        from mrfbayes.plots.saving import write_table

        paths: dict[str, Path] = {}
        if self.selection is not None:
            paths |= {"graphs": folder / "graphs.nc", "structure": folder / "structure.csv"}
            self.selection.save(paths["graphs"], overwrite=True)
            write_table(self.selection.edges(), paths["structure"], True)
        if self.comparison is not None:
            paths |= {"groups": folder / "groups.nc", "differences": folder / "differences.csv"}
            self.comparison.save(paths["groups"], overwrite=True)
            write_table(self.comparison.differences(), paths["differences"], True)
        return paths


@dataclass(frozen=True)
class StructureOptions:
    """The options that ask for a search over graphs and for a comparison of groups."""

    select: Annotated[
        bool, typer.Option("--select", help="Also which edges are there.", rich_help_panel=SEARCH_PANEL)
    ] = False
    group: Annotated[
        str | None,
        typer.Option(
            "--group", help="Column whose values are groups: which edges differ?", rich_help_panel=SEARCH_PANEL
        ),
    ] = None

    def without_group(self, given: DataOptions) -> DataOptions:
        """The data without the column that says which group a row belongs to."""
        if self.group is None:
            return given
        from mrfbayes.cli.understood import table_of

        frame = table_of(given)
        if frame is not None and self.group not in frame.columns:
            some, name = ", ".join(map(repr, frame.columns[:6])), Path(given.data[0]).name
            raise InputError(f"--group {self.group}: {name} has no such column; it has {some}.")
        return replace(given, without=[*(given.without or ()), self.group])

    def groups(self, given: DataOptions, statistics: Statistics) -> dict[str, Statistics]:
        """The counts of each group, coded as those of the whole file; nothing where no group was asked for.

        What cannot be searched is refused here, before anything is computed.
        """
        from mrfbayes.cli.understood import GAPS, table_of
        from mrfbayes.structure.factors import edge_factors

        if self.select or self.group is not None:
            edge_factors(statistics.model)
        if self.group is None:
            return {}
        frame = table_of(given)
        if frame is None:
            raise InputError(
                f"--group {self.group}: {given.data[0]} is too large to be taken apart, or not a plain table."
            )
        texts = frame[self.group].cast(str)
        lacking = int(texts.null_count()) + sum(int((texts == gap).sum()) for gap in GAPS)
        if lacking:
            raise InputError(f"--group {self.group}: {lacking} rows belong to no group; remove them.")
        names = texts.unique().sort().to_list()
        if not 2 <= len(names) <= MOST_GROUPS:
            raise InputError(
                f"--group {self.group}: the column has {len(names)} different values; groups are 2 to {MOST_GROUPS}."
            )
        return {str(name): _counted(frame.filter(texts == name), statistics, given.reading) for name in names}

    @property
    def sampling_share(self) -> float:
        """The part of a time budget that the sampling gets; what follows it gets the rest."""
        return 0.6 if self._searches == 0 else 0.4

    @property
    def _searches(self) -> int:
        return int(self.select) + int(self.group is not None)

    def search(self, statistics: Statistics, groups: Mapping[str, Statistics], sampling: SamplingOptions) -> Structure:
        """The search over graphs where it was asked for, and the comparison where there are ``groups``.

        Of a time budget that is under way each gets its part, and a search for which that is too short is left out.
        """
        import mrfbayes as mb
        from mrfbayes.base.budget import budget
        from mrfbayes.base.errors import CostError
        from mrfbayes.structure.groups import GroupComparison
        from mrfbayes.structure.selection import Selection

        limit, model = budget(), statistics.model
        parts: list[tuple[str, Callable[..., SearchResult]]] = []
        if self.select:
            slab = DEFAULT_SLAB if sampling.prior == "uniform" else sampling.prior
            parts.append(("graphs", partial(mb.select, model, statistics, slab=slab, prior=_prior(sampling, "nodes"))))
        if groups:
            prior = _prior(sampling, "edges", "nodes")
            parts.append(("groups", partial(mb.compare_groups, model, groups, prior=prior)))
        found: dict[str, SearchResult] = {}
        lacking = []
        for k, (name, run) in enumerate(parts):
            share = 1.0 / (len(parts) - k + 1)  # the last one leaves time for the Bayes factors and the report
            seconds = max(share * limit.left, SHORTEST) if isfinite(limit.left) else None
            rest = {"seconds": seconds, "checkpoint": _checkpoint(sampling.checkpoint, name)}
            try:
                made = run(chains=sampling.chains, workers=sampling.workers, rng=sampling.rng, **rest)
            except CostError:
                if seconds is None:
                    raise
                made = None
            if made is not None and made.steps:
                found[name] = made
            else:
                lacking.append(f"{SEARCHES[name]} was left out: the time budget was too short for it.")
        selection, comparison = found.get("graphs"), found.get("groups")
        assert selection is None or isinstance(selection, Selection)
        assert comparison is None or isinstance(comparison, GroupComparison)
        return Structure(selection, comparison, tuple(lacking))


def _prior(sampling: SamplingOptions, *parts: str) -> dict[str, str] | None:
    """The prior that was asked for, for these parts of the field; None where none was."""
    return None if sampling.prior == "uniform" else dict.fromkeys(parts, sampling.prior)


def _checkpoint(given: Path | None, name: str) -> Path | None:
    """The search's own checkpoint, beside that of the sampling."""
    return None if given is None else given.with_name(f"{given.name}.{name}")


def _counted(part: pl.DataFrame, statistics: Statistics, reading: Reading) -> Statistics:
    from mrfbayes.data.statistics import count

    model = statistics.model
    columns = [*model.nodes, *([reading.weights] if reading.weights else [])]
    return count(model, part.select(columns), reading.weights, reading.missing, labels=statistics.labels)
