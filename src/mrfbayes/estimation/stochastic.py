"""Stochastic gradient on the whole likelihood (Younes 1988; the maximum likelihood algorithm of Zhu & Liu 2002).

Persistent particles, gains that fall as 1/t, and the last point as the answer: no average.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.estimation.result import Outcome, Task
from mrfbayes.estimation.stochastic_ascent import GAIN, Rule, ascend

NUMERATOR = 2.0  # above 1 / (2 x the smallest eigenvalue of the preconditioned information), or 1/t forgets too slowly


def run(
    task: Task,
    *,
    particles: int | None = None,
    steps: int | None = None,
    tolerance: float | None = None,
    start: np.ndarray | None = None,
) -> Outcome:
    """Robbins-Monro ascent from the pseudolikelihood start.

    Parameters
    ----------
    particles : per half-run; default 2,048, on fields of more than 20,000 nodes 1,024
    steps : at most so many after the warm-up; default: until the tolerance is met or some minutes have passed
    tolerance : rms noise of the estimate, in posterior sds, at which to stop; default 0.0065, with more than 400
        parameters 0.015
    start : (p,) theta to start from; default the pseudolikelihood estimate
    """
    rule = Rule(0, 1, restart=False, fast_gain=0.0, gain=_gain, averaged=False)
    return ascend(task, rule, particles=particles, steps=steps, tolerance=tolerance, start=start)


def _gain(step: int) -> float:
    return min(GAIN, NUMERATOR / (step + 1))
