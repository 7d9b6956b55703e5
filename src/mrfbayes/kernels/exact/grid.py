r"""Expected statistics of a binary grid by a forward and a backward pass of the transfer recursion.

The grid is swept line by line across its shorter side. A message holds one number for each state of the last ``width``
nodes; the oldest node is bit 0 and the newest the top bit. Adding node ``t`` sums out bit 0 (node ``t - width``, its
neighbour one line back), shifts the rest down, and enters ``t`` at the top, so every loop runs with unit stride. Those
are the forward messages :math:`F_t`; backward ones obey

.. math:: B_{t-1}(h, o) = \sum_x u_t(o, x)\, l_t(h_\mathrm{top}, x)\, \phi_t(x)\, B_t(x, h)

and the eight sums of :math:`F_{t-1} B_t` by (newest old node, oldest node, new node) give the node's mean, the
agreement of both its edges, and their common normaliser, so no scale has to be carried back.

Here every factor is normalised to a coin (its weights sum to one), so that messages never grow. Forward messages are
kept for one block of lines at a time; blocks further back are recomputed from the message at their start.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import copy_into


class GridLayout(NamedTuple):
    """The sweep over a grid: ``length`` lines of ``width`` nodes; entry t is the t-th node of the sweep."""

    width: int
    length: int
    lines_per_block: int  # lines whose messages are kept at once by the two-way passes
    node: np.ndarray  # (d,) int64: which node of the grid
    along: np.ndarray  # (d,) int64: edge to the previous node of the line, or -1
    across: np.ndarray  # (d,) int64: edge to the node one line back, or -1


def grid_layout(rows: int, cols: int, block_bytes: int = 2**19) -> GridLayout:
    """Lay out a grid with row-major nodes and edges (i, i+1), (i, i+cols) sorted by their ends.

    Parameters
    ----------
    rows, cols : int
        The sweep goes across the shorter side.
    block_bytes : int
        Memory for the messages that a two-way pass keeps at once. Lines that do not fit are recomputed from one
        message per block. The default fits the second-level cache, which is faster than keeping all of them.
    """
    row, col = np.divmod(np.arange(rows * cols, dtype=np.int64), cols)
    has_right, has_down = col + 1 < cols, row + 1 < rows
    first_edge = np.cumsum(has_right.astype(np.int64) + has_down) - has_right - has_down
    to_right = np.where(has_right, first_edge, -1).reshape(rows, cols)
    to_down = np.where(has_down, first_edge + has_right, -1).reshape(rows, cols)
    from_left = np.full((rows, cols), -1, dtype=np.int64)
    from_above = from_left.copy()
    from_left[:, 1:] = to_right[:, :-1]
    from_above[1:] = to_down[:-1]
    node = np.arange(rows * cols, dtype=np.int64).reshape(rows, cols)
    along, across = from_left, from_above
    if rows < cols:
        node, along, across = node.T, from_above.T, from_left.T
    length, width = node.shape
    fitting = max(1, int(block_bytes // (8 * width * 2**width)))
    # With many lines a block of about sqrt(length / width) lines needs least memory in all.
    lines = min(length, max(fitting, math.isqrt(length // width)))
    return GridLayout(width, length, lines, node.ravel(), along.ravel(), across.ravel())


def transfer_scratch(layout: GridLayout, work: str, particles: int = 0) -> int:
    """How many float64 numbers the scratch array of a kernel must hold.

    ``work`` is "moments" for `transfer_moments`, "sample" for `transfer_sample` and `transfer_sample_words`, which draw
    ``particles`` samples at once (64 for each word).
    """
    d = layout.width * layout.length
    size = 2**layout.width
    blocks = -(-layout.length // layout.lines_per_block)
    slots = layout.lines_per_block * layout.width + 1
    messages = 6 * d + (blocks + slots + 2) * size
    return {"moments": messages, "sample": messages + layout.width * (max(4, size) * 5 // 4) + particles}[work]


_U1, _U2 = np.uint64(1), np.uint64(2)
_LN2 = math.log(2.0)
TINY = 1e-75  # a message is rescaled before its largest entry can have lost this factor
HEADROOM = 480  # messages are scaled to 2^480: the product of two still fits, and has the most room below
COIN = 6  # numbers per node: agree and disagree across, agree and disagree along, zero and one


@kernel
def coin_weights(layout, field, coupling, coin):
    """Fill ``coin`` (6 d) with each node's weights in sweep order; return the log of what they were divided by."""
    total, lost = 0.0, 0.0  # compensated: equal terms would round the same way thousands of times
    for t in range(layout.width * layout.length):
        k = COIN * t
        w = field[layout.node[t]]
        term = _log_coin(-w, coin, k + 4) + w
        for edge in (layout.across[t], layout.along[t]):
            if edge < 0:
                coin[k] = 1.0
                coin[k + 1] = 1.0
            else:
                term += _log_coin(coupling[edge], coin, k)
            k += 2
        term -= lost
        larger = total + term
        lost = (larger - total) - term
        total = larger
    return total


