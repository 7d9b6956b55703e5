"""Sections that a page has when it is given more than a posterior: methods compared, graphs searched, groups compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.report.figures import Picture, inline
from mrfbayes.report.tables import PageTable, evidence_table, frame_table
from mrfbayes.report.wording import bayes_factor, interval, listed, number, plural

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.posterior.compare import Comparison
    from mrfbayes.structure.groups import GroupComparison
    from mrfbayes.structure.selection import Selection

GRAPHS = 10  # most probable graphs that are listed


class Section(NamedTuple):
    """A section of the page: sentences first, then warnings, pictures and tables."""

    name: str
    heading: str
    sentences: list[str]
    warnings: list[str]
    pictures: list[Picture]
    tables: list[PageTable]


def comparison_section(comparison: Comparison) -> Section:
    """Methods side by side."""
    from mrfbayes import plots

    pictures = []
    if comparison.reference is not None and len(comparison.posteriors) > 1:
        says = "Errors of the posterior means and ratios of the sds of each method, against the exact posterior."
        pictures = _drawn(
            [("methods-compared", "Methods", says, lambda: plots.comparison(comparison))],
            "A dot per parameter; bars are averages.",
        )
    table = frame_table("comparison", plural(len(comparison.table), "method"), comparison.table)
    model = next(iter(comparison.posteriors.values())).model
    text = f"Several methods on the same data ({model!r}), against the exact posterior where it can be had."
    return Section("comparison", "Comparison of methods", [text], [], pictures, [table])


def structure_section(selection: Selection) -> Section:
    """The posterior over graphs: what it says, its edges, and the most probable graphs."""
    from mrfbayes import plots

    edges, graphs = selection.edges(), selection.graphs(GRAPHS)
    caption = f"{plural(len(edges), 'edge')}, averaged over all graphs"
    tables = [evidence_table("structure-edges", caption, edges, "Inclusion")]
    if len(graphs):
        tables.append(
            frame_table(
                "structure-graphs", f"{plural(len(graphs), 'graph')} with the largest posterior probability", graphs
            )
        )
    wanted: list[tuple[str, str, str, Callable[[], Any]]] = [
        (
            "structure-size",
            "Number of edges",
            "Prior and posterior probability of each number of edges.",
            lambda: plots.complexity(selection),
        ),
        (
            "structure-graphs-drawn",
            "Most probable graphs",
            "The most probable graphs with the nodes in the same places; the table below names their edges.",
            lambda: plots.structures(selection),
        ),
    ]
    return Section(
        "structure",
        "Structure",
        structure_sentences(selection, edges, graphs),
        list(selection.warnings),
        _drawn(wanted, ""),
        tables,
    )


def structure_sentences(selection: Selection, edges: pd.DataFrame, graphs: pd.DataFrame) -> list[str]:
    """What the search over graphs found."""
    said = {name: int((edges["verdict"] == name).sum()) for name in ("present", "absent", "undecided")}
    sizes = np.arange(selection.size_probability.size)
    expected = float(sizes @ selection.size_probability)
    cumulative = np.cumsum(selection.size_probability)
    low, high = (int(np.searchsorted(cumulative, q)) for q in (0.05, 0.95))
    kind = "exact" if selection.target == "exact" else "approximate"
    texts = [
        f"All {plural(len(edges), 'edge')} may be there or not. Averaged over all graphs ({kind} target), the data "
        f"support {said['present']:,} (Bayes factor above 10), speak against {said['absent']:,} (below 1/10), and leave "
        f"{said['undecided']:,} undecided.",
        f"The graph has {expected:.1f} edges on average (90 % interval {low} to {high}).",
    ]
    if len(graphs):
        first = graphs.iloc[0]
        texts.append(
            f"The most probable graph has {plural(int(first['number']), 'edge')} and a posterior probability of "
            f"{first['probability']:.2g}: {'read it as one of many' if first['probability'] < 0.5 else 'it stands out'}."
        )
    return texts


def groups_section(groups: GroupComparison) -> Section:
    """Differences between groups: what differs, by how much, how sure that is."""
    from mrfbayes import plots

    table = groups.differences()
    m = groups.model.n_edges
    tables = [_differences_table("differences", plural(m, "edge"), table.iloc[:m], groups)]
    if len(table) > m:
        tables.append(_differences_table("node-differences", plural(len(table) - m, "threshold"), table.iloc[m:], groups))
    wanted = []
    if len(groups.pairs) == 1:
        says = "Differences of the couplings between both groups with their 90 % intervals; the table holds all."
        wanted.append(
            ("group-differences", "Differences", says, lambda: plots.group_differences(groups, differences=table))
        )
    return Section(
        "groups",
        "Differences between groups",
        group_sentences(groups, table.iloc[:m]),
        list(groups.warnings),
        _drawn(wanted, "In log-odds; filled where the data say that there is a difference."),
        tables,
    )


def group_sentences(groups: GroupComparison, edges: pd.DataFrame) -> list[str]:
    """Who was compared, and which edges differ."""
    sizes = [f"{name} (n = {n:,.0f})" for name, n in zip(groups.groups, groups.n, strict=True)]
    said = {name: int((edges["verdict"] == name).sum()) for name in ("present", "absent", "undecided")}
    texts = [
        f"Groups {listed(sizes)} were compared edge by edge. The data support a difference of "
        f"{plural(said['present'], 'edge')} of {len(edges):,} (Bayes factor above 10), speak against one of "
        f"{said['absent']:,} (below 1/10), and leave {said['undecided']:,} undecided."
    ]
    if said["present"] and len(groups.pairs) == 1:
        first = edges[edges["verdict"] == "present"].sort_values("log_bf10", ascending=False).iloc[0]
        more = "stronger" if first["mean"] > 0 else "weaker"
        texts.append(
            f"The surest is {listed([str(first.name)])}: {more} in {groups.groups[1]} than in {groups.groups[0]} by "
            f"{number(abs(first['mean']))} in log-odds (90 % interval of the difference "
            f"{interval(first['q5'], first['q95'])}, Bayes factor {bayes_factor(first['log_bf10'])})."
        )
    return texts


def _differences_table(name: str, caption: str, frame: pd.DataFrame, groups: GroupComparison) -> PageTable:
    if len(groups.pairs) == 1:
        return evidence_table(name, caption, frame, "P(differs)")
    return frame_table(name, caption, frame)


def _drawn(wanted: Sequence[tuple[str, str, str, Callable[[], Any]]], caption: str) -> list[Picture]:
    """The pictures that can be drawn; a table stands in for one that cannot."""
    found = []
    for name, heading, says, draw in wanted:
        try:
            found.append(Picture(name, heading, says, inline(draw, name, says), caption or says))
        except InputError:
            continue
    return found
