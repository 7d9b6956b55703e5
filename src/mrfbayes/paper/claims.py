"""The paper's claims: what each says, the criteria it is judged by, and the verdict that follows from them.

A verdict is never written down. Each judge returns criteria, each with the number it looks at, and the verdict counts
those that hold. The reason beside it is prose, written for a certain count (`Claim.holds`): `disagreements` lists the
claims whose records say something else, and the page marks them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.results import Among, Average, Measure, Results

CLOSE = 10.0  # % of a posterior sd: an error that nobody would see; a guess
REPRODUCED, PARTLY, NOT, UNDECIDED = "reproduced", "partly", "not reproduced", "not run yet"


@dataclass(frozen=True)
class Criterion:
    """A quantity with its error and what the claim says of it; ``holds`` is None where it is only context."""

    quantity: str
    value: str
    criterion: str = ""
    holds: bool | None = None


@dataclass(frozen=True)
class Finding:
    """One number with its error that stands for all, the criteria, and the reason found."""

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


class NotRun(Exception):
    """The cells that a claim needs are not there yet."""


@dataclass(frozen=True)
class Claim:
    """A claim in our words, its place, the part of the study that judges it, and the judge.

    ``holds`` is how many criteria hold, of how many, in the records that the reason was written for; ``table`` names
    the table of the page that has all numbers, where that is not the one of the part.
    """

    place: str
    text: str
    part: str
    judge: Callable[[Results], Finding]
    holds: tuple[int, int]
    table: str = ""

    def finding(self, results: Results) -> Finding:
        """The finding, or the statement that the cells are missing."""
        try:
            return self.judge(results)
        except NotRun as error:
            return Finding("-", (), f"There are no cells of {error} yet.")


def all_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the paper."""
    from mrfbayes.paper.claims_accuracy import ACCURACY
    from mrfbayes.paper.claims_setup import SETUP
    from mrfbayes.paper.claims_time import TIME

    return (*SETUP, *ACCURACY, *TIME)


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


def error_of(results: Results, measure: Measure, grid: str, n: int, method: str, **among: Unpack[Among]) -> Average:
    """The average error, or the end of the judgement where there is none."""
    found = results.errors(measure, grid, n, method, **among)
    if not found.count:
        raise NotRun(f"{grid}, n = {n}, {METHODS[method].label} ({among.get('setting', 'adapted')})")
    return found


def percent(value: Average, digits: int = 1) -> str:
    """A share in per cent with its error."""
    return f"{value.text(100, digits)} %"


def below(quantity: str, value: Average, bound: float = CLOSE, digits: int = 1) -> Criterion:
    """The criterion that a share stays below ``bound`` per cent."""
    return Criterion(quantity, percent(value, digits), f"below {bound:g} %", abs(100 * value.value) < bound)


def smaller(first: str, value: Average, second: str, other: Average, factor: float = 1.0) -> Criterion:
    """The criterion that one share is smaller than ``factor`` times another."""
    bound = f"below {'' if factor == 1 else f'{factor:g} times '}{second}, {percent(other)}"
    return Criterion(first, percent(value), bound, value.value < factor * other.value)


def compared(quantity: str, value: str, criterion: str, holds: bool) -> Criterion:
    """A criterion in words."""
    return Criterion(quantity, value, criterion, bool(holds))


def needed(value: Average, what: str) -> Average:
    """``value``, or the end of the judgement where it is missing."""
    if not value.count or math.isnan(value.value):
        raise NotRun(what)
    return value
