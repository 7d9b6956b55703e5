"""Beyond the paper's sizes: figure, table and answer, from the records of ``benchmarks/larger_fields.py``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.figures import LOOKS
from mrfbayes.paper.results import MISSING_RESULT, Average

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
SATISFACTORY = 0.1  # error of the mean in sds, and of the sd as a share: what the claims call close


class FieldRecord(TypedDict):
    """A line of the file of records; by method and measure the mean over parameters, the sd and the count."""

    family: str
    name: str
    strength: str
    parameters: int
    n: int
    methods: dict[str, dict[str, tuple[float, float, int]]]


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
    if not path.exists():
        return []
    groups: dict[tuple[str, str, str], list[FieldRecord]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record: FieldRecord = json.loads(line)
        groups.setdefault((record["family"], record["name"], record["strength"]), []).append(record)
    found = [
        LargerField(*key, records[0]["parameters"], records[0]["n"], _measured(records))
        for key, records in groups.items()
    ]
    return sorted(found, key=lambda field: (list(FIELD_PANELS).index(field.panel), field.family, field.parameters))


def _measured(records: list[FieldRecord]) -> dict[str, dict[str, Average]]:
    found: dict[str, dict[str, Average]] = {}
    for method in LARGER_METHODS:
        rows = [record["methods"][method] for record in records if method in record["methods"]]
        if rows:
            names = {"mean_error": "squared_error", "sd_ratio": "sd_ratio", "coverage": "coverage"}
            found[method] = {name: _pooled(row[stored] for row in rows) for name, stored in names.items()}
            found[method]["mean_error"] = _root(found[method]["mean_error"])
    return found


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


def table(fields: list[LargerField]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: error of the mean in % of an sd / ratio of sds / coverage in %, with their errors."""
    header = ["", "p", *(METHODS[method].label for method in LARGER_METHODS)]
    rows = []
    for field in fields:
        cells = []
        for method in LARGER_METHODS:
            found = field.measured.get(method)
            cells.append(
                MISSING_RESULT
                if found is None
                else f"{found['mean_error'].text(100, 1)} / {found['sd_ratio'].text(1, 3)} / "
                f"{found['coverage'].text(100, 0)}"
            )
        rows.append([field.label, f"{field.parameters:,}", *cells])
    return header, rows


def figure(fields: list[LargerField]) -> Figure | None:
    """Three measures against the number of parameters: grids joined by lines, strips and others as open marks."""
    from matplotlib.figure import Figure

    if not fields:
        return None
    figure = Figure(figsize=(11, 9), layout="constrained")
    axes = figure.subplots(len(FIELD_MEASURES), len(FIELD_PANELS), sharex="col", sharey="row", squeeze=False)
    for row, (measure, label) in enumerate(FIELD_MEASURES.items()):
        for column, (panel, title) in enumerate(FIELD_PANELS.items()):
            ax = axes[row, column]
            for method in LARGER_METHODS:
                _draw(ax, [f for f in fields if f.panel == panel and method in f.measured], method, measure)
            ax.set_xscale("log")
            ax.grid(alpha=0.25)
            ax.axhline({"mean_error": SATISFACTORY, "sd_ratio": 1.0, "coverage": 0.9}[measure], color="0.5", lw=0.8)
            if measure == "mean_error":
                ax.set_yscale("symlog", linthresh=0.01)
                ax.set_ylim(0, 6)  # PersistMC on the questionnaire: 4 sds
                ax.set_title(title, fontsize=10)
            if measure == "sd_ratio":
                ax.set_yscale("log", base=2)
                ax.yaxis.set_major_formatter("{x:g}")
            if row == len(FIELD_MEASURES) - 1:
                ax.set_xlabel("number of parameters")
        axes[row, 0].set_ylabel(label)
    handles = {text: h for ax in axes.ravel() for h, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.suptitle(
        "Beyond the paper's sizes (bars: standard error; open marks: strips, the questionnaire)", fontsize=11
    )
    return figure


def _draw(ax: Axes, fields: list[LargerField], method: str, measure: str) -> None:
    colour, marker = LOOKS[method]
    for family, is_line in (("grid", True), ("complete", True), ("strip", False), ("questionnaire", False)):
        found = [f for f in fields if f.family == family]
        if found:
            ax.errorbar(
                [f.parameters for f in found],
                [f.measured[method][measure].value for f in found],
                [f.measured[method][measure].error for f in found],
                label=METHODS[method].label if is_line else None,
                color=colour,
                marker=marker,
                markersize=4.5,
                markerfacecolor=None if is_line else "none",
                linewidth=1.1,
                linestyle="-" if is_line else "",
                capsize=2,
            )


def is_satisfactory(field: LargerField, method: str = "mle-0") -> bool:
    """Whether mean and sd are both close on average over the parameters."""
    found = field.measured[method]
    return found["mean_error"].value < SATISFACTORY and abs(found["sd_ratio"].value - 1) < SATISFACTORY


def answer(fields: list[LargerField]) -> str:
    """Whether "satisfactory as the field grows" holds for MLE-L, and where it ends."""
    sentences = []
    for panel, name in (("weak", "weak couplings"), ("strong", "strong couplings"), ("dense", "complete graphs")):
        family = "complete" if panel == "dense" else "grid"
        found = [f for f in fields if f.panel == panel and f.family == family]
        if not found:
            continue
        last, bad = found[-1], [f for f in found if not is_satisfactory(f)]
        state = "holds everywhere" if not bad else f"ends at {bad[0].name} ({bad[0].parameters:,} parameters)"
        sentences.append(f"With {name} it {state}: {describe(last)}.")
    real = [f for f in fields if f.family == "questionnaire"]
    sentences += [f"On the questionnaire ({f.name}): {describe(f)}." for f in real]
    return " ".join(sentences)


def describe(field: LargerField, method: str = "mle-0") -> str:
    """The three measures of a method on a field, in words."""
    found, label = field.measured[method], METHODS[method].label
    return (
        f"on {field.name} the means of {label} are off by {found['mean_error'].text(100, 1)} % of an sd, its sds are "
        f"{found['sd_ratio'].text(1, 3)} times the exact ones, and {found['coverage'].text(100, 1)} % of its 90 % "
        "intervals hold the truth"
    )
