"""From a likelihood with derivatives to chains of split Hamiltonian Monte Carlo, ready to run."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.random_streams import child
from mrfbayes.methods.problem import Problem, Smooth
from mrfbayes.posterior.settings import Plan
from mrfbayes.run.hmc import HmcTask, initial_state, make_metric
from mrfbayes.run.workers import State


def hmc_chains(problem: Problem, smooth: Smooth, plan: Plan) -> tuple[HmcTask, list[State]]:
    """What the chains share, and the state of each before its first step."""
    from mrfbayes.kernels.run.hmc import HmcSettings

    metric = make_metric(smooth.mode, smooth.information)
    start = _start(problem, plan)
    settings = HmcSettings(plan.warmup, plan.thin)
    task = HmcTask(smooth.gradient, metric, problem.prior.view, settings, start is not None)
    return task, [initial_state(metric, child(problem.seed, "chain", c), start) for c in range(plan.chains)]


def _start(problem: Problem, plan: Plan) -> np.ndarray | None:
    """Log-odds that every chain starts from, or None for a draw of the Gaussian at the mode each."""
    chart = problem.model.chart
    if not isinstance(plan.start, str):
        return chart.log_odds(plan.start)
    if plan.start == "half":
        return np.zeros(chart.n_parameters)
    return np.asarray(problem.estimate.log_odds) if plan.start == "mle" else None
