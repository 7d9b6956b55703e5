"""Sums over the missing cells of observed rows: clumps of missing nodes, clamped by what is seen around them.

A clump is enumerated: with its nodes in order, configuration y is the number whose digits are their states, the first
node's digit the fastest. The log weight of every y is built up node by node, each node's interaction with those before
it by the same doubling, so that a clump of K configurations takes some 2 K additions. `_fold` is the transpose of that:
from one number q(y) per configuration it finds the sum of q(y) T(y) for all cells of all tables at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.fastmath import log
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import copy_into, exp_from_top
from mrfbayes.kernels.base.random import uniform


class Clumps(NamedTuple):
    """Distinct clumps of missing nodes, flat; cells are numbered in all node tables, then all edge tables."""

    weight: np.ndarray  # (U,) of the rows that each stands for
    start: np.ndarray  # (U+1,) into states
    states: np.ndarray  # (N,) of each missing node
    term_start: np.ndarray  # (N+1,) into terms
    terms: np.ndarray  # (., 2) cell of state 0 and stride of a node's own table, and of its edges to seen neighbours
    pair_start: np.ndarray  # (N+1,) into pairs
    pairs: np.ndarray  # (., 4) earlier node of the clump, cell of (0, 0), stride of this node, stride of the earlier


@kernel
def _own(clumps, k, a, table):
    """What the tables give node k for state a."""
    total = 0.0
    for t in range(clumps.term_start[k], clumps.term_start[k + 1]):
        total += table[clumps.terms[t, 0] + a * clumps.terms[t, 1]]
    return total


@kernel
def spread(clumps, u, table, values, work):
    """``values``[y] = sum over cells of table * T(y) for all configurations y of clump u; returns how many."""
    first, stop = clumps.start[u], clumps.start[u + 1]
    values[0] = 0.0
    size = 1
    for k in range(first, stop):
        for a in range(clumps.states[k] - 1, -1, -1):
            own = _own(clumps, k, a, table)
            if clumps.pair_start[k] == clumps.pair_start[k + 1]:
                for y in range(size):
                    values[a * size + y] = values[y] + own
                continue
            work[0] = own
            reach = 1
            pair = clumps.pair_start[k]
            for before in range(k - first):
                states = clumps.states[first + before]
                near = pair < clumps.pair_start[k + 1] and clumps.pairs[pair, 0] == before
                for b in range(states - 1, -1, -1):
                    more = 0.0
                    if near:
                        more = table[clumps.pairs[pair, 1] + a * clumps.pairs[pair, 2] + b * clumps.pairs[pair, 3]]
                    for y in range(reach):
                        work[b * reach + y] = work[y] + more
                reach *= states
                if near:
                    pair += 1
            for y in range(size):
                values[a * size + y] = values[y] + work[y]
        size *= clumps.states[k]
    return size


@kernel
def _fold(clumps, u, size, values, work, cells):
    """``cells`` += sum over y of values[y] * T(y); ``values`` is used up."""
    first, stop = clumps.start[u], clumps.start[u + 1]
    for k in range(stop - 1, first - 1, -1):
        size //= clumps.states[k]
        for a in range(clumps.states[k]):
            total = 0.0
            for y in range(size):
                total += values[a * size + y]
            for t in range(clumps.term_start[k], clumps.term_start[k + 1]):
                cells[clumps.terms[t, 0] + a * clumps.terms[t, 1]] += total
            if clumps.pair_start[k] == clumps.pair_start[k + 1]:
                continue
            copy_into(work, values[a * size : (a + 1) * size])
            reach = size
            pair = clumps.pair_start[k + 1] - 1
            for before in range(k - first - 1, -1, -1):
                states = clumps.states[first + before]
                reach //= states
                near = pair >= clumps.pair_start[k] and clumps.pairs[pair, 0] == before
                for b in range(states):
                    if near:
                        total = 0.0
                        for y in range(reach):
                            total += work[b * reach + y]
                        cells[clumps.pairs[pair, 1] + a * clumps.pairs[pair, 2] + b * clumps.pairs[pair, 3]] += total
                    if b:
                        for y in range(reach):
                            work[y] += work[b * reach + y]
                if near:
                    pair -= 1
                    if pair < clumps.pair_start[k]:
                        break  # nothing is left to be told
        for a in range(1, clumps.states[k]):
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
def clamped_log_z(clumps, table, scratch):
    """Weighted sum of the clumps' log partition functions; ``scratch`` has twice the configurations of the largest."""
    return clamped_moments(clumps, table, scratch, scratch[:0])


