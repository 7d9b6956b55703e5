"""Numbers from stored cells, and the paper's claims (`study.toml`): their criteria, and the verdict that follows.

Errors are computed within each replication, then their mean and standard error over replications. A verdict is never
written down. A function of `mrfbayes.paper.judges` yields criteria, each with the number it looks at, and the verdict
counts those that hold. The reason beside it is prose, written for a certain count (`Claim.holds`): `disagreements`
lists the claims whose records give another one, and the page marks them.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from mrfbayes.paper import constants as settings
from mrfbayes.paper.constants import STUDY
from mrfbayes.paper.journal import Store
from mrfbayes.paper.tasks import REFUSED, RESOLUTION, Cell, CellOutcome

IDLE_TIMINGS = "idle_timings.csv"
UNDISTURBED = 0.9  # share of a processor from which a run's seconds are its own
MEDIAN_ERROR = 1.2533  # standard error of a normal sample's median over that of its mean: sqrt(pi / 2)
MAX_DIGITS = 4  # after the point
MISSING_RESULT = "-"  # where nothing was run


# Of (mean, sd, exact mean, exact sd), each (p,): one number, or one per parameter, of which the mean is taken
ERROR_MEASURES: Mapping[str, Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "mean_error": lambda mean, sd, exact, exact_sd: np.abs(mean - exact),
    "mean_error_sds": lambda mean, sd, exact, exact_sd: np.abs(mean - exact) / exact_sd,
    "mean_shift_sds": lambda mean, sd, exact, exact_sd: (mean - exact) / exact_sd,
    "sd_error": lambda mean, sd, exact, exact_sd: np.abs(sd - exact_sd),
    "sd_error_relative": lambda mean, sd, exact, exact_sd: np.abs(sd / exact_sd - 1),
    "sd_ratio": lambda mean, sd, exact, exact_sd: sd / exact_sd,
    "worst_sd": lambda mean, sd, exact, exact_sd: np.abs(sd / exact_sd - 1).max(),
}


@dataclass(frozen=True)
class Average:
    """A mean over replications with its standard error, and how many there were."""

    value: float
    error: float
    count: int

    def __format__(self, digits: str) -> str:
        return self.text(1.0, int(digits or 2))

    def percent(self, digits: int = 1) -> str:
        """A share in per cent with its error."""
        return f"{self.text(100, digits)} %"

    def text(self, scale: float = 1.0, digits: int = 2) -> str:
        """Value ± standard error, both times ``scale``; a dash where there is nothing."""
        if not self.count:
            return MISSING_RESULT
        while digits < MAX_DIGITS and 1e-9 < scale * self.error < 0.5 * 10.0**-digits:
            digits += 1  # no error is printed as 0.0
        value = f"{scale * self.value:.{digits}f}"
        return value if math.isnan(self.error) else f"{value} ± {scale * self.error:.{digits}f}"


def average(values: Iterable[float]) -> Average:
    """Mean and standard error of values over replications."""
    found = np.array([v for v in values if math.isfinite(v)])
    if not found.size:
        return Average(math.nan, math.nan, 0)
    error = float(found.std(ddof=1) / math.sqrt(found.size)) if found.size > 1 else math.nan
    return Average(float(found.mean()), error, found.size)


def quotient(first: Average, second: Average) -> Average:
    """The ratio of two averages, with the error that independent errors of both give it."""
    if not second.value:
        return Average(math.nan, math.nan, 0)
    value = first.value / second.value
    error = math.hypot(first.error, value * second.error) / abs(second.value)
    return Average(value, error, min(first.count, second.count))


class Among(TypedDict, total=False):
    """Which outcomes an error is averaged over.

    ``setting`` is "adapted" by default. ``beside`` names other methods: only replications that they
    have, too, are taken, so that all can be compared. ``base="truth"`` puts the parameters that made the data in the
    place of the exact mean ("reference").
    """

    setting: str
    base: str
    beside: Sequence[str]


class Results:
    """Stored outcomes by what they are of; only runs of full length, unless another length is asked for."""

    def __init__(self, store: Store, steps: int | None = None, idle: Path | None = None) -> None:
        self.steps = steps or settings.PAPER_STEPS
        self._idle, self.machine = _read_idle(idle)
        self._found: dict[tuple[str, int, str, str], dict[int, CellOutcome]] = {}
        self._refused: Counter[tuple[str, int, str, str]] = Counter()
        for cell, outcome in sorted(store.outcomes.items(), key=lambda item: item[0]):
            if cell.steps == self.length(cell):
                key = (cell.grid, cell.n, cell.setting, cell.method)
                if REFUSED in outcome.numbers:
                    self._refused[key] += 1
                else:
                    self._found.setdefault(key, {})[cell.replication] = outcome

    def length(self, cell: Cell) -> int:
        """The steps that a cell of its kind has."""
        if cell.method == "reference":
            return min(self.steps, settings.REFERENCE_PROPOSALS)
        if cell.method == "coalescence":
            return settings.VISITED
        return min(self.steps, settings.GIBBS_STEPS) if cell.setting == "gibbs" else self.steps

    def outcomes(self, grid: str, n: int, method: str, setting: str = "adapted") -> dict[int, CellOutcome]:
        """Replication -> outcome."""
        return self._found.get((grid, n, setting, method), {})

    def count(self, grid: str, n: int, method: str, setting: str = "adapted") -> int:
        """Replications there are."""
        return len(self.outcomes(grid, n, method, setting))

    def refusals(self, grid: str, n: int, method: str, setting: str) -> int:
        """Replications for which there is no answer."""
        return self._refused[grid, n, setting, method]

    def sizes(self, grid: str, method: str, setting: str = "adapted") -> list[int]:
        """The n at which there is something."""
        return sorted({key[1] for key in self._found if (key[0], key[2], key[3]) == (grid, setting, method)})

    def number(self, name: str, grid: str, n: int, method: str, setting: str = "adapted") -> Average:
        """Average of a stored number."""
        found = self.outcomes(grid, n, method, setting).values()
        return average(outcome.numbers.get(name, math.nan) for outcome in found)

    def timing(self, grid: str, n: int, method: str, setting: str = "adapted") -> Average:
        """Processor seconds of 10^6 steps: the median over replications with its standard error.

        Those of the clock times the share of the processor that the run had. Runs that had one to themselves are used
        alone where there are any: other work on the machine slows a run down in ways that no share tells.
        """
        found = self._timed(grid, n, method, setting)
        undisturbed = [seconds for share, seconds in found if share >= UNDISTURBED]
        values = (
            np.array(undisturbed or [seconds for _, seconds in found])
            * settings.PAPER_STEPS
            / self._steps_made(setting)
        )
        if not values.size:
            return Average(math.nan, math.nan, 0)
        error = MEDIAN_ERROR * float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan
        return Average(float(np.median(values)), error, values.size)

    def seconds(self, grid: str, n: int, method: str, setting: str = "adapted") -> float:
        """The value of `timing`; nan where there is nothing."""
        return self.timing(grid, n, method, setting).value

    def is_disturbed(self, grid: str, n: int, method: str, setting: str = "adapted") -> bool:
        """Whether no run had a processor to itself."""
        found = self._timed(grid, n, method, setting)
        return bool(found) and max(share for share, _ in found) < UNDISTURBED

    def _timed(self, grid: str, n: int, method: str, setting: str) -> list[tuple[float, float]]:
        if (grid, n, setting, method) in self._idle:
            return self._idle[grid, n, setting, method]
        return [
            (outcome.seconds["share"], outcome.seconds["chain"] * outcome.seconds["share"])
            for outcome in self.outcomes(grid, n, method, setting).values()
            if {"chain", "share"} <= outcome.seconds.keys()
        ]

    def _steps_made(self, setting: str) -> float:
        if setting == "gibbs":
            return min(self.steps, settings.GIBBS_STEPS)
        warm = settings.SETTINGS[setting].proposal == "adapted"
        return self.steps * (1 + settings.WARMUP_SHARE * warm)

    def errors(self, measure: str, grid: str, n: int, method: str, **among: Unpack[Among]) -> Average:
        """Average of one of `ERROR_MEASURES` over the replications that have both posteriors; see `Among`."""
        exact = self.outcomes(grid, n, "reference")
        others = [exact, *(self.outcomes(grid, n, name) for name in among.get("beside", ()))]
        centre = "truth" if among.get("base") == "truth" else "mean"
        values = []
        for replication, outcome in self.outcomes(grid, n, method, among.get("setting", "adapted")).items():
            if all(replication in other for other in others):
                own, reference = outcome.vectors, exact[replication].vectors
                vectors = (own["mean"], own["sd"], reference[centre], reference["sd"])
                values.append(float(np.mean(ERROR_MEASURES[measure](*(RESOLUTION * np.array(v) for v in vectors)))))
        return average(values)


def _read_idle(path: Path | None) -> tuple[dict[tuple[str, int, str, str], list[tuple[float, float]]], str]:
    """Shares and seconds of the runs that ``benchmarks/paper_times.py`` made on an idle core, and the machine."""
    found: dict[tuple[str, int, str, str], list[tuple[float, float]]] = {}
    machines: dict[str, None] = {}
    if path is not None and path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                key = (row["grid"], int(row["n"]), row["setting"], row["method"])
                share = float(row["share"])
                found.setdefault(key, []).append((share, share * float(row["chain"])))
                machines[row["machine"]] = None
    return found, ", ".join(machines)


CLOSE = 10.0  # % of a posterior sd: an error that is too small to matter; a guess
REPRODUCED, PARTLY, NOT, UNDECIDED = "reproduced", "partly", "not reproduced", "not run yet"


@dataclass(frozen=True)
class Criterion:
    """A quantity with its error and what the claim says of it; ``holds`` is None where it is only context.

    ``number`` is the text that may stand for the whole claim.
    """

    quantity: str
    value: str
    criterion: str = ""
    holds: bool | None = None
    number: str = ""


@dataclass(frozen=True)
class Finding:
    """One number with its error that stands for all, the criteria, and the reason."""

    number: str
    checks: tuple[Criterion, ...]
    reason: str

    @property
    def score(self) -> tuple[int, int]:
        """How many criteria hold, of how many."""
        decided = [check.holds for check in self.checks if check.holds is not None]
        return sum(decided), len(decided)

    @property
    def verdict(self) -> str:
        """Reproduced where all criteria hold, partly where some do."""
        held, total = self.score
        return UNDECIDED if not total else REPRODUCED if held == total else PARTLY if held else NOT


@dataclass(frozen=True)
class Claim:
    """A claim in our words and its place; see the head of `study.toml`."""

    judge: str
    place: str
    text: str
    part: str
    holds: tuple[int, int]
    reason: str
    table: str = ""
    facts: Mapping[str, tuple[str, str, int, str]] = field(default_factory=dict)

    def finding(self, results: Results) -> Finding:
        """The finding; a criterion whose cells were not run is left out."""
        from mrfbayes.paper import judges

        checks = tuple(check for check in getattr(judges, self.judge)(results) if check is not None)
        if all(check.holds is None for check in checks):
            return Finding("-", (), "Its cells were not run yet.")
        facts = {name: results.number(*which) for name, which in self.facts.items()}
        number = [check.number for check in checks if check.number][-1]
        return Finding(number, checks, self.reason.format_map(facts))


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the paper."""
    return tuple(Claim(**{**row, "holds": tuple(row["holds"])}) for row in STUDY["claims"])


