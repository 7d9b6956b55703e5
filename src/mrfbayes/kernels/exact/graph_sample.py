"""Exact independent samples: the variables in reverse order of elimination, each from its conditional."""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import uniform

SAMPLE_BLOCK = 512  # samples in flight: a column of each variable stays in the cache


@kernel
def elimination_sample(plan, joint, random_state, x):
    """Fill ``x`` (n, d) uint8 with independent draws, given the conditionals left by `elimination_forward`."""
    n, n_nodes = x.shape
    column = np.empty((n_nodes, SAMPLE_BLOCK), dtype=np.uint8)
    cell = np.empty(SAMPLE_BLOCK, dtype=np.int64)
    for start in range(0, n, SAMPLE_BLOCK):
        size = min(SAMPLE_BLOCK, n - start)
        for at in range(n_nodes - 1, -1, -1):
            step = plan.steps[at]
            cell[:] = step.joint
            for k in range(step.scope, step.scope_stop):
                given, stride = column[plan.scope[k].variable], plan.scope[k].stride
                for i in range(size):
                    cell[i] += stride * given[i]
            drawn = column[step.variable]
            for i in range(size):
                left = uniform(random_state)
                value = 0
                # The last state takes what rounding leaves over.
                while value < step.states - 1 and left >= joint[cell[i] + value * step.cells]:
                    left -= joint[cell[i] + value * step.cells]
                    value += 1
                drawn[i] = value
        for i in range(size):
            for v in range(n_nodes):
                x[start + i, v] = column[v, i]
