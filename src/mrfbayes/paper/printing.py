"""Tables 1 and 2 in the paper's layout, ours beside the paper's, and the tables that it does not have."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mrfbayes.paper import constants as settings
from mrfbayes.paper import printed
from mrfbayes.paper import results as measures
from mrfbayes.paper.constants import FRESH_SAMPLERS, METHODS, SETTINGS, TABLE_SIZES, TEN
from mrfbayes.paper.profiles import CLOSED_FORM, LAPLACE_VARIANTS, PRINTED_STARTS, cells_of
from mrfbayes.paper.results import MISSING_RESULT, Results

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
        lines = [self.caption, "", _line(self.header), _line(["---", *["---:"] * (len(self.header) - 1)])]
        lines += [_line([*_strong(row), *[""] * (len(self.header) - len(row))]) for row in self.rows]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """As LaTeX."""
        body = [" & ".join(map(_tex, [*row, *[""] * (len(self.header) - len(row))])) + r" \\" for row in self.rows]
        lines = [
            r"\begin{table}",
            rf"\caption{{{_tex(self.caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
            r"\hline",
            " & ".join(map(_tex, self.header)) + r" \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """As CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows(self.rows)
        return text.getvalue()


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _strong(row: Sequence[str]) -> Sequence[str]:
    return [f"**{row[0]}**"] if len(row) == 1 else row


def _tex(text: str) -> str:
    for plain, tex in TEX.items():
        text = text.replace(plain, tex)
    return text


def milliseconds(results: Results, grid: str, n: int, method: str, setting: str = "adapted") -> str:
    """In the paper's unit and format, with a tilde where other work on the machine disturbed every run."""
    seconds = results.seconds(grid, n, method, setting)
    mark = "~" if results.is_disturbed(grid, n, method, setting) else ""
    return MISSING_RESULT if math.isnan(seconds) else f"{mark}{1000 * seconds:.2E}"


def _significant(value: float) -> str:
    if math.isnan(value):
        return MISSING_RESULT
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _times(results: Results, grid: str, rows: Sequence[str], paper: Mapping[str, printed.Row]) -> list[list[str]]:
    made = []
    for method in rows:
        label = METHODS[method].label
        row = [f"{label}*" if method in printed.EXTRAPOLATED and grid == "4x4" else label]
        for column, n in enumerate(TABLE_SIZES):
            row += [
                f"{paper[method][column]:.2E}" if method in paper else MISSING_RESULT,
                milliseconds(results, grid, n, method),
            ]
        made.append(row)
    return made


_TIME_HEADER = ["", *(f"n={n:,} {who}" for n in TABLE_SIZES for who in ("paper", "ours"))]


def table1(results: Results) -> Table:
    """Run times on 4x4."""
    rows = _times(results, "4x4", TEN, printed.TABLE_1)
    for method in FRESH_SAMPLERS:
        row = [f"{METHODS[method].label}, 1,000 sweeps†"]
        for column, n in enumerate(TABLE_SIZES):
            row += [f"{printed.TABLE_1[method][column]:.2E}", milliseconds(results, "4x4", n, method, "gibbs")]
        rows.append(row)
    return Table(
        "Table 1. Run time of 10^6 steps on the 4x4 grid, in milliseconds (ours: processor time of one core, adapted "
        "proposal, median over replications). * The paper did not finish these; ours are finished runs whose particles "
        f"are exact draws. † Ours, too, extrapolated: {settings.GIBBS_STEPS} steps, particles made by 1,000 sweeps. "
        "~ Measured while other work ran on the machine: rough.",
        _TIME_HEADER,
        rows,
    )


def table2(results: Results) -> Table:
    """Run times on 6x6 and 8x8."""
    order = ("persistent", "pseudo", "laplace", "mle-0", "mle-0.05", "mle-0.1", "exact")
    rows: list[list[str]] = []
    for grid in ("6x6", "8x8"):
        rows += [[f"{grid} grid"], *_times(results, grid, order, printed.TABLE_2[grid])]
    return Table(
        "Table 2. Run time of 10^6 steps on the 6x6 and the 8x8 grid, in milliseconds (ours: processor time of one "
        "core, adapted proposal, median over replications). Exact-L did not finish in the paper. "
        "~ Measured while other work ran on the machine: rough.",
        _TIME_HEADER,
        rows,
    )


def _rows(cells: Callable[[str, str, int], list[str]]) -> list[list[str]]:
    """The ten methods on each grid with ``cells(grid, method, n)`` for every n, without those that were not run."""
    rows: list[list[str]] = []
    for grid in settings.GRIDS:
        rows.append([f"{grid} grid"])
        for method in TEN:
            found = [cell for n in TABLE_SIZES for cell in cells(grid, method, n)]
            if any(cell != MISSING_RESULT for cell in found):
                rows.append([METHODS[method].label, *found])
    return rows


def efficiency(results: Results) -> Table:
    """Acceptance, effective draws, effective draws per second: what the steps were worth."""
    header = ["", *(f"n={n:,} {what}" for n in TABLE_SIZES for what in ("accepted", "ESS", "ESS/s", "noise"))]

    def cells(grid: str, method: str, n: int) -> list[str]:
        ess = results.number("ess", grid, n, method)
        return [
            _percent(results.number("acceptance", grid, n, method).value),
            _significant(ess.value),
            _significant(ess.value / results.seconds(grid, n, method)),
            _significant(results.number("noise", grid, n, method).value),
        ]

    return Table(
        "Share of proposals accepted, smallest effective sample size of the parameters in 10^6 steps and per "
        "second, and noise: the sd of n log r, in nats, of the methods that estimate ratios. Adapted proposal.",
        header,
        _rows(cells),
    )


