"""Types of other packages are links to their documentation. The inventories are written here, so no network is needed."""

from __future__ import annotations

import zlib
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.ext.intersphinx import resolve_reference_any_inventory

INVENTORIES = Path(__file__).resolve().parents[2] / "build" / "inventories"
GENERATED = "reference/generated/{}.html"
# Project: address, and for each name the page that describes it.
PAGES = {
    "python": (
        "https://docs.python.org/3/",
        {
            "pathlib.Path": "library/pathlib.html",
            **dict.fromkeys(
                [f"collections.abc.{name}" for name in ("Callable", "Iterable", "Iterator", "Mapping", "Sequence")],
                "library/collections.abc.html",
            ),
        },
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        {
            "numpy.ndarray": GENERATED,
            "numpy.random.Generator": "reference/random/generator.html",
            "numpy.random.SeedSequence": "reference/random/bit_generators/generated/{}.html",
        },
    ),
    "pandas": (
        "https://pandas.pydata.org/docs/",
        dict.fromkeys(("pandas.DataFrame", "pandas.Series"), "reference/api/{}.html"),
    ),
    "networkx": (
        "https://networkx.org/documentation/stable/",
        {"networkx.Graph": "reference/classes/graph.html"},
    ),
    "xarray": (
        "https://docs.xarray.dev/en/stable/",
        dict.fromkeys(("xarray.DataTree", "xarray.Dataset"), "generated/{}.html"),
    ),
    "matplotlib": (
        "https://matplotlib.org/stable/",
        {"matplotlib.axes.Axes": "api/_as_gen/{}.html", "matplotlib.figure.Figure": "api/_as_gen/{}.html"},
    ),
}
# As the signatures of the package name them.
SHORT = {name.rpartition(".")[2]: name for _, pages in PAGES.values() for name in pages} | {
    f"{short}.{name.partition('.')[2]}": name
    for short, package in (("np", "numpy"), ("pd", "pandas"), ("nx", "networkx"), ("xr", "xarray"))
    for name in PAGES[package][1]
}


def write_inventories(app: Sphinx, config: Config) -> None:
    """Write an inventory per project, in the format of Sphinx, and point intersphinx to it."""
    INVENTORIES.mkdir(parents=True, exist_ok=True)
    for project, (address, pages) in PAGES.items():
        lines = [f"{name} py:class 1 {page.format(name)}#{name} -\n" for name, page in pages.items()]
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        content = f"{head}# The remainder of this file is compressed using zlib.\n".encode()
        path = INVENTORIES / f"{project}.inv"
        path.write_bytes(content + zlib.compress("".join(lines).encode()))
        config.intersphinx_mapping[project] = (address, (str(path),))


def resolve_short_name(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Return the link of a type that a signature names without its package."""
    name = SHORT.get(node.get("reftarget", ""))
    if name is None or node.get("refdomain") != "py":
        return None
    node["reftarget"], node["reftype"] = name, "class"
    return resolve_reference_any_inventory(env, False, node, content)


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.intersphinx")
    app.connect("config-inited", write_inventories, priority=100)
    app.connect("missing-reference", resolve_short_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
