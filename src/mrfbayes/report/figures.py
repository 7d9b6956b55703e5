"""Pictures inside the page: vectors whose colours follow the page's own, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from markupsafe import Markup

from mrfbayes.base.errors import InputError
from mrfbayes.model.edge_strength import has_tables
from mrfbayes.plots.layouts import is_lattice
from mrfbayes.plots.style import FAINT, INK, MUTED, NEGATIVE, PAPER, POSITIVE, figure_of
from mrfbayes.report.findings import DRAWN_NODES
from mrfbayes.results.centrality import node_measures, order_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.report.findings import Findings
    from mrfbayes.structure.groups import GroupComparison

# The page's own colours: matplotlib writes these as they are, and never by chance.
_INKS = {
    INK: "--ink",
    MUTED: "--muted",
    FAINT: "--line",
    PAPER: "--card",
    POSITIVE: "--positive",
    NEGATIVE: "--negative",
}
_INKS_LOWER = {colour.lower(): name for colour, name in _INKS.items()}
FOREST_ROWS, NODE_ROWS, ORDER_ROWS = 30, 30, 20
MOST_GROUPS_DRAWN = 5
NARROW_ZOOM, NETWORK_ZOOM = 1.4, 1.4


class Picture(NamedTuple):
    """A figure of the page: ``name`` is its id, ``says`` what a screen reader reads."""

    name: str
    title: str
    says: str
    svg: Markup
    caption: str
    panels: tuple[Markup, ...] = ()  # pictures beside each other, below each other on a phone


def inline(draw: Callable[[], Axes | Figure], name: str, says: str, zoom: float = 1.0) -> Markup:
    """The SVG of what ``draw`` returns (axes or a figure), without a fixed size, its ids made unique by ``name``.

    On a wide page it is shown ``zoom`` times as large as in print: narrow pictures can still be read on a phone.
    """
    from matplotlib import pyplot, rc_context

    with rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": name, "figure.facecolor": "none", "axes.facecolor": "none"}
    ):
        picture = draw()
        figure = figure_of(picture)
        file = io.StringIO()
        try:
            figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=0.04)
        finally:
            pyplot.close(figure)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    width = re.search(r'<svg[^>]*?width="([\d.]+)pt"', text)
    wide = float(width.group(1)) * 4 / 3 if width else 600
    text = re.sub(r"(<svg[^>]*?) width=\"[^\"]*\"", r"\1", text, count=1)
    text = re.sub(r"(<svg[^>]*?) height=\"[^\"]*\"", r"\1", text, count=1)
    text = re.sub(r"#[0-9a-fA-F]{6}\b", lambda m: _ink(m.group(0)), text)
    # Light text on a dark page must not be outlined in black.
    head = f'<svg role="img" aria-labelledby="{name}-says" style="max-width:{zoom * wide:.0f}px"'
    body = text.replace("<svg", head, 1)
    at = body.index(">") + 1
    return Markup(body[:at]) + Markup('<title id="{}-says">{}</title>').format(name, says) + Markup(body[at:])


def _ink(colour: str) -> str:
    name = _INKS_LOWER.get(colour.lower())
    return f"var({name})" if name else colour


class PicturePlan(NamedTuple):
    """What is drawn, before it is; ``draw`` gives axes, a figure, or a list of axes that stand beside each other."""

    name: str
    title: str
    says: str
    draw: Callable[[], Axes | Figure | list[Axes]]
    caption: str
    zoom: float = 1.0


def drawn(findings: Findings, *plans: PicturePlan | None) -> list[Picture]:
    """The pictures of the plans; one that cannot be drawn is named with its reason at the end of the page."""
    found = []
    for plan in plans:
        if plan is None:
            continue
        try:
            made = plan.draw()
        except InputError as reason:
            findings.missing[plan.title] = str(reason)
            continue
        if isinstance(made, list):
            svg = Markup("")
            panels = [inline(partial(_same, ax), f"{plan.name}-{k}", plan.says, plan.zoom) for k, ax in enumerate(made)]
        else:
            svg, panels = inline(partial(_same, made), plan.name, plan.says, plan.zoom), []
        found.append(Picture(plan.name, plan.title, plan.says, svg, plan.caption, tuple(panels)))
    return found


def _same(picture: Axes | Figure) -> Axes | Figure:
    return picture


def network_pictures(findings: Findings) -> list[Picture]:
    """The network or field, and its panels."""
    from mrfbayes import plots

    f, model = findings, findings.model
    shown = f.selection or f.posterior
    if is_lattice(model) and (model.n_nodes <= DRAWN_NODES or f.is_tied):
        says = f"The {model.n_nodes} nodes of the grid with their couplings as coloured lines."
        caption = "Colour and width are the posterior mean of each coupling; dashed where its interval includes zero."
        if f.is_tied:
            says, caption = "The observations as an image.", "All neighbours share what the title says."
        return drawn(
            f, PicturePlan("field", "The field", says, lambda: plots.field(model, f.posterior, scale=f.scale), caption)
        )
    if f.places is None:
        return []
    caption = "Width is the posterior mean, colour and dash its sign, opacity "
    caption += "the probability of the edge." if f.selection else "how sure the sign is."
    if has_tables(model):
        caption += " Tables of nominal variables have no sign; widths are strengths on one scale."
    style = f.node_style.drop(columns="text", errors="ignore")
    caption += " Colours of nodes are communities." if "community" in style else ""
    caption += " Rings: what the others predict of a node beyond its commonest state." if "ring" in style else ""
    whole = PicturePlan(
        "network",
        "The network",
        f"Network of {model.n_nodes} nodes; the table of edges below holds its numbers.",
        lambda: plots.network(shown, edges=f.edges, scale=f.scale, layout=f.places, nodes=style),
        caption,
        NETWORK_ZOOM,
    )
    said = f.verdicts
    panels = PicturePlan(
        "panels",
        "Supported, ruled out, undecided",
        f"{said['present']} edges supported, {said['absent']} ruled out, {said['undecided']} undecided.",
        lambda: _panels(
            3, lambda ax: plots.network_panels(shown, scale=f.scale, edges=f.edges, layout=f.places, ax=ax)
        ),
        "The same nodes three times. An edge missing on the left is not thereby absent: look where it is.",
        1.2,
    )
    return drawn(f, whole, panels if said["unknown"] < len(f.edges) else None)


def _panels(count: int, draw: Callable[[list[Axes]], object]) -> list[Axes]:
    """Pictures of their own, so that a phone can put them below each other."""
    from matplotlib import pyplot

    axes: list[Axes] = [pyplot.subplots(figsize=(3.7, 3.9), layout="constrained")[1] for _ in range(count)]
    draw(axes)
    return axes


def edge_pictures(findings: Findings) -> list[Picture]:
    """Forest and evidence."""
    from mrfbayes import plots

    f, total = findings, len(findings.edges)
    if total < 2:
        return []
    rows = min(total, FOREST_ROWS)
    forest = PicturePlan(
        "forest",
        "Couplings",
        "Posterior means and 90% intervals of the surest edges; the table below holds all.",
        lambda: _bare(plots.forest(f.posterior, scale=f.scale, rows=FOREST_ROWS, ax=_narrow(rows))),
        f"{_part('couplings', total, 'The surest')}: mean and 90% interval, blue above no interaction, orange below, "
        "grey where it is inside.",
        NARROW_ZOOM,
    )
    evidence = PicturePlan(
        "evidence",
        "Evidence",
        "Bayes factors of the edges with both boundaries; the table below holds all.",
        lambda: _bare(
            plots.edge_evidence(f.selection or f.posterior, rows=FOREST_ROWS, edges=f.edges, ax=_narrow(rows))
        ),
        f"Evidence, {_part('edges', total, 'from both ends,')}: right of 10 the data support the edge, left of 1/10 "
        "they rule it out; cut at a million.",
        NARROW_ZOOM,
    )
    return drawn(f, forest, evidence if f.verdicts["unknown"] < total else None)


def node_pictures(findings: Findings) -> list[Picture]:
    """Centrality and predictability of the nodes with their intervals, and which differ."""
    from mrfbayes import plots

    f, nodes = findings, findings.nodes
    if f.is_tied or len(nodes) < 3 or f.couplings is None:
        return []
    captions = {
        "strength": "Strength: the sum of the sizes of a node's couplings; mean and 90% interval.",
        "log_score_gain": "Predictability: what knowing all others tells about it; 90% intervals.",
    }
    rows = min(len(nodes), NODE_ROWS)
    plans = [
        PicturePlan(
            measure,
            measure,
            f"{caption} The table below holds the numbers.",
            partial(_centrality, f, measure, rows),
            caption,
            NARROW_ZOOM,
        )
        for measure, caption in captions.items()
        if measure in nodes
    ]
    if len(nodes) <= NODE_ROWS and "strength" in nodes:
        plans.append(
            PicturePlan(
                "node-order",
                "Differences between nodes",
                "Probability that the node of the row is stronger than the node of the column.",
                lambda: _bare(plots.order(node_order(f))),
                "Strength: probability that the row is above the column; a dot where it is above 95%.",
                NARROW_ZOOM,
            )
        )
    if f.verdicts["present"] > 2:
        plans.append(
            PicturePlan(
                "edge-order",
                "Differences between edges",
                "Probability that the edge of the row is stronger than the edge of the column.",
                lambda: _bare(plots.order(edge_order(f))),
                f"The {min(f.verdicts['present'], ORDER_ROWS)} strongest supported edges: probability that the row is "
                "stronger than the column; a dot where it is above 95%.",
                NARROW_ZOOM,
            )
        )
    return drawn(f, *plans)


def _centrality(findings: Findings, measure: str, rows: int) -> Axes:
    from mrfbayes import plots

    made = plots.centrality(findings.posterior, measure, rows=NODE_ROWS, nodes=findings.nodes, ax=_narrow(rows))
    return _bare(made)


def node_order(findings: Findings) -> pd.DataFrame:
    """P(row above column) of the nodes' strengths, the strongest first."""
    assert findings.couplings is not None
    names = list(findings.nodes["strength"].sort_values(ascending=False, kind="stable").index)
    place = [findings.model.nodes.index(name) for name in names]
    return order_table(node_measures(findings.model, findings.couplings)["strength"][:, place], names)


