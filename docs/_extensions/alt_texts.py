"""Pictures that a page draws are described by the line that drew them, for those who cannot see them."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx


def describe(app: Sphinx, doctree: nodes.document) -> None:
    for cell in doctree.findall(lambda node: isinstance(node, nodes.container) and "cell" in node["classes"]):
        code = next(iter(cell.findall(nodes.literal_block)), None)
        for image in cell.findall(nodes.image):
            if code is not None and not image.get("alt"):
                image["alt"] = f"Picture drawn by {drawing_line(code.astext())}"


def drawing_line(code: str) -> str:
    """The first line that asks for a plot of the package, else the first that draws something."""
    lines = [line.strip().rstrip(";") for line in code.splitlines()]
    kinds = ("mb.plots.", "ax.", "plt.")
    return next((line for kind in kinds for line in lines if kind in line), lines[-1])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
