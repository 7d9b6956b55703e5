"""Split Hamiltonian Monte Carlo: its algebra, its stationary distribution, and that a stopped run goes on as it was."""

import itertools
import warnings

import numpy as np
import pytest

import mrfbayes as mb
from estimation.fields import FIELDS, Enumerated, weak
from mrfbayes.estimation.pseudolikelihood import PseudoObjective
from mrfbayes.kernels.run import hmc
from mrfbayes.kernels.run.chain import ACCEPTED, LOG_SCALE, LOG_TARGET
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.results import diagnostics
from mrfbayes.run.hmc import HmcTask, initial_state, make_metric
from oracles import evidence_on_four_nodes

LIMIT = 5.5  # Monte-Carlo standard errors
COINS = mb.graph([(0, 1), (1, 2), (2, 3)])
TOSSES, HEADS = 6.0, np.array([0.0, 2.0, 5.0])  # posterior Beta(heads + 1, tails + 1), skewed


def coin_gradient(w):
    """Log-likelihood of three coins on their own."""
    return HEADS @ w - TOSSES * np.logaddexp(0.0, w).sum(), HEADS - TOSSES / (1 + np.exp(-w))


def run_coins(gradient, steps=3_000, warmup=200, chains=4):
    mode = np.log((HEADS + 1) / (TOSSES - HEADS + 1))
    share = 1 / (1 + np.exp(-mode))
    metric = make_metric(mode, np.diag((TOSSES + 2) * share * (1 - share)))
    task = HmcTask(Prior(COINS).view, hmc.HmcSettings(warmup, 1), gradient, metric)
    seeds = np.random.SeedSequence(7).spawn(chains)
    chunks = [task.advance(initial_state(metric, seed), warmup + steps) for seed in seeds]
    return COINS.chart.theta(np.stack([chunk.draws for chunk in chunks])), [chunk.state for chunk in chunks]


def deviation(draws):
    """Largest error of mean and sd in Monte-Carlo standard errors."""
    a, b = HEADS + 1, TOSSES - HEADS + 1
    mean, sd = a / (a + b), np.sqrt(a * b / (a + b + 1)) / (a + b)
    return max(
        np.abs((draws.mean(axis=(0, 1)) - mean) / diagnostics.mcse_mean(draws)).max(),
        np.abs((draws.std(axis=(0, 1)) - sd) / diagnostics.mcse_sd(draws)).max(),
    )


def acceptance(states, steps=3_000):
    return np.mean([state["counters"][ACCEPTED] for state in states]) / steps


def test_a_start_comes_back_as_it_was_given():
    metric = make_metric(np.zeros(3), np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.0]]))
    state = initial_state(metric, np.random.SeedSequence(1), np.array([0.4, -0.2, 0.9]))
    out = np.zeros(3)
    hmc.to_log_odds(metric, state["position"], out)
    np.testing.assert_allclose(out, [0.4, -0.2, 0.9], rtol=1e-6)


def test_a_start_beyond_a_wall_is_moved_towards_the_mode():
    """A posterior that is flat on one side and steep on the other, as that of a level that never occurs."""

    def wall(w):
        return -np.exp(30.0 * w).sum(), -30.0 * np.exp(30.0 * w)

    metric = make_metric(np.full(3, -1.0), np.ones(3))
    state = initial_state(metric, np.random.SeedSequence(1), np.array([3.0, 3.0, 3.0]))
    settings = hmc.HmcSettings(0, 1)
    far = HmcTask(Prior(COINS).view, settings, wall, metric, is_start_given=True).advance(state, 0).state
    near = HmcTask(Prior(COINS).view, settings, wall, metric).advance(state, 0).state
    assert near["numbers"][LOG_TARGET] > -30 > far["numbers"][LOG_TARGET]


