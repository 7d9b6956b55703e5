"""`direct`: independent draws of a method that can be drawn from without a chain."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import SamplingError
from mrfbayes.base.random_streams import child
from mrfbayes.engines.base import Engine, EngineOutcome, Fields, Setup
from mrfbayes.results.posterior import lacks_digits
from mrfbayes.run.driver import ChainRun
from mrfbayes.run.store import Checkpoint

if TYPE_CHECKING:
    from mrfbayes.engines.settings import Plan, Settings
    from mrfbayes.methods.problem import Prepared
    from mrfbayes.model.field import Model

CONVERTED_AT_ONCE = 2**22  # draws that are turned from log-odds to theta in one go


class Direct(Engine):
    """Independent draws: no chain, no warm-up, and nothing to thin."""

    name, needs, label, proposal = "direct", "draws", "independent draws", "adapted"
    keeps_log_odds = False
    has_chains = False
    is_lengthened = False
    draw_share = 0.15

    def fits(self, prepared: Prepared) -> bool:
        """Whether the method has draws with this prior."""
        return prepared.draw is not None

    def default_steps(self, model: Model) -> int:
        """As many draws as a random walk takes steps; thinning leaves the usual number."""
        return max(20_000, 1_000 * model.n_parameters)

    def set_up(self, setup: Setup, shape: np.ndarray | None) -> Setup:
        """Nothing to prepare."""
        return setup

    def run(self, setup: Setup, store: Checkpoint | None) -> ChainRun:
        """All draws at once."""
        plan, draw = setup.plan, setup.prepared.draw_log_odds or setup.prepared.draw
        assert draw is not None
        started = time.perf_counter()
        size = max(plan.steps // plan.thin, 1)
        drawn = draw(plan.chains * size, child(setup.problem.seed, "direct"))
        if not np.isfinite(drawn).all():
            raise SamplingError(
                f"{setup.settings.row.label}: some of the independent draws are not numbers; use engine='mh'."
            )
        seconds = time.perf_counter() - started
        draws = drawn.reshape(plan.chains, size, -1)
        return ChainRun(draws, np.zeros(draws.shape[:2]), [], "", 0, size, 0.0, seconds, 0)

    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """Moments in closed form where the method has them."""
        prepared, draws, w = setup.prepared, run.draws, None
        if prepared.draw_log_odds is not None:
            chart = setup.problem.model.chart
            if lacks_digits(draws):
                draws, w = chart.theta(draws), draws
            else:
                rows = draws.reshape(-1, draws.shape[2])
                for part in np.array_split(rows, 1 + rows.size // CONVERTED_AT_ONCE):  # in place: there may be many
                    part[:] = chart.theta(part)
        mean, sd = prepared.moments or (draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1))
        fields: Fields = {
            "draws": draws,
            "w": w,
            "log_likelihood": None,
            "mean": mean,
            "sd": sd,
            "steps": run.n_steps,
            "warmup": 0,
            "thin": 1,
            "acceptance": None,
            "details": {},
            "sd_error": prepared.sd_error,
            "_draw": prepared.draw,
            "_quantile": prepared.quantile,
        }
        return EngineOutcome(fields, [])

    def record(self, plan: Plan) -> dict[str, object]:
        """There is no chain whose numbers play a part."""
        return {}

    def unused(self, settings: Settings, prepared: Prepared) -> list[str]:
        """Settings of chains."""
        given = {
            "warmup": bool(settings.warmup),
            "checkpoint": settings.checkpoint is not None,
            "workers": settings.workers != 1 and not (prepared.uses_threads and isinstance(settings.workers, int)),
        }
        reason = f"{settings.row.label} draws independently, without a chain"
        return [f"{name}= is not used: {reason}." for name, is_given in given.items() if is_given]
