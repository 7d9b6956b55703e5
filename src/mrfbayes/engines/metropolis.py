"""What engines whose chains accept or reject share: the states of random walks, and what chains come to."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mrfbayes.base.random_streams import child, kernel_state
from mrfbayes.engines.base import Engine, EngineOutcome, Setup, chain_starts, typical_log_odds
from mrfbayes.run.driver import ChainRun
from mrfbayes.run.workers import ChainTask, State

if TYPE_CHECKING:
    from mrfbayes.kernels.run.chain import ChainSettings
    from mrfbayes.methods.problem import Problem
    from mrfbayes.model.field import Model

DENSE_LIMIT = 600  # parameters up to which proposals have a full covariance
UNCOMPUTED_LIMIT = 1e-3  # share of proposals whose density could not be computed, above which it is said
LEAST_ACCEPTANCE = 0.01  # share of proposals accepted, below which a chain hardly moves


class MetropolisEngine(Engine):
    """An engine whose chains accept or reject proposals."""

    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """Draws, running moments over all steps, and how many proposals were accepted."""
        from mrfbayes.kernels.run import chain

        counters, means, squares = run.gather("counters"), run.gather("mean"), run.gather("square")
        kept_steps = np.maximum(counters[:, chain.STEP] - run.n_warmup, 0)
        steps = int(kept_steps[0])
        for theta, count, done, chain_mean, square in zip(
            run.gather("theta"), counters[:, chain.STAYED], kept_steps, means, squares, strict=True
        ):
            chain.add_stay(theta, count, done, chain_mean, square)
        mean = means.mean(axis=0)
        total = squares.sum(axis=0) + steps * ((means - mean) ** 2).sum(axis=0)
        acceptance = counters[:, chain.ACCEPTED] / np.maximum(kept_steps, 1)
        uncomputed, all_steps = int(counters[:, chain.UNCOMPUTED].sum()), int(counters[:, chain.STEP].sum())
        fields = {
            "draws": setup.problem.model.chart.theta(run.draws) if self.keeps_log_odds else run.draws,
            "w": run.draws if self.keeps_log_odds else None,
            "log_likelihood": run.log_likelihood,
            "mean": mean,
            "sd": np.sqrt(total / max(len(means) * steps - 1, 1)),
            "steps": steps,
            "warmup": run.n_warmup,
            "thin": setup.plan.thin,
            "acceptance": acceptance,
            "details": {
                "outside": (counters[:, chain.OUTSIDE] / np.maximum(counters[:, chain.STEP], 1)).tolist(),
                "uncomputed": uncomputed,
                "resumed_steps": run.resumed_steps,
                "stopped_by": run.stopped_by,
            },
        }
        warnings = _uncomputed_warnings(uncomputed, all_steps)
        if steps and float(acceptance.mean()) < LEAST_ACCEPTANCE:
            warnings.append(_acceptance_warning(float(acceptance.mean())))
        return EngineOutcome(fields, warnings)


def _uncomputed_warnings(count: int, steps: int) -> list[str]:
    """Whether so many proposals were rejected for want of digits that a part of the posterior may be left out."""
    if count <= UNCOMPUTED_LIMIT * steps:
        return []
    return [
        f"{count:,} of {steps:,} proposals ({count / steps:.1%}) were rejected because their density could not be "
        "computed to enough digits: a part of the posterior may be missing; use a narrower prior=, or "
        "method='calibrated'."
    ]


def _acceptance_warning(rate: float) -> str:
    return (
        f"{rate:.2%} of the proposals were accepted: below 1 % the chain hardly moves, above 99 % its steps are too "
        "small; use proposal='adapted' or a longer warm-up."
    )


class WalkingEngine(MetropolisEngine):
    """An engine whose proposals are Gaussian steps; ``loop`` is its compiled chain in `mrfbayes.kernels.run.chain`."""

    name = "mh"
    takes_start = True
    loop: ClassVar[str]
    adapts: ClassVar[bool] = True

    def default_steps(self, model: Model) -> int:
        """Many: steps are short."""
        return max(20_000, 1_000 * model.n_parameters)

    @abstractmethod
    def scales(self, problem: Problem) -> np.ndarray:
        """(p,) standard deviations of the first proposals."""

    def set_up(self, setup: Setup, shape: np.ndarray | None) -> Setup:
        """Chains from their starts; ``shape`` is the lower Cholesky factor that proposals begin with, if known."""
        from mrfbayes.kernels.run import chain

        plan, is_dense = setup.plan, self.adapts and setup.problem.model.n_parameters <= DENSE_LIMIT
        adaptive = chain.NOTHING if not self.adapts else chain.SHAPE if setup.prepared.keeps_noise else chain.ALL
        numbers = chain.ChainSettings(plan.warmup, plan.thin, adaptive, int(is_dense), int(self.keeps_log_odds))
        return with_chains(setup, self, numbers, getattr(chain, self.loop), shape if self.keeps_log_odds else None)

    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """As of all chains; steps may also be too small."""
        found = super().outcome(setup, run)
        rate = float(found.fields["acceptance"].mean())
        if found.fields["steps"] and rate > 1 - LEAST_ACCEPTANCE:
            found.warnings.append(_acceptance_warning(rate))
        return found


def with_chains(
    setup: Setup,
    walk: WalkingEngine | None,
    numbers: ChainSettings,
    loop: Callable[..., None],
    shape: np.ndarray | None = None,
) -> Setup:
    """The set-up with chains that ``loop`` advances, each from its start; ``walk`` has proposals of its own scale."""
    from mrfbayes.kernels.run import chain

    problem, plan, prepared = setup.problem, setup.plan, setup.prepared
    model, p, is_dense = problem.model, problem.model.n_parameters, bool(numbers.is_dense)
    adapts = walk is not None and walk.adapts
    rows = p if is_dense else 1
    states = []
    for number, log_odds in enumerate(chain_starts(problem, plan)):
        seed = child(problem.seed, "chain", number)
        theta = plan.start.copy() if not isinstance(plan.start, str) else model.chart.theta(log_odds)
        if isinstance(plan.start, str) and plan.start == "half":
            theta = model.no_interaction.copy()
        spread = np.zeros((rows, p))
        if walk is not None:
            spread[np.arange(p) if is_dense else 0, np.arange(p)] = walk.scales(problem)
        if shape is not None and is_dense:
            spread[:] = shape.T
        values = np.zeros(chain.N_NUMBERS)
        values[chain.LOG_TARGET] = np.nan
        values[chain.LOG_SCALE] = math.log(2.38 / math.sqrt(max(p, 1))) if adapts else 0.0
        counters = np.zeros(chain.N_COUNTERS, dtype=np.int64)
        counters[chain.WINDOW_END] = chain.FIRST_WINDOW
        state: State = {
            "theta": theta,
            "proposal": np.zeros(p),
            "log_odds": log_odds,
            "log_odds_proposal": np.zeros(p),
            "normals": np.zeros(p),
            "spread": spread,
            "window_mean": np.zeros(p),
            "window_square": np.zeros((rows, p)),
            "mean": np.zeros(p),
            "square": np.zeros(p),
            "numbers": values,
            "counters": counters,
            "random": kernel_state(seed, "moves"),
        }
        if prepared.carry is not None:
            carried = prepared.carry(child(seed, "carry"), theta)
            state |= {f"view.{name}": array for name, array in carried.items()}
        states.append(state)
    assert prepared.view is not None
    carried_names = tuple(name.removeprefix("view.") for name in states[0] if name.startswith("view."))
    task = ChainTask(problem.prior.view, numbers, prepared.view, loop, carried_names)
    return replace(setup, task=task, states=states)


def log_odds_scales(problem: Problem) -> np.ndarray:
    """(p,) typical standard deviations of w."""
    return typical_log_odds(problem)[1]


def theta_scales(problem: Problem) -> np.ndarray:
    """(p,) typical standard deviations of theta."""
    centre, sd = typical_log_odds(problem)
    at = problem.model.chart.theta(centre)
    return np.asarray(np.maximum(at * (1 - at) * sd, 1e-12))
