"""Fast persistent contrastive divergence (Tieleman & Hinton 2009): particles move under w plus fast weights.

The fast weights learn from the same residual and decay by 5 % per step; they push particles out of states where they
have stayed too long. Their mean is zero where the residual's is, so the fixed point stays the maximum likelihood
estimate.
"""

from __future__ import annotations

from typing import Unpack

from mrfbayes.estimation.result import Outcome, Task
from mrfbayes.estimation.stochastic_ascent import GAIN, AscentOptions, Rule, ascend


def run(task: Task, *, fast_gain: float = 1.0, **limits: Unpack[AscentOptions]) -> Outcome:
    """Fast persistent contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    fast_gain : step of the fast weights relative to that of w
    limits : particles, steps, tolerance and start, as in `mrfbayes.estimation.stochastic_ascent.ascend`
    """
    rule = Rule(0, 1, restart=False, fast_gain=float(fast_gain), gain=lambda step: GAIN, averaged=True)
    return ascend(task, rule, **limits)