@kernel
def clamped_moments(clumps, table, scratch, cells):
    """`clamped_log_z`, and to ``cells``, unless it is empty, is added the weighted sum of all E[T]."""
    clumps, table, scratch, cells = without_refcount((clumps, table, scratch, cells))
    most = scratch.size // 2
    values, work = scratch[:most], scratch[most:]
    result = 0.0
    for u in range(clumps.weight.size):
        size = spread(clumps, u, table, values, work)
        top, total = exp_from_top(values, size)
        result += clumps.weight[u] * (top + log(total))
        if cells.size:
            for y in range(size):
                values[y] = values[y] / total * clumps.weight[u]
            _fold(clumps, u, size, values, work, cells)
    return result


@kernel
def clamped_series(clumps, table, directions, scratch, out):
    """Derivatives of the weighted sum of E[T] along each direction: ``out`` (directions, order, cells), order 1 or 2.

    ``scratch`` has four times the configurations of the largest clump.
    """
    clumps, table, directions, scratch, out = without_refcount((clumps, table, directions, scratch, out))
    most = scratch.size // 4
    part = scratch[: 4 * most].reshape((4, most))
    weights, values, along, work = part[0], part[1], part[2], part[3]
    for u in range(clumps.weight.size):
        size = spread(clumps, u, table, weights, work)
        _normalise(weights, size)
        for k in range(directions.shape[0]):
            spread(clumps, u, directions[k], along, work)
            mean = 0.0
            for y in range(size):
                mean += weights[y] * along[y]
            variance = 0.0
            for y in range(size):
                along[y] -= mean
                values[y] = clumps.weight[u] * weights[y] * along[y]
                variance += weights[y] * along[y] * along[y]
            _fold(clumps, u, size, values, work, out[k, 0])
            if out.shape[1] > 1:
                for y in range(size):
                    values[y] = clumps.weight[u] * weights[y] * (along[y] * along[y] - variance)
                _fold(clumps, u, size, values, work, out[k, 1])


@kernel
def clump_projections(clumps, u, table, directions, scratch, probability, out):
    """Probabilities of all configurations of clump u, and to ``out`` (directions, K) what each direction gives them."""
    most = scratch.size // 2
    values, work = scratch[:most], scratch[most:]
    size = spread(clumps, u, table, values, work)
    _normalise(values, size)
    copy_into(probability, values[:size])
    for k in range(directions.shape[0]):
        spread(clumps, u, directions[k], values, work)
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
def clamped_sampled(clumps, table, random_state, scratch, cells):
    """To ``cells`` is added T of configurations drawn, for each clump as many as it stands for.

    ``scratch`` has three times the configurations of the largest clump.
    """
    clumps, table, random_state, scratch, cells = without_refcount((clumps, table, random_state, scratch, cells))
    most = scratch.size // 3
    values, hits, work = scratch[:most], scratch[most : 2 * most], scratch[2 * most :]
    for u in range(clumps.weight.size):
        size = spread(clumps, u, table, values, work)
        _normalise(values, size)
        hits[:size] = 0.0
        for _ in range(int(clumps.weight[u])):
            y = _pick(values, size, random_state)
            hits[y] += 1.0
        _fold(clumps, u, size, hits, work, cells)


@kernel
def clamped_draw(clumps, table, counts, random_state, scratch, out):
    """Draw ``counts``[u] configurations of each clump u; ``out`` takes their digits, clump by clump, draw by draw."""
    most = scratch.size // 2
    values, work = scratch[:most], scratch[most:]
    place = 0
    for u in range(clumps.weight.size):
        if not counts[u]:
            continue
        size = spread(clumps, u, table, values, work)
        _normalise(values, size)
        for _ in range(counts[u]):
            y = _pick(values, size, random_state)
            for k in range(clumps.start[u], clumps.start[u + 1]):
                out[place] = y % clumps.states[k]
                y //= clumps.states[k]
                place += 1
