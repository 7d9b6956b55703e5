"""Sections of the page on which edges are there, and on which differ between groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.report.figures import Picture, inline
from mrfbayes.report.tables import PageTable, evidence_table, frame_table
from mrfbayes.report.wording import fragility, listed, or_none, plural, support

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.structure.groups import GroupComparison
    from mrfbayes.structure.result import SearchResult
    from mrfbayes.structure.selection import Selection

Section = tuple[str, str, str, list[PageTable], list[Picture]]
TOP_GRAPHS = 6


def selection_section(selection: Selection) -> Section:
    """Evidence for each edge over all graphs, their number, and the most probable graphs."""
    from mrfbayes import plots

    edges, graphs = selection.edges(), selection.graphs()
    pictures = _drawn(
        (
            "structure-evidence",
            "Evidence over all graphs",
            "Bayes factors of the edges, averaged over all graphs; the table below holds all.",
            lambda: plots.edge_evidence(selection, edges=edges),
            "Posterior over prior odds of each edge, whichever others are there. Dashed: factors of 10 and 1/10.",
        ),
        (
            "structure-size",
            "Number of edges",
            "Posterior and prior probabilities of the number of edges.",
            lambda: plots.complexity(selection),
            "Bars: posterior. Dashed: prior.",
        ),
        (
            "structure-pictures",
            "The most probable graphs",
            f"The {min(TOP_GRAPHS, len(graphs))} most probable graphs; the second table lists their edges.",
            lambda: plots.structures(selection, top=TOP_GRAPHS, graphs=graphs),
            "With many edges each single graph has a small probability: read them together.",
        ),
    )
    tables = [
        evidence_table("structure-edges", plural(len(edges), "edge"), edges, "Inclusion"),
        frame_table(
            "structure-graphs",
            f"{plural(len(graphs), 'graph')} with the largest posterior probability",
            graphs.drop(columns="scored"),
        ),
    ]
    return "structure", "Structure", " ".join(selection_sentences(selection, edges)), tables, pictures


def selection_sentences(selection: Selection, edges: pd.DataFrame) -> list[str]:
    """What the search says, what it was asked, and how far to trust it."""
    low, high = _central(selection.size_probability)
    fragile = int(edges["fragile"].sum())
    found = [
        f"Averaged over all graphs, {support(_verdicts(edges), len(edges), 'edge')}.",
        f"With a probability of at least 90% the graph has "
        f"{plural(low, 'edge') if low == high else f'between {low:,} and {high:,} edges'}.",
        f"An edge that is there has the prior {selection.settings['slab']} on log-odds; prior over graphs: "
        f"{selection.settings['edges']}.",
    ]
    if fragile:
        found.append(f"{fragility(fragile, 'sweeps')}.")
    return [*found, *_trust(selection)]


def groups_section(comparison: GroupComparison) -> Section:
    """Differences of edges, then of nodes, with the evidence that groups differ."""
    from mrfbayes import plots

    table = comparison.summary()
    wanted = []
    names = [(comparison.groups[a], comparison.groups[b]) for a, b in comparison.pairs]
    for number, pair in enumerate(names[:3]):
        wanted.append(
            (
                f"differences-{number}",
                f"{pair[1]} less {pair[0]}",
                f"Differences of the edges' log-odds between {pair[0]} and {pair[1]}; the table below holds all.",
                lambda pair=pair: plots.group_differences(comparison, pair=pair, differences=table),
                "Means and 90% intervals, averaged over which edges differ; right: P(difference).",
            )
        )
    made = frame_table("differences", plural(len(table), "difference"), table)
    text = " ".join(groups_sentences(comparison, table))
    return "groups", "Differences between groups", text, [made], _drawn(*wanted)


def groups_sentences(comparison: GroupComparison, table: pd.DataFrame) -> list[str]:
    """Which edges differ, what was asked, and how far to trust it."""
    edges = table.iloc[: comparison.model.n_edges]
    said = _verdicts(edges)
    sizes = [f"{name} (n = {n:g})" for name, n in zip(comparison.groups, comparison.group_n, strict=True)]
    there = [str(name) for name in edges.index[edges["verdict"] == "present"]]
    which = f": {listed(there)}" if there else ""
    found = [
        f"Groups: {listed(sizes, 8)}.",
        f"Of {plural(len(edges), 'edge')}, the data show {or_none(len(there))} to differ between groups (Bayes factor "
        f"above 10){which}, and {or_none(said['absent'])} to be alike (below 1/10); {or_none(said['undecided'])} "
        f"{'is' if said['undecided'] < 2 else 'are'} left undecided.",
        f"A difference that is there has the prior {comparison.settings['slab']} on log-odds; prior of differences: "
        f"{comparison.settings['differences']}. Node factors may always differ.",
    ]
    return [*found, *_trust(comparison)]


def _verdicts(table: pd.DataFrame) -> dict[str, int]:
    found = table["verdict"].value_counts()
    return {name: int(found.get(name, 0)) for name in ("present", "absent", "undecided")}


def _trust(result: SearchResult) -> list[str]:
    error = float(np.nan_to_num(result.inclusion_error).max())
    found = [f"Probabilities have Monte-Carlo errors of at most {error:.3f}."]
    gap = result.set_difference
    if result.target == "approximate" and gap is not None:
        found.append(
            f"The partition function is out of reach, so weighted samples stand for it: two independent sets of them "
            f"differ by {gap:.4f} on average."
        )
    return [*found, *(f"Warning: {text}" for text in result.warnings)]


def _central(probability: np.ndarray) -> tuple[int, int]:
    """The numbers between which at least 90% lie, 5% at most on either side."""
    total = np.cumsum(probability)
    return int(np.searchsorted(total, 0.05)), int(np.searchsorted(total, 0.95))


def _drawn(*wanted: tuple[str, str, str, Callable[[], Any], str]) -> list[Picture]:
    found = []
    for name, title, says, draw, caption in wanted:
        try:
            found.append(Picture(name, title, says, inline(draw, name, says), caption))
        except InputError:  # too many nodes for it, or no draws: the tables say everything
            continue
    return found
