"""The exact posterior from calibrated draws: independent proposals, importance weights, and how far to trust them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import CalibrationError, calibrating
from mrfbayes.base.random_streams import child, kernel_state
from mrfbayes.base.types import with_own_workspace
from mrfbayes.calibration.full import DenseJoint, calibrate_proposals
from mrfbayes.calibration.matching import Calibration
from mrfbayes.coins.importance_weights import TRUSTED_K as TRUSTED_K
from mrfbayes.coins.importance_weights import pareto_k as pareto_k
from mrfbayes.coins.importance_weights import truncated_weights, weighted_quantile, weighted_ranks
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.priors import Prior
from mrfbayes.targets.facts import RunFacts

if TYPE_CHECKING:
    from mrfbayes.kernels.run.independence import IndependenceView
    from mrfbayes.model.field import Model

MOST_THETA_DIGITS = 30.0  # log-odds beyond which theta lacks digits
PILOT_DRAWS = 2_000
WEIGHED_AT_ONCE = 100  # draws between two looks at the clock
WEIGHTED_BYTES = 2**25  # of proposals that a result keeps with their weights
KEPT_WEIGHTS = 25_000  # log weights that a chain remembers, for Pareto k


@dataclass(frozen=True)
class Proposal:
    """A calibrated posterior ready to be corrected to the exact one.

    Attributes
    ----------
    view : what the kernels draw and weigh with
    calibration : where it came from
    log_odds, log_weights : pilot draws (k, p) and their log weights (k,)
    """

    view: IndependenceView
    calibration: Calibration[DenseJoint]
    log_odds: np.ndarray
    log_weights: np.ndarray

    @property
    def theta(self) -> np.ndarray:
        """The pilot draws (k, p) as theta."""
        return self.calibration.joint.chart.theta(self.log_odds)

    def has_light_tails(self, prior: Prior) -> bool:
        """Whether some tail is that of a Cauchy prior: coins have exponential ones, and no weight makes up for that."""
        return prior.is_heavy_beyond(self.log_odds.std(axis=0))

    @property
    def pareto_k(self) -> float:
        """Pareto k of the pilot's weights."""
        return pareto_k(self.log_weights)

    @property
    def is_trusted(self) -> bool:
        """Whether independent proposals will do."""
        return self.pareto_k <= TRUSTED_K

    def carry(self, seed: np.random.SeedSequence, theta: np.ndarray) -> dict[str, np.ndarray]:
        """The arrays that change from step to step: see `IndependenceView`."""
        from mrfbayes.kernels.run.independence import N_SUMS, TOP

        sums = np.zeros(N_SUMS)
        sums[TOP] = -math.inf
        return {
            "log_weights": np.full(KEPT_WEIGHTS, -math.inf),
            "sums": sums,
            "weighted_mean": np.zeros(theta.size),
            "weighted_square": np.zeros(theta.size),
            "decisions": kernel_state(seed, "decisions"),
        }

    def log_odds_factor(self) -> np.ndarray:
        """Lower Cholesky factor of the pilot's covariance of w: the shape of a random walk, where one is needed."""
        sd = self.log_odds.std(axis=0)
        correlation = self.calibration.joint.correlation
        with calibrating("the covariance of the pilot draws is not positive definite"):
            return np.linalg.cholesky(correlation * np.outer(sd, sd))


def make_proposal(problem: Problem, prepared: Prepared, draws: int = PILOT_DRAWS) -> Proposal:
    """Calibrate, and weigh a first set of draws against the likelihood in ``prepared``."""
    from mrfbayes.kernels.run.independence import IndependenceView

    if prepared.view is None:
        raise CalibrationError("the likelihood is no kernel here: some row has too many missing cells in one component")
    found = calibrate_proposals(problem)
    nothing, decisions = np.zeros(0), np.zeros(4, dtype=np.uint64)
    view = IndependenceView(prepared.view, found.joint.view, nothing, nothing, nothing, nothing, decisions)
    return Proposal(view, found, *weigh(view, problem, draws, kernel_state(problem.seed, "pilot")))


