r"""Marginals as truncated power series along a direction: covariances and third cumulants without a second field.

Along potentials + t * direction, the log messages have series :math:`\ell_0 + \ell_1 t + \ell_2 t^2`. With q the
conditional of a step, :math:`J_1, J_2` the summed series of all that meets there and :math:`\delta = J_1 - \ell_1`,

.. math:: \ell_1 = \sum_x q\,J_1, \qquad \ell_2 = \sum_x q\,(J_2 + \tfrac12 \delta^2),

and the conditional itself goes as :math:`q\,(1 + \delta\,t + (J_2 - \ell_2 + \tfrac12 \delta^2)\,t^2)`. Everything is
a sum of numbers of ordinary size: no scaling is needed. With T the cells' indicators and v the direction, the results
are E[T], its first derivative Cov[T, v.T] and its second derivative, the third cumulant of (T, v.T, v.T).
"""

from __future__ import annotations

from mrfbayes.kernels.elimination import (
    RELAXED,
    add_to_child,
    child_base,
    clear_children,
    edge_cells,
    edge_marginals,
)
from mrfbayes.kernels.elimination_plan import (
    ACCESS,
    AXIS_STRIDE,
    CELLS,
    CHILD,
    CHILD_STOP,
    EDGE,
    EDGE_STOP,
    IS_HIGH,
    JOINT,
    LOW_INDEX,
    MESSAGE,
    N_HIGH,
    N_LOW,
    OTHER_STATES,
    SCOPE,
    SCOPE_STOP,
    STATES,
    UNIT_STRIDE,
    VARIABLE,
    VARIABLE_FASTEST,
)
from mrfbayes.kernels.jit import kernel


@kernel
def elimination_taylor(plan, joint, direction, slope, result, scratch):
    """Marginals and their derivatives along ``direction``.

    Parameters
    ----------
    joint : conditionals left by `elimination_forward` at the potentials
    direction : (n,) change of the node tables, then of the edge tables
    slope : (order, plan.n_joint) work space; its first axis says how many derivatives are wanted, 1 or 2
    result : (order + 1, n) marginals, first derivative, second derivative; nodes, then edges
    scratch : `elimination_plan.taylor_scratch` cells
    """
    _series_forward(plan, joint, direction, slope, scratch)
    _series_backward(plan, joint, slope, result, scratch)


@kernel(fastmath=RELAXED)
def _edge_sums(plan, step, edge_direction, is_high, size, rows):
    """rows[x_v * size + i]: sum of the step's edge directions at part i of the scope."""
    for x in range(plan.steps[step, STATES]):
        row = rows[x * size : (x + 1) * size]
        row[:] = 0.0
        for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
            if plan.edges[k, IS_HIGH] != is_high:
                continue
            stride, others = plan.edges[k, AXIS_STRIDE], plan.edges[k, OTHER_STATES]
            cell, jump = edge_cells(plan, k, x)
            for other in range(others):
                amount = edge_direction[cell + other * jump]
                for block in range(other * stride, size, stride * others):
                    for i in range(block, block + stride):
                        row[i] += amount


@kernel(fastmath=RELAXED)
def _add_child(plan, k, source, total, states):
    """Add one row of the message of child row ``k``."""
    if plan.children[k, ACCESS] == UNIT_STRIDE:
        for low in range(total.size):
            total[low] += source[low]
    elif plan.children[k, ACCESS] == VARIABLE_FASTEST:
        for low in range(total.size):
            total[low] += source[low * states]
    else:
        index = plan.lookup[plan.children[k, LOW_INDEX] : plan.children[k, LOW_INDEX] + total.size]
        for low in range(total.size):
            total[low] += source[index[low]]


