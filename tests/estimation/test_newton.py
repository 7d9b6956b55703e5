"""Exact estimates against enumeration."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.base.errors import CostError
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.estimate import estimate
from mrfbayes.exact.quantities import moments_w
from mrfbayes.model.build import grid
from mrfbayes.particles.simulate import simulate
from mrfbayes.priors import Prior


@pytest.fixture(scope="module", params=FIELDS)
def case(request):
    field = Enumerated.of(FIELDS[request.param])
    return field, field.draw(weak(field.model, 5), 400, 6)


def test_exact_is_the_maximum(case):
    field, x = case
    found = estimate(field.model, x)
    assert found.method == "exact"
    assert found.converged
    assert not found.penalised
    assert found.boundary == ()
    assert found.residual < 1e-6
    np.testing.assert_allclose(found.log_odds, field.maximum(x), atol=1e-7)
    np.testing.assert_allclose(found.theta, field.model.chart.theta(found.log_odds))


@pytest.mark.parametrize("prior", ["uniform", "normal(0.5, 0.7)"])
def test_posterior_mode_has_no_gradient(case, prior):
    field, x = case
    stats = Data(x).count(field.model)
    found = estimate(field.model, stats, prior=prior)
    mean, _ = field.moments(found.log_odds)
    gradient = stats.counts - stats.n * mean + Prior(field.model, prior).gradient_w(found.log_odds)
    assert found.penalised
    assert np.abs(gradient).max() < 1e-5 * stats.n


def test_quasi_newton_agrees_with_newton():
    field = Enumerated.of(FIELDS["four nodes with fields"])
    x = field.draw(weak(field.model, 1), 300, 2)
    by_newton = estimate(field.model, x, optimiser="newton")
    by_lbfgs = estimate(field.model, x, optimiser="lbfgs")
    assert by_newton.iterations < by_lbfgs.iterations
    np.testing.assert_allclose(by_newton.log_odds, by_lbfgs.log_odds, atol=1e-6)


def test_counts_alone_are_enough_for_exact():
    model = grid(2, 3)
    counts = np.array([60.0, 55, 70, 65, 50, 62, 58])
    found = estimate(model, Statistics.from_counts(model, counts, 100))
    assert found.converged
    np.testing.assert_allclose(Enumerated.of(model).moments(found.log_odds)[0], counts / 100, atol=1e-9)


def test_exact_is_refused_where_it_does_not_fit():
    model = grid(60, 60, fields=True)
    x = np.random.default_rng(1).integers(0, 2, (50, 3600))
    with pytest.raises(CostError, match=r"algorithm = 'exact' needs log Z.*use 'pcd' or 'auto'"):
        estimate(model, x, algorithm="exact")


def field_statistics(model, low, high, n=1_000):
    """Counts near the expected ones: a maximum that is known to exist, away from the start."""
    theta = np.random.default_rng(7).uniform(low, high, model.n_edges)
    _, mean = moments_w(model, np.log(theta / (1 - theta)))
    return Statistics.from_counts(model, np.round(n * mean), n)


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.8), (0.2, 0.8), (0.6, 0.9)])
def test_exact_estimates_of_planar_fields(low, high):
    model = grid(32, 32)
    stats = field_statistics(model, low, high)
    found = estimate(model, stats, algorithm="exact", progress=False)
    assert found.converged
    _, mean = moments_w(model, found.log_odds)
    assert np.abs(stats.counts - stats.n * mean).max() < 1e-5 * np.sqrt(stats.n)


@pytest.mark.filterwarnings("ignore:.* missing cells:mrfbayes.MRFWarning")
def test_missing_cells_on_a_planar_field_that_no_table_holds():
    model, rng = grid(24, 24), np.random.default_rng(5)
    x = simulate(model, rng.uniform(0.5, 0.8, model.n_edges), 60, sampler="exact", rng=1, progress=False).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    found = estimate(model, Data(x).count(model), prior="uniform", progress=False)
    assert found.method == "exact"
    assert found.converged
