"""The pseudolikelihood: its maximum, information and scores by differences, and how far its spreads can be trusted."""

import numpy as np
import pytest

import mrfbayes as mb
from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.data.data import Data
from mrfbayes.estimation import pseudolikelihood as godambe
from mrfbayes.estimation.estimate import estimate
from mrfbayes.estimation.pseudolikelihood import PseudoObjective
from mrfbayes.priors import Prior


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")  # of data with one row
@pytest.mark.parametrize("name", FIELDS)
def test_information_and_scores(name):
    field = Enumerated.of(FIELDS[name])
    w = weak(field.model, 8)
    x = field.draw(w, 40, 9)
    statistics = Data(x).count(field.model)
    conditionals = PseudoObjective(field.model, statistics, None)
    step = 1e-5 * np.eye(w.size)
    by_differences = [
        (conditionals.value_gradient(w - h)[1] - conditionals.value_gradient(w + h)[1]) / 2e-5 for h in step
    ]
    np.testing.assert_allclose(godambe.information(field.model, statistics, w), by_differences, atol=1e-6)
    each = godambe.scores(field.model, x, w)
    np.testing.assert_allclose(each.sum(axis=0), conditionals.value_gradient(w)[1], atol=1e-9)
    first = PseudoObjective(field.model, Data(x[:1]).count(field.model), None)
    np.testing.assert_allclose(each[0], first.value_gradient(w)[1], atol=1e-10)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")  # of data with one row
def test_a_single_edge_is_counted_twice():
    """Two variables and an agreement coin: the pseudolikelihood is the square of the likelihood."""
    model = mb.graph([(0, 1)])
    x = np.zeros((2_000, 2), dtype=np.uint8)
    x[:500, 1] = 1
    x[::2] = 1 - x[::2]
    statistics, prior = mb.Data(x).count(model), Prior(model)
    w = np.log([3.0])
    information = godambe.information(model, statistics, w) - np.diag(prior.hessian_w(w))
    np.testing.assert_allclose(godambe.sd_ratio(model, statistics, prior, w, information), np.sqrt(0.5), rtol=1e-3)
    assert godambe.sd_ratio(model, Data(x[:1]).count(model), prior, w, information) is None


def test_the_spread_of_estimates_has_the_precision_of_the_prior():
    """One edge, 30 agreements of 40 rows: each row has a score of 2 (agreement - theta), and the prior adds 100."""
    model = mb.graph([(0, 1)])
    x = np.zeros((40, 2), dtype=np.uint8)
    x[:10, 1] = 1
    information = np.array([[130.0]])
    prior = Prior(model, "normal(0, 0.1)")
    found = godambe.sd_ratio(model, mb.Data(x).count(model), prior, np.array([0.3]), information)
    np.testing.assert_allclose(found, np.sqrt(130 / (4 * 40 * 0.75 * 0.25 + 100)))


def test_pseudolikelihood_notes_that_its_sds_are_too_small():
    model = mb.graph([(0, 1), (1, 2), (0, 2), (2, 3)], fields=True, coupling="both-one")
    x = np.random.default_rng(1).integers(0, 2, (200, 4)).astype(np.uint8)
    posterior = mb.sample(model, x, "pseudo", chains=2, progress=False)
    said = [text for text in posterior.notes if "so its sds are too small: here about 0." in text]
    assert len(said) == 1
    assert 0.6 < posterior.details["sd_ratio"] < 0.95


def log_pseudolikelihood(field, x, w):
    shape = tuple(field.model.states)
    log_p = (field.statistics @ w).reshape(shape)
    total = 0.0
    for axis in range(len(shape)):
        conditional = log_p - np.logaddexp.reduce(log_p, axis=axis, keepdims=True)
        total += conditional[tuple(x.T)].sum()
    return total


@pytest.mark.parametrize("name", FIELDS)
def test_pseudo_is_a_maximum_of_the_product_of_conditionals(name):
    field = Enumerated.of(FIELDS[name])
    x = field.draw(weak(field.model, 5), 400, 6)
    found = estimate(field.model, x, algorithm="pseudo")
    assert found.converged
    here = log_pseudolikelihood(field, x, found.log_odds)
    for step in np.eye(field.model.n_parameters):
        for size in (1e-3, -1e-3):
            assert log_pseudolikelihood(field, x, found.log_odds + size * step) < here
