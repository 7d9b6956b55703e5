"""What an engine is: it turns what a method offers into draws.

An engine says what it needs of a method, chooses the numbers of a run, sets chains up, and makes of what comes out the
fields of a `Posterior`. `mrfbayes.run.driver` runs the chains of all engines alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.results import diagnostics
from mrfbayes.results.posterior import diagnosed
from mrfbayes.run.driver import ChainRun, RunSettings, run_chains
from mrfbayes.run.pools import Workers
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import State, WorkerTask

if TYPE_CHECKING:
    from mrfbayes.engines.settings import Plan, Settings
    from mrfbayes.methods.problem import Prepared, Problem
    from mrfbayes.model.field import Model
    from mrfbayes.priors import Prior


Fields = dict[str, Any]  # of a `Posterior`, by name
KEPT_DRAWS = 2_000  # draws per chain that thinning leaves by default


class Unsuitable(Exception):
    """An engine cannot do well here; the message says why.

    ``skipped`` names capabilities whose engines cannot either, ``shape`` is a Cholesky factor of the covariance of w
    that was found on the way.
    """

    def __init__(self, reason: str, skipped: tuple[str, ...] = (), shape: np.ndarray | None = None) -> None:
        super().__init__(reason)
        self.skipped, self.shape = skipped, shape


@dataclass(frozen=True)
class Setup:
    """A run that is ready to begin.

    Attributes
    ----------
    engine, problem, settings, prepared, plan : who draws, of what, as whom the user asked, and how much
    task, states : what the driver advances, and from where; None and nothing where there is no chain
    """

    engine: Engine
    problem: Problem
    settings: Settings
    prepared: Prepared
    plan: Plan
    task: WorkerTask | None = None
    states: list[State] = field(default_factory=list)


@dataclass(frozen=True)
class EngineOutcome:
    """Fields of the `Posterior` that depend on the engine, and warnings about them."""

    fields: Fields
    warnings: list[str]


class Engine(ABC):
    """An engine; the classes in the files beside this one are its kinds, and `registry.ENGINE_ROWS` lists them.

    Attributes
    ----------
    name : what users call it; engines that differ only in what they need may share one
    needs : the capability of a method that it needs, one of `mrfbayes.methods.registry.Row.offers`
    label : its name in a sentence
    proposal : what the record of a run calls its proposals
    keeps_log_odds : whether its draws are log-odds w; else they are theta
    judges_tails : whether the draws have to be precise in their tails; not where quantiles come from elsewhere
    is_lengthened : whether a run may grow until it is precise enough
    is_printed : whether it has the paper's settings, and is used only where they are asked for
    has_chains : whether its draws depend on each other
    takes_start : whether ``start=`` says where its chains begin
    draw_share : of a time budget, the part that preparation leaves for it
    """

    name: ClassVar[str]
    needs: ClassVar[str]
    label: ClassVar[str]
    proposal: ClassVar[str]
    keeps_log_odds: ClassVar[bool] = True
    judges_tails: ClassVar[bool] = True
    is_lengthened: ClassVar[bool] = True
    is_printed: ClassVar[bool] = False
    has_chains: ClassVar[bool] = True
    takes_start: ClassVar[bool] = False
    default_start: ClassVar[str] = "dispersed"
    draw_share: ClassVar[float] = 0.5

    def is_possible(self, model: Model, prior: Prior) -> bool:
        """Whether it can draw from such a posterior at all."""
        return True

    def is_usual(self, model: Model) -> bool:
        """Whether it is used without being asked for, where another one could be."""
        return True

    def fits(self, prepared: Prepared) -> bool:
        """Whether the method, once prepared, offers what the engine needs."""
        return True

    @abstractmethod
    def default_steps(self, model: Model) -> int:
        """Steps of a chain after warm-up where none are asked for."""

    def default_warmup(self, steps: int) -> int:
        """Steps of warm-up where none are asked for."""
        return 0

    def default_thin(self, steps: int, fitting: int) -> int:
        """Steps between two draws that are kept where nothing is asked for; ``fitting`` draws a chain fit in memory."""
        return max(1, -(-steps // min(KEPT_DRAWS, fitting)))

    def adjust(self, plan: Plan, settings: Settings, model: Model) -> Plan:
        """The plan with what only this engine knows."""
        return plan

    @abstractmethod
    def set_up(self, setup: Setup, shape: np.ndarray | None) -> Setup:
        """The set-up with task and states; `Unsuitable` where another engine would do better."""

    def is_enough(self, setup: Setup, draws: np.ndarray) -> bool:
        """Whether the driver's draws (chains, draws, columns) are precise enough."""
        return self.is_precise(diagnostics.convergence(draws)) if draws.shape[2] else True

    def is_precise(self, found: diagnostics.Convergence, least: float = diagnostics.LEAST_ESS) -> bool:
        """Whether chains agree, and ``least`` draws are effective."""
        return found.agree and self.least_ess(found) >= least

    def least_ess(self, found: diagnostics.Convergence) -> float:
        """The smallest effective size that counts."""
        return found.least_ess if self.judges_tails else float(found.ess_bulk.min(initial=np.inf))

    def run(self, setup: Setup, store: Checkpoint | None) -> ChainRun:
        """The chains, to their end or as far as Ctrl-C and the time budget let them."""
        assert setup.task is not None
        plan, settings = setup.plan, setup.settings
        terms = RunSettings(
            n_steps=plan.warmup + plan.steps,
            longest=plan.warmup + plan.longest if self.is_lengthened else 0,
            is_enough=lambda draws, _: self.is_enough(setup, draws),
            workers=self.workers(settings),
            checkpoint=store,
            seconds=None if settings.seconds is None else budget().left,
            may_cut_warmup=store is None and settings.warmup is None,
            progress=settings.progress,
            label=settings.row.label,
            explain_failure=lambda number, state: self.explain(setup.problem, state),
        )
        return run_chains(setup.task, setup.states, terms)

    def workers(self, settings: Settings) -> Workers:
        """What chains are spread over."""
        return settings.workers

    def explain(self, problem: Problem, state: State) -> str:
        """Words for a chain that cannot go on."""
        j = int(np.argmin(np.minimum(state["proposal"], 1 - state["proposal"])))
        return f"Proposal nearest to the boundary: {problem.model.parameters[j]} = {state['proposal'][j]:.6g}."

    def objection(self, setup: Setup, run: ChainRun) -> str:
        """Why a finished run should be made by another engine instead; empty where it need not."""
        return ""

    @abstractmethod
    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """What the run came to."""

    def convergence(self, fields: Fields) -> diagnostics.Convergence:
        """Of the draws among the fields of an outcome."""
        return diagnostics.convergence(diagnosed(fields["draws"], fields.get("w")))

    def record(self, plan: Plan) -> dict[str, object]:
        """The numbers that play a part in the draws, as results and checkpoints keep them."""
        kept: dict[str, object] = {"warmup": plan.warmup, "thin": plan.thin, "proposal": self.proposal}
        if self.takes_start:
            kept["start"] = plan.start if isinstance(plan.start, str) else "given"
        return kept

    def unused(self, settings: Settings, prepared: Prepared) -> list[str]:
        """A sentence for every setting that was given and plays no part."""
        if settings.workers != 1 and settings.chains == 1:
            return ["workers= is not used: there is only one chain to run."]
        return []