@kernel(fastmath=RELAXED)
def _series_forward(plan, joint, direction, slope, scratch):
    """Leaves delta and the second coefficient over q of every step's conditional in ``slope``."""
    n_node_cells = plan.node_offset[-1]
    second_order = slope.shape[0] > 1
    first_message, rest = scratch[: plan.n_message], scratch[plan.n_message :]
    second_message, rest = rest[: plan.n_message], rest[plan.n_message :]
    low_rows, rest = rest[: plan.n_row], rest[plan.n_row :]
    high_rows = rest[: plan.n_column]
    for step in range(plan.states.size):
        states, cells = plan.steps[step, STATES], plan.steps[step, CELLS]
        n_low, n_high = plan.steps[step, N_LOW], plan.steps[step, N_HIGH]
        _edge_sums(plan, step, direction[n_node_cells:], 0, n_low, low_rows)
        _edge_sums(plan, step, direction[n_node_cells:], 1, n_high, high_rows)
        own = direction[plan.node_offset[plan.steps[step, VARIABLE]] :]
        for high in range(n_high):
            here = plan.steps[step, MESSAGE] + high * n_low
            mean = first_message[here : here + n_low]
            mean[:] = 0.0
            for x in range(states):
                start = plan.steps[step, JOINT] + x * cells + high * n_low
                conditional, delta = joint[start : start + n_low], slope[0, start : start + n_low]
                row = low_rows[x * n_low : (x + 1) * n_low]
                constant = own[x] + high_rows[x * n_high + high]
                for low in range(n_low):
                    delta[low] = row[low] + constant
                for k in range(plan.steps[step, CHILD], plan.steps[step, CHILD_STOP]):
                    _add_child(plan, k, first_message[child_base(plan, k, high, x) :], delta, states)
                for low in range(n_low):
                    mean[low] += conditional[low] * delta[low]
            for x in range(states):
                start = plan.steps[step, JOINT] + x * cells + high * n_low
                delta = slope[0, start : start + n_low]
                for low in range(n_low):
                    delta[low] -= mean[low]
            if not second_order:
                continue
            mean = second_message[here : here + n_low]
            mean[:] = 0.0
            for x in range(states):
                start = plan.steps[step, JOINT] + x * cells + high * n_low
                conditional, delta = joint[start : start + n_low], slope[0, start : start + n_low]
                bend = slope[1, start : start + n_low]
                for low in range(n_low):
                    bend[low] = 0.5 * delta[low] * delta[low]
                for k in range(plan.steps[step, CHILD], plan.steps[step, CHILD_STOP]):
                    _add_child(plan, k, second_message[child_base(plan, k, high, x) :], bend, states)
                for low in range(n_low):
                    mean[low] += conditional[low] * bend[low]
            for x in range(states):
                start = plan.steps[step, JOINT] + x * cells + high * n_low
                bend = slope[1, start : start + n_low]
                for low in range(n_low):
                    bend[low] -= mean[low]


@kernel(fastmath=RELAXED)
def _series_backward(plan, joint, slope, result, scratch):
    """As `elimination_backward`, for every coefficient of the series; the scopes' marginals are series, too."""
    order = slope.shape[0]
    n_node_cells = plan.node_offset[-1]
    belief = scratch[: 3 * plan.n_message].reshape((3, plan.n_message))
    rest = scratch[3 * plan.n_message :]
    low_rows, rest = rest[: 3 * plan.n_row].reshape((3, plan.n_row)), rest[3 * plan.n_row :]
    products, rest = rest[: 3 * plan.n_row].reshape((3, plan.n_row)), rest[3 * plan.n_row :]
    high_rows = rest[: 3 * plan.n_column].reshape((3, plan.n_column))
    for step in range(plan.states.size - 1, -1, -1):
        states, cells = plan.steps[step, STATES], plan.steps[step, CELLS]
        n_low, n_high = plan.steps[step, N_LOW], plan.steps[step, N_HIGH]
        here = plan.steps[step, MESSAGE]
        for c in range(order + 1):
            if plan.steps[step, SCOPE] == plan.steps[step, SCOPE_STOP]:
                belief[c, here] = 1.0 if c == 0 else 0.0
            clear_children(plan, step, belief[c])
            low_rows[c, : states * n_low] = 0.0
        for high in range(n_high):
            for x in range(states):
                start = plan.steps[step, JOINT] + x * cells + high * n_low
                _series_product(
                    belief[:, here + high * n_low : here + (high + 1) * n_low],
                    joint[start : start + n_low],
                    slope[:, start : start + n_low],
                    products,
                )
                for c in range(order + 1):
                    product = products[c, :n_low]
                    row = low_rows[c, x * n_low : (x + 1) * n_low]
                    whole = 0.0
                    for low in range(n_low):
                        row[low] += product[low]
                        whole += product[low]
                    high_rows[c, x * n_high + high] = whole
                    for k in range(plan.steps[step, CHILD], plan.steps[step, CHILD_STOP]):
                        add_to_child(plan, k, belief[c, child_base(plan, k, high, x) :], product, states)
        start = plan.node_offset[plan.steps[step, VARIABLE]]
        for c in range(order + 1):
            for x in range(states):
                result[c, start + x] = high_rows[c, x * n_high : (x + 1) * n_high].sum()
            edge_marginals(plan, step, low_rows[c], high_rows[c], result[c, n_node_cells:])
    if order > 1:
        for i in range(result.shape[1]):
            result[2, i] *= 2.0  # from coefficient to derivative


@kernel(fastmath=RELAXED)
def _series_product(mass, conditional, slope, product):
    """Series of the scope's marginal times series of the conditional."""
    m0, m1, m2 = mass[0], mass[1], mass[2]
    delta = slope[0]
    p0, p1, p2 = product[0], product[1], product[2]
    for i in range(conditional.size):
        p0[i] = conditional[i] * m0[i]
        p1[i] = conditional[i] * (m1[i] + m0[i] * delta[i])
    if slope.shape[0] > 1:
        bend = slope[1]
        for i in range(conditional.size):
            p2[i] = conditional[i] * (m2[i] + m1[i] * delta[i] + m0[i] * bend[i])
