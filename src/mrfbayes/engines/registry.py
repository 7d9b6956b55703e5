"""The registry of engines: one row each, in the order of preference; and which one draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.engines.base import Engine, Setup, Unsuitable
from mrfbayes.engines.direct import Direct
from mrfbayes.engines.hamiltonian import Hamiltonian
from mrfbayes.engines.independent import Independence
from mrfbayes.engines.langevin import Langevin
from mrfbayes.engines.metropolis import PrintedRatio, PrintedWalk, RandomWalk, Ratio

if TYPE_CHECKING:
    from mrfbayes.engines.settings import Settings
    from mrfbayes.methods.problem import Prepared, Problem
    from mrfbayes.methods.registry import Row
    from mrfbayes.model.field import Model
    from mrfbayes.priors import Prior

# A method is drawn from by the last one that it offers something for, and by the one before where that does badly.
ENGINE_ROWS: list[Engine] = [
    PrintedWalk(),
    PrintedRatio(),
    RandomWalk(),
    Ratio(),
    Hamiltonian(),
    Independence(),
    Direct(),
    Langevin(),
]


def engine_names(row: Row) -> list[str]:
    """Names of the engines that can draw from a method, the usual one last."""
    return list(dict.fromkeys(engine.name for engine in ENGINE_ROWS if engine.needs in row.offers))


def choose_engine(model: Model, row: Row, prior: Prior, asked: str | None, proposal: str, has_start: bool) -> Engine:
    """The engine that draws; the user may have named it, its proposals, or a start that not all of them have."""
    able = [engine for engine in ENGINE_ROWS if engine.needs in row.offers and engine.is_possible(model, prior)]
    named = [engine for engine in able if asked in (None, engine.name)]
    if not named:
        raise InputError(
            f"engine = {asked!r} is not available for method {row.key!r} with prior {prior}: choose one of "
            f"{', '.join(map(repr, dict.fromkeys(engine.name for engine in able)))}."
        )
    is_printed = proposal == "printed"
    usual = [engine for engine in named if not engine.is_printed and (asked is not None or engine.is_usual(model))]
    chosen = (usual or named)[-1]
    fitting = [e for e in named if e.is_printed == is_printed and (e.takes_start or not has_start)]
    if chosen in fitting:
        return chosen
    if fitting:
        return fitting[0]
    setting = "proposal='printed'" if is_printed else "start="
    others = [engine for engine in able if engine.takes_start]
    way = f"engine={others[0].name!r}" if others else "another method"
    raise InputError(
        f"{setting} is for a random walk, and method {row.key!r} by engine {chosen.name!r} has none: leave it out, "
        f"or use {way}."
    )


def set_up(
    problem: Problem, prepared: Prepared, settings: Settings, first: Engine | None = None, reason: str = ""
) -> Setup:
    """The run, by the engine that was chosen or by the next one that fits and does not do badly.

    ``first`` and ``reason`` are an engine that did badly, and why.
    """
    from mrfbayes.engines.settings import make_plan

    shape: np.ndarray | None = None
    reasons, skipped = [reason] if reason else [], {first.needs} if first else set()
    for engine in _in_turn(settings, problem):
        if engine.needs in skipped:
            continue
        if not engine.fits(prepared):
            if settings.is_engine_asked and engine is settings.engine:
                raise _unavailable(problem, prepared, settings)
            continue
        plan = make_plan(problem.model, settings, engine)
        if reasons:
            prepared = _told(prepared, settings, f"{'; '.join(reasons)}: {engine.label} ran instead.")
            reasons = []
        try:
            return engine.set_up(Setup(engine, problem, settings, prepared, plan), shape)
        except Unsuitable as failure:
            reasons.append(str(failure))
            skipped |= set(failure.skipped)
            shape = failure.shape
    raise _unavailable(problem, prepared, settings)


def _unavailable(problem: Problem, prepared: Prepared, settings: Settings) -> InputError:
    """The error where an engine needs what the method, with these data and this prior, does not offer."""
    others = [e.name for e in _in_turn(settings, problem) if e.fits(prepared)]
    way = f"choose {', '.join(map(repr, others))}" if others else "use a named prior, or missing='drop'"
    return InputError(
        f"engine = {settings.engine.name!r} is not available for method {settings.row.key!r} with prior "
        f"{problem.prior} and these data: {way}."
    )


def _in_turn(settings: Settings, problem: Problem) -> Sequence[Engine]:
    """The engine that was chosen, then all others that are possible, the best first."""
    others = [
        engine
        for engine in reversed(ENGINE_ROWS)
        if engine.needs in settings.row.offers
        and engine is not settings.engine
        and not engine.is_printed
        and engine.is_possible(problem.model, problem.prior)
    ]
    return [settings.engine, *others]


def _told(prepared: Prepared, settings: Settings, text: str) -> Prepared:
    """A change of engine is a note, unless the user had named another one."""
    if settings.is_engine_asked:
        return replace(prepared, warnings=(*prepared.warnings, text))
    return replace(prepared, notes=(*prepared.notes, text))
