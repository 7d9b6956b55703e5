"""Everything that is made from stored results: tables, figures, verdicts."""

from __future__ import annotations

from pathlib import Path

from mrfbayes.base.atomic_files import replacing, write_text
from mrfbayes.paper.figures import FIGURES
from mrfbayes.paper.journal import Store
from mrfbayes.paper.page import page
from mrfbayes.paper.printing import TABLES
from mrfbayes.paper.results import Results


def write_all(store: Store, out: Path, steps: int | None = None) -> list[Path]:
    """Write all that the results in ``store`` give below ``out``; the paths written.

    The same results give the same bytes.
    """
    results = Results(store, steps)
    written = []
    for name, make in TABLES.items():
        table = make(results)
        if any(len(row) > 1 for row in table.rows):
            for ending, text in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
                written.append(_place(out / "tables" / f"{name}.{ending}"))
                write_text(written[-1], text, overwrite=True)
    for name, draw in FIGURES.items():
        figure = draw(results)
        if figure is not None:
            written.append(_place(out / "figures" / f"{name}.png"))
            with replacing(written[-1], overwrite=True) as file:
                figure.savefig(file, format="png", dpi=130, metadata={"Software": None})
    written.append(out / "README.md")
    write_text(written[-1], page(store, results), overwrite=True)
    return written


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
