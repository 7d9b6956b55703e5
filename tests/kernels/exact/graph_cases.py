"""Graphs with random potentials, planned, and the check of every elimination kernel on them against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import oracles
from mrfbayes.exact.ordering import find_order
from mrfbayes.kernels.exact.graph import elimination_forward, elimination_log_z, elimination_moments, elimination_taylor
from mrfbayes.kernels.exact.graph_plan import build_plan, log_z_scratch, taylor_scratch

TOLERANCE = 1e-12


class Problem:
    """A graph with random potentials, planned."""

    def __init__(self, pairs, states, seed, *, scale=1.0, fields=True, max_low=128, order=None):
        rng = np.random.default_rng(seed)
        pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        flip = rng.random(len(pairs)) < 0.5
        self.pairs = np.where(flip[:, None], pairs[:, ::-1], pairs)
        self.states = np.asarray(states, dtype=np.int64)
        if order is None:
            order = find_order(self.pairs, self.states).order
        self.plan = build_plan(self.pairs, self.states, np.asarray(order), max_low=max_low)
        self.node_table = scale * rng.normal(size=self.plan.node_offset[-1]) * (1.0 if fields else 0.0)
        self.edge_table = scale * rng.normal(size=self.plan.edge_offset[-1])
        self.direction = rng.normal(size=self.node_table.size + self.edge_table.size)
        self.scratch = np.full(max(log_z_scratch(self.plan), taylor_scratch(self.plan)), np.nan)
        self.joint = np.full(self.plan.n_joint, np.nan)

    def tables(self):
        node = [self.node_table[a:b] for a, b in _ranges(self.plan.node_offset)]
        edge = [
            self.edge_table[a:b].reshape(self.states[u], self.states[v])
            for (a, b), (u, v) in zip(_ranges(self.plan.edge_offset), self.pairs, strict=True)
        ]
        return node, edge, self.pairs

    def log_z(self):
        return elimination_log_z(self.plan, self.node_table, self.edge_table, self.scratch)

    def moments(self):
        mean = np.full(self.direction.size, np.nan)
        log_z = elimination_moments(self.plan, self.node_table, self.edge_table, self.joint, mean, self.scratch)
        return log_z, mean

    def taylor(self, order=2):
        elimination_forward(self.plan, self.node_table, self.edge_table, self.joint, self.scratch)
        directions = np.stack([np.zeros_like(self.direction), self.direction])  # the second must not see the first
        results = np.full((2, order + 1, self.direction.size), np.nan)
        slope = np.full((order, self.plan.n_joint), np.nan)
        elimination_taylor(self.plan, self.joint, directions, slope, results, self.scratch)
        assert (results[0, 1:] == 0.0).all()
        return results[1]


def _ranges(offset):
    return itertools.pairwise(offset)


def states_of(kind, n):
    return {"binary": np.full(n, 2), "ternary": np.full(n, 3), "mixed": 2 + np.arange(n) % 3}[kind]


def check(problem):
    log_z, mean, first, second = oracles.derivatives_along(
        *oracles.categorical_statistics(*problem.tables()), problem.direction
    )
    assert problem.log_z() == pytest.approx(log_z, rel=TOLERANCE, abs=TOLERANCE)
    got_log_z, got_mean = problem.moments()
    assert got_log_z == pytest.approx(log_z, rel=TOLERANCE, abs=TOLERANCE)
    np.testing.assert_allclose(got_mean, mean, rtol=TOLERANCE, atol=TOLERANCE)
    result = problem.taylor()
    np.testing.assert_allclose(result[0], mean, rtol=TOLERANCE, atol=TOLERANCE)
    scale = np.abs(problem.direction).sum()
    np.testing.assert_allclose(result[1], first, rtol=TOLERANCE, atol=TOLERANCE * scale)
    np.testing.assert_allclose(result[2], second, rtol=TOLERANCE, atol=TOLERANCE * scale**2)
    np.testing.assert_array_equal(problem.taylor(order=1), result[:2])
