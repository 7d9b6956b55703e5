"""Pages link to measured tables where they lie in the repository; on the site these tables are pages, too."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "benchmarks" / "results"
MEASURED = REPOSITORY / "docs" / "measured"
# Of tables that their scripts write without a heading.
TITLES = {
    "bethe_order": "Where belief propagation has an estimate",
    "cluster": "Tasks on processes and on a Dask cluster",
    "folders_billion": "Counting 10^9 rows",
    "graph_ranks": "Ranks of true graphs and differences among their draws",
    "groups": "Differences between groups against enumeration, and their calibration",
    "planar": "Planar fields: milliseconds",
    "planar_100": "Planar fields: modes and spreads at 100x100",
    "planar_accuracy": "Planar fields: digits",
    "planar_estimate": "Planar fields: the maximum of the likelihood",
    "planar_million": "Planar fields: the maximum of the likelihood of a million nodes",
    "planar_peers": "Planar fields beside others' software",
    "planar_posterior": "Planar fields: effective draws of the exact posterior",
    "planar_triangulations": "Planar fields: milliseconds on triangulations",
    "r_page": "The R lines, run",
    "select": "Which edges: seconds and errors",
}
# The command of a table and, in the next line, what it ran on.
COMMAND = re.compile(r"^python (?:benchmarks|tests)/.*(?:\nPython 3.*)?$", re.MULTILINE)
LINK = re.compile(r"\]\((?:\.\./)+benchmarks/results/([\w.-]+\.md)\)")


def bring_tables(app: Sphinx, config: Config) -> None:
    """Copies measured tables into the site, only those that changed, so that the rest is not built again."""
    MEASURED.mkdir(exist_ok=True)
    names = {path.name for path in RESULTS.glob("*.md")}
    for path in MEASURED.glob("*.md"):
        if path.name not in names | {"index.md"}:
            path.unlink()
    for name in names:
        source, target = RESULTS / name, MEASURED / name
        if not target.exists() or target.read_bytes() != titled(source):
            target.write_bytes(titled(source))
    listed = "\n".join(sorted(name.removesuffix(".md") for name in names))
    index = (
        f"# Measured tables\n\nEach with the command that made it.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )
    if not (MEASURED / "index.md").exists() or (MEASURED / "index.md").read_text(encoding="utf-8") != index:
        (MEASURED / "index.md").write_text(index, encoding="utf-8")


def titled(path: Path) -> bytes:
    """The text of a table with the heading that a page of the site needs, its commands set apart."""
    text = COMMAND.sub(r"```text\n\g<0>\n```", path.read_text(encoding="utf-8"))
    title = TITLES.get(path.stem, path.stem.replace("_", " ").capitalize())
    return (text if text.startswith("# ") else f"# {title}\n\n{text}").encode()


def point_to_pages(app: Sphinx, name: str, source: list[str]) -> None:
    up = "../" * name.count("/")
    source[0] = LINK.sub(lambda match: f"]({up}measured/{match.group(1)})", source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", bring_tables)
    app.connect("source-read", point_to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
