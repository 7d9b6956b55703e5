"""Densities at zero from draws: errors that hold, bounds that are not crossed, verdicts that follow."""

import numpy as np
import pytest
from scipy import stats

from mrfbayes.report.wording import bayes_factor
from mrfbayes.results.bayes_factors import LOG_TEN, verdicts
from mrfbayes.results.draw_densities import log_density_at_zero

SHIFTS = np.linspace(-3.5, 3.5, 29)
TARGETS = {
    "normal": stats.norm(0, 0.4),
    "few counts": stats.gumbel_r(),  # log-odds of which one outcome was seen once
    "beta log-odds": stats.genlogistic(3.0),
    "logistic": stats.logistic(),
    "steep edge": stats.skewnorm(5),
}


def walk(target, rng, chains=8, n=1500, persistence=0.8):
    """Autocorrelated draws (chains, n) whose law is ``target``: a Gaussian process through its quantiles."""
    z = np.empty((chains, n))
    z[:, 0] = rng.standard_normal(chains)
    for k in range(1, n):
        z[:, k] = persistence * z[:, k - 1] + np.sqrt(1 - persistence**2) * rng.standard_normal(chains)
    return target.ppf(stats.norm.cdf(z))


def shifted_sets(name, sets=6):
    """Draws (chains, n, shifts) of the target, zero moved to every shift in sds, and the true densities there."""
    target, rng = TARGETS[name], np.random.default_rng(7)
    at = target.mean() + SHIFTS * target.std()
    for _ in range(sets):
        yield walk(target, rng)[:, :, None] - at, target.logpdf(at)


def standardised(found, truth):
    """Errors over stated errors where there is an estimate."""
    is_known = np.isfinite(truth) & ~found.is_bound
    return (found.log_density - truth)[is_known] / found.error[is_known]


@pytest.mark.parametrize("name", TARGETS)
def test_stated_errors_hold(name):
    z, naive, n_bounds = [], [], 0
    for draws, truth in shifted_sets(name):
        found = log_density_at_zero(draws)
        z.extend(standardised(found, truth))
        mixed = np.random.default_rng(8).permutation(draws.reshape(-1, SHIFTS.size)).reshape(draws.shape)
        naive.extend(standardised(log_density_at_zero(mixed), truth))  # the same draws, their order lost
        is_bounded = found.is_bound & np.isfinite(truth)
        n_bounds += is_bounded.sum()
        assert (found.log_density[is_bounded] >= truth[is_bounded]).all()
    assert len(z) > 120
    assert np.sqrt(np.mean(np.square(z))) < 1.3
    assert np.mean(np.abs(z) > 3.5) <= 0.01
    assert np.sqrt(np.mean(np.square(naive))) > 1.5  # the negative control
    if name == "normal":
        assert n_bounds > 0  # so that bounds were tested


def test_far_zero_is_bounded_and_marked():
    draws = np.random.default_rng(1).normal(15, 1, (4, 2000, 1))
    found = log_density_at_zero(draws)
    assert found.is_bound.all()
    truth = stats.norm.logpdf(15)
    assert truth < found.log_density[0] < -15  # a useful bound: a Bayes factor above 10^6
    moved = log_density_at_zero(draws - 14)
    assert not moved.is_bound.any()
    assert abs(moved.log_density[0] - stats.norm.logpdf(1)) < 5 * moved.error[0]


def test_parameter_that_never_moved_has_no_density():
    assert np.isnan(log_density_at_zero(np.ones((2, 200, 1))).log_density[0])


def test_bounds_settle_a_verdict_only_above_ten():
    said, fragile = verdicts(np.array([LOG_TEN + 0.1, LOG_TEN - 0.1, -3.0]), np.full(3, np.inf))
    assert said.tolist() == ["present", "undecided", "absent"]
    assert fragile.tolist() == [False, True, True]
    assert bayes_factor(np.log(150), True) == "above 150"
    assert bayes_factor(np.log(150), False) == "150"
