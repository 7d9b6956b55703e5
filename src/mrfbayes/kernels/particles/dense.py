r"""Gibbs sampling where every variable has many neighbours: chains are the lanes of single-precision arithmetic.

A *replica* is a field of its own (couplings and level weights) with its own chains, in two halves whose states stand
side by side, node by node. Variables are held centred, z = x - m with constants m, because

.. math:: \hat E[z_i z_j] = \tfrac12 \langle e_i z_j^{old} + e_j z_i^{new}\rangle, \qquad e_i = E[z_i \mid \text{rest}]

(i < j, e_i at the update of i) has a small variance only for centred variables: whitened, a tenth and less of that of
plain counting. Where states have no order a variable is q indicators, one per state, and z z' is their inner product.

Nodes are swept in groups of `CHAIN_GROUP`. The fields of a group come from one matrix product with all variables as
they are before the group, and each update corrects the fields of those that follow it in the group: the same chain as
node by node, at the speed of matrix products.

One node is drawn given all others for `LANES` chains at once. All draws take the same: ``fields`` (q * W,), which holds
sum_j J_ij z_j for q planes of W chains; ``lane``, the first of the `LANES` chains to draw; ``lanes``, scratch whose
first row holds uniform numbers; and the `DenseNode`, to which they write.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.random import next_word, sfc64

BINARY, ORDERED, AGREEMENT = range(3)
MOST_LEVELS = 7  # of an ordered variable

SCRATCH_ROWS = 4  # of `LANES` besides one per state

_ZERO, _UNIT, _LARGEST = np.float32(0.0), np.float32(1.0), np.float32(80.0)
LANES = 64  # chains whose numbers are made together: four registers of 16 floats
STREAMS = 16  # generators side by side
STREAM_WORDS = 3 * STREAMS + 1
_ONE = np.uint64(1)
_U8, _U40 = np.uint64(8), np.uint64(40)
_LOW = np.uint64(0xFFFFFFFF)
_TO_UNIT = np.float32(2.0**-24)
_HALF_STEP = np.float32(2.0**-25)  # keeps numbers off 0
_LOG2_E = np.float32(1.4426950408889634)
_ROUND = np.float32(12582912.0)  # 1.5 * 2^23: adding it rounds to the nearest integer
_LOG2_HIGH = np.float32(0.693359375)  # log 2 to nine bits: its multiples are exact
_LOG2_LOW = np.float32(-2.12194440054691e-4)
_BIAS, _FRACTION = np.int32(127), np.int32(23)
# (exp(r) - 1 - r) / r^2 on |r| <= log(2) / 2 at Chebyshev nodes, error 1e-8 after multiplication by r^2
_E0, _E1, _E2, _E3, _E4 = (
    np.float32(value) for value in (0.5, 0.166665767, 0.0416665542, 0.00836323288, 0.00139262508)
)


class DenseNode(NamedTuple):
    """One node in all chains of a half."""

    level: np.ndarray  # (r,) float32: log weights of its states; for `draw_levels` the weights themselves
    centre: np.ndarray  # (q,) float32: m
    z: np.ndarray  # (q * W,) float32: centred state
    delta: np.ndarray  # (q * W,) float32: how much the draw changed it
    expected: np.ndarray  # (q * W,) float32: conditional mean of z; empty where it is not wanted
    sums: np.ndarray  # (R,) float32: conditional probabilities of the states, added over chains; empty likewise


@kernel(fastmath={"reassoc"})  # sums in any order, which is what makes them SIMD code
def _add_up(values):
    total = _ZERO
    for k in range(LANES):
        total += values[k]
    return total


@kernel
def _move(lanes, z, delta):
    for k in range(LANES):
        delta[k] = lanes[k] - z[k]
        z[k] = lanes[k]


@kernel
def draw_binary(fields, lane, lanes, node):
    """Two states: one where u (1 + exp(-h)) < 1."""
    base, m, u, rest = node.level[1] - node.level[0], node.centre[0], lanes[0], lanes[1]
    h = fields[lane : lane + LANES]
    for k in range(LANES):
        rest[k] = _UNIT + exp32(min(max(-(base + h[k]), -_LARGEST), _LARGEST))
        u[k] = (_UNIT if u[k] * rest[k] < _UNIT else _ZERO) - m
    if node.expected.size > 0:
        node.sums[1] += _binary_mean(rest, m, node.expected[lane : lane + LANES])
    _move(u, node.z[lane : lane + LANES], node.delta[lane : lane + LANES])


@kernel(fastmath={"reassoc"})
def _binary_mean(rest, m, expected):
    total = _ZERO
    for k in range(LANES):
        one = _UNIT / rest[k]
        expected[k] = one - m
        total += one
    return total


@kernel
def draw_levels(fields, lane, lanes, node):
    """Ordered states 0..r-1 with weights level_a exp(a h): one exponential and its powers, then the inverse CDF."""
    ratio, h = lanes[1], fields[lane : lane + LANES]
    largest = _LARGEST / np.float32(node.level.size - 1)
    for k in range(LANES):
        ratio[k] = exp32(min(max(h[k], -largest), largest))
    if node.expected.size > 0:
        _levels(lanes, node.level, node.centre[0], node.expected[lane : lane + LANES], node.sums)
    else:
        _levels(lanes, node.level, node.centre[0], lanes[2], lanes[3])
    _move(lanes[0], node.z[lane : lane + LANES], node.delta[lane : lane + LANES])


@kernel(fastmath={"contract", "reassoc"})
def _levels(lanes, level, m, expected, sums):
    """Row 0: uniform numbers in, centred states out. Row 1: exp(h). Conditional means of z, and sums of probabilities.

    Horner's rule gives the weights cumulated from the top, s_a = sum over b >= a of level_b exp((b - a) h), so that
    P(x >= a) = exp(a h) s_a / s_0 and x is the number of a >= 1 with u s_0 <= exp(a h) s_a. No level is a weight of 0.
    """
    w0, w1, w2, w3, w4, w5, w6 = _padded(level)
    x, ratio = lanes[0], lanes[1]
    total1, total2, total3, total4, total5, total6 = _ZERO, _ZERO, _ZERO, _ZERO, _ZERO, _ZERO
    for k in range(LANES):
        t = ratio[k]
        s5 = w5 + t * w6
        s4 = w4 + t * s5
        s3 = w3 + t * s4
        s2 = w2 + t * s3
        s1 = w1 + t * s2
        norm = _UNIT / (w0 + t * s1)
        t2 = t * t
        t3, t4 = t2 * t, t2 * t2
        p1, p2, p3 = norm * t * s1, norm * t2 * s2, norm * t3 * s3
        p4, p5, p6 = norm * t4 * s4, norm * t4 * t * s5, norm * t4 * t2 * w6
        u = x[k]
        low = (_UNIT if u <= p1 else _ZERO) + (_UNIT if u <= p2 else _ZERO)
        middle = (_UNIT if u <= p3 else _ZERO) + (_UNIT if u <= p4 else _ZERO)
        high = (_UNIT if u <= p5 else _ZERO) + (_UNIT if u <= p6 else _ZERO)
        x[k] = (low + middle) + (high - m)
        expected[k] = ((p1 + p2) + (p3 + p4)) + ((p5 + p6) - m)
        total1 += p1
        total2 += p2
        total3 += p3
        total4 += p4
        total5 += p5
        total6 += p6
    at_least = (total1, total2, total3, total4, total5, total6, _ZERO)
    for a in range(1, level.size):
        sums[a] += at_least[a - 1] - at_least[a]


@kernel
def _padded(level):
    r = level.size
    return (
        level[0],
        level[1],
        level[2] if r > 2 else _ZERO,
        level[3] if r > 3 else _ZERO,
        level[4] if r > 4 else _ZERO,
        level[5] if r > 5 else _ZERO,
        level[6] if r > 6 else _ZERO,
    )


@kernel
def draw_states(fields, lane, lanes, node):
    """States without order: an exponential each, relative to the largest, then the inverse CDF."""
    level = node.level
    r = level.size
    chains = fields.size // r
    u, top, total = lanes[0], lanes[1], lanes[2 + r]
    for a in range(r):
        h, weight, base = fields[a * chains + lane : a * chains + lane + LANES], lanes[2 + a], level[a]
        for k in range(LANES):
            weight[k] = base + h[k]
    top[:] = lanes[2]
    for a in range(1, r):
        weight = lanes[2 + a]
        for k in range(LANES):
            top[k] = max(top[k], weight[k])
    total[:] = _ZERO
    for a in range(r):
        weight = lanes[2 + a]
        for k in range(LANES):
            weight[k] = exp32(max(weight[k] - top[k], -_LARGEST))
            total[k] += weight[k]
    for k in range(LANES):
        u[k] *= total[k]
        total[k] = _UNIT / total[k]
    reached, chosen = top, lanes[3 + r]
    reached[:] = _ZERO
    for a in range(r):
        begin = a * chains + lane
        weight, m = lanes[2 + a], node.centre[a]
        # u is in (0, total]: the state is the first whose cumulative weight reaches it; the last takes the rest.
        if a < r - 1:
            for k in range(LANES):
                low = reached[k]
                reached[k] = low + weight[k]
                chosen[k] = (_UNIT if low < u[k] and u[k] <= reached[k] else _ZERO) - m
        else:
            for k in range(LANES):
                chosen[k] = (_UNIT if reached[k] < u[k] else _ZERO) - m
        _move(chosen, node.z[begin : begin + LANES], node.delta[begin : begin + LANES])
        if node.expected.size > 0:
            e = node.expected[begin : begin + LANES]
            for k in range(LANES):
                weight[k] *= total[k]
            for k in range(LANES):
                e[k] = weight[k] - m
            node.sums[a] += _add_up(weight)


@kernel(inline="always")
def exp32(x):
    """Exponential of a float32 within -80 and 80 (not checked), to about 2e-7 relative."""
    k = (x * _LOG2_E + _ROUND) - _ROUND
    r = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    tail = _E0 + r * (_E1 + r * (_E2 + r * (_E3 + r * _E4)))
    power = np.int32((np.int32(k) + _BIAS) << _FRACTION).view(np.float32)
    return (_UNIT + (r + r * r * tail)) * power


@kernel
def start_streams(state, streams):
    """Every row of ``streams`` (k, STREAM_WORDS): generators seeded with 192 bits of ``state`` each and warmed up."""
    scratch = np.empty(LANES, np.float32)
    for row in range(streams.shape[0]):
        for k in range(3 * STREAMS):
            streams[row, k] = next_word(state)
        streams[row, 3 * STREAMS] = _ONE
        for _ in range(12 * 2 * STREAMS // LANES):
            fill_uniform32(streams[row], scratch)


@kernel
def fill_uniform32(stream, out):
    """`LANES` uniform numbers inside (0, 1] with 24 bits: SFC64 generators side by side, two numbers per word."""
    counter = stream[3 * STREAMS]
    for k in range(STREAMS):
        a, b, c = stream[k], stream[k + STREAMS], stream[k + 2 * STREAMS]
        step = counter
        for t in range(LANES // (2 * STREAMS)):
            word, a, b, c = sfc64(a, b, c, step)
            step += _ONE
            high, low = np.int32(word >> _U40), np.int32((word & _LOW) >> _U8)
            out[k + STREAMS * 2 * t] = np.float32(high) * _TO_UNIT + _HALF_STEP
            out[k + STREAMS * (2 * t + 1)] = np.float32(low) * _TO_UNIT + _HALF_STEP
        stream[k], stream[k + STREAMS], stream[k + 2 * STREAMS] = a, b, c
    stream[3 * STREAMS] = counter + np.uint64(LANES // (2 * STREAMS))


HALVES = 2  # of a replica's chains: the difference of their sums shows the noise
CHAIN_GROUP = 8  # nodes whose fields are made together
STRIP = 32  # rows of pair sums made together: what stands below the diagonal is left out in strips


class DenseField(NamedTuple):
    """K replicas of a field with d nodes. Write to ``coupling`` and ``level`` between sweeps to change it."""

    kind: int  # BINARY, ORDERED or AGREEMENT
    states: np.ndarray  # (d,) int64
    centre: np.ndarray  # (d, q) float32: m
    coupling: np.ndarray  # (K, d, d) float32: symmetric, nothing on the diagonal
    level: np.ndarray  # (K, d, R) float32: log weights of the states while all neighbours are at their
    # centres; for ordered states the weights themselves


class DenseChains(NamedTuple):
    """The chains of K replicas, W a multiple of `LANES` in each half."""

    z: np.ndarray  # (K, HALVES, d, q * W) float32: centred states
    stream: np.ndarray  # (K, HALVES, STREAM_WORDS) uint64


class DenseSums(NamedTuple):
    """Sums over the chains of each half and over sweeps. Added to, never cleared, by kernels."""

    pair: np.ndarray  # (K, HALVES, d, d) float32: above the diagonal, e_i z_j + e_j z_i
    level: np.ndarray  # (K, HALVES, d, R) float32: conditional probabilities of the states 1, 2, ...


class DenseScratch(NamedTuple):
    """Room for one half of one replica."""

    fields: np.ndarray  # (CHAIN_GROUP, q * W) float32
    delta: np.ndarray  # (q * W,) float32
    lanes: np.ndarray  # (SCRATCH_ROWS + R, LANES) float32
    before: np.ndarray  # (d, q * W) float32: z at the begin of a counted sweep
    expected: np.ndarray  # (d, q * W) float32: e
    product: np.ndarray  # (STRIP * d,) float32


@kernel(fastmath={"contract"})
def _add_multiple(factor, values, out):
    for k in range(out.size):
        out[k] += factor * values[k]


@kernel
def _sweep(field, replica, z, stream, scratch, expected, level_sums):
    """One sweep of one half; ``expected`` (d, q * W) and ``level_sums`` (d, R) are filled unless they are empty."""
    d, width = z.shape
    counting = expected.size > 0
    chains = width // field.centre.shape[1]
    coupling, level = field.coupling[replica], field.level[replica]
    nothing = scratch.delta[:0]
    for first in range(0, d, CHAIN_GROUP):
        count = min(CHAIN_GROUP, d - first)
        fields = scratch.fields[:count]
        np.dot(coupling[first : first + count], z, fields)
        for t in range(count):
            i = first + t
            node = DenseNode(
                level[i, : field.states[i]],
                field.centre[i],
                z[i],
                scratch.delta,
                expected[i] if counting else nothing,
                level_sums[i] if counting else nothing,
            )
            for lane in range(0, chains, LANES):
                fill_uniform32(stream, scratch.lanes[0])
                if field.kind == BINARY:
                    draw_binary(fields[t], lane, scratch.lanes, node)
                elif field.kind == AGREEMENT:
                    draw_states(fields[t], lane, scratch.lanes, node)
                else:
                    draw_levels(fields[t], lane, scratch.lanes, node)
            for later in range(t + 1, count):
                _add_multiple(coupling[first + later, i], scratch.delta, fields[later])


@kernel
def _add_pairs(scratch, z, pair):
    """``pair`` (d, d) += expected before^T + z expected^T above the diagonal, and a little below it."""
    d = z.shape[0]
    for first in range(0, d, STRIP):
        count = min(STRIP, d - first)
        product = scratch.product[: count * (d - first)].reshape(count, d - first)
        np.dot(scratch.expected[first : first + count], scratch.before[first:].T, product)
        for i in range(count):
            for j in range(d - first):
                pair[first + i, first + j] += product[i, j]
        np.dot(z[first : first + count], scratch.expected[first:].T, product)
        for i in range(count):
            for j in range(d - first):
                pair[first + i, first + j] += product[i, j]


@kernel
def dense_sweeps(field, chains, n_sweeps, counted, sums, scratch):
    """``n_sweeps`` sweeps of every replica's chains; the last ``counted`` of them are added to ``sums``."""
    field, chains, sums, scratch = without_refcount((field, chains, sums, scratch))
    nothing = scratch.expected[:0]  # two dimensions, as what it stands for
    for replica in range(chains.z.shape[0]):
        for half in range(HALVES):
            z, stream = chains.z[replica, half], chains.stream[replica, half]
            for sweep in range(n_sweeps):
                if sweep < n_sweeps - counted:
                    _sweep(field, replica, z, stream, scratch, nothing, nothing)
                else:
                    scratch.before[:] = z
                    _sweep(field, replica, z, stream, scratch, scratch.expected, sums.level[replica, half])
                    _add_pairs(scratch, z, sums.pair[replica, half])
