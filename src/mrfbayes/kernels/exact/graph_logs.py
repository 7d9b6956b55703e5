"""Elimination on logs: the sum for fields so strong that the scaled pass could underflow, and the maximum.

With the maximum in place of the sum, a step's message is the best of its terms, and what ``joint`` holds is each term
less that best: the *regret* of a state, zero for the best one. The log weight of a configuration is the maximum plus
the regrets of all steps, so that the k best are found by one pass over the steps in reverse (`elimination_best`).
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel


@kernel
def forward_logs(plan, node_table, edge_table, joint, scratch, is_maximum):
    """Log Z, or the largest log weight. Messages are logs.

    Leaves p(x_v | scope) of every step, or the regret of every state given the scope, in ``joint`` unless it is empty.
    """
    message = scratch[: plan.n_message]
    terms = scratch[plan.n_message : plan.n_message + plan.n_row]
    total = 0.0
    for step in plan.steps:
        for high in range(step.n_high):
            for low in range(step.n_low):
                value = _cell_terms(plan, step, node_table, edge_table, message, high, low, terms)
                if not is_maximum:
                    weight = 0.0
                    for x in range(step.states):
                        weight += math.exp(terms[x] - value)
                    value += math.log(weight)
                cell = high * step.n_low + low
                message[step.message + cell] = value
                if joint.size:
                    for x in range(step.states):
                        term = terms[x] - value
                        joint[step.joint + x * step.cells + cell] = term if is_maximum else math.exp(term)
        if step.cells == 1:  # only a component's last variable has an empty scope
            total += message[step.message]
    return total


@kernel
def elimination_best(plan, joint, k, x, regret):
    """The ``k`` configurations of least regret into ``x`` (k, d) uint8, best first; returns how many there are.

    Steps in reverse order of elimination. Every partial configuration can be completed without further regret, so
    those that are not among the k best of a step are never needed again.
    """
    n_nodes, most = plan.states.size, plan.states.max()
    value, parent = np.empty(k * most), np.empty(k * most, dtype=np.int64)
    state, other = np.empty(k * most, dtype=np.uint8), np.empty_like(x)
    count = 1
    regret[0] = 0.0
    for at in range(n_nodes - 1, -1, -1):
        step, n = plan.steps[at], 0
        for i in range(count):
            cell = step.joint
            for s in range(step.scope, step.scope_stop):
                cell += plan.scope[s].stride * x[i, plan.scope[s].variable]
            for a in range(step.states):
                value[n] = regret[i] - joint[cell + a * step.cells]
                parent[n], state[n] = i, a
                n += 1
        order = np.argsort(value[:n], kind="mergesort")  # ties in order of state: the same result every time
        count = min(n, k)
        for i in range(count):
            other[i] = x[parent[order[i]]]
            other[i, step.variable] = state[order[i]]
            regret[i] = value[order[i]]
        x[:count] = other[:count]
    return count


@kernel
def edge_cells(edge_offset, edge, x):
    """Where in the edge tables x_v = x meets x_u = 0, and how far x_u = 1 is from there, for a record of edges."""
    start = edge_offset[edge.edge]
    if edge.is_second:
        return start + x, (edge_offset[edge.edge + 1] - start) // edge.other_states
    return start + x * edge.other_states, 1


@kernel
def _cell_terms(plan, step, node_table, edge_table, message, high, low, terms):
    """Log weights of the states of a step's variable at one cell of its scope into ``terms``; returns the largest."""
    own = plan.node_offset[step.variable]
    top = -math.inf
    for x in range(step.states):
        term = node_table[own + x]
        for k in range(step.edge, step.edge_stop):
            edge = plan.edges[k]
            first, jump = edge_cells(plan.edge_offset, edge, x)
            part = high if edge.is_high else low
            term += edge_table[first + jump * ((part // edge.axis_stride) % edge.other_states)]
        for k in range(step.child, step.child_stop):
            child = plan.children[k]
            cell = plan.steps[child.step].message + x * child.stride + plan.lookup[child.high_index + high]
            term += message[cell + plan.lookup[child.low_index + low]]
        terms[x] = term
        top = max(top, term)
    return top
