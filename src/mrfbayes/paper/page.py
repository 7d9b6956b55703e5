"""Everything that is made from stored results: tables, figures, and the page with the verdicts (`page.md.j2`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mrfbayes.base.atomic_files import replacing, write_text
from mrfbayes.paper import tables as made
from mrfbayes.paper.claims import IDLE_TIMINGS, NOT, PARTLY, REPRODUCED, UNDECIDED, Claim, Finding, Results, judge_all
from mrfbayes.paper.constants import METHODS, STUDY
from mrfbayes.paper.figures import FIGURES, larger_fields, largest_error
from mrfbayes.paper.journal import Store
from mrfbayes.paper.tasks import PRECISION, cells_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RERUN = "rerun.json"
MAX_ROW = 120  # characters of a row of the table of verdicts
VERDICT_WORDS = {REPRODUCED: "are reproduced", PARTLY: "in part", NOT: "not", UNDECIDED: "were not run"}


def write_all(store: Store, out: Path, steps: int | None = None) -> list[Path]:
    """Write all that the results in ``store`` give below ``out``; the paths written.

    The same results give the same bytes.
    """
    results = Results(store, steps, out / IDLE_TIMINGS)
    fields = made.read_fields(out / made.LARGER_RECORDS)
    rerun = json.loads((out / RERUN).read_text(encoding="utf-8")) if (out / RERUN).exists() else None
    tables = {name: make(results) for name, make in made.TABLES.items()} | {"larger": made.larger_table(fields)}
    texts: dict[Path, str] = {}
    for name, table in tables.items():
        if any(len(row) > 1 for row in table.rows):
            for ending, text in (("md", table.markdown()), ("tex", table.latex()), ("csv", table.csv())):
                texts[_place(out / "tables" / f"{name}.{ending}")] = text
    texts[out / "README.md"] = page(store, results, tables, fields, rerun)
    for path, text in texts.items():
        write_text(path, text, overwrite=True)
    figures = {name: draw(results) for name, draw in FIGURES.items()} | {"larger": larger_fields(fields)}
    drawn = [
        _save(figure, _place(out / "figures" / f"{name}.{ending}"))
        for name, figure in figures.items()
        if figure is not None
        for ending in ("svg", "png")
    ]
    return [*texts, *drawn]


def _save(figure: Figure, path: Path) -> Path:
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}), replacing(path, overwrite=True) as file:
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(file, format=path.suffix[1:], dpi=130, metadata=metadata)
    return path


def _place(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def page(
    store: Store,
    results: Results,
    tables: Mapping[str, made.Table],
    fields: list[made.LargerField],
    rerun: Mapping[str, float] | None,
) -> str:
    """The page as Markdown; ``rerun`` is what ``benchmarks/paper_rerun.py`` found."""
    from jinja2 import Environment, StrictUndefined

    findings = judge_all(results)
    verdicts = [finding.verdict for _, finding in findings]
    words = [f"{verdicts.count(name)} {text}" for name, text in VERDICT_WORDS.items() if name in verdicts]
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    template = environment.from_string(Path(__file__).with_name("page.md.j2").read_text(encoding="utf-8"))
    planned = cells_of("standard")
    return template.render(
        r=results,
        findings=findings,
        row=row,
        verdicts=", ".join(words),
        planned=len(planned),
        done=sum(cell in store for cell in planned),
        missing=_missing(results),
        study=STUDY,
        tables=tables,
        fields=fields,
        beyond=made.larger_answer(fields),
        beyond_in_short=made.short_larger_answer(fields) if fields else "",
        limit=f"{100 * made.SATISFACTORY:g} %",
        precision=f"{100 * PRECISION:g} %",
        largest={name: error for name in FIGURES if (error := largest_error(results, name)) is not None},
        rerun=rerun,
    )


def row(number: int, claim: Claim, finding: Finding) -> str:
    """A row of the table of verdicts."""
    return f"| {number} | {claim.text} | {finding.verdict} | {finding.number} |"


def _missing(results: Results) -> dict[tuple[str, str, str], list[str]]:
    """By grid, setting and how many are missing: the rows of the profile that are not complete."""
    short: dict[tuple[str, str, str], list[str]] = {}
    for (grid, setting, method), counts in made.replications(results).items():
        missing = dict.fromkeys(f"{done} of {asked}" for done, asked in counts.values() if done < asked)
        if missing:
            short.setdefault((grid, setting, " or ".join(missing)), []).append(METHODS[method].label)
    return short
