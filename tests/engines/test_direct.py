"""Independent draws as an engine: their order, their moments, and draws that are no numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines.base import Setup
from mrfbayes.engines.direct import Direct
from mrfbayes.methods.problem import Prepared


def setup_of(draw, moments=None, chains=2, steps=12, thin=4):
    plan = SimpleNamespace(chains=chains, steps=steps, thin=thin)
    settings = SimpleNamespace(row=SimpleNamespace(label="MLE-L"))
    prepared = Prepared(None, draw=draw, moments=moments)
    return Setup(Direct(), SimpleNamespace(seed=np.random.SeedSequence(1)), settings, prepared, plan)


def test_draws_are_cut_into_chains_in_their_order():
    """Steps that thinning would leave out are not drawn at all."""
    setup = setup_of(lambda n, seed: np.arange(2.0 * n).reshape(n, 2))
    run = Direct().run(setup, None)
    assert run.draws.shape == (2, 3, 2)
    np.testing.assert_array_equal(run.draws[1], [[6, 7], [8, 9], [10, 11]])
    fields = Direct().outcome(setup, run).fields
    np.testing.assert_allclose(fields["mean"], [5, 6])
    np.testing.assert_allclose(fields["sd"], np.sqrt(70 / 5))  # of 0, 2, ..., 10 about 5
    assert fields["steps"] == 3


def test_moments_in_closed_form_come_before_those_of_draws():
    known = np.array([0.3]), np.array([0.1])
    setup = setup_of(lambda n, seed: np.full((n, 1), 0.5), known)
    fields = Direct().outcome(setup, Direct().run(setup, None)).fields
    assert (fields["mean"], fields["sd"]) == known


def test_draws_that_are_no_numbers_are_refused():
    def draw(n, seed):
        return np.where(np.arange(n)[:, None] == 4, np.nan, 0.5)

    with pytest.raises(mb.SamplingError, match=r"MLE-L.*engine='mh'"):
        Direct().run(setup_of(draw), None)
