"""Runs an engine, and makes of what comes out a `Posterior`, with what its diagnostics say."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.budget import budget
from mrfbayes.base.digests import digest_of
from mrfbayes.base.errors import CostError, warn_user
from mrfbayes.base.random_streams import seed_number
from mrfbayes.data.coding import stored_schema
from mrfbayes.engines.base import Engine, EngineOutcome, Setup
from mrfbayes.engines.registry import set_up
from mrfbayes.engines.settings import Settings
from mrfbayes.exact.choice import describe_seconds, exact_cost
from mrfbayes.methods.problem import Prepared
from mrfbayes.model.result import stored_seed
from mrfbayes.results import diagnostics
from mrfbayes.results.posterior import Posterior
from mrfbayes.run.driver import ChainRun
from mrfbayes.run.store import Checkpoint

UNSURE = 2.0  # times the predicted seconds of a step may be off
LEAST_ESS_PER_CHAIN = 100  # effective draws below which quantiles are not to be quoted (Vehtari et al. 2021)
LEAST_JUDGED = 8  # draws a chain from which on convergence is judged


def record(setup: Setup) -> dict[str, Any]:
    """Every setting that plays a part in the draws, as the result and the checkpoint keep it."""
    settings = setup.settings
    options = {**settings.row.options, **settings.options}
    return {
        "method": settings.row.key,
        "options": {name: value for name, value in options.items() if name not in setup.prepared.unused},
        "engine": setup.engine.name,
        "prior": str(settings.prior),
        "seed": stored_seed(settings.seed),
        "chains": setup.plan.chains,
        **setup.engine.record(setup.plan),
    }


def _identity(setup: Setup) -> dict[str, str]:
    """What a checkpoint must agree on; the number of steps is not in it, so that a run can be continued."""
    problem, kept = setup.problem, record(setup)
    options, engine, seed = kept.pop("options"), kept.pop("engine"), kept.pop("seed")
    given, start = setup.settings.estimate, setup.plan.start
    return {
        "model": problem.model.fingerprint,
        "data": problem.statistics.digest,
        "prior": problem.prior.digest,
        "estimate": digest_of(None if given is None else np.asarray(given.log_odds)),
        "options": digest_of(options),
        "engine": digest_of(engine),
        "seed": digest_of(seed),
        "settings": digest_of([kept, None if isinstance(start, str) else start]),
        "version": __version__,
    }


def checkpoint_of(setup: Setup) -> AbstractContextManager[Checkpoint | None]:
    """The open checkpoint of a run, where one was asked for and there are chains."""
    path = setup.settings.checkpoint
    if path is None or setup.task is None:
        return nullcontext()
    chosen = {"thin": setup.plan.thin, "warmup": setup.plan.warmup, **seed_number(setup.settings.seed)}
    return Checkpoint(path, _identity(setup), chosen)


def run_engine(prepared: Prepared, setup: Setup) -> tuple[Setup, ChainRun]:
    """The run, again by another engine where the first one did badly and nobody had asked for it."""
    problem, settings = setup.problem, setup.settings
    _refuse_infeasible(setup)
    with checkpoint_of(setup) as store:
        run = setup.engine.run(setup, store)
    may_change = not (settings.is_engine_asked or settings.checkpoint or settings.draws or budget().is_out)
    objection = setup.engine.objection(setup, run) if may_change else ""
    if not objection:
        return setup, run
    other = set_up(problem, prepared, settings, setup.engine, objection)
    return other, other.engine.run(other, None)


def _refuse_infeasible(setup: Setup) -> None:
    """Refuse a time budget that would end before the first draw, as far as the cost of log Z tells."""
    settings, plan = setup.settings, setup.plan
    if settings.seconds is None or settings.checkpoint is not None:  # from which the run could go on
        return
    if setup.prepared.view is None or "calibration" not in settings.row.offers:
        return
    each = exact_cost(setup.problem.model).work["log_partition"].seconds
    processes = settings.workers if isinstance(settings.workers, int) else plan.chains
    needed = each * plan.thin * -(-plan.chains // processes)
    if needed > UNSURE * budget().left:
        raise CostError(
            f"the time budget of {settings.seconds:g} s would end before the first draw: a step takes about "
            f"{describe_seconds(each)}, and thin = {plan.thin} of them in each of {plan.chains} chains make a draw; "
            "allow more seconds=, or use method='mle', 'pseudo' or 'calibrated'."
        )


def make_posterior(setup: Setup, run: ChainRun, preparation: float) -> Posterior:
    """The result of a run; an error where it was stopped before its first draw."""
    problem, settings, prepared, plan = setup.problem, setup.settings, setup.prepared, setup.plan
    row, statistics = settings.row, problem.statistics
    outcome = setup.engine.outcome(setup, run) if run.draws.shape[1] else EngineOutcome({}, [])
    fields = outcome.fields
    if not fields or not fields["draws"].shape[1]:
        _refuse_nothing(run.stopped_by, settings)
    if setup.task is not None and run.n_warmup < plan.warmup:
        budget().cut(f"warm-up ended after {run.n_warmup} of {plan.warmup} steps")
    said = [*statistics.warnings, *(problem.estimate.warnings if problem.has_estimate else ())]
    is_given = {name for name, value in settings.options.items() if value is not None}
    unused = [f"{name}= is not used: {reason}." for name, reason in prepared.unused.items() if name in is_given]
    texts = [*prepared.warnings, *unused, *setup.engine.unused(settings, prepared)]
    if budget().cuts:
        texts.append(f"the time budget of {budget().seconds:g} s was short: {'; '.join(dict.fromkeys(budget().cuts))}.")
    if late := budget().overrun():
        texts.append(late)
    if run.stopped_by:
        done = f"{fields['steps']} of {run.n_steps - run.n_warmup} steps"
        texts.append(f"stopped by {run.stopped_by} after {done}: the result is partial.")
    if run.checkpoint_problem:
        texts.append(f"the checkpoint lacks the last steps, which are in this result: {run.checkpoint_problem}")
    texts += outcome.warnings
    judged = None
    if setup.task is not None and fields["draws"].shape[1] >= LEAST_JUDGED and problem.model.n_parameters:
        grown, judged = fields["steps"] if fields["steps"] > plan.steps else 0, setup.engine.convergence(fields)
        texts += convergence_warnings(setup.engine, judged, fields["draws"], grown)
    texts = [text for text in dict.fromkeys(texts) if text not in said]
    for text in texts:
        warn_user(text)
    posterior = Posterior(
        model=problem.model,
        method=row.key,
        label=row.label,
        target="exact" if prepared.is_exact else row.target,
        engine=setup.engine.name,
        settings={**record(setup), "schema": stored_schema(statistics.coding)},
        data_digest=statistics.digest,
        n=statistics.n_all,
        warnings=tuple(dict.fromkeys([*said, *texts])),
        notes=(*statistics.notes, *prepared.notes),
        _problem=problem,
        has_chains=setup.engine.has_chains,
        timings={"prepare": preparation, "compile": run.compile_seconds, "run": run.chain_seconds},
        partial=bool(run.stopped_by or budget().cuts),
        **{**fields, "details": {**prepared.details, **fields["details"]}},
    )
    if judged is not None and judged.r_hat.size == problem.model.n_parameters:
        posterior.__dict__["_convergence"] = judged  # a cached property: it is not computed again
    return posterior


def _refuse_nothing(stopped_by: str, settings: Settings) -> None:
    """Where nothing was drawn: a partial result would have nothing in it."""
    kept = "" if settings.checkpoint is None else f" The steps so far are in the checkpoint {settings.checkpoint}."
    if stopped_by == "Ctrl-C":
        raise KeyboardInterrupt(f"stopped before the first draw was kept.{kept}")
    short = "the run" if settings.seconds is None else f"the time budget of {settings.seconds:g} s"
    raise CostError(
        f"{short} ended before the first draw was kept: allow more seconds=, or use "
        f"method='mle', 'pseudo' or 'calibrated'.{kept}{' ' + budget().overrun()}".rstrip()
    )


def convergence_warnings(
    engine: Engine, found: diagnostics.Convergence, draws: np.ndarray, lengthened_to: int
) -> list[str]:
    """Warnings about the draws (chains, draws, p) of chains that have not converged, with what to do."""
    least = diagnostics.LEAST_ESS if lengthened_to else min(diagnostics.LEAST_ESS, LEAST_ESS_PER_CHAIN * len(draws))
    if engine.is_precise(found, least):
        return []
    worst = float(np.nanmax(found.r_hat, initial=1.0))
    grown = f", though they were lengthened to {lengthened_to} steps each" if lengthened_to else ""
    apart = "" if found.agree else "; some chains differ from the others by more than chance"
    return [
        f"largest R-hat {worst:.3f}, smallest effective sample size {engine.least_ess(found):.0f} of "
        f"{draws.shape[0] * draws.shape[1]} draws (wanted: {least}) in {len(draws)} chains{grown}{apart}: run longer "
        "(draws=, thin=) before quoting quantiles."
    ]
