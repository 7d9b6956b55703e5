"""Persistent contrastive divergence (Younes 1988; Tieleman 2008): particles are kept from step to step."""

from __future__ import annotations

import numpy as np

from mrfbayes.estimation.result import Outcome, Task
from mrfbayes.estimation.stochastic_ascent import GAIN, Rule, ascend


def run(
    task: Task,
    *,
    particles: int | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    start: np.ndarray | None = None,
) -> Outcome:
    """Persistent contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    particles : per half-run; default 2,048, on fields of more than 20,000 nodes 1,024
    steps : at most so many after the warm-up; default: until the tolerance is met or some minutes have passed
    tolerance : rms noise of the estimate, in posterior sds, at which to stop; default 0.0065, with more than 400
        parameters 0.015
    start : (p,) theta to start from; default the pseudolikelihood estimate
    """
    rule = Rule(skip=0, sweeps=1, restart=False, fast_gain=0.0, gain=lambda step: GAIN, averaged=True)
    return ascend(task, rule, particles=particles, steps=steps, tolerance=tolerance, start=start)
