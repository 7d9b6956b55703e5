r"""Downwards through a dissection: the derivative of log Z with respect to every tau, by the adjoint of the merges.

With J = C K, R = C_{rest,shared} K and K = (I - T C)^{-1} for the block diagonal C of two children, and with the
adjoint \bar G of the merged region, H = J - R^T \bar G R is the Green function of the whole field at the shared
half-edges. The derivative by tau_e is its entry between the two halves of e, and the children's adjoints are \bar G
among kept half-edges, \bar G R T between kept and shared ones, and T H T among shared ones.
"""

from __future__ import annotations

from mrfbayes.kernels.base.jit import kernel, without_refcount
from mrfbayes.kernels.exact.planar_inside import child_places, fetch, right_child, shared_tau
from mrfbayes.kernels.exact.planar_merge import add_series_product, clear, scale, shared_inverse


@kernel
def gather(store, matrix, places, work, begin, orders):
    """Copy a matrix so that row i of the copy, at ``begin`` of ``work``, is row ``places[i]``."""
    m, terms = matrix[1], len(orders)
    for n in range(terms):
        of, to = n * (store.size // terms) + matrix[0], n * (work.size // terms) + begin
        for i in range(m):
            row = of + places[i] * m
            for j in range(m):
                work[to + i * m + j] = store[row + places[j]]


@kernel
def write_child(store, child, work, blocks, orders):
    """The adjoint of one child from blocks = (gbar, its stride, gbar R T, T H T, k): see `split`."""
    size, terms = child[1], len(orders)
    gbar, stride, between, shared, k = blocks
    kept = size - k
    for n in range(terms):
        begin, of = n * (store.size // terms) + child[0], n * (work.size // terms)
        for i in range(kept):
            for j in range(kept):
                store[begin + i * size + j] = work[of + gbar + i * stride + j]
            for s in range(k):
                value = work[of + between + i * k + s]
                store[begin + i * size + kept + s] = value
                store[begin + (kept + s) * size + i] = -value
        for i in range(k):
            row = begin + (kept + i) * size + kept
            for j in range(i):
                value = work[of + shared + i * k + j]
                store[row + j] = value
                store[begin + (kept + j) * size + kept + i] = -value
            store[row + i] = 0.0


@kernel
def split(buffers, region, children, tau, slope, begin, orders):
    """Turn the adjoint of a region into those of its children; ``slope`` from ``begin`` on gets the edges between them.

    region, children: (begin, size) of its adjoint and of their matrices; ``buffers.places`` says where the children's
    kept half-edges stand in it.
    tau: (n k,), the terms of a series one behind the other, as in ``slope``.
    """
    store, work = buffers.store, buffers.work
    left, right = children
    terms = len(orders)
    of, to = store.size // terms, work.size // terms  # lengths of a layer
    k, m = tau.size // terms, region[1]
    na, nb = left[1], right[1]
    ma, mb = na - k, nb - k
    kk, mk = k * k, m * k
    db, ja, ha, hb = 2 * kk, 3 * kk, 4 * kk, 5 * kk
    ra, rb = 6 * kk, 6 * kk + mk
    pa, pb, gbar = rb + mk, rb + 2 * mk, rb + 3 * mk
    shared_inverse(store, left, right, tau, work, orders)
    clear(work, db, 4 * kk + 4 * mk, orders)
    a_ss, b_ss = left[0] + ma * (na + 1), right[0] + mb * (nb + 1)
    square, inverse = (k, k, k, k, orders), (k, 2 * k, to)
    add_series_product(work, (ja, k, to), store, (a_ss, na, 1, of), work, inverse, square)  # J_aa = a S^-1
    for n in range(terms):
        for i in range(k):
            for j in range(k):
                work[n * to + db + i * k + j] = store[n * of + b_ss + i * nb + j]
                work[n * to + ha + i * k + j] = work[n * to + ja + i * k + j]
    scale(work, (db, k, k, k), tau, orders, (True, 1.0))
    scale(work, (ha, k, k, k), tau, orders, (True, -1.0))
    # R_a = (U S^-1, -V D J_aa), R_b = (0, V) + R_a D b
    u, v = (left[0] + ma, na, 1, of), (right[0] + mb, nb, 1, of)
    add_series_product(work, (ra, k, to), store, u, work, inverse, (ma, k, k, k, orders))
    add_series_product(work, (ra + ma * k, k, to), store, v, work, (ha, k, to), (mb, k, k, k, orders))
    for n in range(terms):
        for i in range(mb):
            for s in range(k):
                work[n * to + rb + (ma + i) * k + s] = store[n * of + right[0] + i * nb + mb + s]
    add_series_product(work, (rb, k, to), work, (ra, k, 1, to), work, (db, k, to), (m, k, k, k, orders))
    gather(store, region, buffers.places, work, gbar, orders)
    add_series_product(work, (pa, k, to), work, (gbar, m, 1, to), work, (ra, k, to), (m, k, m, k, orders))
    add_series_product(work, (pb, k, to), work, (gbar, m, 1, to), work, (rb, k, to), (m, k, m, k, orders))
    for n in range(terms):
        for s in range(k):
            total = 0.0
            for lower in range(n + 1):
                one, other = lower * to, (n - lower) * to
                for i in range(k):
                    total += work[one + ja + s * k + i] * work[other + db + i * k + s]
                for i in range(m):
                    total -= work[one + ra + i * k + s] * work[other + pb + i * k + s]
            slope[n * (slope.size // terms) + begin + s] = total
    # H_aa = J_aa - R_a^T gbar R_a, H_bb = b + (D b)^T J_aa D b - R_b^T gbar R_b; below the diagonal
    clear(work, ha, 2 * kk, orders)
    add_series_product(work, (ha, k, to), work, (ra, 1, k, to), work, (pa, k, to), (k, k, m, 0, orders))
    add_series_product(work, (hb, k, to), work, (rb, 1, k, to), work, (pb, k, to), (k, k, m, 0, orders))
    clear(work, 0, kk, orders)
    add_series_product(work, (0, k, to), work, (ja, k, 1, to), work, (db, k, to), square)
    for n in range(terms):
        for i in range(kk):
            work[n * to + ha + i] = work[n * to + ja + i] - work[n * to + ha + i]
        for i in range(k):
            for j in range(i):
                at = n * to + hb + i * k + j
                work[at] = store[n * of + b_ss + i * nb + j] - work[at]
    add_series_product(work, (hb, k, to), work, (db, 1, k, to), work, (0, k, to), (k, k, k, 0, orders))
    pa += ma * k
    scale(work, (pb, ma, k, k), tau, orders, (False, -1.0))
    scale(work, (pa, mb, k, k), tau, orders, (False, 1.0))
    for h in (ha, hb):
        scale(work, (h, k, k, k), tau, orders, (True, -1.0))
        scale(work, (h, k, k, k), tau, orders, (False, 1.0))
    write_child(store, left, work, (gbar, m, pb, hb, k), orders)
    write_child(store, right, work, (gbar + ma * (m + 1), m, pa, ha, k), orders)


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
def gradient(tree, buffers, tau, slope, ends, orders):
    """Derivatives of log Z by tau of all edges.

    ``buffers.store`` holds what `inside` left in it, with slots that keep every region; the adjoints replace it.
    slope: (n m,), the terms of a series one behind the other, each in the order of ``tree.cut``; ends: (2m,),
    `compare_ends` of every half-edge.
    """
    tree, buffers, tau, slope, ends = without_refcount((tree, buffers, tau, slope, ends))
    for region in range(tree.n_within.size):
        if tree.vertex[region] >= 0:
            continue
        a, b = region + 1, right_child(tree, region)
        left, right = fetch(tree, buffers, a, orders), fetch(tree, buffers, b, orders)
        shared = shared_tau(tree, buffers, region, tau, orders)
        child_places(tree, region, buffers.places)
        here = (buffers.slot[region], tree.first[region + 1] - tree.first[region])
        split(buffers, here, (left, right), shared, slope, tree.cut_first[region], orders)
        for child in (a, b):
            if tree.vertex[child] >= 0:
                compare_ends(tree, buffers, child, ends)
