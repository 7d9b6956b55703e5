"""Tables 1 and 2 in the paper's layout, ours beside the paper's, and the tables that it does not have.

The table and the answer for fields beyond the paper's sizes are made from the records of
``benchmarks/larger_fields.py``.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mrfbayes.paper.claims import MISSING_RESULT, Average, Results
from mrfbayes.paper.constants import (
    EXTRAPOLATED,
    FRESH_SAMPLERS,
    GRIDS,
    METHODS,
    PRINTED_TIMES,
    SAMPLE_SIZES,
    SETTINGS,
    STUDY,
    TABLE_SIZES,
    TEN,
)
from mrfbayes.paper.tasks import CLOSED_FORM, LAPLACE_VARIANTS, PRINTED_STARTS, cells_of

TEX = {
    "rho": r"$\rho$",
    "±": r"$\pm$",
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "½": r"$\frac12$",
    "^6": "$^6$",
    "†": r"$\dagger$",
}


@dataclass(frozen=True)
class Table:
    """A table of text: caption, header, rows; a row of one cell is a heading inside the table."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """As Markdown."""
        rows = [[f"**{row[0]}**"] if len(row) == 1 else row for row in self.rows]
        lines = [self.header, ["---", *["---:"] * (len(self.header) - 1)], *rows]
        lines = [[*line, *[""] * (len(self.header) - len(line))] for line in lines]
        return "\n".join([self.caption, "", *("| " + " | ".join(line) + " |" for line in lines)]) + "\n"

    def latex(self) -> str:
        """As LaTeX."""
        width = len(self.header)
        head, *body = (
            " & ".join(_tex(cell) for cell in [*row, *[""] * (width - len(row))]) + r" \\"
            for row in (self.header, *self.rows)
        )
        begin = [r"\begin{table}", rf"\caption{{{_tex(self.caption)}}}", rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}"]
        rule = r"\hline"
        return "\n".join([*begin, rule, head, rule, *body, rule, r"\end{tabular}", r"\end{table}"]) + "\n"

    def csv(self) -> str:
        """As CSV."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue()


def _tex(text: str) -> str:
    for plain, tex in TEX.items():
        text = text.replace(plain, tex)
    return text


def _significant(value: float) -> str:
    if math.isnan(value):
        return MISSING_RESULT
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _percent(value: float) -> str:
    share = 100 * value
    return MISSING_RESULT if math.isnan(share) else f"{share:.{'0f' if share >= 1 or share == 0 else '2g'}} %"


Row = tuple[str, str, str]  # label, method, setting
TEN_ROWS = [(METHODS[method].label, method, "adapted") for method in TEN]


def _table(
    name: str,
    columns: Sequence[str],
    cells: Callable[[str, int, str, str], Iterable[str]],
    rows: Sequence[Row] = TEN_ROWS,
    headings: Mapping[str, str] | None = None,
    keep_empty: bool = False,
) -> Table:
    """Rows on each grid with ``cells(grid, n, method, setting)``, one per column, for every n."""
    made: list[list[str]] = []
    for grid, heading in (headings or {grid: f"{grid} grid" for grid in GRIDS}).items():
        made += [[heading]] if heading else []
        for label, method, setting in rows:
            row = [cell for n in TABLE_SIZES for cell in cells(grid, n, method, setting)]
            made += [[label, *row]] if keep_empty or set(row) != {MISSING_RESULT} else []
    header = ["", *(f"n={n:,} {column}" for n in TABLE_SIZES for column in columns)]
    return Table(STUDY["tables"][name]["caption"], header, made)


