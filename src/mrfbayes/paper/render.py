"""Everything that is made from stored results: tables, figures, verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from mrfbayes.base.atomic_files import replacing, write_text
from mrfbayes.paper import larger
from mrfbayes.paper.figures import FIGURES
from mrfbayes.paper.journal import Store
from mrfbayes.paper.page import RERUN, larger_table, page
from mrfbayes.paper.printing import TABLES
from mrfbayes.paper.results import IDLE_TIMINGS, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_all(store: Store, out: Path, steps: int | None = None) -> list[Path]:
    """Write all that the results in ``store`` give below ``out``; the paths written.

    The same results give the same bytes.
    """
    results = Results(store, steps, out / IDLE_TIMINGS)
    fields = larger.read_fields(out / larger.LARGER_RECORDS)
    written = []
    tables = {name: make(results) for name, make in TABLES.items()}
    if fields:
        tables["larger"] = larger_table(fields)
    for name, table in tables.items():
        if any(len(row) > 1 for row in table.rows):
            for ending, text in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
                written.append(_place(out / "tables" / f"{name}.{ending}"))
                write_text(written[-1], text, overwrite=True)
    figures = {name: draw(results) for name, draw in FIGURES.items()} | {"larger": larger.figure(fields)}
    for name, figure in figures.items():
        if figure is not None:
            written += [_save(figure, out / "figures" / f"{name}.{ending}") for ending in ("svg", "png")]
    written.append(out / "README.md")
    rerun = json.loads((out / RERUN).read_text(encoding="utf-8")) if (out / RERUN).exists() else None
    write_text(written[-1], page(store, results, fields, rerun), overwrite=True)
    return written


def _save(figure: Figure, path: Path) -> Path:
    from matplotlib import rc_context

    with (
        rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}),
        replacing(_place(path), overwrite=True) as file,
    ):
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(file, format=path.suffix[1:], dpi=130, metadata=metadata)
    return path


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
