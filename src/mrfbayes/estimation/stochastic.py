"""Stochastic gradient on the whole likelihood (Younes 1988; the maximum likelihood algorithm of Zhu & Liu 2002).

Persistent particles, gains that fall as 1/t, and the last point as the answer: no average.
"""

from __future__ import annotations

from typing import Unpack

from mrfbayes.estimation.result import Outcome, Task
from mrfbayes.estimation.stochastic_ascent import GAIN, AscentOptions, Rule, ascend

NUMERATOR = 2.0  # above 1 / (2 x the smallest eigenvalue of the preconditioned information), or 1/t forgets too slowly


def run(task: Task, **limits: Unpack[AscentOptions]) -> Outcome:
    """Robbins-Monro ascent from the pseudolikelihood start.

    Parameters
    ----------
    limits : particles, steps, tolerance and start, as in `mrfbayes.estimation.stochastic_ascent.ascend`
    """
    rule = Rule(0, 1, restart=False, fast_gain=0.0, gain=_gain, averaged=False)
    return ascend(task, rule, **limits)


def _gain(step: int) -> float:
    return min(GAIN, NUMERATOR / (step + 1))
