"""Counting observations: bit planes of binary columns, joint histograms, distinct neighbourhood patterns.

Binary data are held as *planes*, (d, n_words) uint64: observation k is bit k % 64 of word k // 64, the layout of
bit-sliced particles. Other data are held by column, (d, n) uint8. Unused bits of the last word are zero.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.bits import popcount
from mrfbayes.kernels.base.jit import kernel

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
MASK_DEGREE = 6  # up to this degree 2^degree masks per word beat 64 single look-ups


@kernel
def transpose_block(block):
    """Transpose a 64 x 64 bit matrix in place: bit c of word k goes to bit k of word c."""
    width = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        k = 0
        while k < 64:
            # Swap the upper right square of this pair of rows with the lower left one.
            moved = ((block[k] >> shift) ^ block[k + width]) & mask
            block[k] ^= moved << shift
            block[k + width] ^= moved
            k = (k + width + 1) & ~width
        width >>= 1
        mask ^= mask << np.uint64(width)


@kernel
def plane_weight(words, weight):
    """Weight of the observations whose bit is one in ``words``; an empty ``weight`` counts each once."""
    if weight.size == 0:
        ones = np.int64(0)
        for w in range(words.size):
            ones += np.int64(popcount(words[w]))
        return float(ones)
    total = 0.0
    for k in range(weight.size):
        if (words[k >> 6] >> np.uint64(k & 63)) & _ONE:
            total += weight[k]
    return total


@kernel
def plane_counts(planes, n, weight, pairs, ones, agree):
    """Add, over n observations with their weights, the ones of each node and the agreements of each pair."""
    for i in range(planes.shape[0]):
        ones[i] += plane_weight(planes[i], weight)
    for e in range(pairs.shape[0]):
        differ = planes[pairs[e, 0]] ^ planes[pairs[e, 1]]
        agree[e] += plane_weight(~differ, weight) if weight.size > 0 else n - plane_weight(differ, weight)


@kernel
def column_counts(columns, weight, states, pairs, node_offset, edge_offset, node_cells, edge_cells):
    """Add the weights of the cells of every node's and pair's table; an empty ``weight`` counts each row once."""
    n = columns.shape[1]
    weighted = weight.size > 0
    for i in range(columns.shape[0]):
        for k in range(n):
            node_cells[node_offset[i] + columns[i, k]] += weight[k] if weighted else 1.0
    for e in range(pairs.shape[0]):
        u, v = columns[pairs[e, 0]], columns[pairs[e, 1]]
        base, width = edge_offset[e], states[pairs[e, 1]]
        for k in range(n):
            edge_cells[base + np.int64(u[k]) * width + np.int64(v[k])] += weight[k] if weighted else 1.0


@kernel
def plane_patterns(planes, n, weight, offset, neighbour, cell_offset, cells):
    """Add to ``cells[cell_offset[i] + code]`` the observations with each neighbour pattern of node i.

    Bit b of the code is the state of the b-th neighbour. Nodes without cells are left out.
    """
    masks = np.zeros(1 << MASK_DEGREE, np.uint64)
    totals = np.zeros(1 << MASK_DEGREE, np.int64)
    block = np.zeros(64, np.uint64)
    n_words = planes.shape[1]
    for i in range(offset.size - 1):
        base, degree = cell_offset[i], offset[i + 1] - offset[i]
        if cell_offset[i + 1] == base:
            continue
        if weight.size == 0 and degree <= MASK_DEGREE:
            for w in range(n_words):
                left = n - 64 * w
                masks[0] = _FULL if left >= 64 else (_ONE << np.uint64(left)) - _ONE
                for b in range(degree):
                    plane = planes[neighbour[offset[i] + b], w]
                    for m in range(1 << b):
                        masks[m + (1 << b)] = masks[m] & plane
                        masks[m] = masks[m] & ~plane
                for m in range(1 << degree):
                    totals[m] += np.int64(popcount(masks[m]))
            for m in range(1 << degree):
                cells[base + m] += totals[m]
                totals[m] = 0
            continue
        for w in range(n_words):
            gather_codes(planes, neighbour[offset[i] : offset[i + 1]], w, block)
            for k in range(min(64, n - 64 * w)):
                cells[base + np.int64(block[k])] += weight[64 * w + k] if weight.size > 0 else 1.0


@kernel
def gather_codes(planes, nodes, w, block):
    """States of up to 64 ``nodes`` in the 64 observations of word ``w``: bit b of ``block[k]`` is that of node b."""
    for b in range(nodes.size):
        block[b] = planes[nodes[b], w]
    block[nodes.size :] = _ZERO
    transpose_block(block)


@kernel
def column_patterns(columns, weight, states, offset, neighbour, cell_offset, cells):
    """As `plane_patterns` for columns; the code is mixed-radix, the first neighbour counting ones."""
    n = columns.shape[1]
    weighted = weight.size > 0
    code = np.zeros(n, np.int64)
    for i in range(offset.size - 1):
        if cell_offset[i + 1] == cell_offset[i]:
            continue
        code[:] = cell_offset[i]
        stride = 1
        for at in range(offset[i], offset[i + 1]):
            column = columns[neighbour[at]]
            for k in range(n):
                code[k] += stride * column[k]
            stride *= states[neighbour[at]]
        for k in range(n):
            cells[code[k]] += weight[k] if weighted else 1.0


@kernel
def write_patterns(cell_offset, cells, states, offset, neighbour, node_offset, states_offset, pattern_states, weight):
    """Write the patterns of the cells in use: neighbour states and weights, at the node's place in the flat arrays."""
    for i in range(offset.size - 1):
        at, to = node_offset[i], states_offset[i]
        for c in range(cell_offset[i], cell_offset[i + 1]):
            if cells[c] > 0.0:
                weight[at] = cells[c]
                at += 1
                code = c - cell_offset[i]
                for b in range(offset[i], offset[i + 1]):
                    radix = states[neighbour[b]]
                    if radix == 2:  # a division costs more than all the rest
                        pattern_states[to] = np.uint8(code & 1)
                        code >>= 1
                    else:
                        pattern_states[to] = np.uint8(code % radix)
                        code //= radix
                    to += 1
