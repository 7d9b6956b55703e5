"""Results of searches put together by hand, where every number is known."""

import numpy as np

from mrfbayes.structure.result import SearchResult
from structure.result_cases import COMMON


class Searched(SearchResult):
    """With draws of which edges are there."""

    included = np.array([[[1, 0], [1, 1]]], dtype=bool)


def test_a_bayes_factor_is_posterior_odds_over_prior_odds():
    result = Searched(**COMMON)
    np.testing.assert_allclose(np.exp(result.log_bf10), [9 / (0.2 / 0.8), 0.25 / (0.6 / 0.4)])
    np.testing.assert_allclose(result.log_bf10_error, [0.01 / 0.09, 0.02 / 0.16])  # d logit p = dp / (p (1 - p))
    assert result._evidence_table()["verdict"].tolist() == ["present", "undecided"]
