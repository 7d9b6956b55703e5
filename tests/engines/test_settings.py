"""Settings of a run: what is chosen where the user leaves it open, and what is refused before anything is computed."""

import importlib

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines.settings import choose_method


@pytest.mark.parametrize("options", [{}, {"fields": True}])
def test_grids_are_exact_up_to_a_size_and_calibrated_from_there_on(options):
    """No size in between goes back, wherever one way to log Z takes over from another."""
    chosen = [choose_method(mb.grid(k, k, **options))[0] for k in range(4, 24)]
    n_exact = chosen.count("exact")
    assert 8 < n_exact < len(chosen)
    assert chosen == ["exact"] * n_exact + ["calibrated"] * (len(chosen) - n_exact)


@pytest.mark.filterwarnings("ignore:1 row has missing cells:mrfbayes.MRFWarning")
def test_custom_prior_with_a_large_missing_component_is_refused_by_name():
    import numba

    @numba.cfunc("float64(CPointer(float64), int64)")
    def flat(theta, p):
        return 0.0

    model = mb.grid(4, 4)
    x = mb.simulate(model, np.full(model.n_parameters, 0.6), 50, rng=1).astype(float)
    x[0, 1:] = np.nan
    with pytest.raises(mb.InputError, match="prior"):
        mb.sample(model, x, "exact", prior=flat, progress=False)


def test_particles_that_do_not_fit_words_are_refused_before_anything_is_computed(monkeypatch):
    def computed(*given):
        raise AssertionError("the data were counted first")

    monkeypatch.setattr(importlib.import_module("mrfbayes.sampling.sample"), "counted", computed)
    model = mb.grid(34, 34, fields=True)
    with pytest.raises(mb.InputError, match="particles = 200"):
        mb.sample(model, np.zeros((2, model.n_nodes), dtype=int), "calibrated", particles=200, progress=False)
