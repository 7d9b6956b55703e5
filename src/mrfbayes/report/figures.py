"""Pictures inside the page: vectors whose colours follow the page's own, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from mrfbayes.model.edge_strength import has_tables
from mrfbayes.plots.layouts import is_lattice
from mrfbayes.plots.network import MOST_NAMES
from mrfbayes.plots.style import FAINT, INK, MUTED, NEGATIVE, PAPER, POSITIVE, figure_of
from mrfbayes.report.findings import DRAWN_NODES
from mrfbayes.report.tables import ORDER_ROWS, edge_order, node_order
from mrfbayes.report.wording import fill

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.report.findings import Findings

# The page's own colours: matplotlib writes these as they are, and never by chance.
_INKS = dict(
    zip(
        map(str.lower, (INK, MUTED, FAINT, PAPER, POSITIVE, NEGATIVE)),
        ("--ink", "--muted", "--line", "--card", "--positive", "--negative"),
        strict=True,
    )
)
FOREST_ROWS, NODE_ROWS = 30, 30
MOST_GROUPS_DRAWN, MOST_PAIRS_DRAWN = 5, 3
NARROW_ZOOM, PANEL_ZOOM = 1.4, 1.2


class Picture(NamedTuple):
    """A figure of the page: ``name`` is its id, ``says`` what a screen reader reads."""

    name: str
    title: str
    says: str
    svg: Markup
    caption: str
    panels: tuple[Markup, ...] = ()  # pictures beside each other, below each other on a phone
    legend: tuple[str, ...] = ()  # names of nodes that have numbers in the picture


def inline(picture: Axes | Figure, name: str, says: str, zoom: float = 1.0) -> Markup:
    """The SVG of axes or a figure, without a fixed size, its ids made unique by ``name``; the figure is closed.

    On a wide page it is shown ``zoom`` times as large as in print: narrow pictures can still be read on a phone.
    """
    from matplotlib import pyplot, rc_context

    with rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": name, "figure.facecolor": "none", "axes.facecolor": "none"}
    ):
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
    text = re.sub(r"#[0-9a-fA-F]{6}\b", _ink, text)
    # Light text on a dark page must not be outlined in black.
    head = f'<svg role="img" aria-labelledby="{name}-says" style="max-width:{zoom * wide:.0f}px"'
    body = text.replace("<svg", head, 1)
    at = body.index(">") + 1
    return Markup(body[:at]) + Markup('<title id="{}-says">{}</title>').format(name, says) + Markup(body[at:])


def _ink(colour: re.Match[str]) -> str:
    name = _INKS.get(colour.group(0).lower())
    return f"var({name})" if name else colour.group(0)


class PicturePlan(NamedTuple):
    """What is drawn, before it is; `sentences.j2` has its words under "figure_" and its name.

    ``draw`` gives axes, a figure, or a list of axes that stand beside each other.
    """

    name: str
    draw: Callable[[], Axes | Figure | list[Axes]]
    zoom: float = NARROW_ZOOM
    facts: Mapping[str, object] = {}
    has_title: bool = False  # else the caption says the same, and a title would make it wider than a phone
    legend: tuple[str, ...] = ()


def drawn(findings: Findings, plans: Sequence[PicturePlan]) -> list[Picture]:
    """The pictures of the plans; one that cannot be drawn is named with its reason at the end of the page."""
    found = []
    for plan in plans:
        macro = "figure_" + plan.name.rstrip("-0123456789").replace("-", "_")
        title, says, caption = fill(macro, findings, plan.facts)
        made = findings.attempt(title, plan.draw)
        if made is None:
            continue
        svg, panels = Markup(""), []
        if isinstance(made, list):
            panels = [inline(ax, f"{plan.name}-{k}", says, plan.zoom) for k, ax in enumerate(made)]
        else:
            if not plan.has_title and hasattr(made, "set_title"):
                made.set_title("", loc="left")
            svg = inline(made, plan.name, says, plan.zoom)
        found.append(Picture(plan.name, title, says, svg, caption, tuple(panels), plan.legend))
    return found


def network_plans(f: Findings) -> list[PicturePlan]:
    """The network or field, and its panels."""
    from mrfbayes import plots

    model, shown = f.model, f.selection or f.posterior
    if is_lattice(model) and (model.n_nodes <= DRAWN_NODES or f.is_tied):
        return [PicturePlan("field", lambda: plots.field(model, f.posterior, scale=f.scale), 1.0, has_title=True)]
    if f.places is None:
        return []
    style = f.node_style.drop(columns="text", errors="ignore")
    numbered = model.nodes if model.n_nodes > MOST_NAMES else ()
    plans = [
        PicturePlan(
            "network",
            lambda: plots.network(shown, edges=f.edges, scale=f.scale, layout=f.places, nodes=style),
            facts={"has_tables": has_tables(model)},
            legend=tuple(": ".join(filter(None, (name, f.codebook.get(name)))) for name in numbered),
        )
    ]
    if f.is_judged:
        options = {"scale": f.scale, "edges": f.edges, "layout": f.places}
        plans.append(
            PicturePlan(
                "panels", lambda: _panels(3, lambda ax: plots.network_panels(shown, ax=ax, **options)), PANEL_ZOOM
            )
        )
    return plans


def _panels(count: int, draw: Callable[[list[Axes]], object]) -> list[Axes]:
    """Pictures of their own, so that a phone can put them below each other."""
    from matplotlib import pyplot

    axes: list[Axes] = [pyplot.subplots(figsize=(3.7, 3.9), layout="constrained")[1] for _ in range(count)]
    draw(axes)
    return axes


def edge_plans(f: Findings) -> list[PicturePlan]:
    """Forest and evidence."""
    from mrfbayes import plots

    total = len(f.edges)
    if total < 2:
        return []
    shown, facts = min(total, FOREST_ROWS), {"rows": FOREST_ROWS, "total": total}
    plans = [
        PicturePlan(
            "forest",
            lambda: plots.forest(f.posterior, scale=f.scale, rows=FOREST_ROWS, ax=_narrow(shown)),
            facts=facts,
        )
    ]
    if f.is_judged:
        judged = f.selection or f.posterior
        plans.append(
            PicturePlan(
                "evidence",
                lambda: plots.edge_evidence(judged, rows=FOREST_ROWS, edges=f.edges, ax=_narrow(shown)),
                facts=facts,
            )
        )
    return plans


def node_plans(f: Findings) -> list[PicturePlan]:
    """Centrality and predictability of the nodes with their intervals, and which differ."""
    from mrfbayes import plots

    nodes = f.nodes
    if f.is_tied or len(nodes) < 3 or f.couplings is None:
        return []

    def centrality(measure: str) -> Axes:
        shown = min(len(nodes), NODE_ROWS)
        return plots.centrality(f.posterior, measure, rows=NODE_ROWS, nodes=nodes, ax=_narrow(shown))

    plans = [
        PicturePlan(measure, partial(centrality, measure))
        for measure in ("strength", "log_score_gain")
        if measure in nodes
    ]
    if len(nodes) <= NODE_ROWS and "strength" in nodes:
        plans.append(PicturePlan("node-order", lambda: plots.order(node_order(f))))
    if f.verdicts["present"] > 2:
        facts = {"rows": min(f.verdicts["present"], ORDER_ROWS)}
        plans.append(PicturePlan("edge-order", lambda: plots.order(edge_order(f)), facts=facts))
    return plans


def structure_plans(f: Findings, least: float) -> list[PicturePlan]:
    """Number of edges, and the most probable graphs where one is worth showing."""
    from mrfbayes import plots

    selection = f.selection
    assert selection is not None
    graphs = selection.graphs(6)
    graphs = graphs[graphs["probability"] >= least]
    plans = [PicturePlan("structure-size", lambda: plots.complexity(selection), 1.0, has_title=True)]
    if len(graphs) and f.places is not None:
        facts = {"rows": len(graphs)}
        plans.append(
            PicturePlan(
                "structure-pictures",
                lambda: plots.structures(selection, graphs=graphs, layout=f.places),
                1.0,
                facts,
            )
        )
    return plans


def sensitivity_plans(f: Findings) -> list[PicturePlan]:
    """Verdicts by prior."""
    from mrfbayes import plots

    table = f.sensitivity
    return [] if table is None else [PicturePlan("sensitivity", lambda: plots.sensitivity(table))]


def group_plans(f: Findings) -> list[PicturePlan]:
    """A network per group and of their differences, in one layout; then the differences with intervals."""
    from mrfbayes import plots

    groups, plans = f.groups, []
    assert groups is not None
    table = groups.summary()
    if f.places is not None:
        shown = min(len(groups.groups), MOST_GROUPS_DRAWN)
        plans.append(
            PicturePlan(
                "group-networks",
                lambda: _panels(shown + 1, lambda ax: plots.group_networks(groups, layout=f.places, ax=ax)),
                PANEL_ZOOM,
                {"rows": shown},
            )
        )
    for k, (a, b) in enumerate(groups.pairs[:MOST_PAIRS_DRAWN]):
        pair = groups.groups[a], groups.groups[b]
        options = {"pair": pair, "differences": table, "rows": FOREST_ROWS}
        draw = partial(plots.group_differences, groups, **options)
        plans.append(PicturePlan(f"differences-{k}", draw, 1.0, {"first": pair[0], "second": pair[1]}))
    return plans


def trust_plans(f: Findings) -> list[PicturePlan]:
    """Predictive check and ranks."""
    from mrfbayes import plots

    check, plans = f.predictive, []
    if check is not None and len(check.table):
        plans.append(PicturePlan("predictive", lambda: plots.predictive(check), 1.0, has_title=True))
    if "r_hat" in f.diagnostics and len(f.posterior.draws) > 1:
        plans.append(PicturePlan("ranks", lambda: plots.ranks(f.posterior), 1.0, has_title=True))
    return plans


def _narrow(rows: int) -> Axes:
    from matplotlib import pyplot

    made: Axes = pyplot.subplots(figsize=(4.0, 0.8 + 0.19 * max(rows, 3)), layout="constrained")[1]
    return made
