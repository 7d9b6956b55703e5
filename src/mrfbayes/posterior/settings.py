"""The settings of a run, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.field import Model

KEPT_DRAWS = 2_000  # draws a chain that thinning leaves by default
MAX_STEPS = 10**11  # months on any machine
MAX_DRAW_BYTES = 8 * 2**30
DEFAULT_DRAW_BYTES = 2**28  # of all draws that thinning leaves by default
PROPOSALS = ("adapted", "printed")


@dataclass(frozen=True)
class Plan:
    """The settings of a run, checked."""

    steps: int
    warmup: int
    chains: int
    thin: int
    proposal: str
    start: Any
    is_default_start: bool


def make_plan(
    model: Model,
    statistics: Statistics,
    steps: int | None,
    warmup: int | None,
    chains: int,
    thin: int | None,
    proposal: str,
    start: Any,
    seconds: float | None,
) -> Plan:
    p = model.n_parameters
    if proposal not in PROPOSALS:
        raise InputError(f"proposal = {proposal!r}: choose one of {', '.join(map(repr, PROPOSALS))}.")
    steps = max(20_000, 1_000 * p) if steps is None else whole("steps", steps, 1)
    if warmup is None:
        warmup = 0 if proposal == "printed" else max(steps // 2, 1_000)
    warmup, chains = whole("warmup", warmup, 0), whole("chains", chains, 1)
    fitting = max(1, DEFAULT_DRAW_BYTES // (8 * max(p, 1) * chains))
    thin = max(1, -(-steps // min(KEPT_DRAWS, fitting))) if thin is None else whole("thin", thin, 1)
    if seconds is not None and not (isinstance(seconds, (int, float)) and seconds > 0):
        raise InputError(f"seconds = {seconds!r}: a time budget is a positive number.")
    if steps + warmup > MAX_STEPS and seconds is None:
        raise CostError(
            f"{steps + warmup:.3g} steps would take months: ask for fewer, or give a time budget (seconds=)."
        )
    kept = chains * (steps // thin) * p * 8
    if kept > MAX_DRAW_BYTES:
        raise CostError(
            f"{chains} chains of {steps // thin} draws of {p} parameters need {kept / 2**30:.1f} GiB: raise thin= to "
            f"at least {math.ceil(thin * kept / MAX_DRAW_BYTES)}; means and sds use all steps anyway."
        )
    is_default_start = start is None
    if start is None:
        start = "half" if proposal == "printed" else "dispersed"
    if isinstance(start, str):
        if start not in ("dispersed", "mle", "half"):
            raise InputError(f"start = {start!r}: choose 'dispersed', 'mle', 'half', or give theta.")
    else:
        start = model.theta(start, "start")
    return Plan(steps, warmup, chains, thin, proposal, start, is_default_start)
