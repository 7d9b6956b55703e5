"""The paper's claims (`study.toml`): the criteria that each is judged by, and the verdict that follows from them.

A verdict is never written down. A function of `mrfbayes.paper.judges` yields criteria, each with the number it looks
at, and the verdict counts those that hold. The reason beside it is prose, written for a certain count (`Claim.holds`):
`disagreements` lists the claims whose records give another one, and the page marks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from mrfbayes.paper.constants import STUDY
from mrfbayes.paper.results import Average, Results

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
