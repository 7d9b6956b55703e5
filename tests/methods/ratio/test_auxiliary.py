"""AuxVar: ratios by way of a fixed estimate, and the sign of its printed equation."""

from methods.ratio.ratio_cases import LIMIT, check_noise, check_ratio, deviation


def test_ratio_is_that_of_enumeration_and_its_noise_is_known(grid):
    check_ratio(grid, "auxiliary")


def test_noise_falls_as_one_over_the_root_of_particles(grid):
    check_noise(grid, "auxiliary")


def test_auxiliary_ratio_the_other_way_up_would_be_caught(grid):
    """(13) as printed estimates 1/r: with the sign of n log r turned, the same test fails by far."""
    found = grid.estimates("auxiliary")
    chart = grid.model.chart
    linear = grid.statistics.counts @ (chart.log_odds(grid.proposal) - chart.log_odds(grid.theta))
    printed = found.copy()
    printed[:, 0] = 2 * linear - found[:, 0]
    assert abs(deviation(printed, grid.exact)) > 10 * LIMIT
