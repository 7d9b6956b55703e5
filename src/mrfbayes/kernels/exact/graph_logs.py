"""Elimination on logs: the sum for fields so strong that the scaled pass could underflow, and the maximum.

With the maximum in place of the sum, a step's message is the best of its terms, and what ``joint`` holds is each term
less that best: the *regret* of a state, zero for the best one. The log weight of a configuration is the maximum plus
the regrets of all steps, so that the k best are found by one pass over the steps in reverse (`elimination_best`).
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.graph_plan import (
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
    N_LOW,
    OTHER_STATES,
    SCOPE,
    SCOPE_STOP,
    SCOPE_STRIDE,
    SCOPE_VARIABLE,
    STATES,
    STRIDE,
    VARIABLE,
)


@kernel
def forward_logs(plan, node_table, edge_table, joint, scratch):
    """Log Z; leaves p(x_v | scope) of every step in ``joint`` unless that is empty. Messages are logs."""
    message = scratch[: plan.n_message]
    terms = scratch[plan.n_message : plan.n_message + plan.n_row]
    keep = joint.size > 0
    total = 0.0
    for step in range(plan.states.size):
        states, cells = plan.steps[step, STATES], plan.steps[step, CELLS]
        n_low = plan.steps[step, N_LOW]
        out = plan.steps[step, MESSAGE]
        for high in range(plan.steps[step, N_HIGH]):
            for low in range(n_low):
                top = _cell_terms(plan, step, node_table, edge_table, message, high, low, terms)
                weight = 0.0
                for x in range(states):
                    weight += math.exp(terms[x] - top)
                value = top + math.log(weight)
                cell = high * n_low + low
                message[out + cell] = value
                if keep:
                    for x in range(states):
                        joint[plan.steps[step, JOINT] + x * cells + cell] = math.exp(terms[x] - value)
        if plan.steps[step, CELLS] == 1:  # only a component's last variable has an empty scope
            total += message[out]
    return total


@kernel
def maximum_logs(plan, node_table, edge_table, joint, scratch):
    """The largest log weight; leaves the regret of every state of every step, given its scope, in ``joint``."""
    message = scratch[: plan.n_message]
    terms = scratch[plan.n_message : plan.n_message + plan.n_row]
    total = 0.0
    for step in range(plan.states.size):
        cells, n_low, out = plan.steps[step, CELLS], plan.steps[step, N_LOW], plan.steps[step, MESSAGE]
        for high in range(plan.steps[step, N_HIGH]):
            for low in range(n_low):
                top = _cell_terms(plan, step, node_table, edge_table, message, high, low, terms)
                cell = high * n_low + low
                message[out + cell] = top
                for x in range(plan.steps[step, STATES]):
                    joint[plan.steps[step, JOINT] + x * cells + cell] = terms[x] - top
        if cells == 1:
            total += message[out]
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
    for step in range(n_nodes - 1, -1, -1):
        n = 0
        for i in range(count):
            cell = plan.steps[step, JOINT]
            for s in range(plan.steps[step, SCOPE], plan.steps[step, SCOPE_STOP]):
                cell += plan.scope[s, SCOPE_STRIDE] * x[i, plan.scope[s, SCOPE_VARIABLE]]
            for a in range(plan.steps[step, STATES]):
                value[n] = regret[i] - joint[cell + a * plan.steps[step, CELLS]]
                parent[n], state[n] = i, a
                n += 1
        order = np.argsort(value[:n], kind="mergesort")  # ties in order of state: the same result every time
        count = min(n, k)
        for i in range(count):
            other[i] = x[parent[order[i]]]
            other[i, plan.steps[step, VARIABLE]] = state[order[i]]
            regret[i] = value[order[i]]
        x[:count] = other[:count]
    return count


@kernel
def _cell_terms(plan, step, node_table, edge_table, message, high, low, terms):
    """Log weights of the states of a step's variable at one cell of its scope into ``terms``; returns the largest."""
    own = plan.node_offset[plan.steps[step, VARIABLE]]
    top = -math.inf
    for x in range(plan.steps[step, STATES]):
        term = node_table[own + x] + _edge_terms(plan, step, edge_table, high, low, x)
        for k in range(plan.steps[step, CHILD], plan.steps[step, CHILD_STOP]):
            cell = plan.steps[plan.children[k, CHILD_STEP], MESSAGE] + x * plan.children[k, STRIDE]
            cell += plan.lookup[plan.children[k, HIGH_INDEX] + high]
            term += message[cell + plan.lookup[plan.children[k, LOW_INDEX] + low]]
        terms[x] = term
        top = max(top, term)
    return top


@kernel
def _edge_terms(plan, step, edge_table, high, low, x):
    total = 0.0
    for k in range(plan.steps[step, EDGE], plan.steps[step, EDGE_STOP]):
        edge, others = plan.edges[k, EDGE_ID], plan.edges[k, OTHER_STATES]
        part = high if plan.edges[k, IS_HIGH] else low
        other = (part // plan.edges[k, AXIS_STRIDE]) % others
        start = plan.edge_offset[edge]
        if plan.edges[k, IS_SECOND]:
            total += edge_table[start + other * plan.steps[step, STATES] + x]
        else:
            total += edge_table[start + x * others + other]
    return total