def test_coins_have_beta_posteriors():
    draws, states = run_coins(coin_gradient)
    assert deviation(draws) < LIMIT
    assert 0.6 < acceptance(states) <= 1
    assert diagnostics.convergence(draws).ess_bulk.min() > 0.3 * draws.shape[0] * draws.shape[1]
    leaps = [np.exp(state["numbers"][LOG_SCALE]) for state in states]
    assert 1 <= min(leaps) <= max(leaps) < 10


def test_wrong_gradient_costs_speed_but_not_correctness():
    def turned(w):
        value, gradient = coin_gradient(w)
        return value, -0.3 * gradient

    draws, states = run_coins(turned, warmup=0)  # two leaps throughout
    assert deviation(draws) < LIMIT
    assert acceptance(states) < 0.8 < acceptance(run_coins(coin_gradient, warmup=0)[1])


def test_wrong_value_is_detected():
    def doubled(w):
        value, gradient = coin_gradient(w)
        return 1.2 * value, gradient

    assert deviation(run_coins(doubled)[0]) > LIMIT


def test_without_the_decision_the_draws_are_found_out(monkeypatch):
    decide = hmc.decide

    def always(metric, settings, prior, state, kept):
        kinetic = 0.5 * (state.velocity**2).sum()
        state.numbers[hmc.NEW_TARGET] = state.numbers[LOG_TARGET] - state.numbers[hmc.KINETIC] + kinetic
        decide(metric, settings, prior, state, kept)

    monkeypatch.setattr(hmc, "decide", always)
    assert deviation(run_coins(coin_gradient)[0]) > LIMIT


def test_a_point_that_cannot_be_evaluated_is_not_visited():
    def halting(w):
        if w[0] > -1.0:
            raise ArithmeticError
        return coin_gradient(w)

    draws, _ = run_coins(halting, steps=200)
    assert draws[:, :, 0].max() < 1 / (1 + np.exp(1.0))


def pseudo_problem(name="both-one", n=60):
    field = Enumerated.of(FIELDS[name])
    x = field.draw(weak(field.model, 3), n, 4)
    return field, x


