"""How draws are made of a method that is ready: by a walk, by trajectories, from corrected proposals, or directly."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mrfbayes.base.budget import OutOfTime, budget
from mrfbayes.base.errors import CalibrationError, CostError, InputError
from mrfbayes.exact.cost import cost, describe_seconds
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model
from mrfbayes.posterior.corrected import TRUSTED_K, Proposal, corrected, make_proposal
from mrfbayes.posterior.hamiltonian import hmc_chains
from mrfbayes.posterior.settings import Plan, Settings, make_plan
from mrfbayes.posterior.starts import initial_states
from mrfbayes.run.workers import State, WorkerTask

NO_TIME = "there was no time to calibrate proposals"
UNSURE = 2.0  # times the predicted seconds of a step may be off


@dataclass(frozen=True)
class Engine:
    """How draws are made (see `mrfbayes.methods.registry.Row`); the method; the numbers; where each chain starts.

    ``task`` is what the chains share, where that is not the random walk's.
    """

    name: str
    prepared: Prepared
    plan: Plan
    states: list[State]
    task: WorkerTask | None = None


def make_engine(problem: Problem, prepared: Prepared, settings: Settings) -> Engine:
    """How draws are made, with everything that needs: proposals, starts, numbers of steps."""
    name, shape = settings.engine, None
    if name == "direct" and prepared.draw is None:
        if settings.is_engine_asked:
            raise InputError(
                f"engine = 'direct' is not available for method {settings.row.key!r} with prior {problem.prior}: "
                "choose 'mh'."
            )
        name = "mh"
    if name in ("independence", "mh") and prepared.view is None and prepared.smooth is not None:
        name = "hmc"  # the likelihood is no kernel
        if settings.is_engine_asked:
            text = f"engine={settings.engine!r} is not used: some rows have too many missing cells for it; 'hmc' ran."
            prepared = replace(prepared, warnings=(*prepared.warnings, text))
    if name == "independence":
        candidate, doubt = _candidate(problem, prepared, is_kept=settings.checkpoint is not None)
        if candidate is not None and not doubt:
            prepared = corrected(prepared, candidate)
        elif prepared.smooth is not None and doubt != NO_TIME:
            name = "hmc"
            prepared = replace(
                prepared, warnings=(*prepared.warnings, f"{doubt}: Hamiltonian Monte Carlo ran instead.")
            )
        else:
            name, shape = "mh", None if candidate is None else candidate.theta_factor()
            prepared = replace(prepared, warnings=(*prepared.warnings, f"{doubt}: adaptive MH ran instead."))
    plan = make_plan(problem.model, settings, name)
    if name in ("mh", "independence") and settings.row.key == "exact":
        _refuse_hopeless(problem.model, settings, plan)
    if name == "hmc":
        assert prepared.smooth is not None
        task, hmc_states = hmc_chains(problem, prepared.smooth(), plan)
        return Engine(name, prepared, plan, hmc_states, task)
    states = [] if name in ("direct", "langevin") else initial_states(problem, prepared, plan, shape)
    return Engine(name, prepared, plan, states)


def _refuse_hopeless(model: Model, settings: Settings, plan: Plan) -> None:
    """Refuse a time budget that would end before the first draw, as far as the cost of log Z tells."""
    if settings.seconds is None or settings.checkpoint is not None:  # from which the run could go on
        return
    each = cost(model).work["log_partition"].seconds
    processes = settings.workers if isinstance(settings.workers, int) else plan.chains
    needed = each * plan.thin * -(-plan.chains // processes)
    if needed > UNSURE * budget().left:
        raise CostError(
            f"the time budget of {settings.seconds:g} s would end before the first draw: a step takes about "
            f"{describe_seconds(each)}, and thin = {plan.thin} of them in each of {plan.chains} chains make a draw; "
            "allow more seconds=, or use method='mle', 'pseudo' or 'calibrated'."
        )


def _candidate(problem: Problem, prepared: Prepared, is_kept: bool) -> tuple[Proposal | None, str]:
    """Calibrated proposals, and what speaks against using them.

    A run that is kept in a checkpoint is not turned into a random walk for want of time: it could not be continued.
    """
    try:
        with budget().share(1.0 if is_kept else 0.5):  # the rest is for the chains, of whatever kind
            candidate = make_proposal(problem, prepared)
    except CalibrationError as failure:
        return None, f"the posterior could not be calibrated ({failure})"
    except OutOfTime as out:
        if is_kept:
            raise
        budget().cut(f"proposals were not calibrated: there was no time for it ({out})")
        return None, NO_TIME
    if candidate.is_trusted:
        return candidate, ""
    return candidate, f"the calibrated proposals fit badly (Pareto k = {candidate.pareto_k:.2f} > {TRUSTED_K})"