def judge_all(results: Results) -> list[tuple[Claim, Finding]]:
    """Every claim with its finding."""
    return [(claim, claim.finding(results)) for claim in all_claims()]


def disagreements(results: Results) -> list[str]:
    """Claims whose reason was written for other numbers than the records have."""
    return [
        f"{claim.text}: the reason was written for {claim.holds[0]} of {claim.holds[1]} criteria, the records meet "
        f"{finding.score[0]} of {finding.score[1]} ({finding.verdict})"
        for claim, finding in judge_all(results)
        if finding.score != claim.holds
    ]


def compared(
    quantity: str, value: str, *needs: Average, bound: str = "", holds: bool | None = None, number: str = ""
) -> Criterion | None:
    """A criterion in words; None where one of the averages it needs is of nothing."""
    known = all(need.count for need in needs)
    return Criterion(quantity, value, bound, None if holds is None else bool(holds), number) if known else None


def below(quantity: str, value: Average, number: str = "", digits: int = 1) -> Criterion | None:
    """The criterion that a share stays below `CLOSE` per cent."""
    holds = abs(100 * value.value) < CLOSE
    return compared(quantity, value.percent(digits), value, bound=f"below {CLOSE:g} %", holds=holds, number=number)


def smaller(
    quantity: str, value: Average, name: str, other: Average, factor: float = 1.0, number: str = ""
) -> Criterion | None:
    """The criterion that one share is smaller than ``factor`` times another one."""
    bound = f"below {'' if factor == 1 else f'{factor:g} times '}{name}'s, {other.percent()}"
    holds = value.value < factor * other.value
    return compared(quantity, value.percent(), value, other, bound=bound, holds=holds, number=number)
