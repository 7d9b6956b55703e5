"""What ``fit --select`` and ``fit --group`` add: the search over graphs and the comparison of groups, as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrfbayes.base.errors import InputError
from mrfbayes.cli.options import Reading
from mrfbayes.cli.understood import GAPS, read_frame

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.report.structure_sections import Section
    from mrfbayes.structure.groups import GroupComparison
    from mrfbayes.structure.selection import Selection

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


def check_searchable(model: Any, asked: bool) -> None:
    """An error before anything is computed where the model's edges cannot be searched."""
    if asked:
        from mrfbayes.structure.factors import edge_factors

        edge_factors(model)


def group_statistics(path: Path, column: str, statistics: Statistics, reading: Reading) -> dict[str, Statistics]:
    """The counts of each group, coded as those of the whole file."""
    from mrfbayes.data.statistics import count

    frame = read_frame(path, reading.delimiter)
    if frame is None:
        raise InputError(f"--group {column}: {path.name} cannot be taken apart; give groups with mb.compare_groups.")
    if column not in frame.columns:
        raise InputError(
            f"--group {column}: {path.name} has no such column; it has {', '.join(map(repr, frame.columns[:6]))}."
        )
    texts = frame[column].cast(str)
    lacking = int(texts.null_count()) + sum(int((texts == gap).sum()) for gap in GAPS)
    if lacking:
        raise InputError(f"--group {column}: {lacking} rows belong to no group; remove them.")
    names = texts.unique().sort().to_list()
    if not 2 <= len(names) <= MOST_GROUPS:
        raise InputError(
            f"--group {column}: the column has {len(names)} different values; groups are 2 to {MOST_GROUPS}."
        )
    model, found = statistics.model, {}
    columns = [*model.nodes, *([reading.weights] if reading.weights else [])]
    for name in names:
        part = frame.filter(texts == name).select(columns)
        found[str(name)] = count(model, part, reading.weights, reading.missing, labels=statistics.labels)
    return found


def search_structure(statistics: Statistics, asked: bool, groups: Mapping[str, Statistics], **run: Any) -> Structure:
    """The search over graphs where it was ``asked`` for, and the comparison where there are ``groups``.

    ``run``: chains, workers and rng, as for the sampling.
    """
    import mrfbayes as mb

    model = statistics.model
    selection = mb.select(model, statistics, **run) if asked else None
    return Structure(selection, mb.compare_groups(model, groups, **run) if groups else None)
