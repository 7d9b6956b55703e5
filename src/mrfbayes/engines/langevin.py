"""`langevin`: replicas that walk by noisy gradients, of methods that have no density to evaluate."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mrfbayes.base.checks import require_memory, whole
from mrfbayes.base.errors import InputError
from mrfbayes.engines.base import Engine, EngineOutcome, Fields, Setup
from mrfbayes.methods.langevin.langevin import WARMUP, default_steps
from mrfbayes.methods.langevin.moments import WalkJoint, doubts, walk_coins, walk_moments, walk_trust
from mrfbayes.methods.langevin.walk import RECORDED_COUNTER, Walk
from mrfbayes.results import diagnostics
from mrfbayes.results.posterior import diagnosed
from mrfbayes.run.driver import ChainRun
from mrfbayes.run.pools import Workers
from mrfbayes.run.workers import Chunk, State, WorkerTask

if TYPE_CHECKING:
    from mrfbayes.engines.settings import Plan, Settings
    from mrfbayes.methods.problem import Prepared, Problem
    from mrfbayes.model.field import Model

MOST_WATCHED = 100  # parameters whose R-hat is found before a result is returned


@dataclass
class WalkTask(WorkerTask):
    """Replicas of one walk. They are advanced in place where the state is the one that was given back last."""

    walk: Walk
    _last: State = field(default_factory=dict)
    varying: ClassVar[frozenset[str]] = frozenset({"directions", "history"})  # arrays of a state whose shape changes

    def start(self) -> State:
        """The state before the next step."""
        self._last = {name: array.copy() for name, array in self.walk.arrays().items()}
        return self._last

    @property
    def n_columns(self) -> int:
        """Numbers in a draw: the log-odds of all replicas."""
        return int(self.walk.state["y"].size)

    @property
    def n_warmup(self) -> int:
        """Steps of warm-up."""
        return self.walk.settings.warmup

    @property
    def n_thin(self) -> int:
        """Steps between two draws that are kept."""
        return self.walk.settings.thin

    def with_warmup(self, n_warmup: int) -> WalkTask:
        """The replicas with a warm-up that ends here."""
        self.walk.end_warmup()
        return self

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more steps of every replica."""
        if state is not self._last:
            self.walk.restore(state)
        self.walk.advance(n_steps)
        drawn = np.array(self.walk.drawn).reshape(len(self.walk.drawn), self.n_columns)
        self.walk.drawn = []
        return Chunk(self.start(), drawn, np.zeros(len(drawn)))

    def by_replica(self, draws: np.ndarray) -> np.ndarray:
        """The driver's draws (1, draws, columns) as (replicas, draws, p)."""
        k, p = self.walk.state["y"].shape
        return np.ascontiguousarray(np.moveaxis(draws[0].reshape(-1, k, p), 1, 0))


