"""The exact posterior of planar fields that no tables can hold, by trajectories on the determinant."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.exact import choice


@pytest.mark.filterwarnings("ignore:largest R-hat")  # twelve draws are few
def test_a_wide_grid_has_an_exact_posterior():
    model = mb.grid(30, 30)
    theta = np.random.default_rng(1).uniform(0.5, 0.8, size=model.n_parameters)
    x = mb.simulate(model, theta, 200, "gibbs", rng=2, sweeps=200, progress=False)
    post = mb.sample(model, x, "exact", steps=12, warmup=6, chains=1, rng=3, progress=False)
    assert (post.target, post.engine) == ("exact", "hmc")
    assert post.acceptance.mean() > 0.5
    assert np.corrcoef(post.mean, theta)[0, 1] > 0.7
    with pytest.raises(
        mb.InputError, match=r"engine = 'mh' is not available for method 'exact'.*: choose one of 'hmc'"
    ):
        mb.sample(model, x, "exact", engine="mh")


def test_it_is_the_posterior_of_the_tables(monkeypatch):
    model = mb.grid(4, 4)
    x = mb.simulate(model, 0.7, 60, rng=4)
    by_tables = mb.sample(model, x, "exact", rng=5, progress=False)
    monkeypatch.setattr(choice, "_tables", lambda model, work: None)
    post = mb.sample(mb.grid(4, 4), x, "exact", steps=1_500, chains=2, rng=6, progress=False)
    assert post.engine == "hmc"
    error = by_tables.sd / np.sqrt(1_500)
    assert np.abs((post.mean - by_tables.mean) / error).max() < 6
    np.testing.assert_allclose(post.sd, by_tables.sd, rtol=0.15)
