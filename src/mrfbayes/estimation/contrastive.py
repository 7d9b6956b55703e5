"""Contrastive divergence and its relatives: rules by which stochastic ascent moves particles and parameters.

- "cd" (Hinton 2002): every step starts at the data again and moves on by k sweeps. Its fixed point is not the maximum
  likelihood estimate but tends to it as k grows; whether the difference can be seen the check on fresh particles says.
- "pcd" (Younes 1988; Tieleman 2008): particles are kept from step to step.
- "fpcd" (Tieleman & Hinton 2009): particles move under w plus fast weights, which learn from the same residual and
  decay by 5 % per step; their mean is zero where the residual's is, so the fixed point stays the estimate.
- "stochastic" (Younes 1988; the maximum likelihood algorithm of Zhu & Liu 2002): persistent particles, gains that fall
  as 1/t, and the last point as the answer.
"""

from __future__ import annotations

from typing import Unpack

from mrfbayes.estimation.result import Outcome, Task
from mrfbayes.estimation.stochastic_ascent import GAIN, AscentOptions, Rule, ascend

NUMERATOR = 2.0  # above 1 / (2 x the smallest eigenvalue of the preconditioned information), or 1/t forgets too slowly


def cd(task: Task, *, sweeps: int = 10, **limits: Unpack[AscentOptions]) -> Outcome:
    """Contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    sweeps : k, Gibbs sweeps from the data in each step
    limits : particles, steps, tolerance and start, as in `mrfbayes.estimation.stochastic_ascent.ascend`
    """
    return ascend(task, Rule(skip=sweeps - 1, restart=True), **limits)


def pcd(task: Task, **limits: Unpack[AscentOptions]) -> Outcome:
    """Persistent contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    limits : particles, steps, tolerance and start, as in `mrfbayes.estimation.stochastic_ascent.ascend`
    """
    return ascend(task, Rule(), **limits)


def fpcd(task: Task, *, fast_gain: float = 1.0, **limits: Unpack[AscentOptions]) -> Outcome:
    """Fast persistent contrastive divergence from the pseudolikelihood start.

    Parameters
    ----------
    fast_gain : step of the fast weights relative to that of w
    limits : particles, steps, tolerance and start, as in `mrfbayes.estimation.stochastic_ascent.ascend`
    """
    return ascend(task, Rule(fast_gain=float(fast_gain)), **limits)


def stochastic(task: Task, **limits: Unpack[AscentOptions]) -> Outcome:
    """Robbins-Monro ascent from the pseudolikelihood start.

    Parameters
    ----------
    limits : particles, steps, tolerance and start, as in `mrfbayes.estimation.stochastic_ascent.ascend`
    """
    rule = Rule(gain=lambda step: min(GAIN, NUMERATOR / (step + 1)), averaged=False)
    return ascend(task, rule, **limits)
