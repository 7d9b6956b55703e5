r"""The external effect of every factor: how the rest of the graph pulls at it, Eq. (5) in log-odds.

.. math:: \mathrm{logit}\,\eta_j = \mathrm{logit}\,\hat\lambda_j - \mathrm{logit}\,\hat\theta_j

A die has one such number per free outcome, log(eta_k / eta_K). Where no finite maximum likelihood estimate exists,
the observed frequency is replaced by its expectation at the penalised estimate; at a finite estimate the two agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.result import PointEstimate, as_estimate

CLOSEST = 1e-9  # an estimate nearer than this to 0 or 1 has not been found, it has run away


@dataclass(frozen=True)
class ExternalEffects:
    """``log_odds_eta`` (p,), the estimate they belong to, and whether it had to be penalised."""

    log_odds_eta: np.ndarray
    theta: np.ndarray
    log_odds: np.ndarray
    penalised: bool
    boundary: tuple[str, ...]
    warnings: tuple[str, ...]


def external_effects(statistics: Statistics, estimate: object) -> ExternalEffects:
    """Eq. (5) for every free parameter.

    Parameters
    ----------
    estimate : a `mrfbayes.estimation.result.Estimate`, any object with ``theta``, or theta (p,) itself
    """
    model = statistics.model
    chart = model.chart
    found = as_estimate(model, estimate)
    theta, log_odds, boundary = found.theta, found.log_odds, found.boundary
    empty = _blocks_with_empty_outcomes(statistics)
    tosses, is_counted = statistics.n * chart.tosses[chart.block_of], chart.is_counted[chart.block_of]
    outcomes = statistics.outcome_counts[np.arange(chart.n_parameters) + chart.block_of]
    if not found.penalised and not boundary and not empty.size:
        runaway = np.flatnonzero(np.minimum(theta, 1.0 - theta) < CLOSEST)
        if runaway.size:
            j = int(runaway[0])
            raise InputError(
                f"estimate: theta[{j}] = {theta[j]:g} ({model.parameters[j]}) sits on the boundary although both of "
                "its outcomes occur: it has not converged; estimate again, or pass a penalised estimate."
            )
        frequency = np.where(is_counted, statistics.counts, outcomes) / tosses  # Eq. (6)
        log_odds_eta = chart.log_odds(frequency) - log_odds  # Eq. (5): Eq. (4) in log-odds, solved for eta
        return ExternalEffects(log_odds_eta, theta, log_odds, False, boundary, ())
    names = boundary or tuple(model.blocks[b] for b in empty.tolist())
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    text = (
        f"no finite maximum likelihood estimate at {shown}: MLE-L uses the penalised estimate, and expected instead of "
        "observed frequencies in Eq. (5)"
        if names
        else "the estimate is penalised: MLE-L uses expected instead of observed frequencies in Eq. (5)"
    )
    expected = _expected(statistics, found) / chart.tosses[chart.block_of]
    frequency = np.where(is_counted, expected, (outcomes + 1) / (tosses + chart.sides[chart.block_of]))
    return ExternalEffects(chart.log_odds(frequency) - log_odds, theta, log_odds, True, names, (text,))


def _blocks_with_empty_outcomes(statistics: Statistics) -> np.ndarray:
    """Blocks in which some outcome never occurs."""
    block = np.repeat(np.arange(statistics.model.chart.n_blocks), statistics.model.chart.sides)
    return np.unique(block[statistics.outcome_counts <= 0.0])


def _expected(statistics: Statistics, estimate: PointEstimate) -> np.ndarray:
    """E[s] per observation at the estimate: exactly where feasible, else by the equation that a mode solves."""
    from mrfbayes.exact.quantities import moments_w

    try:
        return np.asarray(moments_w(statistics.model, estimate.log_odds)[1])
    except CostError:
        if estimate.prior is None:
            raise InputError(
                "estimate: some outcome never occurs, and what is expected at the theta given is out of reach here: "
                "give what mrfbayes.estimate returns, whose prior is known."
            ) from None
        # At the mode in log-odds: s - n E[s] + the gradient of the log prior = 0.
        return np.asarray((statistics.counts + estimate.prior.gradient_w(estimate.log_odds)) / statistics.n)
