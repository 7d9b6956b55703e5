"""Numbers at the edge, against mpmath: huge n, log-odds of 700, one row, constant columns, many parameters."""

import itertools

import mpmath
import numpy as np
import pytest

import mrfbayes as mb

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
CYCLE = [(0, 1), (1, 2), (2, 3), (3, 0)]


def energies(w):
    """Energies of all states of the 4-cycle at log-odds of agreement w, as mpmath numbers."""
    for x in itertools.product((0, 1), repeat=4):
        yield mpmath.fsum(mpmath.mpf(w[k]) for k, (i, j) in enumerate(CYCLE) if x[i] == x[j])


def log_z(w):
    """Log Z of the log-odds."""
    with mpmath.workdps(60):
        return mpmath.log(mpmath.fsum(mpmath.exp(e) for e in energies(w)))


@pytest.mark.parametrize("size", [1.0, 30.0, 300.0, 700.0])
@pytest.mark.parametrize("signs", [(1, 1, 1, 1), (1, -1, 1, -1), (1, 1, 1, -1)])
def test_the_density_is_right_at_extreme_log_odds(size, signs):
    """Frustrated signs included: there the largest energies cancel."""
    w = size * np.array(signs) * [1.0, 0.9, 0.8, 0.7]
    model = mb.graph(CYCLE)
    counts, n = np.array([3.0, 4.0, 2.0, 5.0]), 6
    target = mb.target(model, mb.Statistics.from_counts(model, counts, n), prior="normal(0, 100)")
    zero = float(target.log_density(np.zeros(4)))
    with mpmath.workdps(60):
        expected = mpmath.fsum(mpmath.mpf(c) * mpmath.mpf(v) for c, v in zip(counts, w, strict=True))
        expected += -n * (log_z(w) - log_z(np.zeros(4))) - mpmath.fsum(mpmath.mpf(v) ** 2 for v in w) / 20000
    found = float(target.log_density(w)) - zero
    assert np.isfinite(found)
    assert abs(found - float(expected)) <= 1e-12 * max(1.0, n * abs(float(log_z(w))))


def test_a_billion_rows_from_counts_have_the_posterior_of_mpmath():
    """One edge: the posterior of theta is Beta(agreements + 1, n - agreements + 1)."""
    model, n, agreements = mb.graph([(0, 1)]), 10**9, 700_000_123
    post = mb.sample(model, mb.Statistics.from_counts(model, [agreements], n), "exact", rng=1, progress=False)
    with mpmath.workdps(40):
        a, b = mpmath.mpf(agreements + 1), mpmath.mpf(n - agreements + 1)
        mean, sd = a / (a + b), mpmath.sqrt(a * b / (a + b) ** 2 / (a + b + 1))
    draws = post.draws.ravel()
    error = float(sd) / np.sqrt(float(post.ess.min()))
    assert abs(draws.mean() - float(mean)) < 6 * error
    assert draws.std(ddof=1) == pytest.approx(float(sd), rel=6 / np.sqrt(2 * float(post.ess.min())))


def test_a_single_row_has_the_posterior_of_mpmath():
    """One edge, one agreement, uniform prior: theta has density 2 theta."""
    post = mb.sample(mb.graph([(0, 1)]), [[1, 1]], "exact", prior="uniform", rng=2, progress=False)
    draws = post.draws.ravel()
    error = np.sqrt(1 / 18) / np.sqrt(float(post.ess.min()))
    assert abs(draws.mean() - 2 / 3) < 6 * error


def test_a_constant_column_has_a_finite_posterior_of_mpmath():
    """Both variables always 1: E[theta] of the coupling and both thresholds by quadrature."""
    model = mb.graph([(0, 1)], fields=True, coupling="both-one")
    x = np.ones((20, 2), dtype=int)
    prior = {"edges": "normal(0, 1)", "nodes": "normal(0, 1)"}
    post = mb.sample(model, x, "exact", prior=prior, rng=3, progress=False)
    w = post.log_odds.reshape(-1, 3)
    assert np.isfinite(w).all()
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(points, points, points, indexing="ij"), axis=-1).reshape(-1, 3)
    weight = np.einsum("i,j,k->ijk", weights, weights, weights).ravel()
    log_z_of = np.logaddexp.reduce([np.zeros(len(grid)), grid[:, 1], grid[:, 2], grid.sum(axis=1)], axis=0)
    log_likelihood = 20 * (grid.sum(axis=1) - log_z_of)
    weight = weight * np.exp(log_likelihood - log_likelihood.max())
    mean = weight @ grid / weight.sum()
    sd = np.sqrt(weight @ (grid - mean) ** 2 / weight.sum())
    assert np.abs((w.mean(axis=0) - mean) / (sd / np.sqrt(post.ess))).max() < 6


def test_a_hundred_thousand_parameters_have_the_right_log_partition():
    """Disjoint edges: each has 2 theta + 2 (1 - theta) = 2. Errors are relative to the sizes of what is added up."""
    pairs = np.arange(200_000).reshape(-1, 2)
    model = mb.graph(pairs)
    w = np.linspace(-30, 30, len(pairs))
    theta = 1 / (1 + np.exp(-w))
    found = mb.log_partition(model, np.clip(theta, 1e-13, 1 - 1e-13))
    assert abs(found - len(pairs) * np.log(2)) < 1e-12 * np.abs(w).sum()