def chain_starts(problem: Problem, plan: Plan) -> Sequence[np.ndarray]:
    """Log-odds (p,) at which each chain starts."""
    from mrfbayes.base.random_streams import child, generator

    chart, p = problem.model.chart, problem.model.n_parameters
    if not isinstance(plan.start, str):
        return [chart.log_odds(plan.start) for _ in range(plan.chains)]
    if plan.start == "half":
        return [np.zeros(p) for _ in range(plan.chains)]
    if plan.start == "mle":
        return [np.array(problem.estimate.log_odds, dtype=float) for _ in range(plan.chains)]
    centre, sd = typical_log_odds(problem)
    seeds = [child(problem.seed, "chain", number) for number in range(plan.chains)]
    return [centre + 1.5 * sd * generator(seed, "start").standard_normal(p) for seed in seeds]


def typical_log_odds(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Centre and standard deviation of each log-odds, as if every factor stood alone: for starts and proposals.

    EngineOutcome frequencies with one pseudo-count an outcome; at an estimate where one is at hand.
    """
    chart, statistics = problem.model.chart, problem.statistics
    frequency = statistics.shrunken_frequency
    counted = statistics.n * chart.tosses[chart.block_of] + chart.sides[chart.block_of]
    information = counted * frequency * (1 - frequency)
    centre = problem.estimate.log_odds if problem.has_estimate else chart.log_odds(frequency)
    return np.asarray(centre), 1.0 / np.sqrt(information)
