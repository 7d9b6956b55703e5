"""Beyond the paper's sizes: table and answer, from the records of ``benchmarks/larger_fields.py``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mrfbayes.paper.constants import METHODS, STUDY
from mrfbayes.paper.results import MISSING_RESULT, Average
from mrfbayes.paper.tables import Table

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


def table(fields: list[LargerField]) -> Table:
    """Error of the mean in % of an sd / ratio of sds / coverage in %, with their errors, by field and method."""
    rows = [
        [field.label, f"{field.parameters:,}", *(_cell(field.measured.get(method)) for method in LARGER_METHODS)]
        for field in fields
    ]
    header = ["", "p", *(METHODS[method].label for method in LARGER_METHODS)]
    return Table(STUDY["tables"]["larger"]["caption"], header, rows)


def _cell(found: Mapping[str, Average] | None) -> str:
    if found is None:
        return MISSING_RESULT
    return f"{found['mean_error'].text(100, 1)} / {found['sd_ratio']:3} / {found['coverage'].text(100, 0)}"


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


def short_answer(fields: list[LargerField]) -> str:
    """The sds of MLE-L on the largest field of each kind, in one sentence."""
    kinds = (("weak", "grid", "weak couplings"), ("strong", "grid", "strong couplings"), ("dense", "complete", ""))
    ratios = []
    for panel, family, name in kinds:
        largest = [field for field in fields if field.panel == panel and field.family == family][-1:]
        ratios += [f"{f.measured['mle-0']['sd_ratio']:3} on {f.name}{f' with {name}' * bool(name)}" for f in largest]
    ratios += [f"{f.measured['mle-0']['sd_ratio']:3} on {f.name}" for f in fields if f.family == "questionnaire"]
    return f"Beyond the paper's sizes, the ratio of its sds to the exact ones is {', '.join(ratios)}."


def describe(field: LargerField, method: str = "mle-0") -> str:
    """The three measures of a method on a field, in words."""
    found, label = field.measured[method], METHODS[method].label
    return (
        f"on {field.name} the means of {label} are off by {found['mean_error'].text(100, 1)} % of an sd, its sds are "
        f"{found['sd_ratio']:3} times the exact ones, and {found['coverage'].text(100, 1)} % of its 90 % "
        "intervals hold the truth"
    )
