"""The engine of walks: replicas that agree, and how many there must be."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines.langevin import watched
from mrfbayes.results import diagnostics


def test_one_stuck_replica_is_detected():
    """Converged replicas of any length agree within chance; one that stands still does not."""
    rng = np.random.default_rng(5)
    draws = rng.normal(size=(16, 400, 300))
    assert watched(draws).is_enough
    short = watched(rng.normal(size=(16, 20, 300)))
    assert short.agree  # R-hat is above 1.01 by chance alone
    assert not short.is_enough
    assert short.r_hat.max() > diagnostics.MOST_R_HAT
    stuck = draws.copy()
    stuck[3] = stuck[3, :1]
    assert not watched(stuck).agree
    apart = watched(draws + rng.normal(size=(16, 1, 1)) * (np.arange(300) == 250))
    assert not apart.agree  # one parameter in 300, which is found


def test_one_replica_is_refused():
    model = mb.complete(range(5), fields=True)
    x = np.random.default_rng(1).integers(0, 2, (100, 5))
    with pytest.raises(mb.InputError, match="chains = 1 and replicas = 1"):
        mb.sample(model, x, "langevin", chains=1, replicas=1, progress=False)
