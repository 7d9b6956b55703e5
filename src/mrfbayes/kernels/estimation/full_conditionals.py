"""Sums over full conditionals: log normalisers of every node, one per distinct state of its neighbours.

A binary node with log-odds h given its neighbours contributes log(1 + exp h). Where most of the 2^degree neighbour
states occur, their odds are made by doubling (one product each); where few do, each is coded in bytes, eight neighbours
to the byte, and h is a sum of table entries. Their derivatives go the same ways backwards (`conditional_gradients`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.views import Workspace
from mrfbayes.kernels.base.fastmath import exp, log, log1p_exp
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import largest_size

SAFE_CONDITIONAL_LOG_ODDS = 600.0  # products of odds whose |logs| sum to less neither over- nor underflow


class Neighbours(NamedTuple):
    """Edge to the b-th neighbour of node i: ``edge[offset[i] + b]``."""

    offset: np.ndarray  # (d+1,)
    edge: np.ndarray  # (2m,)


class DensePatterns(NamedTuple):
    """Nodes whose neighbour states are all enumerated, the first neighbour's bit lowest.

    A folded node has no field, so a pattern and its complement have opposite log-odds: only those patterns are listed
    in which the first neighbour is one, and their code leaves it out.
    """

    node: np.ndarray  # (k,)
    folded: np.ndarray  # (k,) bool
    start: np.ndarray  # (k+1,) into weight
    weight: np.ndarray
    work: Workspace  # like weight
    share: Workspace  # like weight: weight times the probability of a one, at the last gradient
    edge_odds: Workspace  # (m,)
    largest_degree: int


class ListedPatterns(NamedTuple):
    """Nodes whose neighbour states are listed: ceil(degree / 8) bytes each, at ``code_start`` in ``code``."""

    node: np.ndarray  # (k,)
    start: np.ndarray  # (k+1,) into weight
    code_start: np.ndarray  # (k,)
    code: np.ndarray  # uint8
    weight: np.ndarray
    work: Workspace  # (largest number of patterns of a node,)
    share: Workspace  # like weight: weight times the probability of a one, at the last gradient
    table: Workspace  # (256 * bytes of the largest degree,)


class TablePatterns(NamedTuple):
    """Neighbour states of a categorical field; cell of edge slot b: ``start[b] + other * across[b] + a * along[b]``."""

    states: np.ndarray  # (d,)
    node_offset: np.ndarray  # (d+1,) into the node table
    neighbour_states: np.ndarray  # (2m,)
    start: np.ndarray  # (2m,)
    across: np.ndarray  # (2m,)
    along: np.ndarray  # (2m,)
    pattern_offset: np.ndarray  # (d+1,)
    code_start: np.ndarray  # (d+1,)
    code: np.ndarray  # uint8, one per neighbour
    weight: np.ndarray
    width: int  # of a row of potentials: the largest number of states, rounded up to whole vectors of four
    share: Workspace  # (patterns, width) weight times the probability of each state, at the last evaluation
    table: Workspace  # (largest number of states of a node's neighbours in all, width)


@kernel
def add_doubling(edges, coupling, base, out):
    """``out[c]`` = base + sum of coupling over the ones of code c, less that over its zeros; 2^edges.size entries."""
    for e in edges:
        base -= coupling[e]
    out[0] = base
    half = 1
    for e in edges:
        step = 2.0 * coupling[e]
        for c in range(half):
            out[half + c] = out[c] + step
        half *= 2


@kernel
def fill_byte_tables(edges, coupling, field, table):
    """A table of 256 entries per byte of eight neighbours; the entries at a code's bytes add up to its log-odds."""
    for b in range((edges.size + 7) // 8):
        part = edges[8 * b : min(8 * b + 8, edges.size)]
        add_doubling(part, coupling, field if b == 0 else 0.0, table[256 * b : 256 * b + 256])


@kernel
def total(values):
    """Sum of an array, four terms at a time."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    stop = values.size - values.size % 4
    for k in range(0, stop, 4):
        a += values[k]
        b += values[k + 1]
        c += values[k + 2]
        d += values[k + 3]
    for k in range(stop, values.size):
        a += values[k]
    return (a + b) + (c + d)


@kernel
def dense_odds(neighbours, patterns, field, coupling):
    """``patterns.work`` = odds of every pattern, by products: one exponential per edge."""
    odds = patterns.edge_odds
    for e in range(coupling.size):
        odds[e] = exp(coupling[e])
    out = patterns.work
    for k in range(patterns.node.size):
        i = patterns.node[k]
        first, stop = neighbours.offset[i], neighbours.offset[i + 1]
        if patterns.folded[k]:
            base = odds[neighbours.edge[first]]
            first += 1
        else:
            base = exp(field[i])
        for slot in range(first, stop):
            base /= odds[neighbours.edge[slot]]
        start = patterns.start[k]
        out[start] = base
        half = 1
        for slot in range(first, stop):
            step = odds[neighbours.edge[slot]] ** 2
            for c in range(start, start + half):
                out[c + half] = out[c] * step
            half *= 2


@kernel
def dense_log_odds(neighbours, patterns, field, coupling):
    """``patterns.work`` = log-odds of every pattern: `dense_odds` where products might overflow."""
    for k in range(patterns.node.size):
        i = patterns.node[k]
        first, stop = neighbours.offset[i], neighbours.offset[i + 1]
        base = field[i]
        if patterns.folded[k]:
            base = coupling[neighbours.edge[first]]
            first += 1
        add_doubling(neighbours.edge[first:stop], coupling, base, patterns.work[patterns.start[k] :])


@kernel
def dense_normalisers(neighbours, patterns, field, coupling):
    """Sum over `DensePatterns` of weight times log(1 + exp h)."""
    weight, work = patterns.weight, patterns.work
    # Not running sums: without a dependence between the terms these loops are SIMD code, in strict arithmetic.
    if max(largest_size(field), largest_size(coupling)) * (patterns.largest_degree + 1) < SAFE_CONDITIONAL_LOG_ODDS:
        dense_odds(neighbours, patterns, field, coupling)
        for k in range(weight.size):
            work[k] = weight[k] * log(1.0 + work[k])
    else:
        dense_log_odds(neighbours, patterns, field, coupling)
        for k in range(weight.size):
            work[k] = weight[k] * log1p_exp(work[k])
    return total(work)


@kernel
def listed_node(neighbours, patterns, k, field, coupling):
    """Fill the byte tables of listed node k; the node, where its neighbours begin and end, and the bytes of a code."""
    i = patterns.node[k]
    first, stop = neighbours.offset[i], neighbours.offset[i + 1]
    fill_byte_tables(neighbours.edge[first:stop], coupling, field[i], patterns.table)
    return i, first, stop, (stop - first + 7) // 8


@kernel
def listed_normalisers(neighbours, patterns, field, coupling):
    """Sum over `ListedPatterns` of weight times log(1 + exp h)."""
    result = 0.0
    table = patterns.table
    for k in range(patterns.node.size):
        _, _, _, n_bytes = listed_node(neighbours, patterns, k, field, coupling)
        at = patterns.code_start[k]
        for c in range(patterns.start[k], patterns.start[k + 1]):
            log_odds = 0.0
            for b in range(n_bytes):
                log_odds += table[256 * b + np.int64(patterns.code[at + b])]
            at += n_bytes
            result += patterns.weight[c] * log1p_exp(log_odds)
    return result
