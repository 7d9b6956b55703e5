"""The walk of the replicas: steps, and directions in which gradients are noisy."""

import numpy as np
import pytest

import mrfbayes as mb
from methods.langevin.langevin_cases import field
from mrfbayes.methods.langevin import walk
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
