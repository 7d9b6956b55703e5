"""Exact and pseudolikelihood estimates against enumeration."""

import importlib

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.base.errors import CostError, InputError, MRFWarning
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.datasets import load_digits
from mrfbayes.estimation.estimate import ALGORITHMS, algorithm_function, algorithm_options, check_values, estimate
from mrfbayes.estimation.stochastic_ascent import ascend
from mrfbayes.exact.quantities import moments_w
from mrfbayes.model.build import graph, grid
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


def log_pseudolikelihood(field, x, w):
    shape = tuple(field.model.states)
    log_p = (field.statistics @ w).reshape(shape)
    total = 0.0
    for axis in range(len(shape)):
        conditional = log_p - np.logaddexp.reduce(log_p, axis=axis, keepdims=True)
        total += conditional[tuple(x.T)].sum()
    return total


def test_pseudo_is_a_maximum_of_the_product_of_conditionals(case):
    field, x = case
    found = estimate(field.model, x, algorithm="pseudo")
    assert found.converged
    here = log_pseudolikelihood(field, x, found.log_odds)
    for step in np.eye(field.model.n_parameters):
        for size in (1e-3, -1e-3):
            assert log_pseudolikelihood(field, x, found.log_odds + size * step) < here


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


def test_boundary_is_named_and_penalised_or_refused():
    model = grid(2, 2)
    x = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 1, 0, 1]])  # nodes 0 and 1 always agree
    with pytest.warns(MRFWarning, match=r"no finite maximum likelihood estimate: .*0,0--0,1"):
        found = estimate(model, x)
    assert found.penalised
    assert found.converged
    assert "0,0--0,1" in found.boundary
    assert np.isfinite(found.log_odds).all()
    assert any("0,0--0,1" in text for text in found.warnings)
    with pytest.raises(InputError, match=r"0,0--0,1.*on_boundary='penalise'"):
        estimate(model, x, on_boundary="refuse")
    given = estimate(model, x, prior="uniform")  # asked for: no warning
    np.testing.assert_allclose(given.log_odds, found.log_odds, atol=1e-7)


def test_trace_can_be_plotted():
    found = estimate(grid(2, 3), Enumerated.of(grid(2, 3)).draw(np.full(7, 0.4), 200, 1))
    trace = found.trace
    assert trace.iteration.size == trace.seconds.size == trace.residual.size == len(trace.log_odds) > 1
    assert trace.log_odds.shape[1] == trace.tracked.size == 7
    assert trace.residual[-1] < trace.residual[0]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"algorithm": "newton"}, InputError, "algorithm = 'newton': choose one of 'auto', 'exact'"),
        ({"on_boundary": "ignore"}, InputError, "on_boundary = 'ignore': choose 'penalise' or 'refuse'"),
        ({"particles": 3}, InputError, "algorithm 'exact' has no option 'particles'; its options: start, optimiser"),
        ({"threads": 0}, InputError, "threads = 0: give a whole number, at least 1"),
        ({"start": 1.5}, InputError, r"start\[0\] = 1.5 .* outside \(0, 1\)"),
        ({"optimiser": "adam"}, InputError, "optimiser = 'adam': choose 'lbfgs' or 'newton'"),
        ({"rng": -1}, InputError, "rng = -1 is negative"),
    ],
)
def test_errors_say_what_to_do(arguments, error, text):
    x = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 0, 1], [0, 1, 0, 0]])
    with pytest.raises(error, match=text):
        estimate(grid(2, 2), x, **arguments)


def test_exact_is_refused_where_it_does_not_fit():
    model = grid(60, 60, fields=True)
    x = np.random.default_rng(1).integers(0, 2, (50, 3600))
    with pytest.raises(CostError, match=r"algorithm = 'exact' needs log Z.*use 'pcd' or 'auto'"):
        estimate(model, x, algorithm="exact")


def test_auto_states_its_choice_and_the_reason(monkeypatch):
    x = Enumerated.of(grid(2, 3)).draw(np.full(7, 0.4), 100, 1)
    found = estimate(grid(2, 3), x)
    assert found.method == "exact"
    assert found.reason.startswith("log Z is feasible on this graph")
    assert estimate(grid(2, 3), x, algorithm="pseudo").reason == "asked for"
    module = importlib.import_module("mrfbayes.estimation.newton")
    for seconds, reason in ((50.0, "it would take about 50 s"), (float("inf"), "log Z is not feasible")):
        monkeypatch.setattr(module, "predicted_seconds", lambda model, seconds=seconds: seconds)
        found = estimate(grid(2, 3), x, tolerance=0.03)
        assert found.method == "pcd"
        assert reason in found.reason


def test_every_algorithm_documents_its_options():
    for key in ALGORITHMS:
        for name in algorithm_options(key):
            text = algorithm_function(key).__doc__
            if "`ascend`" in text:  # which all these algorithms hand their limits to
                text += ascend.__doc__
            assert f"    {name}" in text.replace(", ", "\n    "), (key, name)
            with pytest.raises(InputError, match=name):  # before the data
                check_values(grid(2, 2), {name: object()})


def test_digits_get_a_usable_estimate():
    model, x = grid(8, 8), load_digits().x
    with pytest.warns(MRFWarning):
        found = estimate(model, x)
    assert any("and 2 more on the boundary" in text for text in found.warnings)
    assert found.converged
    assert found.penalised
    assert len(found.boundary) == 7  # pairs of pixels that always agree
    assert found.theta.min() > 0.2
    assert found.theta.max() < 1


def test_a_field_without_parameters():
    model = graph([], nodes=["a", "b"])
    x = np.array([[0, 1], [1, 1], [1, 0]])
    with pytest.warns(MRFWarning, match="no edges"):
        found = estimate(model, x)
    assert found.converged
    assert found.theta.shape == (0,)


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
