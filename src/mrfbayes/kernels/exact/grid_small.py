"""Lines of 4, 6 or 8 nodes without fields, with sizes that the compiler knows.

The loops are those of `mrfbayes.kernels.exact.grid`. There, before a short loop, the compiler has to test at run time
whether messages overlap, and gives up on vectors; here it sees at compile time that they do not. A line costs 13 ns
instead of 90 for width 4, 130 instead of 350 for width 8.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.kernels.base.jit import kernel

WIDTHS = (4, 6, 8)
_U0, _U1, _U2, _U3, _U4, _U8, _U32, _U128 = (np.uint64(k) for k in (0, 1, 2, 3, 4, 8, 32, 128))


@kernel(inline="always", fastmath={"contract"})
def _one(s, src, dst, n, ratio, across):
    """The first node of a line: no edge along."""
    r = ratio[across]
    for i in range(n // 2):
        j = np.uint64(i)
        a, b = s[src + _U2 * j], s[src + _U2 * j + _U1]
        s[dst + j] = a + r * b
        s[dst + np.uint64(n // 2) + j] = r * a + b


@kernel(inline="always", fastmath={"contract"})
def _two(s, src, dst, n, layout, ratio, t):
    r1, r2 = ratio[layout.across[t]], ratio[layout.across[t + 1]]
    q1, q2 = ratio[layout.along[t]], ratio[layout.along[t + 1]]
    w0, w1 = 1.0, q1  # of the first new node being zero or one
    for side in range(2):
        u0, u1 = w0 * q2, w1 * q2
        for i in range(n // 8):
            j = np.uint64(side * (n // 8) + i)
            a = s[src + _U4 * j]
            b = s[src + _U4 * j + _U1]
            c = s[src + _U4 * j + _U2]
            d = s[src + _U4 * j + _U3]
            g00 = a + r1 * b
            g01 = r1 * a + b
            g10 = c + r1 * d
            g11 = r1 * c + d
            s[dst + j] = w0 * g00 + (w0 * r2) * g10
            s[dst + np.uint64(n // 2) + j] = (u0 * r2) * g00 + u0 * g10
            s[dst + np.uint64(n // 4) + j] = u1 * g01 + (u1 * r2) * g11
            s[dst + np.uint64(3 * (n // 4)) + j] = (w1 * r2) * g01 + w1 * g11
        w0, w1 = w1, w0


@kernel(inline="always", fastmath={"contract"})
def _close(s, src, n, layout, ratio, t):
    """The last node takes over as the one that is zero; leaves the message at 0."""
    r, q = ratio[layout.across[t]], ratio[layout.along[t]]
    for i in range(n // 2):
        j = np.uint64(i)
        mirror = np.uint64(n - 1) - j
        a, b = s[src + j], s[src + mirror]
        s[j] = a + r * b
        s[mirror] = q * b + (q * r) * a


@kernel
def _line_4(s, layout, ratio, t):
    _one(s, _U0, _U8, 8, ratio, layout.across[t])
    _two(s, _U8, _U0, 8, layout, ratio, t + 1)
    _close(s, _U0, 8, layout, ratio, t + 3)


@kernel
def _line_6(s, layout, ratio, t):
    _one(s, _U0, _U32, 32, ratio, layout.across[t])
    _two(s, _U32, _U0, 32, layout, ratio, t + 1)
    _two(s, _U0, _U32, 32, layout, ratio, t + 3)
    _close(s, _U32, 32, layout, ratio, t + 5)


@kernel
def _line_8(s, layout, ratio, t):
    _one(s, _U0, _U128, 128, ratio, layout.across[t])
    _two(s, _U128, _U0, 128, layout, ratio, t + 1)
    _two(s, _U0, _U128, 128, layout, ratio, t + 3)
    _two(s, _U128, _U0, 128, layout, ratio, t + 5)
    _close(s, _U0, 128, layout, ratio, t + 7)


@kernel(fastmath={"reassoc"})
def sweep_small(layout, ratio, s):
    """Products of the ratios summed over all x; nothing is rescaled."""
    width = layout.width
    n = 1
    s[0] = 1.0
    for k in range(width - 1):  # the first line, its last node being zero
        q = 1.0 if k == 0 else ratio[layout.along[k]]
        for i in range(n // 2):
            s[n + i] = q * s[i]
        for i in range(n // 2, n):
            s[n + i] = s[i]
            s[i] *= q
        n *= 2
    q = ratio[layout.along[width - 1]]
    for i in range(n // 2, n):
        s[i] *= q
    end = width * layout.length
    if width == 4:
        for t in range(4, end, 4):
            _line_4(s, layout, ratio, t)
    elif width == 6:
        for t in range(6, end, 6):
            _line_6(s, layout, ratio, t)
    else:
        for t in range(8, end, 8):
            _line_8(s, layout, ratio, t)
    total = 0.0
    for i in range(n):
        total += s[i]
    return 2.0 * total
