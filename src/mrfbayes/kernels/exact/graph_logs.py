"""The forward pass of elimination on logs: slower, for fields so strong that the scaled one could underflow."""

from __future__ import annotations

import math

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.graph_plan import (
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
    OTHER_STATES,
    STATES,
    STEP,
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
        own = plan.node_offset[plan.steps[step, VARIABLE]]
        out = plan.steps[step, MESSAGE]
        for high in range(plan.steps[step, N_HIGH]):
            for low in range(n_low):
                top = -math.inf
                for x in range(states):
                    term = node_table[own + x] + _edge_terms(plan, step, edge_table, high, low, x)
                    for k in range(plan.steps[step, CHILD], plan.steps[step, CHILD_STOP]):
                        cell = plan.steps[plan.children[k, STEP], MESSAGE] + x * plan.children[k, STRIDE]
                        cell += plan.lookup[plan.children[k, HIGH_INDEX] + high]
                        term += message[cell + plan.lookup[plan.children[k, LOW_INDEX] + low]]
                    terms[x] = term
                    top = max(top, term)
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