@kernel
def _log_coin(w, coin, k):
    """Set coin[k], coin[k + 1] to e^w : 1 normalised; return the log of the normaliser."""
    small = math.exp(-abs(w))
    top = 1.0 / (1.0 + small)
    if w >= 0.0:
        coin[k], coin[k + 1] = top, small * top
    else:
        coin[k], coin[k + 1] = small * top, top
    return max(w, 0.0) + math.log1p(small)


@kernel
def rescale_exponent(s, src, n):
    """The exponent e for which 2^-e times the largest of n entries is about 2^headroom."""
    largest = 0.0
    for i in range(n):
        largest = max(largest, s[src + np.uint64(i)])
    return math.frexp(largest)[1] - HEADROOM


@kernel(fastmath={"contract"})
def _forward_node(s, src, dst, width, t, coin, scale):
    """Message after node t from the one before it."""
    k = COIN * t
    u, v, agree, differ = coin[k], coin[k + 1], coin[k + 2], coin[k + 3]
    f0, f1 = coin[k + 4] * scale, coin[k + 5] * scale
    g0, g1 = agree * f0, differ * f1  # weight of the new node being zero or one, apart from the edge across
    n = 2 ** min(t, width)
    for side in range(2):  # the node before it
        if t < width:
            top = np.uint64(n)
            for i in range(side * (n // 2), n // 2 if side == 0 else n):
                j = np.uint64(i)
                s[dst + top + j] = s[src + j] * g1
                s[dst + j] = s[src + j] * g0
        else:
            half = np.uint64(n // 2)
            for i in range(side * (n // 4), n // 4 if side == 0 else n // 2):
                j = np.uint64(i)
                old0 = s[src + _U2 * j]
                old1 = s[src + _U2 * j + _U1]
                s[dst + j] = (u * g0) * old0 + (v * g0) * old1
                s[dst + half + j] = (v * g1) * old0 + (u * g1) * old1
        g0, g1 = differ * f0, agree * f1


@kernel
def forward_gain(coin, t):
    """Weight of the better state of node t for the worst state of its neighbours."""
    k = COIN * t
    u, v, agree, differ, f0, f1 = coin[k], coin[k + 1], coin[k + 2], coin[k + 3], coin[k + 4], coin[k + 5]
    both = min(max(f0 * u * agree, f1 * v * differ), max(f0 * v * differ, f1 * u * agree))
    one = min(max(f0 * u * differ, f1 * v * agree), max(f0 * v * agree, f1 * u * differ))
    return min(both, one)


@kernel
def taken_out(s, start, n, floor, gain):
    """What a message of ``n`` states is rescaled by before weights of at least ``gain``: exponent, factor, new floor.

    ``floor`` bounds its largest entry from below, relative to the last rescaling.
    """
    if floor * gain < TINY:
        exponent = rescale_exponent(s, start, n)
        return exponent, math.ldexp(1.0, -exponent), gain
    return 0, 1.0, floor * gain


@kernel
def block_offsets(layout, starts, slot):
    """Nodes of a block, number of blocks; where the slots begin behind the blocks' first messages, and where they end.

    A message takes ``slot`` numbers.
    """
    nodes_per_block = layout.lines_per_block * layout.width
    n_blocks = -(-layout.length // layout.lines_per_block)
    slots = starts + n_blocks * slot
    return nodes_per_block, n_blocks, slots, slots + (nodes_per_block + 1) * slot


@kernel
def forward_block(layout, coin, s, base, block):
    """Messages of one block of lines: slot 0 at ``base`` holds the message before it; slot i + 1, the one after node i.

    Returns the exponent that has been taken out.
    """
    width = layout.width
    size = 2**width
    first = block * layout.lines_per_block * width
    last = min((block + 1) * layout.lines_per_block, layout.length) * width
    lift = 0
    floor = 0.0  # of the largest entry, relative to the last rescaling: unknown at the start
    for t in range(first, last):
        src = np.uint64(base + (t - first) * size)
        dst = np.uint64(base + (t - first + 1) * size)
        exponent, scale, floor = taken_out(s, src, 2 ** min(t, width), floor, forward_gain(coin, t))
        lift += exponent
        _forward_node(s, src, dst, width, t, coin, scale)
    return lift


@kernel
def forward_again(layout, coin, s, starts, slots, block):
    """The messages of a block once more, from the one at its start that `forward_pass` has left."""
    size = 2**layout.width
    copy_into(s[slots:], s[starts + block * size : starts + (block + 1) * size])
    forward_block(layout, coin, s, slots, block)


@kernel
def forward_pass(layout, coin, s, starts, slots):
    """All blocks forward. Leaves the messages at the blocks' starts at ``starts``, the last block's at ``slots``.

    Returns log Z of the normalised coins.
    """
    size = 2**layout.width
    nodes_per_block, n_blocks, _, _ = block_offsets(layout, starts, size)
    s[slots] = math.ldexp(1.0, HEADROOM - 1)
    lift = 0
    for block in range(n_blocks):
        if block:
            end = slots + nodes_per_block * size
            copy_into(s[slots:], s[end : end + size])
        copy_into(s[starts + block * size :], s[slots : slots + size])
        lift += forward_block(layout, coin, s, slots, block)
    nodes_of_last = layout.width * layout.length - (n_blocks - 1) * nodes_per_block
    end = slots + nodes_of_last * size
    total = s[end : end + size].sum()
    return lift * _LN2 + math.log(math.ldexp(total, 1 - HEADROOM))


@kernel(fastmath={"contract", "reassoc"})
def _backward_span(forward, zero, one, before, u, v, g0, g1):
    # Slices, not offsets: only so does LLVM see that the two stores of a step do not overlap, and use vectors.
    s00, s01, s10, s11 = 0.0, 0.0, 0.0, 0.0
    for j in range(zero.size):
        f0 = forward[2 * j]
        f1 = forward[2 * j + 1]
        x0 = zero[j] * g0
        x1 = one[j] * g1
        s00 += f0 * x0
        s01 += f0 * x1
        s10 += f1 * x0
        s11 += f1 * x1
        before[2 * j] = u * x0 + v * x1
        before[2 * j + 1] = v * x0 + u * x1
    return s00, s01, s10, s11


@kernel(fastmath={"contract", "reassoc"})
def _backward_first_line(s, f, b, b2, start, stop, top, g0, g1):
    s0, s1 = 0.0, 0.0
    for j in range(start, stop):
        x0 = s[b + j] * g0
        x1 = s[b + top + j] * g1
        s0 += s[f + j] * x0
        s1 += s[f + j] * x1
        s[b2 + j] = x0 + x1
    return s0, s1


@kernel
def _backward_node(s, f, b, b2, width, t, coin, scale):
    """Backward message before node t from the one after it; (one, along, across, total): unnormalised expectations."""
    k = COIN * t
    u, v, agree, differ = coin[k], coin[k + 1], coin[k + 2], coin[k + 3]
    f0, f1 = coin[k + 4] * scale, coin[k + 5] * scale
    if t < width:
        n = 2**t
        p00, p01 = _backward_first_line(s, f, b, b2, 0, n // 2, n, agree * f0, differ * f1)
        p10, p11 = _backward_first_line(s, f, b, b2, n // 2, n, n, differ * f0, agree * f1)
        return p01 + p11, p00 + p11, 0.0, p00 + p01 + p10 + p11
    n = 2**width
    middle, half = n // 4, n // 2
    forward, after, before = s[f : f + n], s[b : b + n], s[b2 : b2 + n]
    l00, l01, l10, l11 = _backward_span(
        forward, after[:middle], after[half : half + middle], before, u, v, agree * f0, differ * f1
    )
    r00, r01, r10, r11 = _backward_span(
        forward[2 * middle :],
        after[middle:half],
        after[half + middle :],
        before[2 * middle :],
        u,
        v,
        differ * f0,
        agree * f1,
    )
    across = u * (l00 + l11 + r00 + r11)
    along = u * (l00 + r11) + v * (l10 + r01)
    one = u * (l11 + r11) + v * (l01 + r01)
    return one, along, across, across + v * (l01 + l10 + r01 + r10)


@kernel
def backward_gain(coin, t):
    k = COIN * t
    return max(coin[k], coin[k + 1]) * min(coin[k + 2], coin[k + 3]) * min(coin[k + 4], coin[k + 5])


@kernel
def transfer_moments(layout, field, coupling, scratch, node_mean, agree_mean):
    """A(field, coupling) and the expected statistics.

    Parameters
    ----------
    layout : GridLayout
    field : (d,) float array
    coupling : (m,) float array
    scratch : (`transfer_scratch(layout, "moments")`,) float array
        Overwritten.
    node_mean : (d,) float array
        Filled with E[x_i].
    agree_mean : (m,) float array
        Filled with the probability that the ends of edge e agree.
    """
    width = layout.width
    size = 2**width
    d = width * layout.length
    coin = scratch[: COIN * d]
    starts = COIN * d
    nodes_per_block, n_blocks, slots, back = block_offsets(layout, starts, size)
    log_z = coin_weights(layout, field, coupling, coin)
    log_z += forward_pass(layout, coin, scratch, starts, slots)

    b, b2 = back, back + size
    floor = 1.0
    scratch[back : back + size] = math.ldexp(1.0, HEADROOM)
    for block in range(n_blocks - 1, -1, -1):
        if block < n_blocks - 1:
            forward_again(layout, coin, scratch, starts, slots, block)
        first = block * nodes_per_block
        for t in range(min(first + nodes_per_block, d) - 1, first - 1, -1):
            f = slots + (t - first) * size
            _, scale, floor = taken_out(scratch, np.uint64(b), 2 ** min(t + 1, width), floor, backward_gain(coin, t))
            one, along, across, total = _backward_node(scratch, f, b, b2, width, t, coin, scale)
            node_mean[layout.node[t]] = one / total
            if layout.along[t] >= 0:
                agree_mean[layout.along[t]] = along / total
            if layout.across[t] >= 0:
                agree_mean[layout.across[t]] = across / total
            b, b2 = b2, b
    return log_z
