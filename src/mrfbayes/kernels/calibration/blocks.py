"""Local moments: for every parameter, the block of parameters near it, inverted, and third-order sums over it.

Statistics are indicators here, given as planes: particle k of parameter j is bit k % 64 of planes[j, k // 64].
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.bits import popcount
from mrfbayes.kernels.base.cholesky import cholesky, solve_lower, solve_upper
from mrfbayes.kernels.base.jit import kernel

LANES = 64  # particles whose P and (s - mean) P are held at once: one word
_ONE = np.uint64(1)


@kernel
def near_parameters(scope, offset, parameter, distance, j, block, stamp):
    """Fill ``block`` with j and all parameters within ``distance`` steps of it; returns their number.

    Parameters are one step apart where they share a variable: ``scope`` (p, 2) holds each one's variables (the same one
    twice where there is one), ``parameter[offset[i]:offset[i+1]]`` the parameters on variable i. ``stamp`` (p,) holds
    values other than j.
    """
    block[0] = j
    stamp[j] = j
    size, start = 1, 0
    for _ in range(distance):
        stop = size
        for k in range(start, stop):
            for end in range(2):
                i = scope[block[k], end]
                for position in range(offset[i], offset[i + 1]):
                    other = parameter[position]
                    if stamp[other] != j:
                        stamp[other] = j
                        if size == block.size:
                            return -1
                        block[size] = other
                        size += 1
        start = stop
    return size


@kernel
def fill_blocks(scope, offset, parameter, distance, largest, chosen, block_offset, member):
    """Blocks of the parameters ``chosen`` in turn; with an empty ``member`` only ``block_offset`` is filled.

    Returns False where a block would have more than ``largest`` members.
    """
    stamp = np.full(scope.shape[0], -1, dtype=np.int64)
    block = np.empty(largest, dtype=np.int64)
    for row in range(chosen.size):
        size = near_parameters(scope, offset, parameter, distance, chosen[row], block, stamp)
        if size < 0:
            return False
        if member.size:
            for k in range(size):
                member[block_offset[row] + k] = block[k]
        else:
            block_offset[row + 1] = block_offset[row] + size
    return True


@kernel
def _first_column_of_inverse(matrix, k, column):
    """Overwrite the lower triangle of ``matrix`` by its Cholesky factor; inverse times the first unit vector."""
    if not cholesky(matrix, k, 0.0, matrix):
        return False
    for a in range(k):
        column[a] = 1.0 if a == 0 else 0.0
    solve_lower(matrix, column, k)
    solve_upper(matrix, column, k)
    return True


@kernel
def local_spread(planes, means, variance, n, prior, block_offset, member, largest, first, last, spread):
    """Row j of the inverse information within block j, for blocks first .. last, into ``spread``.

    The information is n Cov[s] plus ``prior`` (p,) on the diagonal. Correlations come from the particles, variances are
    known (``variance`` (p,)). A regression of s_j on k others finds a share k/N of its variance by chance: R^2 is
    adjusted for that. Returns how many blocks had to be taken as diagonal because their estimate was not definite.
    """
    n_words = planes.shape[1]
    n_particles = 64.0 * n_words
    matrix = np.empty((largest, largest))
    column = np.empty(largest)
    failed = 0
    for j in range(first, last):
        start = block_offset[j]
        k = block_offset[j + 1] - start
        for a in range(k):
            i = member[start + a]
            for b in range(a):
                h = member[start + b]
                joint = np.uint64(0)
                for w in range(n_words):
                    joint += popcount(planes[i, w] & planes[h, w])
                spreads = means[i] * (1.0 - means[i]) * means[h] * (1.0 - means[h])
                covariance = np.float64(joint) / n_particles - means[i] * means[h]
                correlation = covariance / math.sqrt(spreads) if spreads > 0.0 else 0.0
                matrix[a, b] = n * correlation * math.sqrt(variance[i] * variance[h])
            matrix[a, a] = n * variance[i] + prior[i]
        own = matrix[0, 0]
        if _first_column_of_inverse(matrix, k, column):
            alone = 1.0 / (own * column[0])  # 1 - R^2
            adjusted = min(1.0, alone * (n_particles - 1.0) / max(n_particles - k, 1.0))
            for a in range(k):
                spread[start + a] = column[a] * alone / adjusted
        else:
            failed += 1
            spread[start] = 1.0 / own
            for a in range(1, k):
                spread[start + a] = 0.0
    return failed


@kernel(fastmath={"contract"})
def _centre(planes, means, word, low, centred):
    """s - mean of the 64 particles of a word, for parameters from ``low`` on: (rows, LANES)."""
    for a in range(centred.shape[0]):
        bits = planes[low + a, word]
        mean = np.float32(means[low + a])
        row = centred[a]
        for i in range(LANES):
            row[i] = np.float32((bits >> np.uint64(i)) & _ONE) - mean


@kernel(fastmath={"contract"})
def _project(centred, low, block_offset, member, spread, first, projection):
    """P_j = sum over its block of S_jb (s_b - mean_b), for parameters from ``first`` on: (rows, LANES)."""
    total = np.empty(LANES, dtype=np.float32)
    for a in range(projection.shape[0]):
        j = first + a
        total[:] = np.float32(0.0)
        for position in range(block_offset[j], block_offset[j + 1]):
            row = centred[member[position] - low]
            weight = np.float32(spread[position])
            for i in range(LANES):  # a whole word, so that looking whether arrays overlap costs little
                total[i] += weight * row[i]
        projection[a, :] = total


@kernel(fastmath={"contract", "reassoc", "nsz"})
def _add_third(product, low, block_offset, member, projection, low_projection, first, last, sums):
    total = np.empty(LANES, dtype=np.float32)
    for j in range(first, last):
        total[:] = np.float32(0.0)
        for position in range(block_offset[j], block_offset[j + 1]):
            row = product[member[position] - low]
            for i in range(LANES):
                total[i] += row[i]
        own = projection[j - low_projection]
        zero = np.float32(0.0)
        p2, p3, p4, p6, q, qp, qp2, qqpp = zero, zero, zero, zero, zero, zero, zero, zero
        for i in range(LANES):  # in single precision within a word
            here, beside = own[i], total[i]
            square, mixed = here * here, here * beside
            cube = square * here
            p2 += square
            p3 += cube
            p4 += square * square
            p6 += cube * cube
            q += beside
            qp += mixed
            qp2 += mixed * here
            qqpp += mixed * mixed
        sums[j, 0] += p3
        sums[j, 1] += p6
        sums[j, 2] += qp
        sums[j, 3] += qqpp
        sums[j, 4] += q
        sums[j, 5] += qp2
        sums[j, 6] += p2
        sums[j, 7] += p4


@kernel
def local_third(planes, means, block_offset, member, spread, reach, sums):
    """Add to rows first .. last of ``sums`` (p, 8), where Q_j sums (s_a - mean_a) P_a over the block of j:

    P_j^3, P_j^6, Q_j P_j, (Q_j P_j)^2, Q_j, Q_j P_j^2, P_j^2, P_j^4.

    ``reach`` holds first, last, the range of their blocks, and the range of the blocks of those.
    """
    first, last, low, high, lowest, highest = reach
    centred = np.empty((highest - lowest, LANES), dtype=np.float32)
    projection = np.empty((high - low, LANES), dtype=np.float32)
    for word in range(planes.shape[1]):
        _centre(planes, means, word, lowest, centred)
        _project(centred, lowest, block_offset, member, spread, low, projection)
        for a in range(high - low):  # (s - mean) P in place of s - mean
            row, own = centred[low - lowest + a], projection[a]
            for i in range(LANES):
                row[i] *= own[i]
        _add_third(centred, lowest, block_offset, member, projection, low, first, last, sums)
