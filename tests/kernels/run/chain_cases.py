"""Three independent coins, the edges of a path, whose posterior is known; and chains before their first step."""

from __future__ import annotations

import numpy as np

import mrfbayes as mb
import small_fields
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.kernels.run.chain import (
    LOG_SCALE,
    LOG_TARGET,
    N_COUNTERS,
    N_NUMBERS,
    WINDOW_END,
    ChainState,
    KeptDraws,
)
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior


class Coins:
    """Twenty rows of a path of four nodes: theta_j ~ Beta(heads_j + 1, tails_j + 1), one independent of the other."""

    def __init__(self):
        self.model = mb.graph([(0, 1), (1, 2), (2, 3)])
        x = small_fields.draw(self.model, np.array([0.9, 0.4, 0.6]), 20, 1)
        statistics = small_fields.count(self.model, x)
        self.heads, self.tails = statistics.counts, 20 - statistics.counts
        problem = Problem(self.model, statistics, Prior(self.model), np.random.SeedSequence(0))
        self.view, self.prior = method_row("exact").prepare(problem).view, problem.prior.view
        self.constant = -20 * np.log(2.0)  # the state of the first node

    def log_likelihood(self, theta):
        return (self.heads * np.log(theta) + self.tails * np.log(1 - theta)).sum(axis=-1) + self.constant


def new_state(theta, spread, seed=1):
    """A chain at theta (p,) whose start has not been evaluated."""
    theta, spread = np.array(theta, dtype=float), np.array(spread, dtype=float)
    p, numbers, counters = theta.size, np.zeros(N_NUMBERS), np.zeros(N_COUNTERS, dtype=np.int64)
    numbers[LOG_TARGET], numbers[LOG_SCALE], counters[WINDOW_END] = np.nan, 0.0, 200
    log_odds = np.log(theta / (1 - theta))
    proposal, log_odds_proposal, normals, window_mean, mean, square = (np.zeros(p) for _ in range(6))
    return ChainState(
        theta,
        proposal,
        log_odds,
        log_odds_proposal,
        normals,
        spread,
        window_mean,
        np.zeros_like(spread),
        mean,
        square,
        numbers,
        counters,
        kernel_state(np.random.SeedSequence(seed)),
    )


def room_for(rows, p, first=0):
    return KeptDraws(np.full((rows, p), np.nan), np.full(rows, np.nan), first)
