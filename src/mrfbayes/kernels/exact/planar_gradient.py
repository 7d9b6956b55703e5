r"""Downwards through a dissection: the derivative of log Z with respect to every tau, by the adjoint of the merges.

With J = C K, R = C_{rest,shared} K and K = (I - T C)^{-1} for the block diagonal C of two children, and with the
adjoint \bar G of the merged region, H = J - R^T \bar G R is the Green function of the whole field at the shared
half-edges. The derivative by tau_e is its entry between the two halves of e, and the children's adjoints are \bar G
among kept half-edges, \bar G R T between kept and shared ones, and T H T among shared ones.
"""

from __future__ import annotations

from mrfbayes.kernels.base.borrowed import borrow
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.planar_inside import child_places, fetch, right_child, shared_tau
from mrfbayes.kernels.exact.planar_merge import U, add_product, shared_inverse


@kernel
def clear(array, begin, size):
    """Zeros from ``begin`` on."""
    begin = U(begin)
    for i in range(U(size)):
        array[begin + i] = 0.0


@kernel
def gather(store, matrix, places, work, begin):
    """Copy a matrix so that row i of the copy, at ``begin`` of ``work``, is row ``places[i]``."""
    m = matrix[1]
    for i in range(m):
        row = matrix[0] + places[i] * m
        for j in range(m):
            work[begin + i * m + j] = store[row + places[j]]


@kernel
def write_child(store, child, tau, work, blocks):
    """The adjoint of one child from blocks = (gbar, its stride, M, H, sign): see `split`."""
    begin, n = child
    k = tau.size
    kept = n - k
    gbar, stride, m, h, sign = blocks
    for i in range(kept):
        for j in range(kept):
            store[begin + i * n + j] = work[gbar + i * stride + j]
        for s in range(k):
            value = sign * work[m + i * k + s] * tau[s]
            store[begin + i * n + kept + s] = value
            store[begin + (kept + s) * n + i] = -value
    for i in range(k):
        row = begin + (kept + i) * n + kept
        for j in range(i):
            value = -tau[i] * work[h + i * k + j] * tau[j]
            store[row + j] = value
            store[begin + (kept + j) * n + kept + i] = -value
        store[row + i] = 0.0


@kernel
def split(buffers, region, left, right, tau, slope):
    """Turn the adjoint of a region into those of its children, and fill ``slope`` (k,) for the edges between them.

    region: (begin, size) of its adjoint; ``buffers.places`` says where the children's kept half-edges stand in it.
    """
    store, work = buffers.store, buffers.work
    k, m = tau.size, region[1]
    na, nb = left[1], right[1]
    ma, mb = na - k, nb - k
    kk, mk = k * k, m * k
    db, ja, ha, hb = 2 * kk, 3 * kk, 4 * kk, 5 * kk
    ra, rb = 6 * kk, 6 * kk + mk
    pa, pb, gbar = rb + mk, rb + 2 * mk, rb + 3 * mk
    clear(work, db, 4 * kk + 4 * mk)
    shared_inverse(store, left, right, tau, work)
    a_ss, b_ss = left[0] + ma * (na + 1), right[0] + mb * (nb + 1)
    add_product(work, (ja, k), store, (a_ss, na, 1), work, (k, 2 * k), (k, k, k, k))  # J_aa = a S^-1
    for i in range(k):
        for j in range(k):
            work[db + i * k + j] = tau[i] * store[b_ss + i * nb + j]
            work[ha + i * k + j] = -tau[i] * work[ja + i * k + j]
    # R_a = (U S^-1, -V D J_aa), R_b = (0, V) + R_a D b
    add_product(work, (ra, k), store, (left[0] + ma, na, 1), work, (k, 2 * k), (ma, k, k, k))
    add_product(work, (ra + ma * k, k), store, (right[0] + mb, nb, 1), work, (ha, k), (mb, k, k, k))
    for i in range(mb):
        for s in range(k):
            work[rb + (ma + i) * k + s] = store[right[0] + i * nb + mb + s]
    add_product(work, (rb, k), work, (ra, k, 1), work, (db, k), (m, k, k, k))
    gather(store, region, buffers.places, work, gbar)
    add_product(work, (pa, k), work, (gbar, m, 1), work, (ra, k), (m, k, m, k))
    add_product(work, (pb, k), work, (gbar, m, 1), work, (rb, k), (m, k, m, k))
    for s in range(k):
        total = 0.0
        for i in range(k):
            total += work[ja + s * k + i] * work[db + i * k + s]
        for i in range(m):
            total -= work[ra + i * k + s] * work[pb + i * k + s]
        slope[s] = total
    # H_aa = J_aa - R_a^T gbar R_a, H_bb = b + (D b)^T J_aa D b - R_b^T gbar R_b; below the diagonal
    clear(work, ha, 2 * kk)
    add_product(work, (ha, k), work, (ra, 1, k), work, (pa, k), (k, k, m, 0))
    add_product(work, (hb, k), work, (rb, 1, k), work, (pb, k), (k, k, m, 0))
    clear(work, 0, kk)
    add_product(work, (0, k), work, (ja, k, 1), work, (db, k), (k, k, k, k))
    for i in range(kk):
        work[ha + i] = work[ja + i] - work[ha + i]
    for i in range(k):
        for j in range(i):
            work[hb + i * k + j] = store[b_ss + i * nb + j] - work[hb + i * k + j]
    add_product(work, (hb, k), work, (db, 1, k), work, (0, k), (k, k, k, 0))
    write_child(store, left, tau, work, (gbar, m, pb, hb, -1.0))
    write_child(store, right, tau, work, (gbar + ma * (m + 1), m, pa + ma * k, ha, 1.0))


@kernel
def compare_ends(tree, buffers, region, ends):
    """Of a single vertex's adjoint: tau times the derivative by tau of each of its edges, by the scaling of its row."""
    begin, first = buffers.slot[region], tree.first[region]
    size = tree.first[region + 1] - first
    for i in range(size):
        here = tree.dangling[first + i]
        total = 0.0
        for j in range(size):
            there = tree.angle[tree.dangling[first + j]]
            sign = (there > tree.angle[here]) - (there < tree.angle[here])
            total += sign * buffers.store[begin + i * size + j]
        ends[here] = total


@kernel
def gradient(tree, buffers, tau, span, slope, ends):
    """Derivatives of log Z by tau of the edges cut in the regions from span[0] up to span[1].

    ``buffers.store`` holds what `inside` left in it, with slots that keep every region; the adjoints replace it.
    slope: (m,), in the order of ``tree.cut``; ends: (2m,), `compare_ends` of every half-edge.
    """
    tree, buffers, tau, slope, ends = borrow(tree), borrow(buffers), borrow(tau), borrow(slope), borrow(ends)
    for region in range(span[0], span[1] + 1):
        if tree.vertex[region] >= 0:
            continue
        a, b = region + 1, right_child(tree, region)
        left, right = fetch(tree, buffers, a), fetch(tree, buffers, b)
        shared = shared_tau(tree, buffers, region, tau)
        k = shared.size
        child_places(tree, region, buffers.places)
        here = (buffers.slot[region], tree.first[region + 1] - tree.first[region])
        begin = tree.cut_first[region]
        split(buffers, here, left, right, shared, slope[begin : begin + k])
        if tree.vertex[a] >= 0:
            compare_ends(tree, buffers, a, ends)
        if tree.vertex[b] >= 0:
            compare_ends(tree, buffers, b, ends)
