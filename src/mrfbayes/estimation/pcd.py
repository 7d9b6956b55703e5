"""Persistent contrastive divergence (Younes 1988; Tieleman 2008): particles are kept from step to step."""

from __future__ import annotations

from typing import Unpack

from mrfbayes.estimation.result import Outcome, Task
from mrfbayes.estimation.stochastic_ascent import GAIN, AscentOptions, Rule, ascend


def run(task: Task, **limits: Unpack[AscentOptions]) -> Outcome:
    """Persistent contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    limits : particles, steps, tolerance and start, as in `mrfbayes.estimation.stochastic_ascent.ascend`
    """
    rule = Rule(skip=0, sweeps=1, restart=False, fast_gain=0.0, gain=lambda step: GAIN, averaged=True)
    return ascend(task, rule, **limits)
