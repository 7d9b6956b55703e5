"""Pictures inside the page: vectors whose colours follow the page's own, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from mrfbayes.base.errors import InputError
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


class Picture(NamedTuple):
    """A figure of the page: ``name`` is its id, ``says`` what a screen reader reads."""

    name: str
    title: str
    says: str
    svg: Markup
    caption: str


def inline(draw: Callable[[], Axes | Figure], name: str, says: str) -> Markup:
    """The SVG of what ``draw`` returns (axes or a figure), without a fixed size, its ids made unique by ``name``."""
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
    head = f'<svg role="img" aria-labelledby="{name}-says" style="max-width:{wide:.0f}px"'
    body = text.replace("<svg", head, 1)
    at = body.index(">") + 1
    return Markup(body[:at]) + Markup('<title id="{}-says">{}</title>').format(name, says) + Markup(body[at:])


def _ink(colour: str) -> str:
    name = _INKS_LOWER.get(colour.lower())
    return f"var({name})" if name else colour


def pictures(findings: Findings) -> list[Picture]:
    """The network or field, its panels, and the forest, as far as this model has them."""
    from mrfbayes import plots

    posterior, model, edges = findings.posterior, findings.posterior.model, findings.edges
    said = findings.verdicts
    wanted: list[tuple[str, str, str, Callable[[], Axes | Figure], str]] = []
    is_grid = model.grid_shape is not None
    if is_grid and model.n_nodes <= DRAWN_NODES:
        says = f"The {model.n_nodes} nodes of the grid with their couplings as coloured lines."
        caption = "Colour and width are the posterior mean of each coupling; dashed where its interval includes zero."
        if findings.is_tied:
            says, caption = "The observations as an image.", "All neighbours share the couplings in the title."
        wanted.append(("field", "The field", says, lambda: plots.field(model, posterior), caption))
    elif not is_grid and model.n_nodes <= DRAWN_NODES and not findings.is_tied:
        says = f"Network of {model.n_nodes} nodes; the table of edges below holds its numbers."
        caption = "Width is the posterior mean, colour and dash its sign, opacity how sure the sign is."
        wanted.append(
            (
                "network",
                "The network",
                says,
                lambda: plots.network(posterior, edges=edges, scale=findings.scale),
                caption,
            )
        )
        if said["unknown"] < len(edges):
            says = f"{said['present']} edges supported, {said['absent']} ruled out, {said['undecided']} undecided."
            caption = "The same nodes three times. An edge missing on the left is not thereby absent: look where it is."
            wanted.append(
                (
                    "panels",
                    "Supported, ruled out, undecided",
                    says,
                    lambda: plots.network_panels(posterior, scale=findings.scale),
                    caption,
                )
            )
    if len(edges) > 1:
        says = "Posterior means and 90 % intervals of the surest edges; the table below holds all."
        caption = "Filled where the 90 % interval excludes no interaction."
        wanted.append(("forest", "Couplings", says, lambda: plots.forest(posterior, scale=findings.scale), caption))
    found = []
    for name, title, says, draw, caption in wanted:
        try:
            found.append(Picture(name, title, says, inline(draw, name, says), caption))
        except InputError as reason:
            findings.missing[title] = str(reason)
    return found
