"""Sweeps of labels and steps of the coupling against enumeration and integration."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.interpolate import CubicHermiteSpline

import oracles_hidden as oracle
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.hidden.chain import cluster_sweep, draw_coupling, exponentiate, table_value
from mrfbayes.kernels.particles.cluster import gibbs_sweep
from mrfbayes.particles.log_z_curve import TiedField


@pytest.mark.parametrize("moves", ["gibbs", "cluster"])
def test_label_sweeps_at_a_fixed_coupling_agree_with_enumeration(moves):
    edges, w, n, q, sweeps = oracle.grid_edges(3, 3), 0.8, 9, 3, 40_000
    log_likelihood = np.random.default_rng(1).normal(0, 1, (n, q))
    field = TiedField.on_grid(3, 3, q)
    x, state = np.zeros(n, np.uint8), kernel_state(seed_sequence(2), moves)
    likelihood, counts = np.empty((n, q)), np.zeros((n, q))
    exponentiate(log_likelihood, likelihood)
    clusters = np.empty(n, np.int32), np.empty(len(edges), np.int32)
    sums, weights = np.empty((n, q)), np.empty(q)
    batches = np.zeros((40, n, q))
    for sweep in range(sweeps):
        if moves == "gibbs":
            gibbs_sweep(field.neighbours, x, likelihood, w, weights, np.empty((0, q)), state)
        else:
            cluster_sweep(field.pairs, x, log_likelihood, w, clusters, sums, state)
        batches[sweep * 40 // sweeps, np.arange(n), x] += 40 / sweeps
    counts = batches.mean(axis=0)
    error = batches.std(axis=0, ddof=1) / math.sqrt(40)
    truth = oracle.label_marginals(None, edges, w, log_likelihood)
    assert (np.abs(counts - truth) < 6 * error).all()  # a t distribution of 39 degrees of freedom: level 1e-6
    wrong = oracle.label_marginals(None, edges, 0.7, log_likelihood)
    assert (np.abs(counts - wrong) > 6 * error).any()


def test_values_between_the_points_of_a_table_are_those_of_hermite_polynomials():
    w = np.array([0.0, 0.3, 0.4, 1.0, 1.5])
    table = np.stack([w, np.sin(3 * w), 3 * np.cos(3 * w)])
    spline = CubicHermiteSpline(*table)
    for at in np.linspace(0.0, 1.5, 31):
        assert table_value(table, at) == pytest.approx(float(spline(at)), abs=1e-13)


def test_steps_of_the_coupling_have_the_density_of_the_table():
    """The density exp(w S - 8 log(1 + e^w)) on (0, 2), as of eight independent pairs of which S = 6 agree."""
    w = np.linspace(0.0, 2.0, 81)
    table = np.stack([w, -8 * np.log1p(np.exp(w)), -8 / (1 + np.exp(-w))])
    state, at, draws = kernel_state(seed_sequence(4), "coupling"), 0.5, []
    for step in range(20_000):
        at = draw_coupling(table, at, 6, state)
        if step % 5 == 0:
            draws.append(at)

    def distribution(agreements):
        density = np.exp(agreements * w + table[1] - (agreements * w + table[1]).max())
        total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
        return lambda value: np.interp(value, w, total / total[-1])

    assert stats.kstest(draws, distribution(6)).pvalue > 1e-6
    assert stats.kstest(draws, distribution(5)).pvalue < 1e-6  # the negative control
