"""Exact log Z of a binary field on any graph: elimination for the inner loop of a Markov chain.

Log weight of x: sum_i field_i x_i + sum_e coupling_e [x_u = x_v]. The same steps as in `graph`, with both states
of the eliminated variable in one go and one exponential per factor.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.exact.graph import is_past_safe_range
from mrfbayes.kernels.exact.graph_logs import forward_logs
from mrfbayes.kernels.exact.graph_steps import RELAXED, join_message, scale


@kernel
def elimination_log_z_binary(plan, field, coupling, scratch):
    """Log Z of a binary field; ``scratch`` has `log_z_scratch` cells."""
    plan = without_refcount(plan)
    if _needs_logs(plan, field, coupling, scratch):
        n_node_cells = 2 * field.size
        n_cells = n_node_cells + 4 * coupling.size
        table, rest = scratch[:n_cells], scratch[n_cells:]
        binary_tables(field, coupling, table)
        return forward_logs(plan, table[:n_node_cells], table[n_node_cells:], rest[:0], rest, False)
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
def _needs_logs(plan, field, coupling, scratch):
    """Whether potentials are so strong that the scaled pass could underflow (`graph.needs_logs` for binary fields)."""
    reach, own = scratch[: field.size], scratch[field.size : 2 * field.size]
    for i in range(field.size):
        reach[i] = 0.0
        own[i] = abs(field[i])
    for edge in plan.edges:
        potential_range = abs(coupling[edge.edge])
        reach[edge.other] += potential_range
        own[edge.owner] += potential_range
    return is_past_safe_range(plan, reach, own)


@kernel(fastmath=RELAXED)
def _grow(s, zero, n, filled, stride, agree, differ):
    """Repeat rows of ``filled`` cells up to ``stride`` (axes without an edge), then add the axis of an edge.

    The rows of both states, n cells each, follow each other.
    """
    z, o = np.uint64(zero), np.uint64(zero + n)
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
    lookup = plan.lookup
    low_rows = plan.n_message
    products, high_rows = low_rows + plan.n_row, low_rows + 2 * plan.n_row
    total = 0.0
    gain = 1.0
    for step in plan.steps:
        n_low, n_high = step.n_low, step.n_high
        s[low_rows] = s[low_rows + n_low] = s[high_rows] = s[high_rows + n_high] = 1.0
        filled_low = filled_high = 1
        for k in range(step.edge, step.edge_stop):
            edge = plan.edges[k]
            c = coupling[edge.edge]
            total += max(c, 0.0)
            agree, differ = 1.0, math.exp(-abs(c))
            if c < 0.0:
                agree, differ = differ, agree
            if edge.is_high:
                _grow(s, high_rows, n_high, filled_high, edge.axis_stride, agree, differ)
                filled_high = 2 * edge.axis_stride
            else:
                _grow(s, low_rows, n_low, filled_low, edge.axis_stride, agree, differ)
                filled_low = 2 * edge.axis_stride
        if filled_low < n_low:
            _grow(s, low_rows, n_low, filled_low, n_low // 2, 1.0, 1.0)
        if filled_high < n_high:
            _grow(s, high_rows, n_high, filled_high, n_high // 2, 1.0, 1.0)
        own_zero = own_one = 1.0
        f = field[step.variable]
        if f > 0.0:
            total += f
            own_zero = math.exp(-f)
        elif f < 0.0:
            own_one = math.exp(f)
        whole = 0.0
        for known in range(step.n_known):
            rows = low_rows
            for k in range(step.child, step.child_stop):
                child = plan.children[k]
                base = plan.steps[child.step].message + lookup[child.high_index + known]
                join_message(s, rows, products, n_low, 2, base, child, lookup, False)
                rows = products
            for high in range(known, n_high, step.n_known):
                a, b = own_zero * s[high_rows + high], own_one * s[high_rows + n_high + high]
                whole += _combine(s, rows, rows + n_low, step.message + high * n_low, n_low, a, b)
        mean = whole / step.cells
        if step.to_crowd or not 1e-6 < mean < 1e6:
            scale(s, step.message, step.cells, 1.0 / mean)
            gain *= mean
            if not 1e-30 < gain < 1e30:
                total += math.log(gain)
                gain = 1.0
        if step.cells == 1:  # a component is done
            total += math.log(s[step.message])
    return total + math.log(gain)
