"""The exchange algorithm: one data set per proposal, whose ratio is unbiased."""

import numpy as np
import pytest

import mrfbayes as mb
from methods.ratio.ratio_cases import LIMIT, Case, refused


def test_exchange_with_one_data_set_is_unbiased_for_the_likelihood_ratio():
    """E over Y of the ratio of weights is (Z(theta) / Z(theta*))^n: so the ratio's mean is the likelihood ratio."""
    case = Case("grid", distance=0.05)
    ratios = np.exp(case.estimates("exchange-exact", 4_000)[:, 0])
    error = ratios.std(ddof=1) / np.sqrt(ratios.size)
    assert abs(ratios.mean() - np.exp(case.exact)) < LIMIT * error
    assert abs(ratios.mean() - 1.3 * np.exp(case.exact)) > LIMIT * error


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_prior_is_in_the_target_of_ratio_methods():
    """One edge, 5 agreements of 10 under Beta(8, 2): the posterior is Beta(13, 7)."""
    model = mb.graph([(0, 1)])
    data = mb.Statistics.from_counts(model, [5], 10)
    options = {"draws": 1_000, "thin": 20, "chains": 2, "progress": False, "rng": 5}
    post = mb.sample(model, data, "exchange-exact", prior="beta(8, 2)", **options)
    error = np.sqrt(13 * 7 / 20**2 / 21 / post.ess.min())
    assert abs(post.draws.mean() - 13 / 20) < 6 * error


def test_a_field_that_cannot_be_drawn_exactly_is_refused():
    assert "method='exchange'" in str(refused("exchange-exact", mb.grid(40, 40)))
