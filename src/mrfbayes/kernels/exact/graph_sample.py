"""Exact independent samples: the variables in reverse order of elimination, each from its conditional."""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.random import uniform
from mrfbayes.kernels.exact.graph_plan import (
    CELLS,
    JOINT,
    SCOPE,
    SCOPE_STOP,
    SCOPE_STRIDE,
    SCOPE_VARIABLE,
    STATES,
    VARIABLE,
)

SAMPLE_BLOCK = 512  # samples in flight: a column of each variable stays in the cache


@kernel
def elimination_sample(plan, joint, random_state, x):
    """Fill ``x`` (n, d) uint8 with independent draws, given the conditionals left by `elimination_forward`."""
    n, n_nodes = x.shape
    column = np.empty((n_nodes, SAMPLE_BLOCK), dtype=np.uint8)
    cell = np.empty(SAMPLE_BLOCK, dtype=np.int64)
    for start in range(0, n, SAMPLE_BLOCK):
        size = min(SAMPLE_BLOCK, n - start)
        for step in range(n_nodes - 1, -1, -1):
            states, cells = plan.steps[step, STATES], plan.steps[step, CELLS]
            cell[:] = plan.steps[step, JOINT]
            for k in range(plan.steps[step, SCOPE], plan.steps[step, SCOPE_STOP]):
                given, stride = column[plan.scope[k, SCOPE_VARIABLE]], plan.scope[k, SCOPE_STRIDE]
                for i in range(size):
                    cell[i] += stride * given[i]
            drawn = column[plan.steps[step, VARIABLE]]
            for i in range(size):
                left = uniform(random_state)
                value = 0
                # The last state takes what rounding leaves over.
                while value < states - 1 and left >= joint[cell[i] + value * cells]:
                    left -= joint[cell[i] + value * cells]
                    value += 1
                drawn[i] = value
        for i in range(size):
            for v in range(n_nodes):
                x[start + i, v] = column[v, i]
