"""Checks that all estimates by sampling share."""

import numpy as np

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.estimation.estimate import estimate

N = 200
ERRORS = 6.0  # normal tail 2e-9, and the error itself is estimated: per parameter below 1e-6
TRIED = ["2x3 grid", "four nodes with fields", "Potts", "ordinal", "tied by direction"]
PRIORS = [
    ("2x3 grid", "beta(50, 20)"),  # far stronger than the data: held constant over some steps, it would throw w about
    ("2x3 grid", "normal(0, 0.1)"),
    ("2x3 grid", "cauchy(0, 1)"),
    ("2x3 grid", "logistic(0.5, 0.3)"),
    ("ordinal", {"nodes": "dirichlet(20)", "edges": "beta(30, 20)"}),
]


def check_maximum(solved, algorithm, **settings):
    """The maximum is reached within the stated error."""
    model, x, best, sd = solved
    found = estimate(model, x, algorithm=algorithm, rng=1, **settings)
    assert found.converged
    assert found.warnings == ()
    assert (found.standard_error < 0.12 * sd).all()  # the error that is stated is worth stating
    assert (np.abs(found.log_odds - best) < ERRORS * found.standard_error).all()
    assert found.trace.iteration.size > 0


def check_mode(name, prior, algorithm, **settings):
    """The mode under a prior is that of the exact algorithm, and another point than the maximum."""
    model = FIELDS[name]
    x = Enumerated.of(model).draw(weak(model, 3), 60, 4)
    exact = estimate(model, x, prior=prior)
    found = estimate(model, x, algorithm=algorithm, prior=prior, rng=2, **settings)
    assert found.converged
    assert (np.abs(found.log_odds - exact.log_odds) < ERRORS * found.standard_error).all()
    without = estimate(model, x)  # the prior has moved it by far more than that
    assert (np.abs(found.log_odds - without.log_odds) > ERRORS * found.standard_error).any()
