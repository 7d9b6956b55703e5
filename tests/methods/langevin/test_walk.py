"""The walk of the replicas: steps, and directions in which gradients are noisy."""

from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from methods.langevin.langevin_cases import field
from mrfbayes.methods.langevin import walk
from mrfbayes.methods.langevin.walk import Walk, WalkSettings
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")


def test_a_replica_beyond_a_wall_does_not_overshoot(monkeypatch):
    """A variable that never varied: where it would have to, the gradient is hundreds of times its usual size."""
    model, x = field()
    x[:, 0] = 1
    problem = Problem(model, mb.Data(x).count(model), Prior(model, "normal(0, 5)"), np.random.SeedSequence(1))

    def moved(limit):
        monkeypatch.setattr(walk, "MOST_DRIFT", limit)
        replicas = method_row("langevin").prepare(problem).walk(1, 0, 1)
        before = replicas.state["y"] = np.full_like(replicas.state["y"], -30.0)
        before = before.copy()
        replicas.advance(1)
        return np.abs(replicas.state["y"] - before).max()

    step = 0.3
    assert moved(10.0) < 10.0 * step + 6 * np.sqrt(2 * step)  # the noise has a variance of 2 h
    assert moved(np.inf) > 20.0 * step  # negative control


CENTRE = np.array([1.0, -0.5, 2.0])
FACTOR = np.array([[0.5, 0.2, -0.1], [0.0, 0.8, 0.3], [0.0, 0.0, 1.2]])


class Chains:
    """Stands for chains that know E[s] without noise: their moments are the parameters."""

    def set_parameters(self, natural):
        self.natural = natural

    def moments(self, skipped, counted):
        return np.stack([self.natural, self.natural], axis=1)

    def counts(self, w, sweeps):
        return 0.0

    def arrays(self):
        return {}

    def restore(self, arrays):
        pass


class Gaussian:
    """The normal posterior with mean `CENTRE` and covariance F F', as a walk takes it."""

    def ensemble(self, *given):
        return Chains()

    def completions(self, *given):
        return Chains()

    def natural(self, w):
        return w

    def likelihood_gradient(self, moments, counts):
        return -(moments - CENTRE) @ np.linalg.inv(FACTOR @ FACTOR.T)

    def prior_gradient(self, w):
        return np.zeros_like(w)


def gaussian_walk(replicas, warmup=0, thin=1, step=0.3):
    settings = WalkSettings(replicas, chains=1, step=step, sweeps=1, warmup=warmup, thin=thin)
    mode = SimpleNamespace(w=CENTRE, factor=FACTOR)
    return Walk(Gaussian(), mode, settings, np.random.SeedSequence(3))


def test_on_a_normal_posterior_a_replica_is_its_control():
    found = gaussian_walk(4)
    found.advance(25)
    np.testing.assert_allclose(found.state["y"], found.state["control"], atol=1e-4)  # single precision on the way
    assert np.abs(found.state["y"]).min() > 1e-3


def test_steps_of_any_length_visit_a_normal_posterior():
    """Two noises in a step leave no bias: 2,000 replicas after 40 steps have the covariance F F'."""
    for step in (0.3, 0.9):
        found = gaussian_walk(2_000, warmup=40, step=step)
        found.advance(41)
        (w,) = found.drawn
        sd = np.sqrt((FACTOR**2).sum(axis=1))
        assert (np.abs(w.mean(axis=0) - CENTRE) < 5.5 * sd / np.sqrt(2_000)).all()
        error = np.cov(w, rowvar=False) - FACTOR @ FACTOR.T
        assert (np.abs(error) < 5.5 * np.outer(sd, sd) * np.sqrt(2 / 2_000)).all()


def test_a_walk_goes_on_from_its_arrays():
    whole, first, second = (gaussian_walk(3, warmup=6, thin=2) for _ in range(3))
    whole.advance(20)
    first.advance(9)
    second.restore(first.arrays())
    second.advance(11)
    np.testing.assert_array_equal(second.state["y"], whole.state["y"])
    np.testing.assert_array_equal(np.concatenate([first.drawn, second.drawn]), whole.drawn)
    assert len(whole.drawn) == (20 - 6) // 2


def test_noise_that_was_measured_is_taken_off_the_variance():
    """Where the noise of gradients is strong, steps become shorter until it adds no more than a fifth."""
    found = gaussian_walk(2)
    h = found.settings.step
    rate = np.array([0.0, 0.5, 5.0])  # of the variance, in units of h / (2 - h)
    found.state["noise_sum"][:], found.state["noise_count"][:] = rate * h / (2 - h), 1.0
    found._tune_steps()
    step, spread = found.state["step"], found.state["noise_scale"]
    np.testing.assert_allclose(step[:2], h)
    added = rate * step / (2 - step)  # V at the new steps
    np.testing.assert_allclose(added[2], walk.LARGEST_NOISE)
    np.testing.assert_allclose(spread**2 + added, 1)
