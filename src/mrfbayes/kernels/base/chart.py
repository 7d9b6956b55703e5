"""theta to log-odds and back inside kernels."""

from __future__ import annotations

from mrfbayes.kernels.base.fastmath import exp, log, sigmoid
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


@kernel
def theta_into(offset, log_odds, out):
    """``out`` (p,) = theta of w, for blocks that start at ``offset``."""
    if log_odds.size == offset.size - 1:
        for j in range(log_odds.size):
            out[j] = sigmoid(log_odds[j])
        return
    for block in range(offset.size - 1):
        top = 0.0
        for j in range(offset[block], offset[block + 1]):
            top = max(top, log_odds[j])
        total = exp(-top)
        for j in range(offset[block], offset[block + 1]):
            out[j] = exp(log_odds[j] - top)
            total += out[j]
        for j in range(offset[block], offset[block + 1]):
            out[j] /= total
