r"""Exact inference by variable elimination on any graph, any numbers of states: log Z, marginals.

Step by step along an `EliminationPlan`, with :math:`N` the scope of step v,

.. math:: m_v(x_N) = \sum_{x_v} \psi_v(x_v) \prod_{u \in N} \psi_{uv}(x_u, x_v) \prod_c m_c(x),

and the terms of that sum over their total are the conditional :math:`p(x_v \mid x_N)`. Those conditionals, all in one
array ``joint``, are what the backward pass, derivatives and samples are made of: they are probabilities, so nothing
after the forward pass can overflow, and what underflows there is a probability of zero.

Potentials are logs: ``node_table`` and ``edge_table``, flat. Factors are scaled to at most one, messages to a mean
cell of one, and the scales are summed as logs. How small a cell can be is bounded by the couplings that cross the
message's border; where it might be too small for a double the same steps run on logs (`elimination_logs`).
"""

from __future__ import annotations

import math

from mrfbayes.kernels.elimination_logs import forward_logs
from mrfbayes.kernels.elimination_plan import (
    ACCESS,
    AXIS_STRIDE,
    CELLS,
    CHILD,
    CHILD_STOP,
    EDGE,
    EDGE_ID,
    EDGE_STOP,
    HIGH_INDEX,
    IS_HIGH,
    IS_SECOND,
    JOINT,
    LOW_INDEX,
    MESSAGE,
    N_HIGH,
    N_LOW,
    OTHER,
    OTHER_STATES,
    SCOPE,
    SCOPE_STOP,
    SCOPE_VARIABLE,
    STATES,
    STEP,
    STRIDE,
    UNIT_STRIDE,
    VARIABLE,
    VARIABLE_FASTEST,
)
from mrfbayes.kernels.jit import kernel

RELAXED = {"nnan", "nsz", "contract", "reassoc"}  # inputs are checked to be finite; sums in any order
SAFE_RANGE = 550.0  # exp(-550) = 1e-239 leaves 68 decades above the smallest normal double


@kernel
def elimination_log_z(plan, node_table, edge_table, scratch):
    """Log Z of the potentials; ``scratch`` has `elimination_plan.log_z_scratch` cells."""
    return elimination_forward(plan, node_table, edge_table, scratch[:0], scratch)


@kernel
def elimination_moments(plan, node_table, edge_table, joint, mean, scratch):
    """Log Z, and ``mean`` = the marginals of all nodes and then all edges, in the layout of the tables.

    ``joint`` has ``plan.n_joint`` cells, ``scratch`` `elimination_plan.log_z_scratch`.
    """
    log_z = elimination_forward(plan, node_table, edge_table, joint, scratch)
    elimination_backward(plan, joint, mean, scratch)
    return log_z


@kernel
def elimination_forward(plan, node_table, edge_table, joint, scratch):
    """Log Z; leaves p(x_v | scope) of every step in ``joint`` unless that is empty."""
    if needs_logs(plan, node_table, edge_table, scratch):
        return forward_logs(plan, node_table, edge_table, joint, scratch)
    return _forward(plan, node_table, edge_table, joint, scratch)


@kernel
def needs_logs(plan, node_table, edge_table, scratch):
    """Whether a table's smallest cell might underflow.

    Changing x_u changes a message by at most the ranges of the edges from u into the part already eliminated. So the
    log range of all that step v multiplies is at most the sum of those over v and its scope, plus v's own factors.
    """
    n_nodes = plan.states.size
    reach, own = scratch[:n_nodes], scratch[n_nodes : 2 * n_nodes]
    for i in range(n_nodes):
        reach[i] = 0.0
        own[i] = _spread(node_table, plan.node_offset[i], plan.node_offset[i + 1])
    if not math.isfinite(node_table.sum() + edge_table.sum()):  # not a number stays one, a weight of zero stays zero
        return True
    widest = 0.0
    for step in range(n_nodes):
        v = plan.steps[step, VARIABLE]
        for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
            e = plan.edges[k, EDGE_ID]
            spread = _spread(edge_table, plan.edge_offset[e], plan.edge_offset[e + 1])
            reach[plan.edges[k, OTHER]] += spread
            own[v] += spread
    for i in range(n_nodes):
        widest = max(widest, reach[i] + own[i])
    if widest * (plan.width + 1) < SAFE_RANGE:
        return False
    for step in range(n_nodes):
        v = plan.steps[step, VARIABLE]
        bound = own[v] + reach[v]
        for k in range(plan.steps[step, SCOPE], plan.steps[step, SCOPE_STOP]):
            bound += reach[plan.scope[k, SCOPE_VARIABLE]]
        if bound > SAFE_RANGE:
            return True
    return False


@kernel
def _spread(table, start, stop):
    low = high = table[start]
    for i in range(start + 1, stop):
        low, high = min(low, table[i]), max(high, table[i])
    return high - low


