r"""Exact inference by variable elimination on any graph, any numbers of states: log Z, marginals.

Step by step along an `EliminationPlan`, with :math:`N` the scope of step v,

.. math:: m_v(x_N) = \sum_{x_v} \psi_v(x_v) \prod_{u \in N} \psi_{uv}(x_u, x_v) \prod_c m_c(x),

and the terms of that sum over their total are the conditional :math:`p(x_v \mid x_N)`. Those conditionals, all in one
array ``joint``, are what the backward pass, derivatives and samples are made of: they are probabilities, so nothing
after the forward pass can overflow, and what underflows there is a probability of zero.

Potentials are logs: ``node_table`` and ``edge_table``, flat. Factors are scaled to at most one, messages to a mean
cell of one, and the scales are summed as logs. How small a cell can be is bounded by the couplings that cross the
message's border; where it might be too small for a double the same steps run on logs (`forward_logs`).

**Series.** Along potentials + t * direction, log messages have series :math:`\ell_0 + \ell_1 t + \ell_2 t^2`. With q
the conditional of a step, :math:`J_1, J_2` the summed series of all that meets there and :math:`\delta = J_1 - \ell_1`,

.. math:: \ell_1 = \sum_x q\,J_1, \qquad \ell_2 = \sum_x q\,(J_2 + \tfrac12 \delta^2),

and the conditional itself goes as :math:`q\,(1 + \delta\,t + (J_2 - \ell_2 + \tfrac12 \delta^2)\,t^2)`. Everything is
a sum of numbers of ordinary size: no scaling is needed. With T the cells' indicators and v the direction, the results
are E[T], its first derivative Cov[T, v.T] and its second derivative, the third cumulant of (T, v.T, v.T).
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.random import uniform
from mrfbayes.kernels.exact.graph_logs import edge_cells, forward_logs
from mrfbayes.kernels.exact.graph_steps import (
    RELAXED,
    add_scaled,
    add_to_message,
    divide_into,
    fill,
    first_mean,
    join_message,
    multiply,
    repeat,
    scale,
    scaled_copy,
    second_mean,
    spread_mass,
    subtract,
    total,
)

SAFE_RANGE = 550.0  # exp(-550) = 1e-239 leaves 68 decades above the smallest normal double


@kernel
def elimination_log_z(plan, node_table, edge_table, scratch):
    """Log Z of the potentials; ``scratch`` has `log_z_scratch` cells."""
    return elimination_forward(plan, node_table, edge_table, scratch[:0], scratch)


@kernel
def elimination_moments(plan, node_table, edge_table, joint, mean, scratch):
    """Log Z, and ``mean`` = the marginals of all nodes and then all edges, in the layout of the tables.

    ``joint`` has ``plan.n_joint`` cells, ``scratch`` `log_z_scratch`.
    """
    log_z = elimination_forward(plan, node_table, edge_table, joint, scratch)
    elimination_backward(plan, joint, np.empty((0, 0)), mean.reshape((1, mean.size)), scratch)
    return log_z


@kernel
def elimination_forward(plan, node_table, edge_table, joint, scratch):
    """Log Z; leaves p(x_v | scope) of every step in ``joint`` unless that is empty."""
    if needs_logs(plan, node_table, edge_table, scratch):
        return forward_logs(plan, node_table, edge_table, joint, scratch, False)
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
        own[i] = _potential_range(node_table, plan.node_offset[i], plan.node_offset[i + 1])
    if not math.isfinite(node_table.sum() + edge_table.sum()):  # not a number stays one, a weight of zero stays zero
        return True
    for edge in plan.edges:
        potential_range = _potential_range(edge_table, plan.edge_offset[edge.edge], plan.edge_offset[edge.edge + 1])
        reach[edge.other] += potential_range
        own[edge.owner] += potential_range
    return is_past_safe_range(plan, reach, own)


@kernel
def is_past_safe_range(plan, reach, own):
    """`needs_logs` from the ranges (d,) of the edges into the part eliminated before, and of a node's own factors."""
    whole = widest = 0.0
    for i in range(own.size):
        whole += own[i]
        widest = max(widest, reach[i] + own[i])
    if not math.isfinite(whole):
        return True
    if widest * (plan.width + 1) < SAFE_RANGE:
        return False
    for step in plan.steps:
        bound = own[step.variable] + reach[step.variable]
        for k in range(step.scope, step.scope_stop):
            bound += reach[plan.scope[k].variable]
        if bound > SAFE_RANGE:
            return True
    return False


@kernel
def _potential_range(table, start, stop):
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
def _edge_rows(plan, step, is_high, size, s, weights, rows):
    """Products of the step's edge factors at each low (or high) part of the scope, one row of ``size`` a state."""
    for x in range(step.states):
        row = rows + x * size
        s[row] = 1.0
        filled = 1
        for k in range(step.edge, step.edge_stop):
            edge = plan.edges[k]
            if edge.is_high != is_high:
                continue
            stride, others = edge.axis_stride, edge.other_states
            first, jump = edge_cells(plan.edge_offset, edge, x)
            repeat(s, row, filled, stride)
            for other in range(others - 1, -1, -1):
                scaled_copy(s, row, row + other * stride, stride, s[weights + first + other * jump])
            filled = stride * others
        repeat(s, row, filled, size)


