"""Everything about a call: what is given is checked first, and nothing that is given is ignored in silence."""

import numpy as np
import pytest

import mrfbayes as mb

MODEL = mb.grid(2, 3)
DATA = mb.simulate(MODEL, np.full(7, 0.6), 60, rng=3)
SHORT = {"steps": 200, "warmup": 100, "chains": 2, "progress": False}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("best", "estimate = 'best'"),
        ({"theta": 0.5}, "estimate = {'theta': 0.5}"),
        (np.full(3, 0.5), r"estimate has shape \(3,\)"),
        ([0.5] * 6 + [1.5], r"estimate\[6\] = 1.5"),
        (["a"] * 7, "estimate"),
        (object(), "estimate"),
    ],
)
def test_an_estimate_that_is_none_is_refused(given, message):
    for method in ("mle", "exact", "laplace", "auxiliary"):
        with pytest.raises(mb.InputError, match=message):
            mb.sample(MODEL, DATA, method, estimate=given, **SHORT)


def test_an_estimate_of_another_model_is_refused():
    other = mb.estimate(mb.grid(2, 2), DATA[:, :4], progress=False)
    with pytest.raises(mb.InputError, match="it has 4 parameters and the model 7"):
        mb.sample(MODEL, DATA, "mle", estimate=other, **SHORT)


def test_theta_is_an_estimate():
    estimate = mb.estimate(MODEL, DATA, progress=False)
    one = mb.sample(MODEL, DATA, "mle", estimate=estimate, steps=50, progress=False)
    for given in (estimate.theta, estimate.theta.tolist()):
        other = mb.sample(MODEL, DATA, "mle", estimate=given, steps=50, progress=False)
        np.testing.assert_allclose(other.draws, one.draws, rtol=1e-12)
