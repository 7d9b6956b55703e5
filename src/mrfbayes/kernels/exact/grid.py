"""The sweep over a binary grid that its two-way passes share: expected statistics and exact samples.

The grid is swept line by line across its shorter side. A message holds one number for each state of the last ``width``
nodes; the oldest node is bit 0 and the newest the top bit. Adding node ``t`` sums out bit 0 (node ``t - width``, its
neighbour one line back), shifts the rest down, and enters ``t`` at the top, so every loop runs with unit stride.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


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
    sizes = {
        "moments": 6 * d + (blocks + slots + 2) * size,
        "sample": 6 * d + (blocks + slots + 2) * size + layout.width * (max(4, size) * 5 // 4) + particles,
    }
    return sizes[work]
