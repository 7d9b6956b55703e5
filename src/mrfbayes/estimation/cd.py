"""Contrastive divergence, CD-k (Hinton 2002): every step starts at the data again and moves on by k sweeps.

Its fixed point is not the maximum likelihood estimate but tends to it as k grows; whether the difference can be seen is
what the check on fresh particles says.
"""

from __future__ import annotations

from typing import Unpack

from mrfbayes.estimation.result import Outcome, Task
from mrfbayes.estimation.stochastic_ascent import GAIN, AscentOptions, Rule, ascend


def run(task: Task, *, sweeps: int = 10, **limits: Unpack[AscentOptions]) -> Outcome:
    """Contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    sweeps : k, Gibbs sweeps from the data in each step
    limits : particles, steps, tolerance and start, as in `mrfbayes.estimation.stochastic_ascent.ascend`
    """
    rule = Rule(sweeps - 1, 1, restart=True, fast_gain=0.0, gain=lambda step: GAIN, averaged=True)
    return ascend(task, rule, **limits)
