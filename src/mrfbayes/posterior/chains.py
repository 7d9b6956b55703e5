"""The chains of an engine, run to their end or as far as Ctrl-C and the time budget let them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.budget import budget
from mrfbayes.methods.problem import Problem
from mrfbayes.posterior import diagnostics
from mrfbayes.posterior.assemble import record
from mrfbayes.posterior.engines import Engine
from mrfbayes.posterior.settings import Settings
from mrfbayes.run.driver import ChainRun, RunSettings, run_chains
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import ChainTask, State


def _identity(problem: Problem, settings: Mapping[str, object]) -> dict[str, str]:
    """What a checkpoint must agree on; the number of steps is not in it, so that a run can be continued."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return {
        "model": problem.model.fingerprint,
        "data": problem.statistics.digest,
        "settings": hashlib.sha256(text.encode()).hexdigest(),
        "version": __version__,
    }


@contextmanager
def checkpoint_of(problem: Problem, settings: Settings, how: Engine) -> Iterator[Checkpoint | None]:
    """The open checkpoint of a run, where one was asked for."""
    if settings.checkpoint is None:
        yield None
        return
    identity = _identity(problem, record(settings, how))
    with Checkpoint(settings.checkpoint, identity, {"thin": how.plan.thin, "warmup": how.plan.warmup}) as store:
        yield store


def _metropolis_task(problem: Problem, how: Engine) -> ChainTask:
    """What the chains of a Metropolis-Hastings run share."""
    from mrfbayes.kernels.run.chain import ALL, NOTHING, SHAPE, ChainSettings

    prepared, plan, states = how.prepared, how.plan, how.states
    assert prepared.view is not None
    is_dense = states[0]["spread"].shape[0] > 1
    adapts = NOTHING if plan.proposal != "adapted" else SHAPE if prepared.keeps_noise else ALL
    chain_settings = ChainSettings(plan.warmup, plan.thin, adapts, int(is_dense))
    carried = tuple(name.removeprefix("view.") for name in states[0] if name.startswith("view."))
    is_independent = plan.proposal == "independent"
    return ChainTask(prepared.view, problem.prior.view, chain_settings, prepared.is_ratio, carried, is_independent)


def run(problem: Problem, settings: Settings, how: Engine) -> ChainRun:
    """All chains, to their end or as far as Ctrl-C and the time budget let them."""
    prepared, plan, states = how.prepared, how.plan, how.states
    task = how.task or _metropolis_task(problem, how)

    def explain(number: int, state: State) -> str:
        j = int(np.argmin(np.minimum(state["proposal"], 1 - state["proposal"])))
        name = problem.model.parameters[j]
        return f"Proposal nearest to the boundary: {name} = {state['proposal'][j]:.6g}."

    with checkpoint_of(problem, settings, how) as store:
        terms = RunSettings(
            n_steps=plan.warmup + plan.steps,
            longest=0 if prepared.is_ratio or plan.proposal == "printed" else plan.warmup + plan.longest,
            is_enough=diagnostics.is_enough,
            workers=settings.workers,
            checkpoint=store,
            seconds=None if settings.seconds is None else budget().left,
            may_cut_warmup=store is None and settings.warmup is None,
            progress=settings.progress,
            label=settings.row.label,
            explain_failure=explain,
        )
        return run_chains(task, states, terms)