def _times(results: Results, name: str, rows: Sequence[Row], headings: Mapping[str, str]) -> Table:
    """Milliseconds of the paper and ours; a tilde where other work on the machine disturbed every run."""

    def cells(grid: str, n: int, method: str, setting: str) -> Iterable[str]:
        printed = PRINTED_TIMES[grid].get(method)
        yield f"{printed[TABLE_SIZES.index(n)]:.2E}" if printed else MISSING_RESULT
        seconds = results.seconds(grid, n, method, setting)
        mark = "~" if results.is_disturbed(grid, n, method, setting) else ""
        yield MISSING_RESULT if math.isnan(seconds) else f"{mark}{1000 * seconds:.2E}"

    return _table(name, ("paper", "ours"), cells, rows, headings, keep_empty=True)


def table1(results: Results) -> Table:
    """Run times on 4x4."""
    rows = [(f"{label}*" if method in EXTRAPOLATED else label, method, setting) for label, method, setting in TEN_ROWS]
    rows += [(f"{METHODS[method].label}, 1,000 sweeps†", method, "gibbs") for method in FRESH_SAMPLERS]
    return _times(results, "table1", rows, {"4x4": ""})


def table2(results: Results) -> Table:
    """Run times on 6x6 and 8x8."""
    order = ("persistent", "pseudo", "laplace", "mle-0", "mle-0.05", "mle-0.1", "exact")
    rows = [(METHODS[method].label, method, "adapted") for method in order]
    return _times(results, "table2", rows, {grid: f"{grid} grid" for grid in ("6x6", "8x8")})


def efficiency(results: Results) -> Table:
    """Acceptance, effective draws, effective draws per second: what the steps were worth."""

    def cells(grid: str, n: int, method: str, setting: str) -> Iterable[str]:
        ess = results.number("ess", grid, n, method).value
        yield _percent(results.number("acceptance", grid, n, method).value)
        yield from map(_significant, (ess, ess / results.seconds(grid, n, method)))
        yield _significant(results.number("noise", grid, n, method).value)

    return _table("efficiency", ("accepted", "ESS", "ESS/s", "noise"), cells)


def acceptance(results: Results) -> Table:
    """What the printed proposal accepts, from three starts."""

    def cells(grid: str, n: int, method: str, setting: str) -> Iterable[str]:
        for start in PRINTED_STARTS:
            ess = results.number("ess", grid, n, method, start).value
            accepted = _percent(results.number("acceptance", grid, n, method, start).value)
            yield accepted + ("" if math.isnan(ess) else f" ({_significant(ess)})")

    return _table("acceptance", ("from ½", "from MLE", "from truth"), cells)


def _errors(results: Results, name: str, rows: Sequence[Row], headings: Mapping[str, str] | None = None) -> Table:
    def cells(grid: str, n: int, method: str, setting: str) -> Iterable[str]:
        for measure, scale, digits in (("mean_error_sds", 100, 1), ("sd_error_relative", 100, 1), ("sd_ratio", 1, 3)):
            yield results.errors(measure, grid, n, method, setting=setting).text(scale, digits)

    return _table(name, ("mean, % of sd", "sd, %", "sd ratio"), cells, rows, headings)


def errors(results: Results) -> Table:
    """Errors against the exact posterior."""
    counts = {grid: ", ".join(str(results.count(grid, n, "reference")) for n in TABLE_SIZES) for grid in GRIDS}
    rows = [*TEN_ROWS, (METHODS["calibrated"].label, "calibrated", "adapted")]
    return _errors(results, "errors", rows, {grid: f"{grid} grid ({counts[grid]} replications)" for grid in GRIDS})


def studies(results: Results) -> Table:
    """Errors of the variants: estimators, copulas, n + 2, Laplace."""
    rows = [(SETTINGS[setting].why, "mle-0", setting) for setting in CLOSED_FORM]
    rows += [("Laplace-L, Bethe information, in log-odds", "laplace", "adapted")]
    rows += [(SETTINGS[setting].why, "laplace", setting) for setting in LAPLACE_VARIANTS]
    return _errors(results, "studies", rows)


