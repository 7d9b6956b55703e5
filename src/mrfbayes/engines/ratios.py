"""The random walk in theta of methods that estimate likelihood ratios, as the paper has them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.engines.base import EngineOutcome, Setup
from mrfbayes.engines.metropolis import WalkingEngine, theta_scales
from mrfbayes.engines.printed_walk import PrintedWalk
from mrfbayes.run.driver import ChainRun

if TYPE_CHECKING:
    from mrfbayes.methods.problem import Problem

NOISE_LIMIT = 1.0  # nats of noise in a log ratio, above which the target is visibly another one


class Ratio(WalkingEngine):
    """A random walk in theta by estimated ratios, adaptive."""

    loop = "run_ratio"
    needs, label, proposal = "ratio", "MH by estimated ratios", "adapted"
    keeps_log_odds = False
    is_lengthened = False

    def default_warmup(self, steps: int) -> int:
        """Half as many steps as are kept."""
        return max(steps // 2, 1_000)

    def scales(self, problem: Problem) -> np.ndarray:
        """(p,) standard deviations of the first proposals."""
        return theta_scales(problem)

    def outcome(self, setup: Setup, run: ChainRun) -> EngineOutcome:
        """As of all chains, without a likelihood; and how noisy the ratios were."""
        found = super().outcome(setup, run)
        noise = _noise(run)
        details = {**found.fields["details"], **({"noise": noise} if noise else {})}
        return replace(
            found,
            fields={**found.fields, "log_likelihood": None, "details": details},
            warnings=[*found.warnings, *_noise_warnings(noise)],
        )


class PrintedRatio(Ratio):
    """The same with the printed settings of `PrintedWalk`."""

    label, proposal = "the printed random walk", "printed"
    adapts = False
    is_printed = True
    default_start = "half"

    def default_warmup(self, steps: int) -> int:
        """None."""
        return 0

    def scales(self, problem: Problem) -> np.ndarray:
        """(p,) the printed standard deviation."""
        return PrintedWalk().scales(problem)


def _noise(run: ChainRun) -> float:
    """Root mean square of sd(n log r), as the particles of each step showed it; 0 where ratios are exact."""
    from mrfbayes.kernels.run import chain

    total = float(run.gather("numbers")[:, chain.NOISE_SUM].sum())
    count = int(run.gather("counters")[:, chain.NOISE_COUNT].sum())
    return math.sqrt(total / count) if total > 0 else 0.0


def _noise_warnings(noise: float) -> list[str]:
    """Whether ratios are so noisy that the target is another one."""
    if noise <= NOISE_LIMIT:
        return []
    return [
        f"the estimated likelihood ratios are noisy, sd(n log r) = {noise:.2g}: the chain sticks and its target is "
        "wider than the posterior; use more particles=, or method='exact', 'exchange-exact' or 'calibrated'."
    ]
