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

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.graph_logs import forward_logs
from mrfbayes.kernels.exact.graph_plan import (
    ACCESS,
    AXIS_STRIDE,
    CELLS,
    CHILD,
    CHILD_STEP,
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
    N_KNOWN,
    N_LOW,
    OTHER,
    OTHER_STATES,
    SCOPE,
    SCOPE_STOP,
    SCOPE_VARIABLE,
    STATES,
    STRIDE,
    VARIABLE,
)
from mrfbayes.kernels.exact.graph_steps import (
    RELAXED,
    add_scaled,
    add_to_message,
    divide_into,
    fill,
    multiply_message,
    repeat,
    scale,
    scaled_copy,
    spread_mass,
    total,
)

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
def _scaled_weights(table, offset, s, start):
    """exp(table) from ``start`` on, the largest weight of each factor scaled to one; returns the log of all scales."""
    shift = 0.0
    for factor in range(offset.size - 1):
        top = table[offset[factor]]
        for i in range(offset[factor] + 1, offset[factor + 1]):
            top = max(top, table[i])
        for i in range(offset[factor], offset[factor + 1]):
            s[start + i] = math.exp(table[i] - top)
        shift += top
    return shift


@kernel
def edge_cells(edges, edge_offset, k, x):
    """Where in the edge tables x_v = x meets x_u = 0, and how far x_u = 1 is from there, for edge row ``k``."""
    start = edge_offset[edges[k, EDGE_ID]]
    others = edges[k, OTHER_STATES]
    if edges[k, IS_SECOND]:
        return start + x, (edge_offset[edges[k, EDGE_ID] + 1] - start) // others
    return start + x * others, 1


@kernel
def _edge_rows(plan, step, is_high, size, s, weights, rows):
    """Products of the step's edge factors at each low (or high) part of the scope, one row of ``size`` a state."""
    edges = plan.edges
    for x in range(plan.steps[step, STATES]):
        row = rows + x * size
        s[row] = 1.0
        filled = 1
        for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
            if edges[k, IS_HIGH] != is_high:
                continue
            stride, others = edges[k, AXIS_STRIDE], edges[k, OTHER_STATES]
            first, jump = edge_cells(edges, plan.edge_offset, k, x)
            repeat(s, row, filled, stride)
            for other in range(others - 1, -1, -1):
                scaled_copy(s, row, row + other * stride, stride, s[weights + first + other * jump])
            filled = stride * others
        repeat(s, row, filled, size)


@kernel
def _forward(plan, node_table, edge_table, joint, s):
    """``s`` holds messages, weights of nodes and edges, and rows per state: edge products (low, high), products."""
    steps, children, lookup = plan.steps, plan.children, plan.lookup
    node_weights = plan.n_message
    edge_weights = node_weights + plan.node_offset[-1]
    low_rows = edge_weights + plan.edge_offset[-1]
    rows = low_rows + plan.n_row
    high_rows = rows + plan.n_row
    log_z = _scaled_weights(node_table, plan.node_offset, s, node_weights)
    log_z += _scaled_weights(edge_table, plan.edge_offset, s, edge_weights)
    for step in range(steps.shape[0]):
        states, cells, sent = steps[step, STATES], steps[step, CELLS], steps[step, MESSAGE]
        n_low, n_high, n_known = steps[step, N_LOW], steps[step, N_HIGH], steps[step, N_KNOWN]
        own = node_weights + plan.node_offset[steps[step, VARIABLE]]
        _edge_rows(plan, step, 0, n_low, s, edge_weights, low_rows)
        _edge_rows(plan, step, 1, n_high, s, edge_weights, high_rows)
        for known in range(n_known):
            scaled_copy(s, low_rows, rows, states * n_low, 1.0)
            for k in range(steps[step, CHILD], steps[step, CHILD_STOP]):
                base = steps[children[k, CHILD_STEP], MESSAGE] + lookup[children[k, HIGH_INDEX] + known]
                stride, access, index = children[k, STRIDE], children[k, ACCESS], children[k, LOW_INDEX]
                multiply_message(s, rows, n_low, states, base, stride, access, lookup, index)
            for high in range(known, n_high, n_known):
                out = sent + high * n_low
                scaled_copy(s, rows, out, n_low, s[own] * s[high_rows + high])
                for x in range(1, states):
                    add_scaled(s, rows + x * n_low, out, n_low, s[own + x] * s[high_rows + x * n_high + high])
                if joint.size:
                    start = steps[step, JOINT] + high * n_low
                    for x in range(states):
                        factor = s[own + x] * s[high_rows + x * n_high + high]
                        divide_into(s, rows + x * n_low, out, n_low, factor, joint, start + x * cells)
        mean = total(s, sent, cells) / cells
        scale(s, sent, cells, 1.0 / mean)  # the largest cell is now between one and the number of cells
        log_z += math.log(mean)
    return log_z