def replications(results: Results) -> dict[tuple[str, str, str], dict[int, tuple[int, int]]]:
    """By grid, setting, method and n: how many there are, and how many the profile "standard" asks for."""
    planned = Counter((cell.grid, cell.setting, cell.method, cell.n) for cell in cells_of("standard"))
    found: dict[tuple[str, str, str], dict[int, tuple[int, int]]] = {}
    for setting, grid, method, n in itertools.product(SETTINGS, GRIDS, METHODS, SAMPLE_SIZES):
        done = results.count(grid, n, method, setting) + results.refusals(grid, n, method, setting)
        if done or planned[grid, setting, method, n]:
            found.setdefault((grid, setting, method), {})[n] = done, planned[grid, setting, method, n]
    return found


def progress(results: Results) -> Table:
    """How many replications there are of what, of how many."""
    rows = [
        [
            f"{grid} {setting}: {METHODS[method].label}",
            *("{}/{}".format(*counts[n]) if n in counts else "" for n in SAMPLE_SIZES),
        ]
        for (grid, setting, method), counts in replications(results).items()
    ]
    caption = STUDY["tables"]["replications"]["caption"]
    return Table(caption, ["", *(f"n={n:,}" for n in SAMPLE_SIZES)], rows)


TABLES: Mapping[str, Callable[[Results], Table]] = {
    "table1": table1,
    "table2": table2,
    "efficiency": efficiency,
    "acceptance": acceptance,
    "errors": errors,
    "studies": studies,
    "replications": progress,
}


LARGER_RECORDS = "larger_fields.jsonl"
LARGER_METHODS = ("exact", "mle-0", "mle-0.05", "mle-0.1", "laplace", "pseudo", "persistent", "calibrated")
FIELD_MEASURES = {
    "mean_error": "error of the mean, sds",
    "sd_ratio": "ratio of sds",
    "coverage": "coverage of 90 % intervals",
}
FIELD_PANELS = {
    "weak": "weak, theta in (.5, .8)",
    "strong": "strong, theta in (.6, .9)",
    "dense": "complete graphs, real data",
}
Record = Mapping[str, Mapping[str, tuple[float, float, int]]]  # by method and measure: mean over parameters, sd, count
SATISFACTORY = 0.1  # error of the mean in sds, and of the sd as a share: what the claims call close


@dataclass(frozen=True)
class LargerField:
    """What was measured on the data sets of one field, by method and measure."""

    family: str
    name: str
    strength: str
    parameters: int
    n: int
    measured: Mapping[str, Mapping[str, Average]]

    @property
    def panel(self) -> str:
        """The column of the figure that it is in."""
        return self.strength if self.strength in FIELD_PANELS else "dense"

    @property
    def label(self) -> str:
        """Its name in the table."""
        return f"{self.family} {self.name}" + (f", {self.strength}" if self.panel == self.strength else "")


