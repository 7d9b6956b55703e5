"""The settings of a call, all checked before anything is computed, and the plan of a run that follows from them.

Which method is chosen where the user leaves it open.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfbayes.base.atomic_files import check_targets
from mrfbayes.base.checks import memory_limit, one_of, time_budget, whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.base.types import ThetaLike
from mrfbayes.engines.base import Engine
from mrfbayes.engines.metropolis import DENSE_LIMIT
from mrfbayes.engines.registry import choose_engine
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.exact.choice import (
    describe_seconds,
    is_feasible,
    is_planar_alone,
    planar_size,
    recursion,
    weighs_by_planar,
)
from mrfbayes.exact.recursions import TooLarge
from mrfbayes.methods.covariates import ExactRows
from mrfbayes.methods.langevin.covariates import walk_seconds
from mrfbayes.methods.registry import Row, check_options, method_row
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.result import PointEstimate, as_estimate
from mrfbayes.priors import Prior
from mrfbayes.run.pools import Workers, check_workers
from mrfbayes.run.store import recorded

MAX_STEPS = 10**11  # months on any machine
MAX_DRAW_BYTES = 8 * 2**30
DEFAULT_DRAW_BYTES = 2**28  # of all draws that thinning leaves by default
PROPOSALS = ("adapted", "printed")
STARTS = ("dispersed", "mle", "half")
LENGTHENED = 16  # times the default number of steps that a chain may grow to
AUTO_PROPOSALS, AUTO_EXACT_SECONDS = 25_000, 10.0  # "auto" is exact where that many evaluations take no longer
AUTO_COVARIATE_SECONDS = 60.0
AUTO_GRADIENTS = 20_000  # that trajectories take on dense fields, whose calibrated proposals mostly fit badly


@dataclass(frozen=True)
class Settings:
    """What the user asked for, checked; None stands for "choose".

    Attributes
    ----------
    row, reason : the method, and why it was chosen where the user left that open
    options : options of the method, as given
    start : theta (p,), a name, or None
    chosen : numbers that were chosen for the run that the checkpoint is of
    engine : who makes the draws
    is_engine_asked : whether the user named it
    """

    row: Row
    reason: str
    options: Mapping[str, object]
    draws: int | None
    warmup: int | None
    chains: int
    thin: int | None
    proposal: str
    start: str | np.ndarray | None
    prior: Prior
    seed: np.random.SeedSequence
    workers: Workers
    progress: bool
    checkpoint: str | os.PathLike[str] | None
    chosen: Mapping[str, int]
    seconds: float | None
    engine: Engine
    is_engine_asked: bool
    estimate: PointEstimate | None


@dataclass(frozen=True)
class Plan:
    """The numbers of a run; ``longest`` is how many steps it may grow to where the user left their number open."""

    steps: int
    warmup: int
    chains: int
    thin: int
    start: str | np.ndarray
    longest: int


def check_settings(model: Model, asked: Mapping[str, Any], options: Mapping[str, object], data: object) -> Settings:
    """Everything that can be refused without looking at ``data``, of which only the path is looked at.

    ``asked`` are the arguments of `mrfbayes.sample`, as they were given, and ``options`` those of the method.
    """
    require_model(model)
    method, reason = choose_method(model) if asked["method"] == "auto" else (asked["method"], "")
    row, proposal, checkpoint = method_row(method), asked["proposal"], asked["checkpoint"]
    one_of("proposal", proposal, PROPOSALS)
    if checkpoint == "":
        raise InputError("checkpoint = '': give the path of a file, or leave it out.")
    check_targets(continued={"checkpoint": checkpoint}, inputs={"data": data})
    prior = Prior(model, asked["prior"])
    check_options(row, model, prior, options)
    start, chosen = _start(model, asked["start"]), recorded(checkpoint)

    def count(name: str, least: int = 1) -> int | None:
        return None if asked[name] is None else whole(name, asked[name], least)

    settings = Settings(
        row=row,
        reason=reason,
        options=options,
        draws=count("draws"),
        warmup=count("warmup", 0),
        chains=whole("chains", asked["chains"]),
        thin=count("thin"),
        proposal=proposal,
        start=start,
        prior=prior,
        seed=seed_sequence(chosen.get("seed") if asked["rng"] is None else asked["rng"]),
        workers=check_workers(asked["workers"]),
        progress=bool(asked["progress"]),
        checkpoint=checkpoint,
        chosen=chosen,
        seconds=time_budget(asked["seconds"]),
        engine=choose_engine(model, row, prior, asked["engine"], proposal, start is not None),
        is_engine_asked=asked["engine"] is not None,
        estimate=None if asked["estimate"] is None else as_estimate(model, asked["estimate"]),
    )
    make_plan(model, settings, settings.engine)
    return settings


def _start(model: Model, start: ThetaLike | None) -> str | np.ndarray | None:
    if start is None:
        return None
    if isinstance(start, str):
        if start not in STARTS:
            raise InputError(f"start = {start!r}: choose 'dispersed', 'mle', 'half', or give theta.")
        return start
    return model.theta(start, "start")


def make_plan(model: Model, settings: Settings, engine: Engine) -> Plan:
    """The numbers of a run by ``engine``; a run that is continued goes on with those that it began with."""
    p, chains = model.n_parameters, settings.chains
    begun, before = settings.chosen.get("warmup"), settings.chosen.get("thin")
    warmup, thin = settings.warmup, settings.thin
    fitting = max(1, DEFAULT_DRAW_BYTES // (8 * max(p, 1) * chains))
    if thin is None and isinstance(before, int) and before > 0:
        thin = before
    if settings.draws is None:
        steps = max(engine.default_steps(model), thin or 1)
        thin = engine.default_thin(steps, fitting) if thin is None else thin
    else:
        thin = 1 if thin is None else thin
        steps = settings.draws * thin
    if warmup is None:
        warmup = begun if isinstance(begun, int) and begun >= 0 else engine.default_warmup(steps)
    if steps + warmup > MAX_STEPS and settings.seconds is None:
        raise CostError(
            f"{steps + warmup:.3g} steps would take months: ask for fewer, or give a time budget (seconds=)."
        )
    kept = chains * (steps // thin) * p * 8
    most = min(MAX_DRAW_BYTES, memory_limit())
    if kept > most:
        raise CostError(
            f"{chains} chains of {steps // thin} draws of {p} parameters need {kept / 2**30:.1f} GiB: raise thin= to "
            f"at least {math.ceil(thin * kept / most)}; means and sds use all steps anyway."
        )
    start = engine.default_start if settings.start is None else settings.start
    longest = steps if settings.draws is not None else max(steps, min(LENGTHENED * steps, fitting * thin))
    return engine.adjust(Plan(steps, warmup, chains, thin, start, longest), settings, model)


def choose_method(model: Model) -> tuple[str, str]:
    """The method that "auto" stands for, and why."""
    if isinstance(model, CovariateModel):
        return _with_covariates(model)
    other = "langevin" if is_dense(model) else "calibrated"
    if not is_feasible(model):
        if is_planar_alone(model):
            return "calibrated", "calibrated: the field is large; method='exact' is possible, for it is planar"
        return other, f"{other}: the partition function is out of reach (its tables would not fit)"
    width = recursion(model).width
    if is_dense(model):
        seconds = recursion(model).seconds("moments", AUTO_GRADIENTS)
    elif model.n_parameters <= DENSE_LIMIT and weighs_by_planar(model):
        size = planar_size(model)
        assert size is not None
        seconds = size.seconds("log_z", AUTO_PROPOSALS)
    else:
        seconds = recursion(model).seconds("log_z", AUTO_PROPOSALS)
    if seconds > AUTO_EXACT_SECONDS:
        return other, f"{other}: exact would take about {describe_seconds(seconds)} (treewidth {width})"
    return "exact", f"exact: the partition function is cheap here (treewidth {width})"


def _with_covariates(model: CovariateModel) -> tuple[str, str]:
    """As `choose_method`, by the number of distinct fields that the covariates make."""
    try:
        seconds = AUTO_GRADIENTS * ExactRows.seconds(model)
        if seconds < AUTO_COVARIATE_SECONDS:
            return "exact", f"exact: the partition functions of {model.n_designs} fields are cheap here"
        why = f"exact would take about {describe_seconds(seconds)} with {model.n_designs} fields"
    except TooLarge:
        why = "the partition function is out of reach"
    method = "langevin" if walk_seconds(model.base, model.n_designs) < AUTO_COVARIATE_SECONDS else "pseudo"
    return method, f"{method}: {why}"
