r"""Marginals as truncated power series along a direction: covariances and third cumulants without a second field.

Along potentials + t * direction, the log messages have series :math:`\ell_0 + \ell_1 t + \ell_2 t^2`. With q the
conditional of a step, :math:`J_1, J_2` the summed series of all that meets there and :math:`\delta = J_1 - \ell_1`,

.. math:: \ell_1 = \sum_x q\,J_1, \qquad \ell_2 = \sum_x q\,(J_2 + \tfrac12 \delta^2),

and the conditional itself goes as :math:`q\,(1 + \delta\,t + (J_2 - \ell_2 + \tfrac12 \delta^2)\,t^2)`. Everything is
a sum of numbers of ordinary size: no scaling is needed. With T the cells' indicators and v the direction, the results
are E[T], its first derivative Cov[T, v.T] and its second derivative, the third cumulant of (T, v.T, v.T).
"""

from __future__ import annotations

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.graph import edge_cells, read_marginals
from mrfbayes.kernels.exact.graph_plan import (
    ACCESS,
    AXIS_STRIDE,
    CELLS,
    CHILD,
    CHILD_STEP,
    CHILD_STOP,
    EDGE,
    EDGE_STOP,
    HIGH_INDEX,
    IS_HIGH,
    JOINT,
    LOW_INDEX,
    MESSAGE,
    N_HIGH,
    N_KNOWN,
    N_LOW,
    OTHER_STATES,
    SCOPE,
    SCOPE_STOP,
    STATES,
    STRIDE,
    VARIABLE,
)
from mrfbayes.kernels.exact.graph_steps import (
    add_message,
    add_scaled,
    add_to_message,
    fill,
    first_mean,
    scale,
    scaled_copy,
    second_mean,
    spread_first,
    spread_mass,
    spread_second,
    subtract,
)


@kernel
def elimination_taylor(plan, joint, directions, slope, results, scratch):
    """Marginals and their derivatives along each of k directions.

    Parameters
    ----------
    joint : conditionals left by `elimination_forward` at the potentials
    directions : (k, n) changes of the node tables, then of the edge tables
    slope : (order, plan.n_joint) work space; its first axis says how many derivatives are wanted, 1 or 2
    results : (k, order + 1, n) marginals, first derivative, second derivative; nodes, then edges
    scratch : `elimination_plan.taylor_scratch` cells
    """
    for k in range(directions.shape[0]):
        _series_forward(plan, joint, directions[k], slope, scratch)
        _series_backward(plan, joint, slope, results[k], scratch)


@kernel
def _edge_sums(plan, step, is_high, size, direction, s, rows):
    """Sums of the step's edge directions at each low (or high) part of the scope, one row of ``size`` a state."""
    edges = plan.edges
    fill(s, rows, plan.steps[step, STATES] * size, 0.0)
    for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
        if edges[k, IS_HIGH] != is_high:
            continue
        stride, others = edges[k, AXIS_STRIDE], edges[k, OTHER_STATES]
        for x in range(plan.steps[step, STATES]):
            cell, jump = edge_cells(edges, plan.edge_offset, k, x)
            for other in range(others):
                amount = direction[plan.node_offset[-1] + cell + other * jump]
                if amount != 0.0:
                    for block in range(other * stride, size, stride * others):
                        for i in range(rows + x * size + block, rows + x * size + block + stride):
                            s[i] += amount