@kernel
def _forward(plan, node_table, edge_table, joint, s):
    """``s`` holds messages, weights of nodes and edges, and rows per state: edge products (low, high), products."""
    plan = without_refcount(plan)
    lookup = plan.lookup
    node_weights = plan.n_message
    edge_weights = node_weights + plan.node_offset[-1]
    low_rows = edge_weights + plan.edge_offset[-1]
    products = low_rows + plan.n_row
    high_rows = products + plan.n_row
    log_z = _scaled_weights(node_table, plan.node_offset, s, node_weights)
    log_z += _scaled_weights(edge_table, plan.edge_offset, s, edge_weights)
    for step in plan.steps:
        states, n_low, n_high = step.states, step.n_low, step.n_high
        own = node_weights + plan.node_offset[step.variable]
        _edge_rows(plan, step, 0, n_low, s, edge_weights, low_rows)
        _edge_rows(plan, step, 1, n_high, s, edge_weights, high_rows)
        for known in range(step.n_known):
            rows = low_rows
            for k in range(step.child, step.child_stop):
                child = plan.children[k]
                base = plan.steps[child.step].message + lookup[child.high_index + known]
                join_message(s, rows, products, n_low, states, base, child, lookup, False)
                rows = products
            for high in range(known, n_high, step.n_known):
                out = step.message + high * n_low
                scaled_copy(s, rows, out, n_low, s[own] * s[high_rows + high])
                for x in range(1, states):
                    add_scaled(s, rows + x * n_low, out, n_low, s[own + x] * s[high_rows + x * n_high + high])
                if joint.size:
                    for x in range(states):
                        factor = s[own + x] * s[high_rows + x * n_high + high]
                        start = step.joint + x * step.cells + high * n_low
                        divide_into(s, rows + x * n_low, out, n_low, factor, joint, start)
        mean = total(s, step.message, step.cells) / step.cells
        scale(s, step.message, step.cells, 1.0 / mean)  # the largest cell is now between one and the number of cells
        log_z += math.log(mean)
    return log_z


@kernel
def elimination_backward(plan, joint, slope, result, s):
    """``result``[c]: coefficient c of the marginals of nodes, then of edges, from conditionals, last step first.

    The conditionals are power series along a direction: ``joint``, and the coefficients ``slope`` (order, n_joint)
    behind it. The marginal of a step's scope arrives in the place of its message; times the conditional it is the
    marginal of scope and variable, which is summed into the scopes of the steps that sent messages.
    """
    plan = without_refcount(plan)
    lookup, order = plan.lookup, slope.shape[0]
    low_rows = (order + 1) * plan.n_message
    rows = low_rows + plan.n_row
    high_rows = rows + plan.n_row
    for at in range(plan.steps.size - 1, -1, -1):
        step = plan.steps[at]
        states, n_low = step.states, step.n_low
        for c in range(order + 1):
            messages = c * plan.n_message
            if step.scope == step.scope_stop:
                s[messages + step.message] = 1.0 if c == 0 else 0.0
            for k in range(step.child, step.child_stop):
                sender = plan.steps[plan.children[k].step]
                fill(s, messages + sender.message, sender.cells, 0.0)
            fill(s, low_rows, states * n_low, 0.0)
            for known in range(step.n_known):
                fill(s, rows, states * n_low, 0.0)
                for high in range(known, step.n_high, step.n_known):
                    received = messages + step.message + high * n_low
                    for x in range(states):
                        start, row = step.joint + x * step.cells + high * n_low, rows + x * n_low
                        whole = spread_mass(s, received, joint, start, row, n_low)
                        for i in range(c):
                            lower = received - (i + 1) * plan.n_message
                            whole += spread_mass(s, lower, slope[i], start, row, n_low)
                        s[high_rows + x * step.n_high + high] = whole
                add_scaled(s, rows, low_rows, states * n_low, 1.0)
                for k in range(step.child, step.child_stop):
                    child = plan.children[k]
                    base = messages + plan.steps[child.step].message + lookup[child.high_index + known]
                    add_to_message(s, rows, n_low, states, base, child, lookup)
            _read_marginals(plan, step, s, low_rows, high_rows, result[c])


@kernel
def _read_marginals(plan, step, s, low_rows, high_rows, mean):
    """Marginals of a step's variable and edges from its marginal summed to the low and to the high part."""
    start = plan.node_offset[step.variable]
    for x in range(step.states):
        mean[start + x] = total(s, low_rows + x * step.n_low, step.n_low)
    for k in range(step.edge, step.edge_stop):
        edge = plan.edges[k]
        size, rows = (step.n_high, high_rows) if edge.is_high else (step.n_low, low_rows)
        stride, others = edge.axis_stride, edge.other_states
        for x in range(step.states):
            cell, jump = edge_cells(plan.edge_offset, edge, x)
            for other in range(others):
                whole = 0.0
                for block in range(other * stride, size, stride * others):
                    whole += total(s, rows + x * size + block, stride)
                mean[plan.node_offset[-1] + cell + other * jump] = whole


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
