"""An engine is one file and one row: that of CONTRIBUTING.md is added here and used like the others."""

import importlib
import warnings
from dataclasses import replace

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


def test_a_checkpoint_of_another_target_is_refused(tmp_path):
    """By what differs: the estimate, a prior moved to another block, a long array among the options."""
    settings = {"draws": 200, "warmup": 100, "thin": 2, "chains": 1, "progress": False, "engine": "mh"}
    calls = {
        "estimate": ("laplace", {"estimate": np.full(4, 0.55)}, {"estimate": np.full(4, 0.9)}),
        "prior": (
            "exact",
            {"prior": {"edges": "normal(0, 1)", MODEL.blocks[1]: "normal(3, 0.1)"}},
            {"prior": {"edges": "normal(0, 1)", MODEL.blocks[2]: "normal(3, 0.1)"}},
        ),
        "options": ("mle", {"rho": 0.1 * np.ones((4, 4)) + 0.9 * np.eye(4)}, {"rho": np.eye(4) * 0.8 + 0.2}),
    }
    for what, (method, first, second) in calls.items():
        path = tmp_path / what
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mb.MRFWarning)  # short chains say that they are
            mb.sample(MODEL, DATA, method, checkpoint=path, **first, **settings)
            mb.sample(MODEL, DATA, method, checkpoint=path, **first, **{**settings, "draws": 400})
        with pytest.raises(mb.InputError, match=f"its {what} differs"):
            mb.sample(MODEL, DATA, method, checkpoint=path, **second, **settings)


def test_log_likelihood_is_computed_or_absent():
    direct = mb.sample(MODEL, DATA, "calibrated", draws=100, progress=False)
    assert direct.log_likelihood is None
    assert not {"log_likelihood", "sample_stats"} & set(direct.to_arviz().children)
    chain = mb.sample(MODEL, DATA, "exact", progress=False)
    value = mb.likelihood(MODEL, DATA, "exact").log_likelihood(chain.draws[0, 0])
    assert chain.log_likelihood[0, 0] == pytest.approx(value, rel=1e-10)


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


def test_one_replica_is_refused():
    model = mb.complete(range(5), fields=True)
    x = np.random.default_rng(1).integers(0, 2, (100, 5))
    with pytest.raises(mb.InputError, match="chains = 1 and replicas = 1"):
        mb.sample(model, x, "langevin", chains=1, replicas=1, progress=False)


def test_uneven_weights_at_the_end_change_the_engine_with_a_note(monkeypatch):
    """With a limit that no weights keep: nobody named an engine, so that another one runs and nothing is warned of."""
    from mrfbayes.engines import independent

    monkeypatch.setattr(independent, "TRUSTED_K", -1.0)
    posterior = mb.sample(MODEL, DATA, "exact", progress=False)
    assert posterior.engine == "hmc"
    assert posterior.warnings == ()
    assert any("Pareto k" in note for note in posterior.notes)
    with pytest.warns(mb.MRFWarning, match="Pareto k"):
        asked = mb.sample(MODEL, DATA, "exact", engine="independence", progress=False)
    assert asked.engine == "independence"


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
