"""Exact log Z of a binary field on any graph: elimination for the inner loop of a Markov chain.

Log weight of x: sum_i field_i x_i + sum_e coupling_e [x_u = x_v]. The same steps as in `elimination`, with both states
of the eliminated variable in one go and one exponential per factor.
"""

from __future__ import annotations

import math

from mrfbayes.kernels.elimination import RELAXED, SAFE_RANGE, copy_up, rescale
from mrfbayes.kernels.elimination_logs import forward_logs
from mrfbayes.kernels.elimination_plan import (
    ALIGNED,
    AXIS_STRIDE,
    CELLS,
    CHILD,
    CHILD_STOP,
    EDGE,
    EDGE_ID,
    EDGE_STOP,
    HIGH_INDEX,
    IS_HIGH,
    LOW_INDEX,
    MESSAGE,
    N_HIGH,
    N_LOW,
    OTHER,
    OWNER,
    SCOPE,
    SCOPE_STOP,
    SCOPE_VARIABLE,
    STEP,
    STRIDE,
    VARIABLE,
)
from mrfbayes.kernels.jit import kernel


@kernel
def elimination_log_z_binary(plan, field, coupling, scratch):
    """Log Z of a binary field; ``scratch`` has `elimination_plan.log_z_scratch` cells."""
    if _needs_logs(plan, field, coupling, scratch):
        n_node_cells = 2 * field.size
        n_cells = n_node_cells + 4 * coupling.size
        table, rest = scratch[:n_cells], scratch[n_cells:]
        binary_tables(field, coupling, table)
        return forward_logs(plan, table[:n_node_cells], table[n_node_cells:], rest[:0], rest)
    return _forward(plan, field, coupling, scratch)


@kernel
def binary_tables(field, coupling, table):
    """The field as ``table``: node tables (0, field_i), then edge tables (c, 0, 0, c)."""
    for i in range(field.size):
        table[2 * i] = 0.0
        table[2 * i + 1] = field[i]
    start = 2 * field.size
    for e in range(coupling.size):
        table[start + 4 * e] = table[start + 4 * e + 3] = coupling[e]
        table[start + 4 * e + 1] = table[start + 4 * e + 2] = 0.0


@kernel
def binary_means(mean, node_mean, agreement):
    """E[x_i] and P(x_u = x_v) from marginals in the layout of the tables; derivatives of them likewise."""
    for i in range(node_mean.size):
        node_mean[i] = mean[2 * i + 1]
    start = 2 * node_mean.size
    for e in range(agreement.size):
        agreement[e] = mean[start + 4 * e] + mean[start + 4 * e + 3]


@kernel
def _needs_logs(plan, field, coupling, scratch):
    """As `elimination.needs_logs`."""
    reach, own = scratch[: field.size], scratch[field.size : 2 * field.size]
    for i in range(field.size):
        reach[i] = 0.0
        own[i] = abs(field[i])
    for k in range(plan.edges.shape[0]):
        spread = abs(coupling[plan.edges[k, EDGE_ID]])
        reach[plan.edges[k, OTHER]] += spread
        own[plan.edges[k, OWNER]] += spread
    total = widest = 0.0
    for i in range(field.size):
        total += own[i]
        widest = max(widest, reach[i] + own[i])
    if not math.isfinite(total):
        return True
    if widest * (plan.width + 1) < SAFE_RANGE:
        return False
    for step in range(field.size):
        v = plan.steps[step, VARIABLE]
        bound = own[v] + reach[v]
        for k in range(plan.steps[step, SCOPE], plan.steps[step, SCOPE_STOP]):
            bound += reach[plan.scope[k, SCOPE_VARIABLE]]
        if bound > SAFE_RANGE:
            return True
    return False


@kernel(fastmath=RELAXED)
def _edge_rows(plan, step, coupling, is_high, size, zero, one):
    """Products of a step's edge factors for x_v = 0 and 1 over one part of its scope; returns the log of the scale."""
    zero[0] = one[0] = 1.0
    filled = 1
    shift = 0.0
    for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
        if plan.edges[k, IS_HIGH] != is_high:
            continue
        c = coupling[plan.edges[k, EDGE_ID]]
        shift += max(c, 0.0)
        agree, differ = 1.0, math.exp(-abs(c))
        if c < 0.0:
            agree, differ = differ, agree
        stride = plan.edges[k, AXIS_STRIDE]
        copy_up(zero, filled, stride)
        copy_up(one, filled, stride)
        for i in range(stride):
            zero[stride + i] = zero[i] * differ
            one[stride + i] = one[i] * agree
            zero[i] *= agree
            one[i] *= differ
        filled = 2 * stride
    copy_up(zero, filled, size)
    copy_up(one, filled, size)
    return shift


@kernel(fastmath=RELAXED)
def _forward(plan, field, coupling, scratch):
    message, rest = scratch[: plan.n_message], scratch[plan.n_message :]
    n = plan.n_row // 2
    low_zero, low_one, zero, one, rest = (
        rest[:n],
        rest[n : 2 * n],
        rest[2 * n : 3 * n],
        rest[3 * n : 4 * n],
        rest[4 * n :],
    )
    n = plan.n_column // 2
    high_zero, high_one = rest[:n], rest[n : 2 * n]
    steps, children, table = plan.steps, plan.children, plan.lookup
    total = 0.0
    scale = 1.0
    for step in range(field.size):
        n_low, n_high = steps[step, N_LOW], steps[step, N_HIGH]
        first, last = steps[step, CHILD], steps[step, CHILD_STOP]
        total += _edge_rows(plan, step, coupling, 0, n_low, low_zero, low_one)
        total += _edge_rows(plan, step, coupling, 1, n_high, high_zero, high_one)
        f = field[steps[step, VARIABLE]]
        total += max(f, 0.0)
        own_zero, own_one = math.exp(-abs(f)), 1.0
        if f < 0.0:
            own_zero, own_one = own_one, own_zero
        sent = message[steps[step, MESSAGE] : steps[step, MESSAGE] + steps[step, CELLS]]
        for high in range(n_high):
            a, b = own_zero * high_zero[high], own_one * high_one[high]
            out = sent[high * n_low : (high + 1) * n_low]
            if first == last:
                for low in range(n_low):
                    out[low] = a * low_zero[low] + b * low_one[low]
                continue
            for k in range(first, last):
                base = steps[children[k, STEP], MESSAGE] + table[children[k, HIGH_INDEX] + high]
                from_zero, from_one = message[base:], message[base + children[k, STRIDE] :]
                index = table[children[k, LOW_INDEX] : children[k, LOW_INDEX] + n_low]
                if k == first and children[k, ALIGNED]:
                    for low in range(n_low):
                        zero[low] = low_zero[low] * from_zero[low]
                        one[low] = low_one[low] * from_one[low]
                elif k == first:
                    for low in range(n_low):
                        zero[low] = low_zero[low] * from_zero[index[low]]
                        one[low] = low_one[low] * from_one[index[low]]
                elif children[k, ALIGNED]:
                    for low in range(n_low):
                        zero[low] *= from_zero[low]
                        one[low] *= from_one[low]
                else:
                    for low in range(n_low):
                        zero[low] *= from_zero[index[low]]
                        one[low] *= from_one[index[low]]
            for low in range(n_low):
                out[low] = a * zero[low] + b * one[low]
        scale *= rescale(sent)
        if not 1e-30 < scale < 1e30:  # one logarithm for many steps; a message's own scale is above 1e-261
            total += math.log(scale)
            scale = 1.0
    return total + math.log(scale)
