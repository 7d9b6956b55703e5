"""IS: ratios from particles at both ends, for each choice of alpha."""

import pytest

from methods.ratio.ratio_cases import check_noise, check_ratio, refused


@pytest.mark.parametrize("alpha", ["geometric", "constant", "optimal"])
def test_ratio_is_that_of_enumeration_and_its_noise_is_known(grid, alpha):
    check_ratio(grid, "importance", alpha=alpha)


def test_noise_falls_as_one_over_the_root_of_particles(grid):
    check_noise(grid, "importance")


def test_the_optimal_alpha_has_the_least_noise(grid):
    """Alpha one gives up most, as the weights of whole configurations vary far more than those of a step."""
    sd = {a: grid.estimates("importance", alpha=a)[:, 0].std(ddof=1) for a in ("geometric", "constant", "optimal")}
    assert sd["optimal"] < 1.2 * sd["geometric"]  # equal for short steps; each sd of 200 has a relative error of 5 %
    assert sd["constant"] > 2 * sd["optimal"]


def test_an_unknown_alpha_is_refused():
    assert "alpha = 'best'" in str(refused("importance", alpha="best"))
