"""From settings and data to a method that is ready to run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from mrfbayes.base.budget import OutOfTime, budget
from mrfbayes.base.errors import CostError
from mrfbayes.data.border import counted
from mrfbayes.data.tally import MISSING_AT_RANDOM
from mrfbayes.engines.settings import Settings
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model
from mrfbayes.targets.facts import RunFacts
from mrfbayes.targets.self_check import assess


def make_problem(model: Model, data: object, settings: Settings) -> Problem:
    """Model, data, prior and seed."""
    statistics = counted(model, data)
    threads = settings.workers if isinstance(settings.workers, int) else 1  # a cluster has no part in preparing
    return Problem(model, statistics, settings.prior, settings.seed, settings.estimate, settings.progress, threads)


def prepare(problem: Problem, settings: Settings) -> Prepared:
    """The method's own preparation; where moments come from particles, with a statement of how far to trust them."""
    with budget().share(1.0 - settings.engine.draw_share):
        prepared: Prepared = settings.row.prepare(problem, **settings.options)
        facts, doubts = RunFacts(auto=settings.reason or None), list(prepared.warnings)
        holes = problem.statistics.incomplete
        if holes is not None:
            facts = replace(facts, missing=f"{holes.description}, {MISSING_AT_RANDOM}")
        if prepared.accuracy is not None:
            trust = assess(problem, prepared.accuracy)
            facts = replace(facts, trust=str(trust), trust_mean=trust.mean_error, trust_sd=trust.sd_error)
            if trust.is_doubtful:
                doubts.append(f"the calibrated posterior is doubtful here: {trust}.")
    return replace(prepared, details={**prepared.details, **facts.details}, warnings=tuple(doubts))


@contextmanager
def in_time(settings: Settings) -> Iterator[None]:
    """Say what to do where the time budget ends before there is anything to draw with."""
    try:
        yield
    except OutOfTime as out:
        late = budget().overrun()
        instead = "use method='mle' or 'pseudo'"
        if str(out).startswith(("counting", "reading")):  # a part of the data would be another data set
            instead = "count the data once (mrfbayes.Data(...).count(model)) and pass the result as data"
        raise CostError(
            f"the time budget of {settings.seconds:g} s ended in the preparation of method {settings.row.key!r} "
            f"({out}), before anything could be drawn: allow more seconds=, or {instead}.{' ' + late if late else ''}"
        ) from None
