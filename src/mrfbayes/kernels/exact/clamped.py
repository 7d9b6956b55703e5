"""Sums over the missing cells of observed rows: components of missing nodes, clamped by what is seen around them.

A component is enumerated: its nodes in order, configuration y is the number whose digits are their states, the first
node's digit the fastest. The log weight of every y is built up node by node, each node's interaction with those before
it by the same doubling, so that a component of K configurations takes 2 K additions. `_fold` is the transpose of that:
from one number q(y) per configuration it finds the sum of q(y) T(y) for all cells of all tables at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.fastmath import log
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import copy_into, exp_from_top
from mrfbayes.kernels.base.random import uniform


class MissingComponents(NamedTuple):
    """Distinct components of missing nodes, flat; cells are numbered in all node tables, then all edge tables."""

    weight: np.ndarray  # (U,) of the rows that each stands for
    start: np.ndarray  # (U+1,) into states
    states: np.ndarray  # (N,) of each missing node
    term_start: np.ndarray  # (N+1,) into terms
    terms: np.ndarray  # (., 2) cell of state 0 and stride of a node's own table, and of its edges to seen neighbours
    pair_start: np.ndarray  # (N+1,) into pairs
    # (., 4) earlier node of the component, cell of (0, 0), stride of this node, stride of the earlier
    pairs: np.ndarray


@kernel
def _own(components, k, a, table):
    """What the tables give node k for state a."""
    total = 0.0
    for t in range(components.term_start[k], components.term_start[k + 1]):
        total += table[components.terms[t, 0] + a * components.terms[t, 1]]
    return total


@kernel
def configuration_sums(components, u, table, values, work):
    """``values``[y] = sum over cells of table * T(y) for all configurations y of component u; returns how many."""
    first, stop = components.start[u], components.start[u + 1]
    values[0] = 0.0
    size = 1
    for k in range(first, stop):
        for a in range(components.states[k] - 1, -1, -1):
            own = _own(components, k, a, table)
            if components.pair_start[k] == components.pair_start[k + 1]:
                for y in range(size):
                    values[a * size + y] = values[y] + own
                continue
            work[0] = own
            reach = 1
            pair = components.pair_start[k]
            for before in range(k - first):
                states = components.states[first + before]
                near = pair < components.pair_start[k + 1] and components.pairs[pair, 0] == before
                for b in range(states - 1, -1, -1):
                    more = 0.0
                    if near:
                        more = table[
                            components.pairs[pair, 1] + a * components.pairs[pair, 2] + b * components.pairs[pair, 3]
                        ]
                    for y in range(reach):
                        work[b * reach + y] = work[y] + more
                reach *= states
                if near:
                    pair += 1
            for y in range(size):
                values[a * size + y] = values[y] + work[y]
        size *= components.states[k]
    return size


@kernel
def _fold(components, u, size, values, work, cells):
    """``cells`` += sum over y of values[y] * T(y); ``values`` is used up."""
    first, stop = components.start[u], components.start[u + 1]
    for k in range(stop - 1, first - 1, -1):
        size //= components.states[k]
        for a in range(components.states[k]):
            total = 0.0
            for y in range(size):
                total += values[a * size + y]
            for t in range(components.term_start[k], components.term_start[k + 1]):
                cells[components.terms[t, 0] + a * components.terms[t, 1]] += total
            if components.pair_start[k] == components.pair_start[k + 1]:
                continue
            copy_into(work, values[a * size : (a + 1) * size])
            reach = size
            pair = components.pair_start[k + 1] - 1
            for before in range(k - first - 1, -1, -1):
                states = components.states[first + before]
                reach //= states
                near = pair >= components.pair_start[k] and components.pairs[pair, 0] == before
                for b in range(states):
                    if near:
                        total = 0.0
                        for y in range(reach):
                            total += work[b * reach + y]
                        cells[
                            components.pairs[pair, 1] + a * components.pairs[pair, 2] + b * components.pairs[pair, 3]
                        ] += total
                    if b:
                        for y in range(reach):
                            work[y] += work[b * reach + y]
                if near:
                    pair -= 1
                    if pair < components.pair_start[k]:
                        break  # nothing is left to be told
        for a in range(1, components.states[k]):
            for y in range(size):
                values[y] += values[a * size + y]


@kernel
def _normalise(values, size):
    """Log weights to probabilities; returns the log of their sum."""
    top, total = exp_from_top(values, size)
    for y in range(size):
        values[y] /= total
    return top + log(total)


@kernel
def clamped_log_z(components, table, scratch):
    """Weighted sum of the components' log Z; ``scratch`` has twice the configurations of the largest."""
    return clamped_moments(components, table, scratch, scratch[:0])


