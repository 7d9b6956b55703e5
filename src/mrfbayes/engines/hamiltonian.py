"""`hmc`: split Hamiltonian Monte Carlo in log-odds, around the mode, for likelihoods with derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.random_streams import child
from mrfbayes.engines.base import KEPT_DRAWS, EngineOutcome, Setup, chain_starts
from mrfbayes.engines.metropolis import MetropolisEngine
from mrfbayes.run.driver import ChainRun
from mrfbayes.run.hmc import HmcTask, initial_state, make_metric

if TYPE_CHECKING:
    from mrfbayes.methods.problem import Prepared
    from mrfbayes.model.field import Model
    from mrfbayes.priors import Prior

HMC_STEPS, HMC_WARMUP = 1_000, 200  # trajectories per chain by default: each is nearly independent of the one before


class Hamiltonian(MetropolisEngine):
    """Trajectories from a draw of the Gaussian at the mode, or from a start that is given."""

    name, needs, label, proposal = "hmc", "gradient", "Hamiltonian Monte Carlo", "hamiltonian"
    takes_start = True

    def is_possible(self, model: Model, prior: Prior) -> bool:
        """It needs the prior's derivatives."""
        return prior.custom is None and model.n_parameters > 0

    def fits(self, prepared: Prepared) -> bool:
        """Whether the likelihood has derivatives here."""
        return prepared.smooth is not None

    def default_steps(self, model: Model) -> int:
        """Few: trajectories are long."""
        return HMC_STEPS

    def default_warmup(self, steps: int) -> int:
        """Enough to learn how many leaps a trajectory takes."""
        return HMC_WARMUP

    def default_thin(self, steps: int, fitting: int) -> int:
        """So that the usual number of draws is kept."""
        return max(1, steps // KEPT_DRAWS)

    def set_up(self, setup: Setup, shape: np.ndarray | None) -> Setup:
        """The Gaussian at the mode, and the state of each chain before its first step."""
        from mrfbayes.kernels.run.hmc import HmcSettings

        assert setup.prepared.smooth is not None
        problem, plan, smooth = setup.problem, setup.plan, setup.prepared.smooth()
        metric = make_metric(smooth.mode, smooth.information, problem.prior)
        is_given = not isinstance(plan.start, str) or plan.start != "dispersed"
        starts = chain_starts(problem, plan) if is_given else [None] * plan.chains
        numbers = HmcSettings(plan.warmup, plan.thin)
        task = HmcTask(problem.prior.view, numbers, smooth.gradient, metric, is_given)
        seeds = [child(problem.seed, "chain", number) for number in range(plan.chains)]
        states = [initial_state(metric, seed, start) for seed, start in zip(seeds, starts, strict=True)]
        return replace(setup, task=task, states=states)

    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """As of all chains, with the gradients that a trajectory took on average."""
        from mrfbayes.kernels.run import chain
        from mrfbayes.kernels.run.hmc import GRADIENTS

        found = super().outcome(setup, run)
        counters = run.gather("counters")
        gradients = float(counters[:, GRADIENTS].sum() / max(counters[:, chain.STEP].sum(), 1))
        details = {**found.fields["details"], "gradients_per_step": gradients}
        return replace(found, fields={**found.fields, "details": details})
