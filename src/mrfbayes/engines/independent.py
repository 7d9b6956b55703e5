"""`independence`: calibrated coins as proposals, corrected to the posterior by weights and by a chain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from mrfbayes.base.budget import OutOfTime, budget
from mrfbayes.base.errors import CalibrationError
from mrfbayes.calibration.exact_blocks import sees_windows
from mrfbayes.calibration.full import DENSE_PARAMETERS, MOMENT_CELLS, moments_cost
from mrfbayes.engines.base import KEPT_DRAWS, EngineOutcome, Setup, Unsuitable
from mrfbayes.engines.metropolis import DENSE_LIMIT, MetropolisEngine, with_chains
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.run.driver import ChainRun
from mrfbayes.targets.corrected import TRUSTED_K, Proposal, corrected, make_proposal, pool, weighted_proposals

if TYPE_CHECKING:
    from mrfbayes.engines.settings import Plan, Settings
    from mrfbayes.kernels.run.independence import IndependenceView
    from mrfbayes.methods.problem import Prepared, Problem
    from mrfbayes.model.field import Model
    from mrfbayes.priors import Prior

INDEPENDENT_STEPS = 5_000  # proposals per chain by default, where nearly all are accepted


class Independence(MetropolisEngine):
    """Proposals that do not depend on where the chain is."""

    name, needs, label, proposal = "independence", "calibration", "independent proposals", "independent"
    judges_tails = False  # quantiles come from weights

    def is_possible(self, model: Model, prior: Prior) -> bool:
        """A full covariance, and a prior with derivatives.

        Planar fields have an exact covariance whatever their size, and weighing proposals takes milliseconds.
        """
        is_large = model.n_parameters > DENSE_LIMIT
        most = DENSE_PARAMETERS if is_large and sees_windows(model) else DENSE_LIMIT
        return prior.custom is None and 0 < model.n_parameters <= most

    def is_usual(self, model: Model) -> bool:
        """On dense fields moments come from particles, and such proposals fit too badly."""
        return not (is_dense(model) and moments_cost(model) >= MOMENT_CELLS)

    def default_steps(self, model: Model) -> int:
        """Few: nearly all proposals are accepted."""
        return INDEPENDENT_STEPS

    def default_thin(self, steps: int, fitting: int) -> int:
        """So that the usual number of draws is kept."""
        return max(1, steps // KEPT_DRAWS)

    def adjust(self, plan: Plan, settings: Settings, model: Model) -> Plan:
        """There is no warm-up."""
        return replace(plan, warmup=0)

    def set_up(self, setup: Setup, shape: np.ndarray | None) -> Setup:
        """Calibrate proposals and weigh a pilot; `Unsuitable` where that fails or they fit badly."""
        from mrfbayes.kernels.run.chain import NOTHING, ChainSettings
        from mrfbayes.kernels.run.independence import run_independent

        candidate = _candidate(setup.problem, setup.prepared, setup.settings.checkpoint is not None)
        setup = replace(setup, prepared=corrected(setup.prepared, candidate))
        return with_chains(setup, None, ChainSettings(0, setup.plan.thin, NOTHING, 0, 1), run_independent)

    def objection(self, setup: Setup, run: ChainRun) -> str:
        """Whether the weights of the whole run are too uneven, or the chain sticks."""
        if run.stopped_by or not run.draws.shape[1]:
            return ""
        found = pool(run.states).pareto_k
        if found > TRUSTED_K:
            return f"the importance weights are uneven (Pareto k = {found:.2f} > {TRUSTED_K})"
        if not run.is_enough:
            return "the chain of independent proposals sticks"
        return ""

    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """Moments and quantiles by weights over all proposals, accepted or not."""
        found = super().outcome(setup, run)
        pooled = pool(run.states)
        weighted = weighted_proposals(setup.problem, cast("IndependenceView", setup.prepared.view), run.states)
        fields = {
            **found.fields,
            "mean": pooled.mean,
            "sd": pooled.sd,
            "details": {**found.fields["details"], **pooled.facts.details},
            "_weighted": weighted,
            "_quantile": weighted.quantile,
        }
        warnings = list(found.warnings)
        if pooled.pareto_k > TRUSTED_K:
            warnings.append(
                f"Pareto k of the importance weights is {pooled.pareto_k:.2f}, above {TRUSTED_K}: mean and sd may be "
                "off; use engine='hmc'."
            )
        return EngineOutcome(fields, warnings)

    def unused(self, settings: Settings, prepared: Prepared) -> list[str]:
        """There is no warm-up."""
        texts = ["warmup= is not used: proposals are independent."] if settings.warmup else []
        return [*texts, *super().unused(settings, prepared)]


def _candidate(problem: Problem, prepared: Prepared, is_kept: bool) -> Proposal:
    """Calibrated proposals, or `Unsuitable` with the reason why not.

    A run that is kept in a checkpoint is not turned into a random walk for want of time: it could not be continued.
    """
    try:
        with budget().share(1.0 if is_kept else 0.5):  # the rest is for the chains, of whatever kind
            candidate = make_proposal(problem, prepared)
    except CalibrationError as failure:
        raise Unsuitable(f"the posterior could not be calibrated ({failure})") from None
    except OutOfTime as out:
        if is_kept:
            raise
        budget().cut(f"proposals were not calibrated: there was no time for it ({out})")
        raise Unsuitable("there was no time to calibrate proposals", ("gradient",)) from None
    if candidate.has_light_tails(problem.prior):
        reason = "the tails of the prior are heavier than those of calibrated proposals"
        raise Unsuitable(reason, shape=candidate.log_odds_factor())
    if not candidate.is_trusted:
        reason = f"the calibrated proposals fit badly (Pareto k = {candidate.pareto_k:.2f} > {TRUSTED_K})"
        raise Unsuitable(reason, shape=candidate.log_odds_factor())
    return candidate
