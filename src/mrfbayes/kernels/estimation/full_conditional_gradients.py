"""Derivatives of the sums over full conditionals of a binary field: the sums of `conditionals` run backwards.

With q the probability of a one, weight * q is the derivative of weight * log(1 + exp h) in h, and h is the node's field
plus its couplings, each with the sign of the neighbour: so each coupling collects the difference between patterns in
which the neighbour is one and those in which it is zero. Where patterns were made by doubling, halving collects them.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.fastmath import exp, log, log1p_unit
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import largest_size
from mrfbayes.kernels.estimation.full_conditionals import (
    SAFE_CONDITIONAL_LOG_ODDS,
    dense_log_odds,
    dense_odds,
    listed_node,
    total,
)


@kernel
def _collect_halving(edges, share, everything, edge_part):
    """``edge_part`` += sum of ``share`` over the codes with a one there, less that over those with a zero.

    ``share`` has 2^edges.size entries that sum to ``everything``, and is used up.
    """
    half = share.size
    for b in range(edges.size - 1, -1, -1):
        half //= 2
        ones = total(share[half : 2 * half])
        edge_part[edges[b]] += 2.0 * ones - everything
        for c in range(half):
            share[c] += share[half + c]


@kernel
def _normalise(weight, work, share):
    """Log-odds ``work`` become weight times log normaliser; ``share`` = weight times the probability of a one."""
    for c in range(weight.size):  # by itself, so that there is one exponential for both
        share[c] = exp(-abs(work[c]))
    for c in range(weight.size):
        log_odds, small = work[c], share[c]
        share[c] = weight[c] * ((small if log_odds < 0.0 else 1.0) / (1.0 + small))
        work[c] = weight[c] * (max(log_odds, 0.0) + log1p_unit(small))


@kernel
def dense_expectations(neighbours, patterns, field, coupling, node_part, edge_part):
    """As `dense_normalisers`; adds the derivatives in field and coupling to ``node_part`` and ``edge_part``."""
    weight, work, share = patterns.weight, patterns.work, patterns.share
    if max(largest_size(field), largest_size(coupling)) * (patterns.largest_degree + 1) < SAFE_CONDITIONAL_LOG_ODDS:
        dense_odds(neighbours, patterns, field, coupling)
        for k in range(weight.size):
            share[k] = weight[k] * (work[k] / (1.0 + work[k]))
            work[k] = weight[k] * log(1.0 + work[k])
    else:
        dense_log_odds(neighbours, patterns, field, coupling)
        _normalise(weight, work, share)
    result = total(work)
    for k in range(weight.size):
        work[k] = share[k]
    for k in range(patterns.node.size):
        i = patterns.node[k]
        first, stop = neighbours.offset[i], neighbours.offset[i + 1]
        mine = work[patterns.start[k] : patterns.start[k + 1]]
        ones = total(mine)
        if patterns.folded[k]:
            edge_part[neighbours.edge[first]] += ones
            first += 1
        else:
            node_part[i] += ones
        _collect_halving(neighbours.edge[first:stop], mine, ones, edge_part)
    return result


@kernel
def _listed_log_odds(codes, table, out):
    """``out`` (k,) = sum over the bytes of each code of their table entries."""
    n_bytes = codes.shape[1]
    for c in range(out.size):
        log_odds = 0.0
        for b in range(n_bytes):
            log_odds += table[256 * b + np.int64(codes[c, b])]
        out[c] = log_odds


@kernel
def _listed_scatter(codes, share, out):
    """The transpose of `_listed_log_odds`."""
    n_bytes = codes.shape[1]
    for c in range(share.size):
        value = share[c]
        for b in range(n_bytes):
            out[256 * b + np.int64(codes[c, b])] += value


@kernel
def listed_expectations(neighbours, patterns, field, coupling, node_part, edge_part):
    """As `listed_normalisers`; adds the derivatives in field and coupling to ``node_part`` and ``edge_part``."""
    result = 0.0
    table = patterns.table
    for k in range(patterns.node.size):
        i, first, stop, n_bytes = listed_node(neighbours, patterns, k, field, coupling)
        low, high = patterns.start[k], patterns.start[k + 1]
        at = patterns.code_start[k]
        codes = patterns.code[at : at + n_bytes * (high - low)].reshape((high - low, n_bytes))
        weight, share, work = patterns.weight[low:high], patterns.share[low:high], patterns.work[: high - low]
        _listed_log_odds(codes, table, work)
        _normalise(weight, work, share)
        result += total(work)
        ones = total(share)
        node_part[i] += ones
        for c in range(256 * n_bytes):
            table[c] = 0.0
        _listed_scatter(codes, share, table)
        for b in range(n_bytes):
            edges = neighbours.edge[first + 8 * b : min(first + 8 * b + 8, stop)]
            _collect_halving(edges, table[256 * b : 256 * b + (1 << edges.size)], ones, edge_part)
    return result
