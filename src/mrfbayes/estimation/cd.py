"""Contrastive divergence, CD-k (Hinton 2002): every step starts at the data again and moves on by k sweeps.

Its fixed point is not the maximum likelihood estimate but tends to it as k grows; whether the difference can be seen is
what the check on fresh particles says.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.estimation.result import Outcome, Task
from mrfbayes.estimation.stochastic_ascent import GAIN, Rule, ascend


def run(
    task: Task,
    *,
    sweeps: int = 10,
    particles: int | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    start: np.ndarray | None = None,
) -> Outcome:
    """Contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    sweeps : k, Gibbs sweeps from the data in each step
    particles : per half-run; default 2,048, on fields of more than 20,000 nodes 1,024
    steps : at most so many after the warm-up; default: until the tolerance is met or some minutes have passed
    tolerance : rms noise of the estimate, in posterior sds, at which to stop; default 0.0065, with more than 400
        parameters 0.015
    start : (p,) theta to start from; default the pseudolikelihood estimate
    """
    rule = Rule(whole("sweeps", sweeps) - 1, 1, restart=True, fast_gain=0.0, gain=lambda step: GAIN, averaged=True)
    return ascend(task, rule, particles=particles, steps=steps, tolerance=tolerance, start=start)
