"""Elementary functions against mpmath, and without the JIT bit for bit."""

import mpmath as mp
import numpy as np
import pytest

from mrfbayes.kernels.base import fastmath

RNG = np.random.default_rng(20)
POSITIVE = np.concatenate(
    [
        RNG.random(300),
        np.exp(RNG.uniform(-690, 690, 300)),
        1 + RNG.normal(size=200) * 1e-6,
        [1.0, 2.0**-0.5, 2**0.5, np.nextafter(2**-0.5, 0), np.nextafter(1, 0), np.nextafter(1, 2), 1e-300, 1e300],
    ]
)
REAL = np.concatenate([RNG.normal(size=300), RNG.uniform(-700, 700, 300), RNG.normal(size=200) * 1e-8, [0.0, -0.0]])


def worst(function, exact, points, scale):
    """Largest error relative to ``scale(exact value)``."""
    with mp.workdps(40):
        errors = []
        for x in points:
            value = exact(mp.mpf(float(x)))
            errors.append(float(abs(mp.mpf(float(function(float(x)))) - value) / scale(value)))
    return max(errors)


def relative(value):
    return abs(value) if value else 1


def relative_or_one(value):
    return max(abs(value), 1)


@pytest.mark.parametrize(
    ("name", "exact", "points", "scale", "bound"),
    [
        ("log", mp.log, POSITIVE, relative, 3e-16),
        ("exp", mp.exp, REAL, relative, 3e-16),
        ("log1p_exp", lambda x: mp.log1p(mp.exp(x)), REAL, relative, 4e-16),
        ("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), REAL, relative, 5e-16),
        ("logit", lambda x: mp.log(x / (1 - x)), RNG.random(300), relative_or_one, 4e-16),
        ("log1p_unit", mp.log1p, np.concatenate([RNG.random(300), [0.0, 1.0, 1e-300]]), relative, 3e-16),
    ],
)
def test_accuracy(name, exact, points, scale, bound):
    assert worst(getattr(fastmath, name), exact, points, scale) < bound


def test_accuracy_check_fails_for_wrong_values():
    assert worst(lambda x: np.log(x) * (1 + 1e-15), mp.log, POSITIVE, relative) > 3e-16


def test_extremes_stay_finite():
    assert 0 < fastmath.exp(-1e6) < 1e-300
    assert np.isfinite(fastmath.exp(1e6))
    assert fastmath.log1p_exp(1e6) == 1e6
    assert -710 < fastmath.log(0.0) < -700  # documented: not minus infinity


@pytest.mark.parametrize("name", ["log", "exp", "log1p_exp", "sigmoid"])
def test_the_jit_changes_no_bit(name):
    function = getattr(fastmath, name)
    plain = getattr(function, "py_func", function)
    with np.errstate(over="ignore"):
        for x in POSITIVE[:50]:
            assert function(x) == plain(np.float64(x))
