"""Pictures inside the page: vectors whose colours follow the page's own, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from mrfbayes.base.errors import InputError
from mrfbayes.model.edge_strength import has_tables
from mrfbayes.plots.layouts import is_lattice
from mrfbayes.plots.style import FAINT, INK, MUTED, NEGATIVE, PAPER, POSITIVE, figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.report.findings import Findings

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
DRAWN_NODES = 5_000
FOREST_ROWS, NODE_ROWS = 30, 30
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


class _Plan(NamedTuple):
    """What is drawn, before it is."""

    name: str
    title: str
    says: str
    draw: Callable[[], Axes | Figure]
    caption: str
    zoom: float = 1.0


def pictures(findings: Findings) -> list[Picture]:
    """The network or field, its panels, forest and evidence, as far as this model has them."""
    model, edges = findings.posterior.model, findings.edges
    found = []
    for plan in _plans(findings):
        try:
            svg = inline(plan.draw, plan.name, plan.says, plan.zoom)
            found.append(Picture(plan.name, plan.title, plan.says, svg, plan.caption))
            if plan.name == "network" and findings.verdicts["unknown"] < len(edges) and model.n_edges:
                found.append(_panels(findings))
        except InputError as reason:
            findings.missing[plan.title] = str(reason)
    return found


def _plans(findings: Findings) -> list[_Plan]:
    from mrfbayes import plots

    posterior, model, edges = findings.posterior, findings.posterior.model, findings.edges
    plans = []
    is_grid = is_lattice(model)
    if is_grid and (model.n_nodes <= DRAWN_NODES or findings.is_tied):
        says = f"The {model.n_nodes} nodes of the grid with their couplings as coloured lines."
        caption = "Colour and width are the posterior mean of each coupling; dashed where its interval includes zero."
        if findings.is_tied:
            says, caption = "The observations as an image.", "All neighbours share what the title says."
        draw = lambda: plots.field(model, posterior, scale=findings.scale)  # noqa: E731
        plans.append(_Plan("field", "The field", says, draw, caption))
    elif not is_grid and 1 < model.n_nodes <= DRAWN_NODES and not findings.is_tied and model.n_edges:
        says = f"Network of {model.n_nodes} nodes; the table of edges below holds its numbers."
        caption = "Width is the posterior mean, colour and dash its sign, opacity how sure the sign is."
        caption += (
            " Tables of nominal variables have no sign; widths are strengths on one scale." if has_tables(model) else ""
        )
        draw = lambda: plots.network(posterior, edges=edges, scale=findings.scale)  # noqa: E731
        plans.append(_Plan("network", "The network", says, draw, caption, NETWORK_ZOOM))
    if len(edges) > 1:
        says = "Posterior means and 90% intervals of the surest edges; the table below holds all."
        which = _part("couplings", len(edges), "the surest")
        caption = (
            f"{which[0].upper()}{which[1:]}: mean and 90% interval, blue above no interaction, orange below, grey "
            "where it is inside."
        )

        def forest() -> Axes:
            ax = _narrow(min(len(edges), FOREST_ROWS))
            return _bare(plots.forest(posterior, scale=findings.scale, rows=FOREST_ROWS, ax=ax))

        plans.append(_Plan("forest", "Couplings", says, forest, caption, NARROW_ZOOM))
    if len(edges) > 1 and findings.verdicts["unknown"] < len(edges):
        says = "Bayes factors of the edges with both boundaries; the table below holds all."
        which = _part("edges", len(edges), "from both ends,")
        caption = f"Evidence, {which}: right of 10 the data support the edge, left of 1/10 they rule it out."

        def evidence() -> Axes:
            ax = _narrow(min(len(edges), FOREST_ROWS))
            return _bare(plots.edge_evidence(posterior, rows=FOREST_ROWS, edges=edges, ax=ax))

        plans.append(_Plan("evidence", "Evidence", says, evidence, caption, NARROW_ZOOM))
    return plans


def node_pictures(findings: Findings) -> list[Picture]:
    """Centrality and predictability of the nodes with their intervals."""
    from mrfbayes import plots

    nodes, found = findings.nodes, []
    if findings.is_tied or len(nodes) < 3 or not findings.posterior.model.n_edges:
        return []
    for measure, caption in (
        (
            "strength",
            "Strength: how strongly a variable is tied to the others, whatever the sign; mean and 90% interval.",
        ),
        ("log_score_gain", "Predictability: what knowing all others tells about it; 90% intervals."),
    ):
        if measure in nodes:
            says = f"{caption} The table below holds the numbers."

            def draw(measure: str = measure) -> Axes:
                ax = _narrow(min(len(nodes), NODE_ROWS))
                return _bare(plots.centrality(findings.posterior, measure, rows=NODE_ROWS, nodes=nodes, ax=ax))

            found.append(Picture(measure, measure, says, inline(draw, measure, says, NARROW_ZOOM), caption))
    return found


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


def _panels(findings: Findings) -> Picture:
    """Supported, ruled out and undecided: three pictures, so that a phone can put them below each other."""
    from matplotlib import pyplot

    from mrfbayes import plots

    said = findings.verdicts
    says = f"{said['present']} edges supported, {said['absent']} ruled out, {said['undecided']} undecided."
    axes: list[Axes] = [pyplot.subplots(figsize=(3.7, 3.9), layout="constrained")[1] for _ in range(3)]
    plots.network_panels(findings.posterior, scale=findings.scale, edges=findings.edges, ax=axes)
    panels = []
    for ax, name in zip(axes, ("supported", "ruled out", "undecided"), strict=True):
        shown = partial(lambda panel: panel, ax)
        panels.append(inline(shown, f"panel-{name.replace(' ', '-')}", f"{says} This panel: {name}.", 1.2))
    caption = "The same nodes three times. An edge missing on the left is not thereby absent: look where it is."
    return Picture("panels", "Supported, ruled out, undecided", says, Markup(""), caption, tuple(panels))
