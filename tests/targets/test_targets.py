"""`mrfbayes.target`: values against the definition, gradients against differences, and threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mrfbayes as mb
from small_fields import FIELDS, count, log_likelihood

PRIORS = ("uniform", "normal(0.5, 2)", "cauchy(0, 2.5)", "logistic(0, 1)")


def made(kind, prior="uniform", method="exact", n=30):
    model, rng = FIELDS[kind](), np.random.default_rng(4)
    x = np.stack([rng.integers(0, r, n) for r in model.states], axis=1)
    return model, x, mb.target(model, count(model, x), prior=prior, method=method)


def log_prior(model, prior, w):
    """Log density of w: of the logits where the prior is on them, of theta with the Jacobian where it is uniform."""
    if prior == "uniform":
        theta = model.chart.theta(w)
        return np.log(theta).sum() + np.log(model.chart.last_weight(theta)).sum()
    name, _, rest = prior.partition("(")
    location, scale = map(float, rest[:-1].split(","))
    z = (w - location) / scale
    each = {"normal": -0.5 * z**2, "cauchy": -np.log1p(z**2), "logistic": -z - 2 * np.log1p(np.exp(-z))}[name]
    return each.sum()


CASES = [*(("grid", prior) for prior in PRIORS), *((kind, "uniform") for kind in ("graph, fields", "Potts", "ordinal"))]


@pytest.mark.parametrize(("kind", "prior"), CASES)
def test_log_density_is_likelihood_times_prior(kind, prior):
    model, x, target = made(kind, prior)
    rng = np.random.default_rng(1)
    points = rng.normal(0, 1, (4, model.n_parameters))
    found = target.log_density(points)
    expected = [log_likelihood(model, model.chart.theta(w), x) + log_prior(model, prior, w) for w in points]
    np.testing.assert_allclose(found - found[0], np.subtract(expected, expected[0]), rtol=1e-9, atol=1e-8)
    assert target.log_density(points[1]) == found[1]


@pytest.mark.parametrize("method", ["exact", "pseudo"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", ["grid", "graph, fields", "ordinal"])
def test_gradient_is_the_slope_of_the_value(kind, prior, method):
    model, _, target = made(kind, prior, method)
    w = np.random.default_rng(2).normal(0, 1, model.n_parameters)
    value, gradient = target.value_and_gradient(w)
    assert value == pytest.approx(target.log_density(w), rel=1e-10)
    step = 1e-5 * np.eye(w.size)
    slope = [(target.log_density(w + e) - target.log_density(w - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-5)


def test_far_log_odds_are_finite():
    """Beyond what theta can tell from 0 and 1."""
    _, _, target = made("grid", "cauchy(0, 2.5)")
    for far in (50.0, -50.0, 90.0):
        assert np.isfinite(target.log_density(np.full(target.dim, far)))
        assert np.isfinite(target.value_and_gradient(np.full(target.dim, far))[1]).all()


def test_threads_share_one_target():
    _, _, target = made("ordinal", "normal(0, 1)")
    points = np.random.default_rng(3).normal(0, 1, (40, 50, target.dim))
    serial = [target.log_density(rows) for rows in points]
    slopes = [target.value_and_gradient(rows[0])[1] for rows in points]
    with ThreadPoolExecutor(4) as pool:
        assert all(map(np.array_equal, pool.map(target.log_density, points), serial))
        threaded = pool.map(lambda rows: target.value_and_gradient(rows[0])[1], points)
        assert all(map(np.array_equal, threaded, slopes))


def test_digest_depends_on_all_numbers():
    model, x, target = made("grid")
    same = mb.target(model, count(model, x))
    others = [
        mb.target(model, count(model, x[:-1])),
        mb.target(model, count(model, x), prior="normal(0, 1)"),
        mb.target(model, count(model, x), prior={"edges": "normal(0, 1)", model.blocks[1]: "normal(0, 2)"}),
        mb.target(model, count(model, x), prior={"edges": "normal(0, 1)", model.blocks[2]: "normal(0, 2)"}),
        mb.target(model, count(model, x), method="pseudo"),
    ]
    assert same.digest == target.digest
    assert len({target.digest, *(other.digest for other in others)}) == 6


def test_methods_without_a_density_are_refused():
    model, x, _ = made("grid")
    for method in ("calibrated", "langevin", "exchange"):
        with pytest.raises(mb.InputError, match=f"method = {method!r}"):
            mb.target(model, count(model, x), method=method)
    with pytest.raises(mb.InputError, match="laplace"):
        mb.target(model, count(model, x), method="laplace").value_and_gradient(np.zeros(model.n_parameters))
    with pytest.raises(mb.InputError, match=r"shape \(3,\)"):
        mb.target(model, count(model, x)).log_density(np.zeros(3))


def test_unpack_names_theta():
    model, _, target = made("grid")
    found = target.unpack(np.zeros(target.dim))
    assert list(found) == list(model.parameters)
    assert set(found.values()) == {0.5}