def draw(model, x, method="pseudo", **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # short runs have few effective draws, and say so
        settings = {"draws": 300, "warmup": 50, "chains": 2, "rng": 5, "progress": False, "engine": "hmc", **changes}
        return mb.sample(model, x, method, **settings)


@pytest.mark.parametrize("name", ["both-one", "ordinal"])
def test_compiled_and_python_gradients_make_the_same_trajectories(name):
    field, x = pseudo_problem(name)
    statistics = mb.Data(x).count(field.model)
    problem = Problem(field.model, statistics, Prior(field.model), np.random.SeedSequence(1))
    smooth = method_row("pseudo").prepare(problem).smooth()
    metric = make_metric(smooth.mode, smooth.information)
    state = initial_state(metric, np.random.SeedSequence(2))
    draws = [
        HmcTask(problem.prior.view, hmc.HmcSettings(5, 1), gradient, metric).advance(state, 30).draws
        for gradient in (smooth.gradient, PseudoObjective(field.model, statistics, None).value_gradient)
    ]
    np.testing.assert_allclose(*draws, rtol=1e-7)


def by_quadrature(x, points=80):
    """Mean and sd (2,) of theta under the pseudolikelihood of a 2x3 grid tied by direction, by Gauss-Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    theta = (nodes + 1) / 2
    pairs = [(0, 1, 0), (1, 2, 0), (3, 4, 0), (4, 5, 0), (0, 3, 1), (1, 4, 1), (2, 5, 1)]
    sums = np.zeros((len(x), 6, 2))  # by how many agreements a node gains or loses where it is one, by direction
    for a, b, kind in pairs:
        sums[:, a, kind] += 2.0 * x[:, b] - 1
        sums[:, b, kind] += 2.0 * x[:, a] - 1
    values = np.empty((points, points))
    for i, j in itertools.product(range(points), repeat=2):
        w = np.log(theta[[i, j]] / (1 - theta[[i, j]]))
        values[i, j] = -np.logaddexp(0.0, (1 - 2.0 * x) * (sums @ w)).sum()
    density = np.exp(values - values.max()) * np.outer(weights, weights)
    density /= density.sum()
    margins = [density.sum(axis=1), density.sum(axis=0)]
    mean = np.array([m @ theta for m in margins])
    return mean, np.sqrt([m @ (theta - c) ** 2 for m, c in zip(margins, mean, strict=True)])


def test_pseudolikelihood_posterior_by_quadrature():
    field, x = pseudo_problem("tied by direction", 25)
    mean, sd = by_quadrature(x)
    posterior = draw(field.model, x, draws=8_000, chains=4, thin=1)
    draws = posterior.draws
    assert np.abs((draws.mean(axis=(0, 1)) - mean) / diagnostics.mcse_mean(draws)).max() < LIMIT
    assert np.abs((draws.std(axis=(0, 1)) - sd) / diagnostics.mcse_sd(draws)).max() < LIMIT
    assert np.abs((draws.mean(axis=(0, 1)) - mean[::-1]) / diagnostics.mcse_mean(draws)).max() > LIMIT
    np.testing.assert_allclose(posterior.mean, draws.mean(axis=(0, 1)), rtol=1e-10)


def test_exact_posterior_by_quadrature():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, size=(15, 4)).astype(np.uint8)
    x[:11, 1], x[:9, 3] = x[:11, 0], 1 - x[:9, 2]
    pairs = list(itertools.combinations(range(4), 2))
    _, mean, sd = evidence_on_four_nodes(x, pairs)
    draws = draw(mb.graph(pairs), x, "exact", draws=2_000, chains=2).draws
    assert np.abs((draws.mean(axis=(0, 1)) - mean) / diagnostics.mcse_mean(draws)).max() < LIMIT
    assert np.abs((draws.std(axis=(0, 1)) - sd) / diagnostics.mcse_sd(draws)).max() < LIMIT


@pytest.mark.parametrize("method", ["pseudo", "exact"])
def test_the_same_draws_over_workers_and_after_a_stop(tmp_path, method):
    field, x = pseudo_problem()
    whole = draw(field.model, x, method)
    path = tmp_path / "run.checkpoint"
    draw(field.model, x, method, checkpoint=path, draws=101)
    resumed = draw(field.model, x, method, checkpoint=path)
    assert resumed.details["resumed_steps"] == 151
    with pytest.raises(mb.CostError, match="ended in the preparation"):
        draw(field.model, x, method, seconds=1e-9)
    for other in (resumed, draw(field.model, x, method, workers=2)):
        np.testing.assert_array_equal(other.draws, whole.draws)
        np.testing.assert_array_equal(other.mean, whole.mean)
    assert not np.array_equal(draw(field.model, x, method, rng=6).draws, whole.draws)


def test_hmc_is_the_default_of_pseudolikelihood_and_reports_its_steps():
    field, x = pseudo_problem()
    posterior = draw(field.model, x, engine=None)
    assert posterior.engine == "hmc"
    assert posterior.details["gradients_per_step"] >= 1
    assert posterior.timings["prepare"] > 0
    assert draw(field.model, x, engine=None, proposal="printed", draws=50).engine == "mh"
    assert draw(field.model, x, engine="mh", draws=50).engine == "mh"
    with pytest.raises(mb.InputError, match=r"engine = 'hmc' .*method 'mle'"):
        draw(field.model, x, "mle")


def test_starts_are_honoured():
    field, x = pseudo_problem()
    theta = np.full(field.model.n_parameters, 0.4)
    for start, expected in (("half", field.model.no_interaction), (theta, theta)):
        posterior = draw(field.model, x, start=start, warmup=0, draws=40, chains=1)
        moved = posterior.draws[0, 0]
        assert np.isfinite(moved).all()
        assert posterior.settings["start"] == ("half" if isinstance(start, str) else "given")
        assert not np.array_equal(moved, expected)
