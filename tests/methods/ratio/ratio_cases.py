"""Fields with data and two ends of a step, and estimated log ratios between them."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import mrfbayes as mb
import small_fields
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.kernels.base.contracts import log_ratio, on_accept
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from small_fields import FIELDS

N = 50
LIMIT = stats.norm.isf(0.5e-6)  # two-sided, alpha = 1e-6
HUB = [(0, k) for k in range(1, 8)] + [(1, 2)]  # a node of degree 7: too many neighbours for bits


def field(name):
    return mb.graph(HUB, fields=True) if name == "hub" else FIELDS[name]()


class Case:
    """A field, data, two ends of a step, and the exact log ratio between them."""

    def __init__(self, name, distance=0.2):
        self.model = field(name)
        self.theta = small_fields.random_theta(self.model, 1)
        self.proposal = self.theta + distance * (small_fields.random_theta(self.model, 2) - self.theta)
        self.x = small_fields.draw(self.model, self.theta, N, 3)
        self.statistics = small_fields.count(self.model, self.x)
        self.exact = self.likelihood_ratio()
        near = self.theta + 0.1 * (small_fields.random_theta(self.model, 4) - self.theta)
        self.estimate = SimpleNamespace(theta=near, log_odds=self.model.chart.log_odds(near))

    def likelihood_ratio(self):
        """Log L(proposal) / L(theta), by enumeration."""
        ends = (self.proposal, self.theta)
        return np.subtract(*(small_fields.log_likelihood(self.model, t, self.x) for t in ends))

    def view(self, method, **options):
        """The method's view, as at the start of a chain."""
        prior = Prior(self.model, "uniform")
        problem = Problem(self.model, self.statistics, prior, np.random.SeedSequence(0), self.estimate)
        prepared = method_row(method).prepare(problem, **options)
        carried = {} if prepared.carry is None else prepared.carry(np.random.SeedSequence(1), self.theta)
        return prepared.view._replace(**carried)

    def estimates(self, method, n_estimates=200, **options):
        """``n_estimates`` independent estimates and their variances, (n, 2)."""
        return self.repeat(self.view(method, **options), n_estimates)

    def repeat(self, view, n_estimates):
        state = kernel_state(np.random.SeedSequence(5))
        found = []
        for _ in range(n_estimates):
            found.append(log_ratio(view, self.theta, self.proposal, state))
            on_accept(view, False)  # the step is always from theta
        return np.array(found)


def deviation(found, exact):
    """Error of the mean of the estimates in standard errors; the bias of log r^n is of second order and taken off."""
    values, variances = found.T
    bias = -0.5 * variances.mean() / N  # E[n log r] - n log E[r], for one average
    return (values.mean() - bias - exact) / (values.std(ddof=1) / np.sqrt(len(values)))


def check_ratio(case, method, **options):
    """The mean of the estimates is the enumerated log ratio, and their scatter is the one that they state."""
    found = case.estimates(method, **options)
    assert abs(deviation(found, case.exact)) < LIMIT
    assert found[:, 0].std(ddof=1) == pytest.approx(np.sqrt(found[:, 1].mean()), rel=0.2)


def check_noise(case, method):
    """Noise falls as one over the root of the number of particles."""
    few, many = (case.estimates(method, 150, particles=s)[:, 0].std(ddof=1) for s in (250, 4_000))
    # Ratio 4 in expectation; the ratio of two sds from 150 draws has a relative sd of 8 %.
    assert few / many == pytest.approx(4.0, rel=LIMIT * 0.08)


def refused(method, model=None, statistics=None, **options):
    """The error of preparing ``method`` with such options, or for such counts."""
    model = mb.grid(2, 2) if model is None else model
    if statistics is None:
        statistics = mb.Statistics.from_counts(model, np.full(model.n_parameters, 6.0), 10)
    problem = Problem(model, statistics, Prior(model, "uniform"), np.random.SeedSequence(0))
    with pytest.raises((mb.InputError, mb.CostError)) as error:
        method_row(method).prepare(problem, **options)
    return error.value


def check_auxiliary_weights(method, **options):
    """E[W*] = (Z(estimate) / Z(theta*))^n, whatever the number of levels."""
    case = Case("grid", distance=0.05)
    chart = case.model.chart
    view = case.view(method, **options)
    found = case.repeat(view, 4_000)[:, 0] + view.log_weight[0]  # that of the start has been taken off
    found -= case.statistics.counts @ (chart.log_odds(case.proposal) - chart.log_odds(case.theta))
    # In log-odds, where the weights of last outcomes are not part of Z.
    at_estimate, at_proposal = (
        small_fields.log_z(case.model, t) - np.log(1 - t).sum() for t in (case.estimate.theta, case.proposal)
    )
    weights = np.exp(found - N * (at_estimate - at_proposal))
    error = weights.std(ddof=1) / np.sqrt(weights.size)
    assert abs(weights.mean() - 1.0) < LIMIT * error < 0.5