def weigh(view: IndependenceView, problem: Problem, draws: int, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draws (k, p) of the log-odds w and their log weights (k,)."""
    from mrfbayes.kernels.run.independence import weighted_draws

    target = with_own_workspace(view.target)
    log_odds, theta = np.empty((2, draws, problem.model.n_parameters))
    log_values, log_weights = np.empty(draws), np.empty(draws)
    with np.errstate(over="ignore"):  # unsigned arithmetic wraps; NumPy says so only when the JIT is off
        for first in range(0, draws, WEIGHED_AT_ONCE):
            budget().check("importance weights")
            part = slice(first, first + WEIGHED_AT_ONCE)
            given = (target, view.copula, problem.prior.view, state)
            weighted_draws(*given, log_odds[part], theta[part], log_values[part], log_weights[part])
    return log_odds, log_weights


@dataclass(frozen=True)
class WeightedProposals:
    """Independent draws with weights: what marginals are made of, without the repeats of a chain that stays.

    Attributes
    ----------
    weights : (m,) that add to one, the largest cut
    make : returns the draws as theta (m, p), and as w (m, p) where theta lacks digits, else None; called when needed
    """

    weights: np.ndarray
    make: Callable[[], tuple[np.ndarray, np.ndarray | None]]

    @classmethod
    def of(cls, weights: np.ndarray, theta: np.ndarray, log_odds: np.ndarray | None = None) -> WeightedProposals:
        """Draws that are at hand."""
        return cls(weights, partial(_known, theta, log_odds))

    @property
    def theta(self) -> np.ndarray:
        """The draws (m, p) as theta."""
        return self._draws[0]

    @property
    def log_odds(self) -> np.ndarray | None:
        """The draws (m, p) as w, where theta lacks digits, else None."""
        return self._draws[1]

    @cached_property
    def _draws(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.make()

    def quantile(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of the log-odds, for fields of coins."""
        if self.log_odds is not None:
            return weighted_quantile(*self._log_odds_ranks, probability)
        theta = self.theta_quantile(probability)
        return np.asarray(np.log(theta) - np.log1p(-theta))

    def theta_quantile(self, probability: float) -> np.ndarray:
        """Quantiles (p,) of theta."""
        return weighted_quantile(*self._ranks, probability)

    @cached_property
    def _ranks(self) -> tuple[np.ndarray, np.ndarray]:
        return weighted_ranks(self.theta, self.weights)  # sorted once, whatever is asked for

    @cached_property
    def _log_odds_ranks(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.log_odds is not None
        return weighted_ranks(self.log_odds, self.weights)


def _known(theta: np.ndarray, log_odds: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    return theta, log_odds


def weighted_proposals(
    problem: Problem, view: IndependenceView, states: Sequence[dict[str, np.ndarray]]
) -> WeightedProposals:
    """The first proposals of every chain, with the weights that it kept.

    They are drawn again from the chain's random stream, which takes no likelihood, once somebody asks for them.
    """
    from mrfbayes.kernels.run.independence import N_WEIGHTS

    p, n_chains = problem.model.n_parameters, len(states)
    n_proposals = min(int(state["view.sums"][N_WEIGHTS]) for state in states)
    size = min(n_proposals, KEPT_WEIGHTS, max(1, WEIGHTED_BYTES // (8 * p * n_chains)))
    logs = np.concatenate([state["view.log_weights"][:size] for state in states])
    # A function of the module: results are sent between processes.
    make = partial(_draw_proposals, problem.model, view.copula, problem.seed, n_chains, size)
    return WeightedProposals(truncated_weights(logs), make)


def _draw_proposals(
    model: Model, copula: object, seed: np.random.SeedSequence, n_chains: int, size: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """The first ``size`` proposals of every chain, as theta and, where it lacks digits, as log-odds."""
    from mrfbayes.kernels.calibration.copula import draw_rows

    log_odds = np.empty((n_chains, size + 1, model.n_parameters))  # the first one is the chain's start
    for number in range(n_chains):
        with np.errstate(over="ignore"):
            draw_rows(copula, kernel_state(child(seed, "chain", number), "moves"), log_odds[number])
    drawn = log_odds[:, 1:].reshape(-1, model.n_parameters)
    is_far = np.abs(drawn).max(initial=0.0) > MOST_THETA_DIGITS
    return model.chart.theta(drawn), drawn if is_far else None


def corrected(prepared: Prepared, proposal: Proposal) -> Prepared:
    """The method with independent proposals in place of a random walk."""
    found = proposal.calibration
    details = {**prepared.details, **{f"proposal_{key}": value for key, value in found.details.items()}}
    return replace(prepared, view=proposal.view, carry=proposal.carry, details=details)


@dataclass(frozen=True)
class Weighted:
    """Importance-sampling summary of all chains: moments of theta, Kish's effective size, evidence."""

    mean: np.ndarray
    sd: np.ndarray
    proposals: int
    effective: float
    log_evidence: float
    log_evidence_error: float
    pareto_k: float

    @property
    def facts(self) -> RunFacts:
        """What a result reports about its weights."""
        return RunFacts(
            pareto_k=self.pareto_k,
            proposals=self.proposals,
            effective_proposals=self.effective,
            efficiency=self.effective / max(self.proposals, 1),
        )


def pool(states: Sequence[dict[str, np.ndarray]]) -> Weighted:
    """Pool the weighted sums that the chains carried."""
    from mrfbayes.kernels.run.independence import N_WEIGHTS, TOP, TOTAL, TOTAL_SQUARE

    sums = np.stack([state["view.sums"] for state in states])
    means = np.stack([state["view.weighted_mean"] for state in states])
    squares = np.stack([state["view.weighted_square"] for state in states])
    top = float(sums[:, TOP].max())
    scale = np.exp(sums[:, TOP] - top)
    totals = sums[:, TOTAL] * scale
    total, n = float(totals.sum()), int(sums[:, N_WEIGHTS].sum())
    square = float((sums[:, TOTAL_SQUARE] * scale**2).sum())
    mean = totals @ means / total
    variance = (scale @ squares + totals @ (means - mean) ** 2) / total
    log_evidence, error = _log_mean(top, total, square, n)
    kept = [state["view.log_weights"][: int(state["view.sums"][N_WEIGHTS])] for state in states]
    return Weighted(mean, np.sqrt(variance), n, total**2 / square, log_evidence, error, pareto_k(np.concatenate(kept)))


def _log_mean(top: float, total: float, square: float, n: int) -> tuple[float, float]:
    """Log of the mean weight and its standard error (delta method)."""
    average = total / n
    variance = max(square / n - average**2, 0.0)
    return top + math.log(average), math.sqrt(variance / n) / average


def log_mean_weight(log_weights: np.ndarray) -> tuple[float, float]:
    """Log of the mean of the weights and its standard error."""
    top = float(np.max(log_weights))
    weights = np.exp(log_weights - top)
    return _log_mean(top, float(weights.sum()), float((weights**2).sum()), weights.size)
