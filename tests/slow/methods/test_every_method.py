"""Every method on every kind of field: it runs, and its posterior is where the exact one is.

Mostly compiling: ``make slow``, or ``pytest tests/slow/methods/test_every_method.py``.
"""

import warnings

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.methods.registry import REGISTRY

KINDS = ["grid", "grid, fields", "grid, tied", "graph, both-one", "Potts", "ordinal", "table", "isolated"]
N = 80
# In posterior sds, largest over the parameters. Pseudolikelihood and quadratics are crude with few data on tied and
# field parameters; augmented chains stick, so that theirs is Monte-Carlo error.
LOOSE = {"pseudo": 2.0, "laplace": 1.5, "mle": 1.5, "moller": 3.0, "mavm": 1.0, "auxiliary": 1.0}


@pytest.fixture(scope="module")
def references():
    found = {}
    for name in KINDS:
        model = small_fields.FIELDS[name]()
        x = small_fields.draw(model, small_fields.random_theta(model, 1, 0.4, 0.7), N, 2)
        found[name] = model, x, sample(model, x, "exact", draws=2_000, thin=2, chains=2)
    return found


def sample(model, x, method, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        return mb.sample(model, x, method, rng=1, prior="uniform", progress=False, **settings)


def settings_of(key):
    if key == "langevin":
        return {"draws": 300}
    return {"engine": None if key == "calibrated" else "mh", "draws": 2_000, "thin": 4, "warmup": 2_000}


@pytest.mark.parametrize("key", REGISTRY)
@pytest.mark.parametrize("name", KINDS)
def test_runs_and_lands_where_the_exact_posterior_is(references, name, key):
    model, x, exact = references[name]
    posterior = sample(model, x, key, **settings_of(key), chains=2)
    assert posterior.draws.shape[2] == model.n_parameters
    assert np.all(np.isfinite(posterior.draws))
    assert np.all(posterior.sd > 0)
    assert np.abs((posterior.mean - exact.mean) / exact.sd).max() < LOOSE.get(key, 0.6)
