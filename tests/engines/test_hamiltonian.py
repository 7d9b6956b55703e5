"""Hamiltonian Monte Carlo as an engine: defaults, and points whose density cannot be computed."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import mrfbayes as mb

MODEL = mb.grid(2, 2)
DATA = np.random.default_rng(3).integers(0, 2, (400, 4))


@pytest.mark.parametrize("is_broken", [True, False])
def test_rejections_for_want_of_digits_are_counted_and_reported(is_broken, monkeypatch):
    """A density that cannot be computed beyond a plane: trajectories that end there count, and are warned of."""
    from mrfbayes.methods import exact

    prepare = exact.prepare

    def prepared(problem):
        found = prepare(problem)
        edge = found.smooth().mode[0] + 0.1  # within one posterior sd

        def gradient(w):
            if is_broken and w[0] > edge:
                raise ArithmeticError("too few digits")
            return found.gradient(w)

        return replace(found, gradient=gradient, smooth=lambda: replace(found.smooth(), gradient=gradient))

    monkeypatch.setattr(exact, "prepare", prepared)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior = mb.sample(MODEL, DATA, "exact", engine="hmc", draws=300, warmup=100, progress=False, rng=1)
    assert (posterior.details["uncomputed"] > 0) == is_broken
    assert any("could not be computed" in str(one.message) for one in caught) == is_broken
    assert any("could not be computed" in text for text in posterior.warnings) == is_broken