def edge_order(findings: Findings, most: int = ORDER_ROWS) -> pd.DataFrame:
    """P(row above column) of the sizes of the strongest supported edges."""
    assert findings.couplings is not None
    size = np.abs(findings.couplings).mean(axis=0)
    there = np.flatnonzero((findings.edges["verdict"] == "present").to_numpy())
    place = there[np.argsort(-size[there], kind="stable")][:most]
    return order_table(np.abs(findings.couplings)[:, place], [str(findings.edges.index[k]) for k in place])


def structure_pictures(findings: Findings, least: float) -> list[Picture]:
    """Number of edges, and the most probable graphs where one is worth showing."""
    from mrfbayes import plots

    selection = findings.selection
    assert selection is not None
    graphs = selection.graphs(6)
    graphs = graphs[graphs["probability"] >= least]
    size = PicturePlan(
        "structure-size",
        "Number of edges",
        "Posterior and prior probabilities of the number of edges.",
        lambda: plots.complexity(selection),
        "Bars: posterior. Dashed: prior.",
    )
    pictures = PicturePlan(
        "structure-pictures",
        "The most probable graphs",
        f"The {len(graphs)} most probable graphs; the table lists their edges.",
        lambda: plots.structures(selection, graphs=graphs, layout=findings.places),
        "The most probable graphs with their probabilities.",
    )
    return drawn(findings, size, pictures if len(graphs) and findings.places is not None else None)


