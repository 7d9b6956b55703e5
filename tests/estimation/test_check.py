"""Numbers of the convergence check that are known by hand: the limit of the largest error, and sds between groups."""

import numpy as np
import pytest
from scipy import stats

from mrfbayes.estimation import check


@pytest.mark.parametrize("n_parameters", [1, 5, 20])
def test_the_limit_shares_the_tail_of_four_errors_among_all_parameters(n_parameters):
    limit = check.threshold(n_parameters, 16)
    assert stats.t.sf(limit, 14) == pytest.approx(stats.norm.sf(4) / n_parameters, rel=1e-6)


def test_the_sd_between_groups_is_that_of_groups_with_the_same_start():
    """Two groups of each start, 2 apart: a variance of 2 in each half, whatever lies between the starts."""
    table = np.array([[0.0, 0.0], [2.0, 6.0], [50.0, 80.0], [52.0, 86.0]])
    unit = np.array([1.0, 10.0])
    assert check._group_sd(table, unit) == pytest.approx(np.sqrt([2.0, 18.0]))