def _percent(value: float) -> str:
    if math.isnan(value):
        return MISSING_RESULT
    share = 100 * value
    return f"{share:.0f} %" if share >= 1 or share == 0 else f"{share:.2g} %"


def acceptance(results: Results) -> Table:
    """What the printed proposal accepts, from three starts."""
    names = {"printed-half": "½", "printed-mle": "MLE", "printed-truth": "truth"}
    header = ["", *(f"n={n:,} from {names[start]}" for n in TABLE_SIZES for start in PRINTED_STARTS)]

    def cells(grid: str, method: str, n: int) -> list[str]:
        found = []
        for start in PRINTED_STARTS:
            accepted = results.number("acceptance", grid, n, method, start).value
            ess = results.number("ess", grid, n, method, start).value
            found.append(_percent(accepted) + ("" if math.isnan(ess) else f" ({_significant(ess)})"))
        return found

    return Table(
        "The printed proposal (variance 0.001, all parameters at once, 10^6 steps, no burn-in): share accepted and, in "
        "brackets, smallest effective sample size, by start.",
        header,
        _rows(cells),
    )


def errors(results: Results) -> Table:
    """Errors against the exact posterior."""
    header = ["", *(f"n={n:,} {what}" for n in TABLE_SIZES for what in ("mean, % of sd", "sd, %", "sd ratio"))]
    rows: list[list[str]] = []
    for grid in settings.GRIDS:
        counts = [results.count(grid, n, "reference") for n in TABLE_SIZES]
        rows.append([f"{grid} grid ({', '.join(map(str, counts))} replications)"])
        for method in (*TEN, "calibrated"):
            row = _error_row(results, METHODS[method].label, grid, method, "adapted")
            if any(cell != MISSING_RESULT for cell in row[1:]):
                rows.append(row)
    return Table(
        "Errors against the exact posterior (independent draws), averaged over parameters, with standard errors over "
        "replications: |mean - exact mean| in per cent of the exact sd, |sd / exact sd - 1| in per cent, and the ratio "
        "of sds. Exact-L's own error is the Monte-Carlo error that all chains share.",
        header,
        rows,
    )


def _error_row(results: Results, label: str, grid: str, method: str, setting: str) -> list[str]:
    row = [label]
    for n in TABLE_SIZES:
        row += [
            results.errors(measures.mean_error_sds, grid, n, method, setting=setting).text(100, 1),
            results.errors(measures.sd_error_relative, grid, n, method, setting=setting).text(100, 1),
            results.errors(measures.sd_ratio, grid, n, method, setting=setting).text(1, 3),
        ]
    return row


def studies(results: Results) -> Table:
    """Errors of the variants: estimators, copulas, n + 2, Laplace."""
    header = ["", *(f"n={n:,} {what}" for n in TABLE_SIZES for what in ("mean, % of sd", "sd, %", "sd ratio"))]
    variants = [("mle-0", setting) for setting in CLOSED_FORM]
    variants += [("laplace", setting) for setting in ("adapted", *LAPLACE_VARIANTS)]
    rows: list[list[str]] = []
    for grid in settings.GRIDS:
        rows.append([f"{grid} grid"])
        for method, setting in variants:
            why = SETTINGS[setting].why if setting != "adapted" else "Laplace-L, Bethe information, in log-odds"
            row = _error_row(results, why, grid, method, setting)
            if any(cell != MISSING_RESULT for cell in row[1:]):
                rows.append(row)
    return Table("Side studies: errors for what the paper leaves open.", header, rows)


Row = tuple[str, str, str]  # grid, setting, method


def replications(results: Results) -> dict[Row, dict[int, tuple[int, int]]]:
    """By row and n: how many there are, and how many the profile "standard" asks for."""
    planned = Counter(((cell.grid, cell.setting, cell.method), cell.n) for cell in cells_of("standard"))
    found: dict[Row, dict[int, tuple[int, int]]] = {}
    for setting, grid, method in itertools.product(SETTINGS, settings.GRIDS, METHODS):
        row = (grid, setting, method)
        for n in settings.SAMPLE_SIZES:
            done = results.count(grid, n, method, setting) + results.refusals(grid, n, method, setting)
            if done or planned[row, n]:
                found.setdefault(row, {})[n] = done, planned[row, n]
    return found


def progress(results: Results) -> Table:
    """How many replications there are of what, of how many."""
    header = ["", *(f"n={n:,}" for n in settings.SAMPLE_SIZES)]
    rows = [
        [
            f"{grid} {setting}: {METHODS[method].label}",
            *("{}/{}".format(*counts[n]) if n in counts else "" for n in settings.SAMPLE_SIZES),
        ]
        for (grid, setting, method), counts in replications(results).items()
    ]
    return Table("Replications finished, of those that the profile `standard` has.", header, rows)


TABLES: Mapping[str, Callable[[Results], Table]] = {
    "table1": table1,
    "table2": table2,
    "efficiency": efficiency,
    "acceptance": acceptance,
    "errors": errors,
    "studies": studies,
    "replications": progress,
}