@kernel(fastmath=RELAXED)
def _scaled_weights(table, offset, weight):
    """exp(table) with each factor's largest weight scaled to one; returns the sum of the logs of the scales."""
    total = 0.0
    for factor in range(offset.size - 1):
        top = table[offset[factor]]
        for i in range(offset[factor] + 1, offset[factor + 1]):
            top = max(top, table[i])
        for i in range(offset[factor], offset[factor + 1]):
            weight[i] = math.exp(table[i] - top)
        total += top
    return total


@kernel(fastmath=RELAXED)
def edge_rows(plan, step, edge_weight, is_high, size, rows):
    """rows[x_v * size + i]: product of the step's edge factors at part i of the scope, low or high part."""
    states = plan.steps[step, STATES]
    for x in range(states):
        row = rows[x * size : (x + 1) * size]
        row[0] = 1.0
        filled = 1
        for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
            if plan.edges[k, IS_HIGH] != is_high:
                continue
            stride, others = plan.edges[k, AXIS_STRIDE], plan.edges[k, OTHER_STATES]
            first, jump = edge_cells(plan, k, x)
            copy_up(row, filled, stride)
            for other in range(others - 1, -1, -1):
                weight = edge_weight[first + other * jump]
                for i in range(stride):
                    row[other * stride + i] = row[i] * weight
            filled = stride * others
        copy_up(row, filled, size)


@kernel
def edge_cells(plan, k, x):
    """Where in the edge tables x_v = x meets x_u = 0, and how far x_u = 1 is from there, for edge row ``k``."""
    edge = plan.edges[k, EDGE_ID]
    others = plan.edges[k, OTHER_STATES]
    start = plan.edge_offset[edge]
    if plan.edges[k, IS_SECOND]:
        return start + x, (plan.edge_offset[edge + 1] - start) // others
    return start + x * others, 1


@kernel
def copy_up(row, filled, size):
    """Repeat the first ``filled`` cells up to ``size``: axes without an edge."""
    for i in range(filled, size):
        row[i] = row[i - filled]


@kernel(fastmath=RELAXED)
def _forward(plan, node_table, edge_table, joint, scratch):
    n_node_cells, n_edge_cells = plan.node_offset[-1], plan.edge_offset[-1]
    message, rest = scratch[: plan.n_message], scratch[plan.n_message :]
    node_weight, rest = rest[:n_node_cells], rest[n_node_cells:]
    edge_weight, rest = rest[:n_edge_cells], rest[n_edge_cells:]
    low_rows, rest = rest[: plan.n_row], rest[plan.n_row :]
    products, rest = rest[: plan.n_row], rest[plan.n_row :]
    high_rows = rest[: plan.n_column]
    total = _scaled_weights(node_table, plan.node_offset, node_weight)
    total += _scaled_weights(edge_table, plan.edge_offset, edge_weight)
    keep = joint.size > 0
    for step in range(plan.states.size):
        states, cells = plan.steps[step, STATES], plan.steps[step, CELLS]
        n_low, n_high = plan.steps[step, N_LOW], plan.steps[step, N_HIGH]
        edge_rows(plan, step, edge_weight, 0, n_low, low_rows)
        edge_rows(plan, step, edge_weight, 1, n_high, high_rows)
        own = node_weight[plan.node_offset[plan.steps[step, VARIABLE]] :]
        sent = message[plan.steps[step, MESSAGE] : plan.steps[step, MESSAGE] + cells]
        for high in range(n_high):
            out = sent[high * n_low : (high + 1) * n_low]
            for x in range(states):
                row = low_rows[x * n_low : (x + 1) * n_low]
                product = products[x * n_low : (x + 1) * n_low]
                factor = own[x] * high_rows[x * n_high + high]
                for low in range(n_low):
                    product[low] = row[low] * factor
                for k in range(plan.steps[step, CHILD], plan.steps[step, CHILD_STOP]):
                    _multiply_child(plan, k, message[child_base(plan, k, high, x) :], product, states)
                if x == 0:
                    for low in range(n_low):
                        out[low] = product[low]
                else:
                    for low in range(n_low):
                        out[low] += product[low]
            if keep:
                start = plan.steps[step, JOINT] + high * n_low
                for x in range(states):
                    conditional = joint[start + x * cells : start + x * cells + n_low]
                    product = products[x * n_low : (x + 1) * n_low]
                    for low in range(n_low):
                        conditional[low] = product[low] / out[low]
        total += math.log(rescale(sent))
    return total


@kernel(fastmath=RELAXED)
def _multiply_child(plan, k, source, product, states):
    """Multiply by one row of the message of child row ``k``."""
    if plan.children[k, ACCESS] == UNIT_STRIDE:
        for low in range(product.size):
            product[low] *= source[low]
    elif plan.children[k, ACCESS] == VARIABLE_FASTEST:
        for low in range(product.size):
            product[low] *= source[low * states]
    else:
        index = plan.lookup[plan.children[k, LOW_INDEX] : plan.children[k, LOW_INDEX] + product.size]
        for low in range(product.size):
            product[low] *= source[index[low]]


