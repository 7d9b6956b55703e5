"""The adaptive random walk in log-odds: scale and covariance learned in warm-up, then frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.engines.metropolis import WalkingEngine, log_odds_scales

if TYPE_CHECKING:
    from mrfbayes.methods.problem import Prepared, Problem


class RandomWalk(WalkingEngine):
    """A random walk in w for any method with a likelihood."""

    loop = "run_walk"
    needs, label, proposal = "density", "adaptive MH", "adapted"

    def fits(self, prepared: Prepared) -> bool:
        """Whether the likelihood is a kernel."""
        return prepared.view is not None

    def default_warmup(self, steps: int) -> int:
        """Half as many steps as are kept."""
        return max(steps // 2, 1_000)

    def scales(self, problem: Problem) -> np.ndarray:
        """(p,) standard deviations of the first proposals."""
        return log_odds_scales(problem)