def sensitivity_pictures(findings: Findings) -> list[Picture]:
    """Verdicts by prior."""
    from mrfbayes import plots

    table = findings.sensitivity
    if table is None:
        return []
    says = "Numbers of edges supported, undecided and ruled out under each prior; the table below holds them."
    caption = "Verdicts by prior; the first bar is the prior of this report."
    plan = PicturePlan(
        "sensitivity", "Verdicts by prior", says, lambda: _bare(plots.sensitivity(table)), caption, NARROW_ZOOM
    )
    return drawn(findings, plan)


def group_pictures(findings: Findings) -> list[Picture]:
    """A network per group and of their differences, in one layout; then the differences with intervals."""
    from mrfbayes import plots

    groups, table = findings.groups, findings.groups.summary() if findings.groups is not None else None
    assert groups is not None
    shown = groups.groups[:MOST_GROUPS_DRAWN]
    networks = PicturePlan(
        "group-networks",
        "Networks of the groups",
        f"A network for each of {len(shown)} groups and one of the differences, with the nodes in the same places.",
        lambda: _panels(len(shown) + 1, lambda ax: plots.group_networks(groups, layout=findings.places, ax=ax)),
        "Groups: edges whose sign is sure. Differences: edges that differ with a probability above 1/2, opacity is "
        "that probability.",
        1.2,
    )
    plans: list[PicturePlan | None] = [networks if findings.places is not None else None]
    for k, pair in enumerate([(groups.groups[a], groups.groups[b]) for a, b in groups.pairs][:3]):
        plans.append(
            PicturePlan(
                f"differences-{k}",
                f"{pair[1]} less {pair[0]}",
                f"Differences of the edges' log-odds between {pair[0]} and {pair[1]}; the table below holds all.",
                partial(_differences, groups, pair, table),
                f"{pair[1]} less {pair[0]}: means and 90% intervals, averaged over which edges differ; right: "
                "P(difference).",
            )
        )
    return drawn(findings, *plans)


def _differences(groups: GroupComparison, pair: tuple[str, str], table: pd.DataFrame | None) -> Axes:
    from mrfbayes import plots

    return _bare(plots.group_differences(groups, pair=pair, differences=table, rows=FOREST_ROWS))


def trust_pictures(findings: Findings) -> list[Picture]:
    """Predictive check and ranks."""
    from mrfbayes import plots

    posterior, check, predictive = findings.posterior, findings.predictive, None
    if check is not None and len(check.table):
        says = "Observed statistics against those of simulated data; points on the line fit."
        caption = "Bars are two standard deviations."
        predictive = PicturePlan("predictive", "Predictive check", says, partial(plots.predictive, check), caption)
    ranks = PicturePlan(
        "ranks",
        "Ranks",
        "Ranks of the draws of the parameter with the largest R-hat, chain by chain; flat bars are good.",
        lambda: plots.ranks(posterior),
        "The parameter with the largest R-hat.",
    )
    has_ranks = "r_hat" in findings.diagnostics and len(posterior.draws) > 1
    return drawn(findings, predictive, ranks if has_ranks else None)


def _narrow(rows: int) -> Axes:
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(figsize=(4.0, 0.8 + 0.19 * max(rows, 3)), layout="constrained")[1]
    return made


def _bare(ax: Axes) -> Axes:
    """Without its title, which would make it wider than a phone: the caption says the same."""
    ax.set_title("", loc="left")
    return ax


def _part(what: str, total: int, which: str) -> str:
    return f"{which} {FOREST_ROWS} of {total:,} {what}" if total > FOREST_ROWS else f"{total} {what}"