class Langevin(Engine):
    """The replicas of all chains are one task of the driver; each becomes a row of the draws."""

    name, needs, label, proposal = "langevin", "noisy gradient", "Langevin dynamics", "langevin"
    default_start = "mode"

    def default_steps(self, model: Model) -> int:
        """So many that replicas of most fields are precise enough."""
        return default_steps(model.n_parameters)

    def default_warmup(self, steps: int) -> int:
        """Enough to measure the noise of the gradients twice."""
        return WARMUP

    def default_thin(self, steps: int, fitting: int) -> int:
        """Neighbours tell nearly the same."""
        return min(2, steps)

    def adjust(self, plan: Plan, settings: Settings, model: Model) -> Plan:
        """Memory for the draws of all replicas."""
        from mrfbayes.engines.settings import DEFAULT_DRAW_BYTES, LENGTHENED

        each = whole("replicas", settings.options.get("replicas", settings.row.options["replicas"]))
        replicas, count = plan.chains * each, plan.steps
        if replicas < 2:
            raise InputError(
                f"chains = {plan.chains} and replicas = {each}: errors come from how replicas differ; there must be "
                "two at least: raise chains= or replicas=."
            )
        draw_bytes = 16 * model.n_parameters * replicas
        fitting = max(1, DEFAULT_DRAW_BYTES // max(draw_bytes, 1))
        thin = max(plan.thin, -(-count // fitting)) if settings.thin is None and settings.draws is None else plan.thin
        kept = count // thin
        require_memory(2 * kept * draw_bytes, f"{kept:,} draws of all replicas", "raise thin=, or ask for fewer draws=")
        longest = count if settings.draws is not None else max(count, min(LENGTHENED * count, fitting * thin))
        return replace(plan, thin=thin, longest=longest)

    def set_up(self, setup: Setup, shape: np.ndarray | None) -> Setup:
        """The replicas at the mode."""
        assert setup.prepared.walk is not None
        task = WalkTask(setup.prepared.walk(setup.plan.chains, setup.plan.warmup, setup.plan.thin))
        return replace(setup, task=task, states=[task.start()])

    def is_enough(self, setup: Setup, draws: np.ndarray) -> bool:
        """Whether replicas are precise enough, and none differs from the others."""
        return self.is_precise(watched(_task(setup).by_replica(draws)))

    def workers(self, settings: Settings) -> Workers:
        """Replicas walk together in this process, in threads."""
        return 1

    def explain(self, problem: Problem, state: State) -> str:
        """A walk always can go on."""
        return ""

    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """Draws that agree with the moments by control variates, and how far to trust them."""
        task = _task(setup)
        walk, w = task.walk, task.by_replica(run.draws)
        if not walk.state["counters"][RECORDED_COUNTER]:
            return EngineOutcome({"draws": w[:, :0]}, [])
        moments = walk_moments(walk)
        w = moments.mean + (w - moments.raw_mean) * (moments.sd / moments.raw_sd)
        chart = setup.problem.model.chart
        draws = chart.theta(w)
        trust = walk_trust(walk, moments)
        fields = {
            "draws": draws,
            "w": w,
            "log_likelihood": None,
            "mean": draws.mean(axis=(0, 1)),
            "sd": draws.std(axis=(0, 1), ddof=1),
            "steps": max(walk.steps - run.n_warmup, 0),
            "warmup": run.n_warmup,
            "thin": setup.plan.thin,
            "acceptance": None,
            "details": {
                "replicas": walk.settings.replicas,
                "effective_draws": float(1 / max(trust.mean_error, 1e-12) ** 2),
                "gradient_noise": float(1 - walk.state["noise_scale"].min() ** 2),
                "noisy_directions": int(walk.state["directions"].shape[1]),
                **trust.details(),
                "stopped_by": run.stopped_by,
                "resumed_steps": run.resumed_steps,
            },
            "sd_error": moments.sd_error,
            "_draw": WalkJoint(chart, walk_coins(moments), walk.metric.factor).draw,
        }
        return EngineOutcome(fields, doubts(walk, trust))

    def convergence(self, fields: Fields) -> diagnostics.Convergence:
        """Of the parameters whose replicas differ most."""
        return watched(diagnosed(fields["draws"], fields["w"]))

    def record(self, plan: Plan) -> dict[str, object]:
        """With the start, which is the mode."""
        return {**super().record(plan), "start": plan.start}

    def unused(self, settings: Settings, prepared: Prepared) -> list[str]:
        """Other processes."""
        if isinstance(settings.workers, int):
            return []
        return ["workers= is not used: replicas walk in threads of one process; give their number."]


def _task(setup: Setup) -> WalkTask:
    assert isinstance(setup.task, WalkTask)
    return setup.task


def watched(w: np.ndarray) -> diagnostics.Convergence:
    """Convergence of the parameters whose replicas differ most: all would take a tenth of the time of a walk."""
    apart = w.mean(axis=1).var(axis=0) / np.maximum(w.var(axis=(0, 1)), 1e-300)
    return diagnostics.convergence(w[:, :, np.sort(np.argsort(-apart)[:MOST_WATCHED])])