@kernel
def elimination_backward(plan, joint, mean, s):
    """``mean``: marginals of nodes, then of edges, from the conditionals in ``joint``, last step first.

    The marginal of a step's scope arrives in the place of its message; times the conditional it is the marginal of
    scope and variable, which is summed into the scopes of the steps that sent messages.
    """
    steps, children, lookup = plan.steps, plan.children, plan.lookup
    low_rows = plan.n_message
    rows = low_rows + plan.n_row
    high_rows = rows + plan.n_row
    for step in range(steps.shape[0] - 1, -1, -1):
        states, cells, received = steps[step, STATES], steps[step, CELLS], steps[step, MESSAGE]
        n_low, n_high, n_known = steps[step, N_LOW], steps[step, N_HIGH], steps[step, N_KNOWN]
        if steps[step, SCOPE] == steps[step, SCOPE_STOP]:
            s[received] = 1.0
        for k in range(steps[step, CHILD], steps[step, CHILD_STOP]):
            fill(s, steps[children[k, CHILD_STEP], MESSAGE], steps[children[k, CHILD_STEP], CELLS], 0.0)
        fill(s, low_rows, states * n_low, 0.0)
        for known in range(n_known):
            fill(s, rows, states * n_low, 0.0)
            for high in range(known, n_high, n_known):
                for x in range(states):
                    start = steps[step, JOINT] + x * cells + high * n_low
                    whole = spread_mass(s, received + high * n_low, joint, start, rows + x * n_low, n_low)
                    s[high_rows + x * n_high + high] = whole
            add_scaled(s, rows, low_rows, states * n_low, 1.0)
            for k in range(steps[step, CHILD], steps[step, CHILD_STOP]):
                base = steps[children[k, CHILD_STEP], MESSAGE] + lookup[children[k, HIGH_INDEX] + known]
                stride, access, index = children[k, STRIDE], children[k, ACCESS], children[k, LOW_INDEX]
                add_to_message(s, rows, n_low, states, base, stride, access, lookup, index)
        read_marginals(plan, step, s, low_rows, high_rows, mean)


@kernel
def read_marginals(plan, step, s, low_rows, high_rows, mean):
    """Marginals of a step's variable and edges from its marginal summed to the low and to the high part."""
    edges, states = plan.edges, plan.steps[step, STATES]
    n_low, n_high = plan.steps[step, N_LOW], plan.steps[step, N_HIGH]
    start = plan.node_offset[plan.steps[step, VARIABLE]]
    for x in range(states):
        mean[start + x] = total(s, low_rows + x * n_low, n_low)
    for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
        size, rows = (n_high, high_rows) if edges[k, IS_HIGH] else (n_low, low_rows)
        stride, others = edges[k, AXIS_STRIDE], edges[k, OTHER_STATES]
        for x in range(states):
            cell, jump = edge_cells(edges, plan.edge_offset, k, x)
            for other in range(others):
                whole = 0.0
                for block in range(other * stride, size, stride * others):
                    whole += total(s, rows + x * size + block, stride)
                mean[plan.node_offset[-1] + cell + other * jump] = whole
