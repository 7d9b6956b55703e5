"""Trajectories of split Hamiltonian Monte Carlo: whitening, reversibility, energy, and the decision at their end."""

import numpy as np
import pytest

import mrfbayes as mb
from kernels.run.chain_cases import room_for
from mrfbayes.kernels.run import hmc
from mrfbayes.kernels.run.chain import ACCEPTED, KEPT, LOG_TARGET, UNCOMPUTED
from mrfbayes.priors import Prior
from mrfbayes.run.hmc import initial_state, make_metric

HEADS, TOSSES = np.array([1.0, 2.0, 5.0]), 6.0
INFORMATION = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.0]])


def log_likelihood(w, gradient):
    gradient[:] = HEADS - TOSSES / (1 + np.exp(-w))
    return HEADS @ w - TOSSES * np.logaddexp(0.0, w).sum()


class Trajectory:
    """A chain of three coins that was evaluated at its start, and a velocity."""

    def __init__(self):
        self.metric, self.prior = make_metric(np.array([-0.5, 0.1, 0.8]), INFORMATION), coin_prior()
        self.state = hmc.HmcState(**initial_state(self.metric, np.random.SeedSequence(1), np.array([0.3, -0.4, 0.2])))
        state = self.state
        hmc.to_log_odds(self.metric, state.position, state.log_odds)
        hmc.evaluate_start(self.metric, self.prior, state, log_likelihood(state.log_odds, state.gradient))
        state.velocity[:] = [0.7, -1.1, 0.4]
        state.numbers[hmc.KINETIC] = 0.5 * (state.velocity**2).sum()
        state.moved[:], state.push[:] = state.position, state.residual

    def go(self, n_leaps, angle):
        state = self.state
        state.numbers[hmc.ANGLE] = angle
        for _ in range(n_leaps):
            hmc.leap(self.metric, state)
            hmc.pull(self.metric, self.prior, state, log_likelihood(state.log_odds_proposal, state.gradient))

    def energy(self):
        return 0.5 * (self.state.velocity**2).sum() - self.state.numbers[hmc.NEW_TARGET]


def coin_prior():
    return Prior(mb.graph([(0, 1), (1, 2), (2, 3)]), "normal(0.2, 1.5)").view


def test_a_trajectory_turned_round_comes_back():
    path = Trajectory()
    path.go(5, 0.3)
    assert np.abs(path.state.moved - path.state.position).max() > 0.5
    path.state.velocity[:] *= -1
    path.go(5, 0.3)
    np.testing.assert_allclose(path.state.moved, path.state.position, atol=1e-6)  # the metric is in single precision
    np.testing.assert_allclose(path.state.velocity, [-0.7, 1.1, -0.4], atol=1e-6)


def test_energy_is_kept_to_second_order():
    errors = []
    for n_leaps in (8, 16):
        path = Trajectory()
        before = path.state.numbers[hmc.KINETIC] - path.state.numbers[LOG_TARGET]
        path.go(n_leaps, 1.2 / n_leaps)
        errors.append(path.energy() - before)
    assert abs(errors[0]) < 0.02
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(("gain", "accepted", "uncomputed"), [(50.0, 1, 0), (-np.inf, 0, 0), (np.nan, 0, 1)])
def test_decision_follows_the_change_of_energy(gain, accepted, uncomputed):
    path = Trajectory()
    path.go(3, 0.2)
    state, kept = path.state, room_for(1, 3)
    state.numbers[hmc.NEW_TARGET] = state.numbers[LOG_TARGET] + gain
    before, after = state.log_odds.copy(), state.log_odds_proposal.copy()
    hmc.decide(path.metric, hmc.HmcSettings(0, 1), path.prior, state, kept)
    assert (state.counters[ACCEPTED], state.counters[UNCOMPUTED], state.counters[KEPT]) == (accepted, uncomputed, 1)
    expected = after if accepted else before
    np.testing.assert_array_equal(kept.draws[0], expected)
    np.testing.assert_allclose(state.theta, 1 / (1 + np.exp(-expected)), rtol=1e-14)
    back = np.empty(3)
    hmc.to_log_odds(path.metric, state.position, back)
    np.testing.assert_allclose(back, expected, atol=1e-14)


@pytest.mark.parametrize("p", [1, 4, 7, 12])
def test_whitening_is_a_triangular_solve(p):
    rng = np.random.default_rng(p)
    root = rng.standard_normal((p, p))
    information = root @ root.T + np.eye(p)
    mode, y, out = rng.standard_normal(p), rng.standard_normal(p), np.zeros(p)
    lower = np.linalg.cholesky(information)
    hmc.to_log_odds(make_metric(mode, information), y, out)
    np.testing.assert_allclose(out, mode + np.linalg.solve(lower.T, y), rtol=1e-4, atol=1e-4)
    hmc.whiten(make_metric(mode, information), y, out)
    np.testing.assert_allclose(out, np.linalg.solve(lower, y), rtol=1e-4, atol=1e-4)
    diagonal = np.diag(information)
    hmc.to_log_odds(make_metric(mode, diagonal), y, out)
    np.testing.assert_allclose(out, mode + y / np.sqrt(diagonal), rtol=1e-6)
    hmc.whiten(make_metric(mode, diagonal), y, out)
    np.testing.assert_allclose(out, y / np.sqrt(diagonal), rtol=1e-6)
