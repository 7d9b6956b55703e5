"""The paper's walk with its printed settings: its draws, as they were when chains moved to log-odds."""

import hashlib
import warnings

import numpy as np
import pytest

import mrfbayes as mb

SHA256 = {
    ("grid", "exact"): "d71470cdb806dc06",
    ("grid", "mle"): "19511b10459c3cdf",
    ("grid", "pseudo"): "cf9608fe1f2d27ca",
    ("grid", "laplace"): "930c0ccc8b2f6244",
    ("Potts", "exact"): "684f235f2b5462f8",
    ("Potts", "mle"): "223f6278fc5661b6",
    ("Potts", "pseudo"): "c79f45d91a53e5c2",
    ("Potts", "laplace"): "92ed70352a852d2a",
}
DIGITS = 9  # so that the last bits of a machine's logarithms do not matter
FIELDS = {
    "grid": (mb.grid(2, 3), 40, (2,) * 6, 1),
    "Potts": (mb.graph([(0, 1), (1, 2), (2, 0)], states=3), 70, (3,) * 3, 5),
}


def correlated(n, shape, seed):
    """States of n observations that share a common cause, so that a maximum exists."""
    rng = np.random.default_rng(seed)
    noisy = 0.6 * rng.normal(size=(n, 1)) + rng.normal(size=(n, len(shape)))
    ranks = noisy.argsort(0).argsort(0) / n
    return np.stack([(ranks[:, i] * r).astype(np.uint8) for i, r in enumerate(shape)], axis=1)


def sha256(field, method, rng=11):
    model, *data = FIELDS[field]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # short chains say that they are
        settings = {"draws": 200, "chains": 2, "thin": 2, "prior": "uniform", "proposal": "printed"}
        draws = mb.sample(model, correlated(*data), method, rng=rng, progress=False, **settings).draws
    return hashlib.sha256(np.round(draws, DIGITS).tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(("field", "method"), SHA256)
def test_printed_walk_keeps_its_draws(field, method):
    assert sha256(field, method) == SHA256[field, method]


def test_another_seed_has_another_digest():
    assert sha256("grid", "exact", rng=12) != SHA256["grid", "exact"]
