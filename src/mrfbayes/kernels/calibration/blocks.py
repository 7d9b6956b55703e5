"""Local moments: for every parameter, the block of parameters near it, inverted, and third-order sums over it.

Statistics are indicators here, given as planes: particle k of parameter j is bit k % 64 of planes[j, k // 64].

Joint draws of very many correlated normals, each given a few before it: a draw is one pass (Vecchia 1988).

Third cumulants of a planar field within blocks, from its Green function.
"""

from __future__ import annotations

import math

import numpy as np

from mrfbayes.kernels.base.bits import popcount
from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.base.linear import cholesky, solve_lower, solve_upper
from mrfbayes.kernels.base.random import normal

LANES = 64  # particles whose P and (s - mean) P are held at once: one word
_ONE = np.uint64(1)
MOST_EARLIER = 32  # normals that one is regressed on


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
def local_covariance(planes, means, variance, n, prior, block_offset, member, largest, first, last, covariance_rows):
    """Row j of the inverse information within block j, for blocks first .. last, into ``covariance_rows``.

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
                product = means[i] * (1.0 - means[i]) * means[h] * (1.0 - means[h])
                covariance = np.float64(joint) / n_particles - means[i] * means[h]
                correlation = covariance / math.sqrt(product) if product > 0.0 else 0.0
                matrix[a, b] = n * correlation * math.sqrt(variance[i] * variance[h])
            matrix[a, a] = n * variance[i] + prior[i]
        own = matrix[0, 0]
        if _first_column_of_inverse(matrix, k, column):
            alone = 1.0 / (own * column[0])  # 1 - R^2
            adjusted = min(1.0, alone * (n_particles - 1.0) / max(n_particles - k, 1.0))
            for a in range(k):
                covariance_rows[start + a] = column[a] * alone / adjusted
        else:
            failed += 1
            covariance_rows[start] = 1.0 / own
            for a in range(1, k):
                covariance_rows[start + a] = 0.0
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
def _project(centred, low, block_offset, member, covariance_rows, first, projection):
    """P_j = sum over its block of S_jb (s_b - mean_b), for parameters from ``first`` on: (rows, LANES)."""
    total = np.empty(LANES, dtype=np.float32)
    for a in range(projection.shape[0]):
        j = first + a
        total[:] = np.float32(0.0)
        for position in range(block_offset[j], block_offset[j + 1]):
            row = centred[member[position] - low]
            weight = np.float32(covariance_rows[position])
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
        p2, p3, p4, qp = zero, zero, zero, zero
        for i in range(LANES):  # in single precision within a word
            here = own[i]
            square = here * here
            p2 += square
            p3 += square * here
            p4 += square * square
            qp += here * total[i]
        sums[j, 0] += p3
        sums[j, 1] += qp
        sums[j, 2] += p2
        sums[j, 3] += p4


@kernel
def local_third(planes, means, block_offset, member, covariance_rows, reach, sums):
    """Add P_j^3, Q_j P_j, P_j^2, P_j^4 to rows first .. last of ``sums`` (p, 4).

    Q_j sums (s_a - mean_a) P_a over the block of j.

    ``reach`` holds first, last, the range of their blocks, and the range of the blocks of those.
    """
    first, last, low, high, lowest, highest = reach
    centred = np.empty((highest - lowest, LANES), dtype=np.float32)
    projection = np.empty((high - low, LANES), dtype=np.float32)
    for word in range(planes.shape[1]):
        _centre(planes, means, word, lowest, centred)
        _project(centred, lowest, block_offset, member, covariance_rows, low, projection)
        for a in range(high - low):  # (s - mean) P in place of s - mean
            row, own = centred[low - lowest + a], projection[a]
            for i in range(LANES):
                row[i] *= own[i]
        _add_third(centred, lowest, block_offset, member, projection, low, first, last, sums)


@kernel
def _lookup(offset, member, covariance_rows, a, b):
    """S_ab from the row of a, 0 where b is not in its block."""
    for k in range(offset[a], offset[a + 1]):
        if member[k] == b:
            return covariance_rows[k]
    return 0.0


@kernel
def count_earlier(offset, member, counts):
    """How many of the block of each j come before it, at most `MOST_EARLIER`."""
    for j in range(counts.size):
        counts[j] = 0
        for k in range(offset[j], offset[j + 1]):
            if member[k] < j and counts[j] < MOST_EARLIER:
                counts[j] += 1


@kernel
def conditionals(offset, member, covariance_rows, first, last, weight_offset, source, weight, residual):
    """Regression of the normals first .. last on those in their blocks that come before; returns how many were dropped.

    ``covariance_rows`` are rows of S within blocks (``offset``, ``member``); a correlation is taken from both
    rows. A regression that leaves no variance is dropped.
    """
    index = np.empty(MOST_EARLIER, dtype=np.int64)
    matrix, right = np.empty((MOST_EARLIER, MOST_EARLIER)), np.empty(MOST_EARLIER)
    cut = 0
    for j in range(first, last):
        count = 0
        for k in range(offset[j], offset[j + 1]):
            if member[k] < j and count < MOST_EARLIER:
                index[count] = member[k]
                count += 1
        start = weight_offset[j]
        residual[j] = 1.0
        for a in range(count + 1):
            u = j if a == count else index[a]
            for b in range(min(a + 1, count)):
                v = index[b]
                scale = math.sqrt(covariance_rows[offset[u]] * covariance_rows[offset[v]])
                both = _lookup(offset, member, covariance_rows, u, v) + _lookup(offset, member, covariance_rows, v, u)
                value = 1.0 if u == v else 0.5 * both / scale
                if a == count:
                    right[b] = value
                else:
                    matrix[a, b] = value
        left = _solve(matrix, right, count)
        if left < 0.01:
            cut += 1
            right[:count] = 0.0
            left = 1.0
        for a in range(count):
            source[start + a] = index[a]
            weight[start + a] = right[a]
        residual[j] = math.sqrt(left)
    return cut


@kernel
def _solve(matrix, right, count):
    """Replace ``right`` by matrix^-1 right (Cholesky in place); returns 1 - right' matrix^-1 right, -1 on failure."""
    if not cholesky(matrix, count, 1e-9, matrix):
        return -1.0
    solve_lower(matrix, right, count)
    left = 1.0
    for i in range(count):
        left -= right[i] * right[i]
    solve_upper(matrix, right, count)
    return left


