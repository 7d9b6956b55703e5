"""theta to log-odds inside kernels."""

from __future__ import annotations

from mrfbayes.kernels.base.fastmath import log
from mrfbayes.kernels.base.jit import kernel


@kernel
def log_odds_into(offset, theta, out):
    """``out`` (p,) = w of theta, for blocks that start at ``offset``."""
    if theta.size == offset.size - 1:
        for j in range(theta.size):
            out[j] = log(theta[j] / (1.0 - theta[j]))
        return
    for block in range(offset.size - 1):
        rest = 1.0
        for j in range(offset[block], offset[block + 1]):
            rest -= theta[j]
        for j in range(offset[block], offset[block + 1]):
            out[j] = log(theta[j] / rest)