def read_fields(path: Path) -> list[LargerField]:
    """The fields in a file of records, those of a family together, the smallest first; none where there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    groups: dict[tuple[str, str, str, int, int], list[Record]] = {}
    for r in map(json.loads, lines):
        groups.setdefault((r["family"], r["name"], r["strength"], r["parameters"], r["n"]), []).append(r["methods"])
    fields = [LargerField(*key, _measured(methods)) for key, methods in groups.items()]
    return sorted(fields, key=lambda field: (list(FIELD_PANELS).index(field.panel), field.family, field.parameters))


def _measured(records: list[Record]) -> dict[str, dict[str, Average]]:
    measured: dict[str, dict[str, Average]] = {}
    for method in LARGER_METHODS:
        rows = [record[method] for record in records if method in record]
        if rows:
            squared, *others = (
                _pooled(row[name] for row in rows) for name in ("squared_error", "sd_ratio", "coverage")
            )
            measured[method] = dict(zip(FIELD_MEASURES, (_root(squared), *others), strict=True))
    return measured


def _pooled(rows: Iterable[tuple[float, float, int]]) -> Average:
    """Of (mean, sd, count) over the parameters of each data set: the mean over all and its standard error."""
    kept = list(rows)
    total = sum(count for *_, count in kept)
    mean = sum(count * value for value, _, count in kept) / total
    square = sum(count * (sd**2 + value**2) for value, sd, count in kept) / total
    return Average(mean, math.sqrt(max(square - mean**2, 0.0) / total), total)


def _root(squared: Average) -> Average:
    """The root of an average of squares; where noise makes that negative, zero with the error that this leaves."""
    value = math.sqrt(max(squared.value, 0.0))
    largest = math.sqrt(max(squared.value, 0.0) + squared.error)
    return Average(value, largest - value, squared.count)


def larger_table(fields: list[LargerField]) -> Table:
    """Error of the mean in % of an sd / ratio of sds / coverage in %, with their errors, by field and method."""
    rows = [
        [field.label, f"{field.parameters:,}", *(_larger_cell(field.measured.get(method)) for method in LARGER_METHODS)]
        for field in fields
    ]
    header = ["", "p", *(METHODS[method].label for method in LARGER_METHODS)]
    return Table(STUDY["tables"]["larger"]["caption"], header, rows)


def _larger_cell(found: Mapping[str, Average] | None) -> str:
    if found is None:
        return MISSING_RESULT
    return f"{found['mean_error'].text(100, 1)} / {found['sd_ratio']:3} / {found['coverage'].text(100, 0)}"


def is_satisfactory(field: LargerField, method: str = "mle-0") -> bool:
    """Whether mean and sd are both close on average over the parameters."""
    found = field.measured[method]
    return found["mean_error"].value < SATISFACTORY and abs(found["sd_ratio"].value - 1) < SATISFACTORY


def larger_answer(fields: list[LargerField]) -> str:
    """Whether "satisfactory as the field grows" holds for MLE-L, and where it ends."""
    sentences = []
    for panel, name in (("weak", "weak couplings"), ("strong", "strong couplings"), ("dense", "complete graphs")):
        family = "complete" if panel == "dense" else "grid"
        found = [f for f in fields if f.panel == panel and f.family == family]
        if not found:
            continue
        last, bad = found[-1], [f for f in found if not is_satisfactory(f)]
        state = "holds everywhere" if not bad else f"ends at {bad[0].name} ({bad[0].parameters:,} parameters)"
        sentences.append(f"With {name} it {state}: {describe_larger(last)}.")
    real = [f for f in fields if f.family == "questionnaire"]
    sentences += [f"On the questionnaire ({f.name}): {describe_larger(f)}." for f in real]
    return " ".join(sentences)


def short_larger_answer(fields: list[LargerField]) -> str:
    """The sds of MLE-L on the largest field of each kind, in one sentence."""
    kinds = (("weak", "grid", "weak couplings"), ("strong", "grid", "strong couplings"), ("dense", "complete", ""))
    ratios = []
    for panel, family, name in kinds:
        largest = [field for field in fields if field.panel == panel and field.family == family][-1:]
        ratios += [f"{f.measured['mle-0']['sd_ratio']:3} on {f.name}{f' with {name}' * bool(name)}" for f in largest]
    ratios += [f"{f.measured['mle-0']['sd_ratio']:3} on {f.name}" for f in fields if f.family == "questionnaire"]
    return f"Beyond the paper's sizes, the ratio of its sds to the exact ones is {', '.join(ratios)}."


def describe_larger(field: LargerField, method: str = "mle-0") -> str:
    """The three measures of a method on a field, in words."""
    found, label = field.measured[method], METHODS[method].label
    return (
        f"on {field.name} the means of {label} are off by {found['mean_error'].text(100, 1)} % of an sd, its sds are "
        f"{found['sd_ratio']:3} times the exact ones, and {found['coverage'].text(100, 1)} % of its 90 % "
        "intervals hold the truth"
    )