@kernel
def draw_scores(weight_offset, source, weight, residual, random_state, out):
    """One joint draw of all normal scores into ``out`` (p,)."""
    random_state = without_refcount(random_state)
    for j in range(out.size):
        total = residual[j] * normal(random_state)
        for k in range(weight_offset[j], weight_offset[j + 1]):
            total += weight[k] * out[source[k]]
        out[j] = total


@kernel
def prior_third(offset, member, covariance_rows, variance, third, cube, shift):
    """Prior's part: sum_k S_jk^3 t_k and sum_k S_jk S_kk t_k over the block of every j."""
    for j in range(offset.size - 1):
        a, b = 0.0, 0.0
        for k in range(offset[j], offset[j + 1]):
            s, t = covariance_rows[k], third[member[k]]
            a += s * s * s * t
            b += s * variance[member[k]] * t
        cube[j], shift[j] = a, b


@kernel(fastmath={"contract", "reassoc", "nsz"})
def _triples(h, weight, a, b):
    """Sum over c < b of weight_c tr(H_ac J H_cb Y), Y = J H_ba J; ``h`` (4, k, k) has the entries of the 2x2 blocks."""
    y00, y01, y10, y11 = h[3, a, b], -h[1, a, b], -h[2, a, b], h[0, a, b]  # of J H_ba J, as H_ba = -H_ab'
    p, q, r, s = h[0, a], h[1, a], h[2, a], h[3, a]
    e, f, g, i = h[0, b], h[1, b], h[2, b], h[3, b]
    total = 0.0
    for c in range(b):
        first = (p[c] * f[c] - q[c] * e[c]) * y00 + (p[c] * i[c] - q[c] * g[c]) * y10
        second = (r[c] * f[c] - s[c] * e[c]) * y01 + (r[c] * i[c] - s[c] * g[c]) * y11
        total -= weight[c] * (first + second)
    return total


@kernel
def block_cubes(green, weight, covariance_rows, members, offset, cubes):
    """The sum over distinct a, b, c in block j of v_a v_b v_c kappa_abc into ``cubes``, for every block.

    green: (2m, 2m) H of a window without its 2x2 diagonal; weight: (m,) derivative of tau by the log-odds; members:
    edges of the window, block after block (``offset``), with v, rows of S, at the same places in ``covariance_rows``.
    """
    green, weight, covariance_rows, members = without_refcount((green, weight, covariance_rows, members))
    largest = 0
    for j in range(cubes.size):
        largest = max(largest, offset[j + 1] - offset[j])
    h, own = np.empty((4, largest, largest)), np.empty(largest)
    for j in range(cubes.size):
        begin = offset[j]
        k = offset[j + 1] - begin
        for a in range(k):
            at = members[begin + a]
            own[a] = covariance_rows[begin + a] * weight[at]
            for b in range(k):
                to = members[begin + b]
                h[0, a, b], h[1, a, b] = green[2 * at, 2 * to], green[2 * at, 2 * to + 1]
                h[2, a, b], h[3, a, b] = green[2 * at + 1, 2 * to], green[2 * at + 1, 2 * to + 1]
        total = 0.0
        for a in range(k):
            for b in range(a):
                total += own[a] * own[b] * _triples(h, own, a, b)
        cubes[j] = -6.0 * total
