"""Everything that is made from stored results: tables, figures, verdicts."""

from __future__ import annotations

from pathlib import Path

from mrfbayes.paper.store import Store
from mrfbayes.paper.summary import Results
from mrfbayes.paper.tables import TABLES


def write_all(store: Store, out: Path, steps: int | None = None) -> list[Path]:
    """Write all that the results in ``store`` give below ``out``; the paths written."""
    results = Results(store, steps)
    written = []
    for name, make in TABLES.items():
        table = make(results)
        if not any(len(row) > 1 for row in table.rows):
            continue
        for ending, text in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
            path = out / "tables" / f"{name}.{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written