@kernel
def clamped_moments(components, table, scratch, cells):
    """`clamped_log_z`, and to ``cells``, unless it is empty, is added the weighted sum of all E[T]."""
    components, table, scratch, cells = without_refcount((components, table, scratch, cells))
    most = scratch.size // 2
    values, work = scratch[:most], scratch[most:]
    result = 0.0
    for u in range(components.weight.size):
        size = configuration_sums(components, u, table, values, work)
        top, total = exp_from_top(values, size)
        result += components.weight[u] * (top + log(total))
        if cells.size:
            for y in range(size):
                values[y] = values[y] / total * components.weight[u]
            _fold(components, u, size, values, work, cells)
    return result


@kernel
def clamped_series(components, table, directions, scratch, out):
    """Derivatives of the weighted sum of E[T] along each direction: ``out`` (directions, order, cells), order 1 or 2.

    ``scratch`` has four times the configurations of the largest component.
    """
    components, table, directions, scratch, out = without_refcount((components, table, directions, scratch, out))
    most = scratch.size // 4
    part = scratch[: 4 * most].reshape((4, most))
    weights, values, along, work = part[0], part[1], part[2], part[3]
    for u in range(components.weight.size):
        size = configuration_sums(components, u, table, weights, work)
        _normalise(weights, size)
        for k in range(directions.shape[0]):
            configuration_sums(components, u, directions[k], along, work)
            mean = 0.0
            for y in range(size):
                mean += weights[y] * along[y]
            variance = 0.0
            for y in range(size):
                along[y] -= mean
                values[y] = components.weight[u] * weights[y] * along[y]
                variance += weights[y] * along[y] * along[y]
            _fold(components, u, size, values, work, out[k, 0])
            if out.shape[1] > 1:
                for y in range(size):
                    values[y] = components.weight[u] * weights[y] * (along[y] * along[y] - variance)
                _fold(components, u, size, values, work, out[k, 1])


@kernel
def component_projections(components, u, table, directions, scratch, probability, out):
    """Probabilities of all configurations of component u; ``out`` (directions, K): what each direction gives."""
    most = scratch.size // 2
    values, work = scratch[:most], scratch[most:]
    size = configuration_sums(components, u, table, values, work)
    _normalise(values, size)
    copy_into(probability, values[:size])
    for k in range(directions.shape[0]):
        configuration_sums(components, u, directions[k], values, work)
        copy_into(out[k], values[:size])


@kernel
def _pick(probability, size, random_state):
    """A draw from ``size`` probabilities; the last one takes what rounding leaves over."""
    left, y = uniform(random_state), 0
    while y < size - 1 and left >= probability[y]:
        left -= probability[y]
        y += 1
    return y


@kernel
def clamped_sampled(components, table, random_state, scratch, cells):
    """To ``cells`` is added T of configurations drawn, for each component as many as it stands for.

    ``scratch`` has three times the configurations of the largest component.
    """
    components, table, random_state, scratch, cells = without_refcount(
        (components, table, random_state, scratch, cells)
    )
    most = scratch.size // 3
    values, hits, work = scratch[:most], scratch[most : 2 * most], scratch[2 * most :]
    for u in range(components.weight.size):
        size = configuration_sums(components, u, table, values, work)
        _normalise(values, size)
        hits[:size] = 0.0
        for _ in range(int(components.weight[u])):
            y = _pick(values, size, random_state)
            hits[y] += 1.0
        _fold(components, u, size, hits, work, cells)


@kernel
def clamped_draw(components, table, counts, random_state, scratch, out):
    """Draw ``counts``[u] configurations of each component u; ``out`` takes their digits, component by component."""
    most = scratch.size // 2
    values, work = scratch[:most], scratch[most:]
    place = 0
    for u in range(components.weight.size):
        if not counts[u]:
            continue
        size = configuration_sums(components, u, table, values, work)
        _normalise(values, size)
        for _ in range(counts[u]):
            y = _pick(values, size, random_state)
            for k in range(components.start[u], components.start[u + 1]):
                out[place] = y % components.states[k]
                y //= components.states[k]
                place += 1
