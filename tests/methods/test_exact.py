"""Exact-L against the posterior by quadrature, on a field small enough to enumerate."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.exact.quantities import log_partition_w
from oracles import binary_states, square_posterior

MODEL = mb.grid(2, 2)
DATA = np.random.default_rng(11).integers(0, 2, size=(12, 4)).astype(np.uint8)
DATA[:9, 1] = DATA[:9, 0]  # unequal couplings, so that a mixed-up order would show
DATA[:7, 3] = 1 - DATA[:7, 2]


@pytest.fixture(scope="module")
def quadrature():
    return square_posterior(MODEL.edges, DATA)


@pytest.fixture(scope="module")
def posterior():
    return mb.sample(
        MODEL,
        DATA,
        "exact",
        engine="mh",
        draws=2_000,
        thin=100,
        warmup=5_000,
        chains=4,
        rng=1,
        prior="uniform",
        progress=False,
    )


def test_quadrature_has_converged(quadrature):
    finer = square_posterior(MODEL.edges, DATA, points=30)
    np.testing.assert_allclose(quadrature, finer, rtol=1e-6)


def deviation(posterior, quadrature):
    """Largest error of mean and sd, in Monte-Carlo standard errors of the thinned draws (an upper bound)."""
    from mrfbayes.results import diagnostics

    mean, sd = quadrature
    return max(
        np.abs((posterior.mean - mean) / posterior.mcse).max(),
        np.abs((posterior.sd - sd) / diagnostics.mcse_sd(posterior.draws)).max(),
    )


def test_posterior_is_that_of_quadrature(posterior, quadrature):
    assert deviation(posterior, quadrature) < 5  # alpha = 1e-6 over eight comparisons


def test_the_comparison_has_teeth(posterior, quadrature):
    mean, sd = quadrature
    assert deviation(posterior, (mean[::-1], sd)) > 5  # edges in another order
    assert deviation(posterior, (mean, 1.06 * sd)) > 5


def test_log_likelihood_is_kept_with_the_draws(posterior):
    theta = posterior.draws[1, 7]
    agree = np.array([(DATA[:, u] == DATA[:, v]).sum() for u, v in MODEL.edges])
    z = 0.0
    for x in binary_states(4):
        z += np.prod([t if x[u] == x[v] else 1 - t for t, (u, v) in zip(theta, MODEL.edges, strict=True)])
    expected = (agree * np.log(theta) + (12 - agree) * np.log(1 - theta)).sum() - 12 * np.log(z)
    assert posterior.log_likelihood[1, 7] == pytest.approx(expected, rel=1e-12)


KINDS = {
    "grid with fields": mb.grid(2, 2, fields=True),
    "graph": mb.graph([(0, 1), (1, 2), (2, 0), (2, 3)], coupling="both-one", fields=True),
    "ordinal": mb.graph([(0, 1), (1, 2)], states=[2, 3, 3], coupling="score", fields=True),
    "tied Potts": mb.grid(2, 2, states=3, tied=True),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_model_has_its_own_likelihood(name):
    """The log-likelihood kept with a draw is that of the exact layer, which has its own tests by enumeration."""
    model = KINDS[name]
    x = np.random.default_rng(1).integers(0, model.states, size=(30, model.n_nodes)).astype(np.uint8)
    posterior = mb.sample(
        model, x, "exact", engine="mh", draws=2_000, thin=4, warmup=4_000, chains=1, prior="uniform", progress=False
    )
    theta = posterior.draws[0, 3]
    w = model.chart.log_odds(theta)
    expected = mb.Data(x).count(model).counts @ w - 30 * log_partition_w(model, w)
    assert posterior.log_likelihood[0, 3] == pytest.approx(expected, rel=1e-10)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_printed_walk_has_the_prior_in_its_target():
    """One edge, 5 agreements of 10 under Beta(8, 2): the posterior is Beta(13, 7)."""
    model = mb.graph([(0, 1)])
    data = mb.Statistics.from_counts(model, [5], 10)
    options = {"engine": "mh", "proposal": "printed", "draws": 2_000, "thin": 20, "progress": False, "rng": 5}
    post = mb.sample(model, data, "exact", prior="beta(8, 2)", **options)
    error = np.sqrt(13 * 7 / 20**2 / 21 / post.ess.min())
    assert abs(post.draws.mean() - 13 / 20) < 6 * error
