"""Engines whose chains accept or reject: what they share, and the random walks, in log-odds, in theta and by ratios."""

from __future__ import annotations

import math
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
    from mrfbayes.methods.problem import Prepared, Problem
    from mrfbayes.model.field import Model

DENSE_LIMIT = 600  # parameters up to which proposals have a full covariance
UNCOMPUTED_LIMIT = 1e-3  # share of proposals whose density could not be computed, above which it is said
PRINTED_VARIANCE = 0.001  # sigma_Q^2, Sec. 3.3
NOISE_LIMIT = 1.0  # nats of noise in a log ratio, above which the target is visibly another one
LEAST_ACCEPTANCE = 0.01  # share of proposals accepted, below which a chain hardly moves


class MetropolisEngine(Engine):
    """An engine whose chains accept or reject proposals."""

    def fits(self, prepared: Prepared) -> bool:
        """Whether the likelihood is a kernel."""
        return prepared.view is not None

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
        warnings = []
        if uncomputed > UNCOMPUTED_LIMIT * all_steps:
            warnings.append(
                f"{uncomputed:,} of {all_steps:,} proposals ({uncomputed / all_steps:.1%}) were rejected because their "
                "density could not be computed to enough digits: a part of the posterior may be missing; use a "
                "narrower prior=, or method='calibrated'."
            )
        if steps and float(acceptance.mean()) < LEAST_ACCEPTANCE:
            warnings.append(_acceptance_warning(float(acceptance.mean())))
        return EngineOutcome(fields, warnings)


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

    def default_warmup(self, steps: int) -> int:
        """Half as many steps as are kept, where proposals adapt."""
        return max(steps // 2, 1_000) if self.adapts else 0

    def scales(self, problem: Problem) -> np.ndarray:
        """(p,) standard deviations of the first proposals: typical ones of the state, or the printed one."""
        if not self.adapts:
            return np.full(problem.model.n_parameters, math.sqrt(PRINTED_VARIANCE))
        centre, sd = typical_log_odds(problem)
        if self.keeps_log_odds:
            return sd
        at = problem.model.chart.theta(centre)
        return np.asarray(np.maximum(at * (1 - at) * sd, 1e-12))

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


class RandomWalk(WalkingEngine):
    """The adaptive random walk in w for any method with a likelihood: scale and covariance learned in warm-up."""

    loop = "run_walk"
    needs, label, proposal = "density", "adaptive MH", "adapted"


class PrintedWalk(WalkingEngine):
    """The paper's random walk in theta as printed: normal steps of variance 0.001, no warm-up (Sec. 3.3).

    Its state is theta, and its draws are stored as they are, without passing through log-odds.
    """

    loop = "run_likelihood"
    needs, label, proposal = "density", "the printed random walk", "printed"
    keeps_log_odds = False
    is_lengthened = False
    adapts = False
    is_printed = True
    default_start = "half"


class Ratio(WalkingEngine):
    """The adaptive random walk in theta of methods that estimate likelihood ratios."""

    loop = "run_ratio"
    needs, label, proposal = "ratio", "MH by estimated ratios", "adapted"
    keeps_log_odds = False
    is_lengthened = False

    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """As of all chains, without a likelihood; and how noisy the ratios were, by the particles of each step."""
        from mrfbayes.kernels.run import chain

        found = super().outcome(setup, run)
        total = float(run.gather("numbers")[:, chain.NOISE_SUM].sum())
        count = int(run.gather("counters")[:, chain.NOISE_COUNT].sum())
        noise = math.sqrt(total / count) if total > 0 else 0.0  # root mean square of sd(n log r); 0 of exact ratios
        if noise > NOISE_LIMIT:
            found.warnings.append(
                f"the estimated likelihood ratios are noisy, sd(n log r) = {noise:.2g}: the chain sticks and its "
                "target is wider than the posterior; use more particles=, or method='exact', 'exchange-exact' or "
                "'calibrated'."
            )
        details = {**found.fields["details"], **({"noise": noise} if noise else {})}
        return replace(found, fields={**found.fields, "log_likelihood": None, "details": details})


class PrintedRatio(Ratio):
    """The walk by ratios with the printed settings of `PrintedWalk`."""

    label, proposal = "the printed random walk", "printed"
    adapts = False
    is_printed = True
    default_start = "half"


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
        proposal_factor = np.zeros((rows, p))
        if walk is not None:
            proposal_factor[np.arange(p) if is_dense else 0, np.arange(p)] = walk.scales(problem)
        if shape is not None and is_dense:
            proposal_factor[:] = shape.T
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
            "proposal_factor": proposal_factor,
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