@kernel
def child_base(plan, k, high, x):
    """Cell of the message of child row ``k`` at the high part ``high`` and x_v = x, the low part being zero."""
    start = plan.steps[plan.children[k, STEP], MESSAGE]
    return start + x * plan.children[k, STRIDE] + plan.lookup[plan.children[k, HIGH_INDEX] + high]


@kernel(fastmath=RELAXED)
def rescale(table):
    """Divide by the mean cell, which is returned: the largest is then between one and the number of cells."""
    total = 0.0
    for i in range(table.size):
        total += table[i]
    inverse = table.size / total
    for i in range(table.size):
        table[i] *= inverse
    return total / table.size


@kernel(fastmath=RELAXED)
def elimination_backward(plan, joint, mean, scratch):
    """``mean``: marginals of nodes, then of edges, from the conditionals in ``joint``, last step first.

    The marginal of a step's scope arrives in the place of its message; times the conditional it is the marginal of
    scope and variable, which is summed into the scopes of the steps that sent messages.
    """
    n_node_cells = plan.node_offset[-1]
    node_mean, edge_mean = mean[:n_node_cells], mean[n_node_cells:]
    belief, rest = scratch[: plan.n_message], scratch[plan.n_message :]
    low_rows, rest = rest[: plan.n_row], rest[plan.n_row :]
    products, rest = rest[: plan.n_row], rest[plan.n_row :]
    high_rows = rest[: plan.n_column]
    for step in range(plan.states.size - 1, -1, -1):
        states, cells = plan.steps[step, STATES], plan.steps[step, CELLS]
        n_low, n_high = plan.steps[step, N_LOW], plan.steps[step, N_HIGH]
        first, last = plan.steps[step, CHILD], plan.steps[step, CHILD_STOP]
        received = belief[plan.steps[step, MESSAGE] : plan.steps[step, MESSAGE] + cells]
        if plan.steps[step, SCOPE] == plan.steps[step, SCOPE_STOP]:
            received[0] = 1.0
        clear_children(plan, step, belief)
        low_rows[: states * n_low] = 0.0
        for high in range(n_high):
            mass = received[high * n_low : (high + 1) * n_low]
            start = plan.steps[step, JOINT] + high * n_low
            for x in range(states):
                conditional = joint[start + x * cells : start + x * cells + n_low]
                product = products[x * n_low : (x + 1) * n_low]
                row = low_rows[x * n_low : (x + 1) * n_low]
                whole = 0.0
                for low in range(n_low):
                    product[low] = mass[low] * conditional[low]
                    row[low] += product[low]
                    whole += product[low]
                high_rows[x * n_high + high] = whole
                for k in range(first, last):
                    add_to_child(plan, k, belief[child_base(plan, k, high, x) :], product, states)
        start = plan.node_offset[plan.steps[step, VARIABLE]]
        for x in range(states):
            node_mean[start + x] = high_rows[x * n_high : (x + 1) * n_high].sum()
        edge_marginals(plan, step, low_rows, high_rows, edge_mean)


@kernel
def clear_children(plan, step, belief):
    """Zero the places where the scopes of the children will be summed up."""
    for k in range(plan.steps[step, CHILD], plan.steps[step, CHILD_STOP]):
        child = plan.children[k, STEP]
        belief[plan.steps[child, MESSAGE] : plan.steps[child, MESSAGE] + plan.steps[child, CELLS]] = 0.0


@kernel(fastmath=RELAXED)
def add_to_child(plan, k, target, product, states):
    """Sum one row of a marginal into the scope of child row ``k``."""
    if plan.children[k, ACCESS] == UNIT_STRIDE:
        for low in range(product.size):
            target[low] += product[low]
    elif plan.children[k, ACCESS] == VARIABLE_FASTEST:
        for low in range(product.size):
            target[low * states] += product[low]
    else:
        index = plan.lookup[plan.children[k, LOW_INDEX] : plan.children[k, LOW_INDEX] + product.size]
        for low in range(product.size):
            target[index[low]] += product[low]


@kernel(fastmath=RELAXED)
def edge_marginals(plan, step, low_rows, high_rows, edge_mean):
    """Pairwise marginals of a step's edges from its marginal summed to the low and to the high part."""
    states = plan.steps[step, STATES]
    for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
        is_high = plan.edges[k, IS_HIGH]
        size = plan.steps[step, N_HIGH] if is_high else plan.steps[step, N_LOW]
        rows = high_rows if is_high else low_rows
        stride, others = plan.edges[k, AXIS_STRIDE], plan.edges[k, OTHER_STATES]
        for x in range(states):
            cell, jump = edge_cells(plan, k, x)
            for other in range(others):
                total = 0.0
                for block in range(x * size + other * stride, (x + 1) * size, stride * others):
                    for i in range(block, block + stride):
                        total += rows[i]
                edge_mean[cell + other * jump] = total
