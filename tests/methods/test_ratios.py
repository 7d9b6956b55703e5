"""Estimated likelihood ratios against enumerated ones, in units of their own standard error."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import mrfbayes as mb
import small_fields
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import kernel_state
from mrfbayes.data.statistics import Statistics
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


@pytest.fixture(scope="module")
def grid():
    return Case("grid")


def deviation(found, exact):
    """Error of the mean of the estimates in standard errors; the bias of log r^n is of second order and taken off."""
    values, variances = found.T
    bias = -0.5 * variances.mean() / N  # E[n log r] - n log E[r], for one average
    return (values.mean() - bias - exact) / (values.std(ddof=1) / np.sqrt(len(values)))


METHODS = [
    ("exchange", {}),
    ("exchange", {"source": "gibbs", "sweeps": 40}),
    ("importance", {}),
    ("importance", {"alpha": "constant"}),
    ("importance", {"alpha": "optimal"}),
    ("auxiliary", {}),
    ("persistent", {}),
    ("persistent", {"k": 3, "restore": True}),
]


@pytest.mark.parametrize(("method", "options"), METHODS, ids=str)
def test_ratio_is_that_of_enumeration_and_its_noise_is_known(grid, method, options):
    found = grid.estimates(method, **options)
    assert abs(deviation(found, grid.exact)) < LIMIT
    stated = np.sqrt(found[:, 1].mean())
    assert found[:, 0].std(ddof=1) == pytest.approx(stated, rel=0.2)


@pytest.mark.parametrize("source", ["exact", "gibbs"])
@pytest.mark.parametrize("name", ["grid, fields", "grid, tied", "graph, both-one", "star", "hub", "Potts", "ordinal"])
def test_every_kind_of_field(name, source):
    case = Case(name)
    found = case.estimates("exchange", 100, source=source, sweeps=40)
    assert abs(deviation(found, case.exact)) < LIMIT
    if source == "gibbs":
        found = case.estimates("persistent", 100, source=source, sweeps=40)
        assert abs(deviation(found, case.exact)) < LIMIT


def test_auxiliary_ratio_the_other_way_up_would_be_caught(grid):
    """(13) as printed estimates 1/r: with the sign of n log r turned, the same test fails by far."""
    found = grid.estimates("auxiliary")
    chart = grid.model.chart
    linear = grid.statistics.counts @ (chart.log_odds(grid.proposal) - chart.log_odds(grid.theta))
    printed = found.copy()
    printed[:, 0] = 2 * linear - found[:, 0]
    assert abs(deviation(printed, grid.exact)) > 10 * LIMIT


def test_wrong_ends_are_detected(grid):
    assert abs(deviation(grid.estimates("exchange"), -grid.exact)) > 10 * LIMIT


def test_too_few_sweeps_are_noticed(grid):
    """Negative control: particles that still remember their random start bias the ratio."""
    strong = Case("grid", distance=0.0)
    strong.theta, strong.proposal = np.full(7, 0.9), np.full(7, 0.92)
    strong.exact = strong.likelihood_ratio()
    assert abs(deviation(strong.estimates("exchange", source="gibbs", sweeps=300), strong.exact)) < LIMIT
    assert abs(deviation(strong.estimates("exchange", source="gibbs", sweeps=2), strong.exact)) > LIMIT


@pytest.mark.parametrize("method", ["exchange", "importance", "auxiliary", "persistent"])
def test_noise_falls_as_one_over_the_root_of_particles(grid, method):
    few, many = (grid.estimates(method, 150, particles=s)[:, 0].std(ddof=1) for s in (250, 4_000))
    # Ratio 4 in expectation; the ratio of two sds from 150 draws has a relative sd of 8 %.
    assert few / many == pytest.approx(4.0, rel=LIMIT * 0.08)


@pytest.mark.parametrize("restore", [False, True])
def test_particles_stay_or_go_back(grid, restore):
    view = grid.view("persistent", restore=restore, particles=128)
    state = kernel_state(np.random.SeedSequence(1))
    log_ratio(view, grid.theta, grid.proposal, state)
    on_accept(view, True)
    before = view.particles.copy()
    log_ratio(view, grid.theta, grid.proposal, state)
    assert not np.array_equal(view.particles, before)
    on_accept(view, False)
    assert np.array_equal(view.particles, before) == restore


def test_exchange_with_one_data_set_is_unbiased_for_the_likelihood_ratio():
    """E over Y of the ratio of weights is (Z(theta) / Z(theta*))^n: so the ratio's mean is the likelihood ratio."""
    case = Case("grid", distance=0.05)
    ratios = np.exp(case.estimates("exchange-exact", 4_000)[:, 0])
    error = ratios.std(ddof=1) / np.sqrt(ratios.size)
    assert abs(ratios.mean() - np.exp(case.exact)) < LIMIT * error
    assert abs(ratios.mean() - 1.3 * np.exp(case.exact)) > LIMIT * error


