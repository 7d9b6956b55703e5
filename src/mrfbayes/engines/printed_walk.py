"""The paper's random walk in theta with its printed settings: normal steps of variance 0.001, no warm-up (Sec. 3.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.engines.metropolis import WalkingEngine

if TYPE_CHECKING:
    from mrfbayes.methods.problem import Prepared, Problem

PRINTED_VARIANCE = 0.001  # sigma_Q^2, Sec. 3.3


class PrintedWalk(WalkingEngine):
    """Its state is theta, and its draws are stored as they are, without passing through log-odds."""

    loop = "run_likelihood"
    needs, label, proposal = "density", "the printed random walk", "printed"
    keeps_log_odds = False
    is_lengthened = False
    adapts = False
    is_printed = True
    default_start = "half"

    def fits(self, prepared: Prepared) -> bool:
        """Whether the likelihood is a kernel."""
        return prepared.view is not None

    def scales(self, problem: Problem) -> np.ndarray:
        """(p,) the printed standard deviation."""
        return np.full(problem.model.n_parameters, math.sqrt(PRINTED_VARIANCE))
