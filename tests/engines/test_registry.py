"""The registry of engines: that of CONTRIBUTING.md is one file and one row, added here and used like the others."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines import registry
from skeletons import skeleton

MODEL = mb.grid(2, 2)
DATA = np.random.default_rng(3).integers(0, 2, (400, 4))


Gaussian = skeleton("Gaussian")


def test_a_new_engine_is_one_class_and_one_row(monkeypatch):
    with pytest.raises(mb.InputError, match="engine = 'gaussian'"):
        mb.sample(MODEL, DATA, "exact", engine="gaussian", progress=False)
    monkeypatch.setattr(registry, "ENGINE_ROWS", [Gaussian(), *registry.ENGINE_ROWS])
    posterior = mb.sample(MODEL, DATA, "exact", engine="gaussian", progress=False)
    assert posterior.engine == posterior.settings["engine"] == "gaussian"
    exact = mb.sample(MODEL, DATA, "exact", progress=False)
    assert exact.engine == "independence"  # the usual one is the last that fits
    assert (np.abs(posterior.mean - exact.mean) < 0.2 * exact.sd).all()


def test_every_capability_has_an_engine():
    from mrfbayes.methods.registry import REGISTRY

    needed = {engine.needs for engine in registry.ENGINE_ROWS}
    assert {offer for row in REGISTRY.values() for offer in row.offers} == needed