@pytest.mark.parametrize(("method", "options"), [("moller", {}), ("mavm", {"levels": 4, "k": 2})])
def test_auxiliary_weights_are_unbiased(method, options):
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


def test_annealing_makes_weights_less_noisy():
    case = Case("grid", distance=0.05)
    one, many = (case.estimates("mavm", 400, levels=k)[:, 0].std() for k in (0, 20))
    assert many < 0.6 * one


def test_refusals():
    model = mb.grid(2, 2)
    x = small_fields.draw(model, np.full(4, 0.6), 20, 1)
    problem = Problem(model, small_fields.count(model, x), Prior(model, "uniform"), np.random.SeedSequence(0))
    for method, options, text in [
        ("exchange", {"particles": 1}, "particles = 1: give a whole number, at least 2"),
        ("exchange", {"sweeps": 0}, "sweeps = 0"),
        ("exchange", {"source": "cftp"}, "source = 'cftp': choose one of 'auto', 'exact', 'gibbs'"),
        ("importance", {"alpha": "best"}, "alpha = 'best': choose one of"),
        ("persistent", {"k": 0}, "k = 0"),
        ("persistent", {"restore": "yes"}, "restore = 'yes'"),
        ("mavm", {"levels": -1}, "levels = -1"),
    ]:
        with pytest.raises(InputError, match=text):
            method_row(method).prepare(problem, **options)
    weighted = Statistics.from_counts(model, [3.0, 4.0, 5.0, 6.0], 10.5)
    with pytest.raises(InputError, match=r"n = 10.5.*whole weights"):
        method_row("exchange-exact").prepare(Problem(model, weighted, problem.prior, problem.seed))
    huge = Statistics.from_counts(model, [3e9, 4e9, 5e9, 6e9], 10**10)
    with pytest.raises(CostError, match="use method='exact'"):
        method_row("exchange-exact").prepare(Problem(model, huge, problem.prior, problem.seed))


def test_wide_fields_fall_back_on_sweeps_or_are_refused():
    model = mb.grid(40, 40)
    counts = Statistics.from_counts(model, np.full(model.n_parameters, 6.0), 10)
    problem = Problem(model, counts, Prior(model, "uniform"), np.random.SeedSequence(0))
    assert method_row("exchange").prepare(problem).details == {"particles": 1000, "source": "gibbs", "sweeps": 1000}
    with pytest.raises(CostError, match="source='gibbs'"):
        method_row("exchange").prepare(problem, source="exact")
    with pytest.raises(CostError, match="method='exchange'"):
        method_row("exchange-exact").prepare(problem)


def test_methods_that_share_a_view_have_numbers_and_ratios_of_their_own():
    from mrfbayes.methods.ratio.views import RATIO_MODULES, RATIO_NUMBERS

    assert len(RATIO_MODULES) == len(set(RATIO_NUMBERS.values())) == 7
    ratios = {name: module.ratio for name, module in RATIO_MODULES.items() if name != "moller"}  # `mavm` without levels
    assert len(set(ratios.values())) == 6


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_prior_is_in_the_target_of_ratio_methods():
    """One edge, 5 agreements of 10 under Beta(8, 2): the posterior is Beta(13, 7)."""
    model = mb.graph([(0, 1)])
    data = mb.Statistics.from_counts(model, [5], 10)
    options = {"draws": 1_000, "thin": 20, "chains": 2, "progress": False, "rng": 5}
    post = mb.sample(model, data, "exchange-exact", prior="beta(8, 2)", **options)
    error = np.sqrt(13 * 7 / 20**2 / 21 / post.ess.min())
    assert abs(post.draws.mean() - 13 / 20) < 6 * error
