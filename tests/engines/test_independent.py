"""Independent proposals: where they are possible, and what follows from uneven weights."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines.independent import Independence
from mrfbayes.engines.metropolis import DENSE_LIMIT
from mrfbayes.priors import Prior

MODEL = mb.grid(2, 2)
DATA = np.random.default_rng(3).integers(0, 2, (400, 4))


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


def test_independent_proposals_need_a_full_covariance():
    """Of a chain of nodes with fields, which no window sees, up to so many parameters."""
    for n_nodes, is_possible in ((300, True), (301, False)):  # 2 n - 1 parameters
        model = mb.graph([(i, i + 1) for i in range(n_nodes - 1)], fields=True)
        assert (model.n_parameters <= DENSE_LIMIT) == is_possible
        assert Independence().is_possible(model, Prior(model)) == is_possible
    assert Independence().is_possible(mb.grid(24, 24), Prior(mb.grid(24, 24)))  # a planar field, through windows


def test_proposals_of_an_exact_posterior_are_nearly_all_accepted():
    """Its means are weighted ones: those of the posterior of one edge, Beta(a + 1, n - a + 1)."""
    model = mb.graph([(0, 1)])
    found = mb.sample(model, mb.Statistics.from_counts(model, [30], 40), "exact", prior="uniform", progress=False)
    assert found.engine == "independence"
    assert found.acceptance.min() > 0.95
    assert found.mean[0] == pytest.approx(31 / 42, abs=1e-3)
    assert found.sd[0] == pytest.approx(np.sqrt(31 * 11 / 42**2 / 43), rel=0.02)
