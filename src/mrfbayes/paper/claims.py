"""The paper's claims, one by one: what was claimed, what came out, and why; the judges are in files of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Unpack

from mrfbayes.paper.constants import METHODS
from mrfbayes.paper.results import Among, Average, Measure, Results

CLOSE = 0.10  # of a posterior sd: an error that nobody would see
REPRODUCED, PARTLY, NOT, UNDECIDED = "reproduced", "partly", "not reproduced", "not run yet"


@dataclass(frozen=True)
class Finding:
    """Our number with its error, the verdict, and the reason found."""

    numbers: str
    verdict: str
    reason: str


class NotRun(Exception):
    """The cells that a claim needs are not there yet."""


@dataclass(frozen=True)
class Claim:
    """A claim in our words, its place, the part of the study that judges it, and the judge."""

    place: str
    text: str
    part: str
    judge: Callable[[Results], Finding]

    def finding(self, results: Results) -> Finding:
        """The finding, or the statement that the cells are missing."""
        try:
            return self.judge(results)
        except NotRun as error:
            return Finding(f"no cells of {error} yet", UNDECIDED, "")


def judge_all(results: Results) -> list[tuple[Claim, Finding]]:
    """Every claim with its finding, in the order of the paper."""
    from mrfbayes.paper.claims_accuracy import ACCURACY
    from mrfbayes.paper.claims_setup import SETUP
    from mrfbayes.paper.claims_time import TIME

    return [(claim, claim.finding(results)) for claim in (*SETUP, *ACCURACY, *TIME)]


def claims_markdown(results: Results) -> str:
    """The table of verdicts."""
    lines = ["| | place | claim | found | verdict | why | part |", "|---:|---|---|---|---|---|---|"]
    for number, (claim, finding) in enumerate(judge_all(results), 1):
        cells = (claim.place, claim.text, finding.numbers, f"**{finding.verdict}**", finding.reason, f"`{claim.part}`")
        lines.append(f"| {number} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def error_of(results: Results, measure: Measure, grid: str, n: int, method: str, **among: Unpack[Among]) -> Average:
    """The average error, or the end of the judgement where there is none."""
    found = results.errors(measure, grid, n, method, **among)
    if not found.count:
        raise NotRun(f"{grid}, n = {n}, {METHODS[method].label} ({among.get('setting', 'adapted')})")
    return found


def needed(value: float, what: str) -> float:
    """``value``, or the end of the judgement where it is missing."""
    if math.isnan(value):
        raise NotRun(what)
    return value


def verdict(*conditions: bool) -> str:
    """Reproduced where all hold, partly where some do."""
    return REPRODUCED if all(conditions) else PARTLY if any(conditions) else NOT
