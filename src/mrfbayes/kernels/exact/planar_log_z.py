"""Log Z of a planar field inside a compiled chain: one upward pass, whatever the size of its merges."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.base.types import Workspace
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.planar_inside import PlanarBuffers, inside
from mrfbayes.kernels.exact.planar_merge import ORDER_ZERO
from mrfbayes.kernels.exact.planar_tree import PlanarTree

EPSILON = 2.0**-52


class PlanarPlan(NamedTuple):
    """A dissection and the room for a pass."""

    tree: PlanarTree
    buffers: PlanarBuffers
    sign: np.ndarray  # (m,) tau = sign * t
    fielded: np.ndarray  # nodes that are joined to the vertex of fields; their edges follow the field's own
    tau: Workspace  # (m,)
    n_free: int  # vertices whose state is not given
    most_error: float  # of log Z


@kernel
def log_z_error(n_vertices, weakest):
    """What rounding may have done to log Z, from the weakest pivot p of a pass.

    A pivot magnifies what was rounded before it by 1/p, and errors of matrices pass two such pivots at worst.
    """
    return EPSILON * (n_vertices / weakest + 1.0 / (weakest * weakest)) if weakest > 0.0 else math.inf


@kernel
def planar_log_z(plan, field, coupling):
    """Log of the sum of all weights; infinite, so that nobody goes there, where too many digits are lost."""
    m = coupling.size
    total = plan.n_free * math.log(2.0)
    for e in range(plan.tau.size):
        value = coupling[e] if e < m else field[plan.fielded[e - m]]
        plan.tau[e] = plan.sign[e] * math.tanh(0.5 * value)
        total += max(value, 0.0) + math.log(0.5 * (1.0 + math.exp(-abs(value))))
    series, weakest = inside(plan.tree, plan.buffers, plan.tau, ORDER_ZERO)
    n_vertices = (plan.tree.n_within.size + 1) // 2
    if not log_z_error(n_vertices, weakest) <= plan.most_error:
        return math.inf
    return total + series
