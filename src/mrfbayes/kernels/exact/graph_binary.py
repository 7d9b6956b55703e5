"""Exact log Z of a binary field on any graph: elimination for the inner loop of a Markov chain.

Log weight of x: sum_i field_i x_i + sum_e coupling_e [x_u = x_v]. The same steps as in `elimination`, with both states
of the eliminated variable in one go and one exponential per factor.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.graph import SAFE_RANGE
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
    LOW_INDEX,
    MESSAGE,
    N_HIGH,
    N_KNOWN,
    N_LOW,
    OTHER,
    OWNER,
    SCOPE,
    SCOPE_STOP,
    SCOPE_VARIABLE,
    STRIDE,
    TO_CROWD,
    UNIT_STRIDE,
    VARIABLE,
    VARIABLE_FASTEST,
)
from mrfbayes.kernels.exact.graph_steps import RELAXED, scale

_ONE, _TWO = np.uint64(1), np.uint64(2)


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
    """Whether potentials are so strong that the scaled pass could underflow (`graph.needs_logs` for binary fields)."""
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
def _grow(s, zero, one, filled, stride, agree, differ):
    """Repeat rows of ``filled`` cells up to ``stride`` (axes without an edge), then add the axis of an edge."""
    z, o = np.uint64(zero), np.uint64(one)
    while filled < stride:
        shift = np.uint64(filled)
        for k in range(filled):
            i = np.uint64(k)
            s[z + shift + i] = s[z + i]
            s[o + shift + i] = s[o + i]
        filled *= 2
    shift = np.uint64(stride)
    for k in range(stride):
        i = np.uint64(k)
        a, b = s[z + i], s[o + i]
        s[z + i] = a * agree
        s[z + shift + i] = a * differ
        s[o + i] = b * differ
        s[o + shift + i] = b * agree


@kernel(fastmath=RELAXED)
def _multiply_unit(s, start_zero, start_one, zero, one, if_zero, if_one, n):
    a, b, c, d = np.uint64(start_zero), np.uint64(start_one), np.uint64(if_zero), np.uint64(if_one)
    z, o = np.uint64(zero), np.uint64(one)
    for k in range(n):
        i = np.uint64(k)
        s[z + i] = s[a + i] * s[c + i]
    for k in range(n):
        i = np.uint64(k)
        s[o + i] = s[b + i] * s[d + i]


@kernel(fastmath=RELAXED)
def _multiply_pairs(s, start_zero, start_one, zero, one, both, n):
    a, b, c = np.uint64(start_zero), np.uint64(start_one), np.uint64(both)
    z, o = np.uint64(zero), np.uint64(one)
    for k in range(n):
        i = np.uint64(k)
        s[z + i] = s[a + i] * s[c + _TWO * i]
        s[o + i] = s[b + i] * s[c + _TWO * i + _ONE]


@kernel(fastmath=RELAXED)
def _multiply_table(s, start_zero, start_one, zero, one, if_zero, if_one, lookup, index, n):
    a, b, c, d = np.uint64(start_zero), np.uint64(start_one), np.uint64(if_zero), np.uint64(if_one)
    z, o, t = np.uint64(zero), np.uint64(one), np.uint64(index)
    for k in range(n):
        i = np.uint64(k)
        j = np.uint64(lookup[t + i])
        s[z + i] = s[a + i] * s[c + j]
        s[o + i] = s[b + i] * s[d + j]


@kernel(fastmath=RELAXED)
def _combine(s, zero, one, out, n, a, b):
    """out = a * zero + b * one; returns the sum."""
    z, o, u = np.uint64(zero), np.uint64(one), np.uint64(out)
    total = 0.0
    for k in range(n):
        i = np.uint64(k)
        value = a * s[z + i] + b * s[o + i]
        s[u + i] = value
        total += value
    return total


@kernel(fastmath=RELAXED)
def _forward(plan, field, coupling, s):
    """Log Z; ``s`` holds the messages, then rows for x_v = 0 and 1: edge products (low, high) and running products."""
    steps, children, edges, lookup = plan.steps, plan.children, plan.edges, plan.lookup
    row, column = plan.n_row // 2, plan.n_column // 2
    low_zero = plan.n_message
    low_one, zero, one = low_zero + row, low_zero + 2 * row, low_zero + 3 * row
    high_zero = low_zero + 4 * row
    high_one = high_zero + column
    total = 0.0
    gain = 1.0
    for step in range(steps.shape[0]):
        n_low, n_high, n_known = steps[step, N_LOW], steps[step, N_HIGH], steps[step, N_KNOWN]
        s[low_zero] = s[low_one] = s[high_zero] = s[high_one] = 1.0
        filled_low = filled_high = 1
        for k in range(steps[step, EDGE], steps[step, EDGE_STOP]):
            c = coupling[edges[k, EDGE_ID]]
            total += max(c, 0.0)
            agree, differ = 1.0, math.exp(-abs(c))
            if c < 0.0:
                agree, differ = differ, agree
            stride = edges[k, AXIS_STRIDE]
            if edges[k, IS_HIGH]:
                _grow(s, high_zero, high_one, filled_high, stride, agree, differ)
                filled_high = 2 * stride
            else:
                _grow(s, low_zero, low_one, filled_low, stride, agree, differ)
                filled_low = 2 * stride
        if filled_low < n_low:
            _grow(s, low_zero, low_one, filled_low, n_low // 2, 1.0, 1.0)
        if filled_high < n_high:
            _grow(s, high_zero, high_one, filled_high, n_high // 2, 1.0, 1.0)
        own_zero = own_one = 1.0
        f = field[steps[step, VARIABLE]]
        if f > 0.0:
            total += f
            own_zero = math.exp(-f)
        elif f < 0.0:
            own_one = math.exp(f)
        sent = steps[step, MESSAGE]
        whole = 0.0
        for known in range(n_known):
            from_zero, from_one = low_zero, low_one
            for k in range(steps[step, CHILD], steps[step, CHILD_STOP]):
                base = steps[children[k, CHILD_STEP], MESSAGE] + lookup[children[k, HIGH_INDEX] + known]
                other = base + children[k, STRIDE]
                if children[k, ACCESS] == VARIABLE_FASTEST:
                    _multiply_pairs(s, from_zero, from_one, zero, one, base, n_low)
                elif children[k, ACCESS] == UNIT_STRIDE:
                    _multiply_unit(s, from_zero, from_one, zero, one, base, other, n_low)
                else:
                    _multiply_table(
                        s, from_zero, from_one, zero, one, base, other, lookup, children[k, LOW_INDEX], n_low
                    )
                from_zero, from_one = zero, one
            for high in range(known, n_high, n_known):
                a, b = own_zero * s[high_zero + high], own_one * s[high_one + high]
                whole += _combine(s, from_zero, from_one, sent + high * n_low, n_low, a, b)
        mean = whole / steps[step, CELLS]
        if steps[step, TO_CROWD] or not 1e-6 < mean < 1e6:
            scale(s, sent, steps[step, CELLS], 1.0 / mean)
            gain *= mean
            if not 1e-30 < gain < 1e30:
                total += math.log(gain)
                gain = 1.0
        if steps[step, CELLS] == 1:  # a component is done
            total += math.log(s[sent])
    return total + math.log(gain)