@kernel
def _series_forward(plan, joint, direction, slope, s):
    """Leaves delta and the second coefficient over q of every step's conditional in ``slope``."""
    steps, children, lookup = plan.steps, plan.children, plan.lookup
    low_rows = 2 * plan.n_message
    rows = low_rows + plan.n_row
    high_rows = rows + plan.n_row
    for step in range(steps.shape[0]):
        states, cells = steps[step, STATES], steps[step, CELLS]
        n_low, n_high, n_known = steps[step, N_LOW], steps[step, N_HIGH], steps[step, N_KNOWN]
        own = plan.node_offset[steps[step, VARIABLE]]
        _edge_sums(plan, step, 0, n_low, direction, s, low_rows)
        _edge_sums(plan, step, 1, n_high, direction, s, high_rows)
        for c in range(slope.shape[0]):
            messages = c * plan.n_message  # first, then second coefficients
            fill(s, messages + steps[step, MESSAGE], cells, 0.0)
            for known in range(n_known):
                if c == 0:
                    scaled_copy(s, low_rows, rows, states * n_low, 1.0)
                else:
                    fill(s, rows, states * n_low, 0.0)
                for k in range(steps[step, CHILD], steps[step, CHILD_STOP]):
                    base = steps[children[k, CHILD_STEP], MESSAGE] + lookup[children[k, HIGH_INDEX] + known]
                    stride, access, index = children[k, STRIDE], children[k, ACCESS], children[k, LOW_INDEX]
                    add_message(s, rows, n_low, states, messages + base, stride, access, lookup, index)
                for high in range(known, n_high, n_known):
                    mean = messages + steps[step, MESSAGE] + high * n_low
                    start = steps[step, JOINT] + high * n_low
                    for x in range(states):
                        row, at = rows + x * n_low, start + x * cells
                        if c == 0:
                            shift = direction[own + x] + s[high_rows + x * n_high + high]
                            first_mean(s, row, n_low, shift, joint, at, slope[0], mean)
                        else:
                            second_mean(s, row, n_low, joint, at, slope[0], slope[1], mean)
                    for x in range(states):
                        subtract(s, mean, n_low, slope[c], start + x * cells)


@kernel
def _series_backward(plan, joint, slope, result, s):
    """As `elimination_backward`, for every coefficient of the series; the scopes' marginals are series, too."""
    steps, children, lookup = plan.steps, plan.children, plan.lookup
    order, n_message = slope.shape[0], plan.n_message
    low_rows = 3 * n_message
    rows = low_rows + plan.n_row
    high_rows = rows + plan.n_row
    for step in range(steps.shape[0] - 1, -1, -1):
        states, cells = steps[step, STATES], steps[step, CELLS]
        n_low, n_high, n_known = steps[step, N_LOW], steps[step, N_HIGH], steps[step, N_KNOWN]
        received = steps[step, MESSAGE]
        for c in range(order + 1):
            messages = c * n_message
            if steps[step, SCOPE] == steps[step, SCOPE_STOP]:
                s[messages + received] = 1.0 if c == 0 else 0.0
            for k in range(steps[step, CHILD], steps[step, CHILD_STOP]):
                fill(s, messages + steps[children[k, CHILD_STEP], MESSAGE], steps[children[k, CHILD_STEP], CELLS], 0.0)
            fill(s, low_rows, states * n_low, 0.0)
            for known in range(n_known):
                fill(s, rows, states * n_low, 0.0)
                for high in range(known, n_high, n_known):
                    here = received + high * n_low
                    for x in range(states):
                        at, row = steps[step, JOINT] + x * cells + high * n_low, rows + x * n_low
                        if c == 0:
                            whole = spread_mass(s, here, joint, at, row, n_low)
                        elif c == 1:
                            whole = spread_first(s, here, n_message + here, joint, slope[0], at, row, n_low)
                        else:
                            whole = spread_second(
                                s,
                                here,
                                n_message + here,
                                2 * n_message + here,
                                joint,
                                slope[0],
                                slope[1],
                                at,
                                row,
                                n_low,
                            )
                        s[high_rows + x * n_high + high] = whole
                add_scaled(s, rows, low_rows, states * n_low, 1.0)
                for k in range(steps[step, CHILD], steps[step, CHILD_STOP]):
                    base = steps[children[k, CHILD_STEP], MESSAGE] + lookup[children[k, HIGH_INDEX] + known]
                    stride, access, index = children[k, STRIDE], children[k, ACCESS], children[k, LOW_INDEX]
                    add_to_message(s, rows, n_low, states, messages + base, stride, access, lookup, index)
            read_marginals(plan, step, s, low_rows, high_rows, result[c])
    if order > 1:
        scale(result[2], 0, result.shape[1], 2.0)  # from coefficient to derivative
