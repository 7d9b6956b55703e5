"""Steps of stochastic ascent on a binary field, bit-sliced, without leaving compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import apply_map, apply_transpose
from mrfbayes.kernels.particles.bitgibbs import FROM_THE_FIRST, BitCounts, expected_counts, set_thresholds, sweep_all

FAST_DECAY = 0.95  # of the fast weights, Tieleman & Hinton (2009)


class AscentView(NamedTuple):
    """What stays the same from step to step.

    ``target`` is the observed mean of s plus the prior's gradient per observation at ``origin``; from there it changes
    by ``slope`` (negative or 0) along each coordinate over the few steps of one call. The move is
    ``inverse @ residual`` where inverse is (p, p), else ``scale * residual``.
    """

    row: np.ndarray  # the map M of `mrfbayes.model.lowering`, as triplets
    column: np.ndarray
    value: np.ndarray
    constant: np.ndarray
    target: np.ndarray
    origin: np.ndarray
    slope: np.ndarray
    inverse: np.ndarray
    scale: np.ndarray


class AscentState(NamedTuple):
    """What changes: ``w``, the fast weights, and the sums over steps of w and of the particles' mean statistics."""

    w: np.ndarray
    fast: np.ndarray
    total: np.ndarray
    statistics: np.ndarray


class AscentPlan(NamedTuple):
    """What to do: one step per entry of ``gains``, each after ``skip`` sweeps unseen and ``sweeps`` that are counted.

    Without gains there are only the ``skip`` sweeps.
    """

    skip: int
    gains: np.ndarray
    sweeps: int
    fast_gain: float
    limit: float  # of |w|


@kernel
def move(ascent, state, statistics, gain, plan):
    """One step of w (and of the fast weights) along target + slope * (w - origin) - statistics.

    Arrays are taken out of their views before the loops, which then vectorise: that is ten times as fast.
    """
    target, slope, origin, scale, inverse = ascent.target, ascent.slope, ascent.origin, ascent.scale, ascent.inverse
    w, fast, total, seen = state.w, state.fast, state.total, state.statistics
    p, limit = w.size, plan.limit
    step = np.empty(p)
    for j in range(p):
        step[j] = target[j] + slope[j] * (w[j] - origin[j]) - statistics[j]
    if inverse.size > 0:
        residual = step.copy()
        step[:] = 0.0
        for k in range(p):  # the matrix is symmetric: whole rows at a time
            for j in range(p):
                step[j] += inverse[k, j] * residual[k]
    else:
        for j in range(p):
            step[j] *= scale[j]
    for j in range(p):
        w[j] = min(max(w[j] + gain * step[j], -limit), limit)
        total[j] += w[j]
        seen[j] += statistics[j]
    if plan.fast_gain > 0.0:
        for j in range(p):
            fast[j] = FAST_DECAY * fast[j] + plan.fast_gain * gain * step[j]


@kernel
def bit_ascent(ascent, state, plan, view, words, restart, random_state, counts):
    """Sweep the particles at w (plus fast weights), then `move`, as ``plan`` says.

    ``restart`` holds the words to go back to before each step, or is (0, 0) where particles persist. One kernel serves
    plain sweeps (no gains), measurements (a gain of zero) and ascent: the sweep takes long to compile.
    """
    n_nodes = view.field.size
    flat = np.empty(n_nodes + view.coupling.size)
    ones, agreements = flat[:n_nodes], flat[n_nodes:]
    statistics = np.empty(state.w.size)
    none = BitCounts(np.empty(0, np.int64), FROM_THE_FIRST)
    for step in range(max(1, plan.gains.size)):
        if restart.size > 0:
            words[:] = restart
        apply_map(ascent, state.w + state.fast if plan.fast_gain > 0.0 else state.w, flat)
        view.field[:] = ones
        view.coupling[:] = agreements
        set_thresholds(view)
        if plan.skip > 0:
            sweep_all(view, words, plan.skip, random_state, none)
        if plan.gains.size == 0:
            break
        counts.patterns[:] = 0
        sweep_all(view, words, plan.sweeps, random_state, counts)
        expected_counts(view, counts, agreements, ones)
        flat /= counts.n_particles * plan.sweeps
        statistics[:] = ascent.constant
        apply_transpose(ascent, flat, statistics)
        move(ascent, state, statistics, plan.gains[step], plan)
