"""Pictures inside the page, in the colours of the page, and the numbers of the network that readers can change."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from mrfbayes import plots
from mrfbayes.model.scales import edge_strengths, has_tables
from mrfbayes.plots.layouts import is_lattice, positions
from mrfbayes.plots.network import MOST_NAMES
from mrfbayes.plots.style import FAINT, INK, MUTED, NEGATIVE, PAPER, POSITIVE, axes_or_new, figure_of
from mrfbayes.report.findings import DRAWN_NODES, Findings
from mrfbayes.report.tables import ORDER_ROWS, edge_order, node_order, script_safe
from mrfbayes.report.wording import fill

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The page's own colours: matplotlib writes these as they are, and never by chance.
_INKS = {
    INK: "--ink",
    MUTED: "--muted",
    FAINT: "--line",
    PAPER: "--card",
    POSITIVE: "--positive",
    NEGATIVE: "--negative",
}
_INKS = {colour.lower(): name for colour, name in _INKS.items()}
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
    text = _shortened(re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S), name)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    width = re.search(r'<svg[^>]*?width="([\d.]+)pt"', text)
    wide = float(width.group(1)) * 4 / 3 if width else 600
    text = re.sub(r"(<svg[^>]*?) width=\"[^\"]*\"", r"\1", text, count=1)
    text = re.sub(r"(<svg[^>]*?) height=\"[^\"]*\"", r"\1", text, count=1)
    text = re.sub(r"#[0-9a-fA-F]{6}\b", _ink, text)
    # Light text on a dark page must not be outlined in black.
    head = f'<svg id="{name}-svg" role="img" aria-labelledby="{name}-says" style="max-width:{zoom * wide:.0f}px"'
    body = text.replace("<svg", head, 1)
    at = body.index(">") + 1
    return Markup(body[:at]) + Markup('<title id="{}-says">{}</title>').format(name, says) + Markup(body[at:])


def _shortened(text: str, name: str) -> str:
    """The same picture in a third of the letters: two decimals, one class per style, ids only where they are used."""
    used = set(re.findall(r'(?:url\(|href=")#([\w-]+)', text))
    styles: dict[str, str] = {}

    def tag(match: re.Match[str]) -> str:
        found = re.sub(r"\d+\.\d{3,}(?:e-?\d+)?", lambda number: f"{float(number.group()):.2f}", match.group())
        found = re.sub(r' id="([^"]*)"', lambda id_: id_.group() if id_.group(1) in used else "", found)
        found = re.sub(r'(?<= )style="([^"]*)"', lambda style: f'class="{key(style.group(1))}"', found)
        return " ".join(found.split())

    def key(style: str) -> str:
        return styles.setdefault(style, f"s{len(styles)}")

    text = re.sub(r">\s+<", "><", re.sub(r"<[^>]*>", tag, text))
    rules = "".join(f"#{name}-svg .{short}{{{style}}}" for style, short in styles.items())
    return text.replace("<defs>", f"<defs><style>{rules}</style>", 1)


def _ink(colour: re.Match[str]) -> str:
    name = _INKS.get(colour.group(0).lower())
    return f"var({name})" if name else colour.group(0)


class PicturePlan(NamedTuple):
    """What is drawn, before it is; `sentences.j2` has its words under "figure_" and its name.

    ``draw`` gives axes or a figure. It is called with ``ax``, narrow axes for so many ``rows``, or a list of axes that
    stand beside each other, where there are ``panels``.
    """

    name: str
    draw: Callable[..., Axes | Figure]
    zoom: float = NARROW_ZOOM
    facts: Mapping[str, object] = {}
    has_title: bool = False  # else the caption says the same, and a title would make it wider than a phone
    legend: tuple[str, ...] = ()
    rows: int = 0
    panels: int = 0


def drawn(findings: Findings, plans: Sequence[PicturePlan]) -> list[Picture]:
    """The pictures of the plans; one that cannot be drawn is named with its reason at the end of the page."""
    found = []
    for plan in plans:
        macro = "figure_" + plan.name.rstrip("-0123456789").replace("-", "_")
        title, says, caption = fill(macro, findings, plan.facts)
        sizes = [(4.0, 0.8 + 0.19 * max(plan.rows, 3))] if plan.rows else [(3.7, 3.9)] * plan.panels
        axes = [axes_or_new(None, figsize=size) for size in sizes]
        given = {"ax": axes[0] if plan.rows else axes} if axes else {}
        made = findings.attempt(title, partial(plan.draw, **given))
        if made is None:
            continue
        if not plan.has_title and hasattr(made, "set_title"):
            made.set_title("", loc="left")
        svg = Markup("") if plan.panels else inline(made, plan.name, says, plan.zoom)
        panels = [inline(ax, f"{plan.name}-{k}", says, plan.zoom) for k, ax in enumerate(axes if plan.panels else [])]
        found.append(Picture(plan.name, title, says, svg, caption, tuple(panels), plan.legend))
    return found


def network_plans(f: Findings) -> list[PicturePlan]:
    """The network or field, and its panels."""
    model, shown = f.model, f.selection or f.posterior
    if is_lattice(model) and (model.n_nodes <= DRAWN_NODES or f.is_tied):
        return [PicturePlan("field", partial(plots.field, model, f.posterior, scale=f.scale), 1.0, has_title=True)]
    if f.places is None:
        return []
    options = {"scale": f.scale, "edges": f.edges, "layout": f.places}
    network = partial(plots.network, shown, nodes=f.node_style.drop(columns="text", errors="ignore"), **options)
    numbered = model.nodes if model.n_nodes > MOST_NAMES else ()
    legend = tuple(": ".join(filter(None, (name, f.codebook.get(name)))) for name in numbered)
    plans = [PicturePlan("network", network, facts={"has_tables": has_tables(model)}, legend=legend)]
    if f.is_judged:
        plans.append(PicturePlan("panels", partial(plots.network_panels, shown, **options), PANEL_ZOOM, panels=3))
    return plans


def edge_plans(f: Findings) -> list[PicturePlan]:
    """Forest and evidence."""
    total = len(f.edges)
    if total < 2:
        return []
    shown, facts = min(total, FOREST_ROWS), {"rows": FOREST_ROWS, "total": total}
    draw = partial(plots.forest, f.posterior, scale=f.scale, rows=FOREST_ROWS)
    plans = [PicturePlan("forest", draw, facts=facts, rows=shown)]
    if f.is_judged:
        draw = partial(plots.edge_evidence, f.selection or f.posterior, rows=FOREST_ROWS, edges=f.edges)
        plans.append(PicturePlan("evidence", draw, facts=facts, rows=shown))
    return plans


def node_plans(f: Findings) -> list[PicturePlan]:
    """Centrality and predictability of the nodes with their intervals, and which differ."""
    nodes = f.nodes
    if f.is_tied or len(nodes) < 3 or f.couplings is None:
        return []
    draw = partial(plots.centrality, f.posterior, rows=NODE_ROWS, nodes=nodes)
    plans = [
        PicturePlan(measure, partial(draw, measure), rows=min(len(nodes), NODE_ROWS))
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
    selection = f.selection
    assert selection is not None
    graphs = selection.graphs(6)
    graphs = graphs[graphs["probability"] >= least]
    plans = [PicturePlan("structure-size", partial(plots.complexity, selection), 1.0, has_title=True)]
    if len(graphs) and f.places is not None:
        draw = partial(plots.structures, selection, graphs=graphs, layout=f.places)
        plans.append(PicturePlan("structure-pictures", draw, 1.0, {"rows": len(graphs)}))
    return plans


def group_plans(f: Findings) -> list[PicturePlan]:
    """A network per group and of their differences, in one layout; then the differences with intervals."""
    groups, plans = f.groups, []
    assert groups is not None
    if f.places is not None:
        shown = min(len(groups.groups), MOST_GROUPS_DRAWN)
        draw = partial(plots.group_networks, groups, layout=f.places)
        plans.append(PicturePlan("group-networks", draw, PANEL_ZOOM, {"rows": shown}, panels=shown + 1))
    table = groups.summary()
    for k, (a, b) in enumerate(groups.pairs[:MOST_PAIRS_DRAWN]):
        pair = groups.groups[a], groups.groups[b]
        of_pair = partial(plots.group_differences, groups, pair=pair, differences=table, rows=FOREST_ROWS)
        plans.append(PicturePlan(f"differences-{k}", of_pair, 1.0, {"first": pair[0], "second": pair[1]}))
    return plans


def trust_plans(f: Findings) -> list[PicturePlan]:
    """Predictive check and ranks."""
    check, plans = f.predictive, []
    if check is not None and len(check.table):
        plans.append(PicturePlan("predictive", partial(plots.predictive, check), 1.0, has_title=True))
    if "r_hat" in f.diagnostics and len(f.posterior.draws) > 1:
        plans.append(PicturePlan("ranks", partial(plots.ranks, f.posterior), 1.0, has_title=True))
    return plans


MOST_LIVE_NODES = 150
MOST_POWERS = 6.0  # of ten: evidence is cut there
VERDICTS = ("present", "undecided", "absent", "unknown")


def live_network(findings: Findings) -> Markup | None:
    """JSON for the page's own script; None where there is no network to draw."""
    f, model = findings, findings.model
    if f.places is None or model.n_nodes > MOST_LIVE_NODES:
        return None
    nodes = pd.DataFrame({"name": model.nodes, "text": "", "community": -1, "ring": 0.0}).assign(
        **{name: column.to_numpy() for name, column in f.node_style.items()}
    )
    nodes["ring"] = nodes["ring"].map(_short)
    answer = "Average over graphs" if f.selection is not None else "Posterior"
    networks = [_network(f, answer, "Bayes factor", f.edges)]
    if f.saturated is not None:
        networks.append(_network(f, "All edges in the model", "Bayes factor", f.saturated.edges))
    if f.groups is not None:
        means, names = f.groups.means(), f.groups.groups
        strength = np.stack([edge_strengths(model, means[name].to_numpy()) for name in names])
        for place, name in enumerate(names):
            draws = f.groups.log_odds[:, :, place, model.chart.offset[: model.n_edges]]
            above = np.clip((draws > 0).mean(axis=(0, 1)), 1e-7, 1 - 1e-7)
            odds = np.abs(np.log(above / (1 - above)))
            verdict = np.where(odds >= math.log(10), "present", "undecided")
            table = pd.DataFrame({"mean": strength[place], "log_bf10": odds, "verdict": verdict})
            networks.append(_network(f, f"Group {name}", "odds of the sign", table))
        change = strength[1] - strength[0] if len(names) == 2 else np.ptp(strength, axis=0)
        called = f"{names[1]} less {names[0]}" if len(names) == 2 else "Largest difference between groups"
        table = f.groups._evidence_table().assign(mean=change)
        networks.append(_network(f, called, "Bayes factor of a difference", table))
    layouts = {"springs": f.places, "circle": positions(model, "circle")}
    return script_safe(
        {
            "nodes": nodes.to_dict("records"),
            "layouts": {name: np.round(_unit(places), 3).tolist() for name, places in layouts.items()},
            "networks": networks,
            "verdicts": VERDICTS,
        }
    )


def _network(findings: Findings, name: str, evidence: str, table: pd.DataFrame) -> dict[str, object]:
    """Edges as [first, second, coupling, log10 of the evidence, verdict]."""
    neutral = findings.neutral if evidence == "Bayes factor" else 0.0
    power = np.clip(np.nan_to_num(table["log_bf10"] / math.log(10)), -MOST_POWERS, MOST_POWERS)
    rows = zip(findings.model.edges.tolist(), table["mean"] - neutral, power, table["verdict"], strict=True)
    edges = [[u, v, _short(mean), _short(cut), VERDICTS.index(verdict)] for (u, v), mean, cut, verdict in rows]
    return {"name": name, "evidence": evidence, "edges": edges}


def _short(value: float) -> float:
    return float(f"{float(np.nan_to_num(value)):.3g}")


def _unit(places: np.ndarray) -> np.ndarray:
    """Places in [0, 1]^2, y downwards."""
    low, high = places.min(axis=0), places.max(axis=0)
    unit = (places - low) / np.maximum(high - low, 1e-9)
    return np.stack([unit[:, 0], 1 - unit[:, 1]], axis=1)
