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
from mrfbayes.kernels.exact.graph import elimination_backward
from mrfbayes.kernels.exact.graph_logs import edge_cells
from mrfbayes.kernels.exact.graph_steps import fill, first_mean, join_message, multiply, scale, second_mean, subtract


@kernel
def elimination_taylor(plan, joint, directions, slope, results, scratch):
    """Marginals and their derivatives along each of k directions.

    Parameters
    ----------
    joint : conditionals left by `elimination_forward` at the potentials
    directions : (k, n) changes of the node tables, then of the edge tables
    slope : (order, plan.n_joint) work space; its first axis says how many derivatives are wanted, 1 or 2
    results : (k, order + 1, n) marginals, first derivative, second derivative; nodes, then edges
    scratch : `taylor_scratch` cells
    """
    for k in range(directions.shape[0]):
        _series_forward(plan, joint, directions[k], slope, scratch)
        elimination_backward(plan, joint, slope, results[k], scratch)
        if slope.shape[0] > 1:
            scale(results[k, 2], 0, results.shape[2], 2.0)  # from coefficient to derivative


@kernel
def _edge_sums(plan, step, is_high, size, direction, s, rows):
    """Sums of the step's edge directions at each low (or high) part of the scope, one row of ``size`` a state."""
    fill(s, rows, step.states * size, 0.0)
    for k in range(step.edge, step.edge_stop):
        edge = plan.edges[k]
        if edge.is_high != is_high:
            continue
        stride, others = edge.axis_stride, edge.other_states
        for x in range(step.states):
            cell, jump = edge_cells(plan.edge_offset, edge, x)
            for other in range(others):
                amount = direction[plan.node_offset[-1] + cell + other * jump]
                if amount != 0.0:
                    for block in range(other * stride, size, stride * others):
                        for i in range(rows + x * size + block, rows + x * size + block + stride):
                            s[i] += amount


@kernel
def _series_forward(plan, joint, direction, slope, s):
    """Leaves the first and second coefficients of every step's conditional in ``slope``."""
    order, lookup = slope.shape[0], plan.lookup
    low_rows = 2 * plan.n_message
    sums = low_rows + plan.n_row
    high_rows = sums + plan.n_row
    for step in plan.steps:
        states, n_low, n_high = step.states, step.n_low, step.n_high
        own = plan.node_offset[step.variable]
        _edge_sums(plan, step, 0, n_low, direction, s, low_rows)
        _edge_sums(plan, step, 1, n_high, direction, s, high_rows)
        for c in range(order):
            messages = c * plan.n_message  # first, then second coefficients
            fill(s, messages + step.message, step.cells, 0.0)
            if c:
                fill(s, low_rows, states * n_low, 0.0)
            for known in range(step.n_known):
                rows = low_rows
                for k in range(step.child, step.child_stop):
                    child = plan.children[k]
                    base = messages + plan.steps[child.step].message + lookup[child.high_index + known]
                    join_message(s, rows, sums, n_low, states, base, child, lookup, True)
                    rows = sums
                for high in range(known, n_high, step.n_known):
                    mean = messages + step.message + high * n_low
                    start = step.joint + high * n_low
                    for x in range(states):
                        row, at = rows + x * n_low, start + x * step.cells
                        if c == 0:
                            shift = direction[own + x] + s[high_rows + x * n_high + high]
                            first_mean(s, row, n_low, shift, joint, at, slope[0], mean)
                        else:
                            second_mean(s, row, n_low, joint, at, slope[0], slope[1], mean)
                    for x in range(states):
                        subtract(s, mean, n_low, slope[c], start + x * step.cells)
        for c in range(order):
            multiply(slope[c], joint, step.joint, states * step.cells)
