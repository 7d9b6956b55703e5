"""What ``fit --select`` and ``fit --group`` add: the search over graphs and the comparison of groups, as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    from mrfbayes.structure.selection import Selection

SEARCH_PANEL = "Structure"
MOST_GROUPS = 12  # more are an id column


@dataclass(frozen=True)
class Structure:
    """The results that were asked for, or None."""

    selection: Selection | None = None
    comparison: GroupComparison | None = None

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

    def search(self, statistics: Statistics, groups: Mapping[str, Statistics], sampling: SamplingOptions) -> Structure:
        """The search over graphs where it was asked for, and the comparison where there are ``groups``."""
        import mrfbayes as mb

        model, chains, workers, rng = statistics.model, sampling.chains, sampling.workers, sampling.rng
        selection, comparison = None, None
        if self.select:
            selection = mb.select(model, statistics, chains=chains, workers=workers, rng=rng)
        if groups:
            comparison = mb.compare_groups(model, groups, chains=chains, workers=workers, rng=rng)
        return Structure(selection, comparison)


def _counted(part: pl.DataFrame, statistics: Statistics, reading: Reading) -> Statistics:
    from mrfbayes.data.statistics import count

    model = statistics.model
    columns = [*model.nodes, *([reading.weights] if reading.weights else [])]
    return count(model, part.select(columns), reading.weights, reading.missing, labels=statistics.labels)
