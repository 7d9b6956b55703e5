"""`simulate`: every sampler by the same law, what auto chooses and says, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import mrfbayes as mb
from frequencies import ALPHA, chi_square_p, state_counts
from mrfbayes import simulate as module_or_function
from mrfbayes.particles.simulate import SAMPLERS, choose_sampler
from oracles import binary_probabilities, categorical_log_weights

NAMED = [name for name in SAMPLERS if name != "auto"]
assert module_or_function is mb.simulate


def unequal(model, low, high, seed=0):
    return np.random.default_rng(seed).uniform(low, high, size=model.n_parameters)


def binary_law(model, theta):
    field, coupling = model.lowering.potentials(model.chart.log_odds(np.asarray(theta)))
    return binary_probabilities(field, coupling, model.edges)


@pytest.mark.parametrize("sampler", NAMED)
def test_observations_follow_the_field(sampler):
    model = mb.grid(3, 3, fields=True)
    theta = unequal(model, 0.5, 0.75)
    sweeps = {"gibbs": 60, "swendsen-wang": 60}.get(sampler)
    x = mb.simulate(model, theta, 60_000, sampler=sampler, rng=1, sweeps=sweeps)
    assert x.shape == (60_000, 9)
    assert x.dtype == np.uint8
    assert chi_square_p(state_counts(x), binary_law(model, theta)) > ALPHA
    theta[2] += 0.06
    assert chi_square_p(state_counts(x), binary_law(model, theta)) < ALPHA


@pytest.mark.parametrize("sampler", ["exact", "gibbs", "swendsen-wang"])
def test_potts_observations_follow_the_field(sampler):
    model = mb.grid(2, 3, states=3)
    theta = unequal(model, 0.2, 0.6)
    sweeps = None if sampler == "exact" else 60
    x = mb.simulate(model, theta, 30_000, sampler=sampler, rng=2, sweeps=sweeps)

    def law():
        weights = np.log(theta / (1 - theta))
        _, log_weights = categorical_log_weights([np.zeros(3)] * 6, [c * np.eye(3) for c in weights], model.edges)
        return np.exp(log_weights) / np.exp(log_weights).sum()

    assert chi_square_p(state_counts(x, [3] * 6), law()) > ALPHA
    theta[0] += 0.05
    assert chi_square_p(state_counts(x, [3] * 6), law()) < ALPHA


def test_cftp_takes_negative_couplings_that_can_be_relabelled():
    model = mb.grid(2, 3, fields=True)
    theta = unequal(model, 0.2, 0.4)
    x = mb.simulate(model, theta, 60_000, sampler="cftp", rng=3)
    assert chi_square_p(state_counts(x), binary_law(model, theta)) > ALPHA


def test_large_degrees_take_the_floating_point_kernel():
    model = mb.graph([(i, j) for i in range(8) for j in range(i)], fields=True)
    theta = unequal(model, 0.4, 0.6)
    x = mb.simulate(model, theta, 60_000, sampler="gibbs", rng=4, sweeps=40)
    assert chi_square_p(state_counts(x), binary_law(model, theta)) > ALPHA


@pytest.mark.parametrize("sampler", NAMED)
def test_the_seed_decides(sampler):
    model = mb.grid(3, 3)
    sweeps = {"gibbs": 5, "swendsen-wang": 5}.get(sampler)
    first, again, other = (mb.simulate(model, 0.6, 100, sampler=sampler, rng=seed, sweeps=sweeps) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_auto_states_its_choice_and_the_reason():
    result = mb.simulate(mb.grid(3, 3), 0.6, 10, full_output=True)
    assert (result.sampler, result.is_exact, result.sweeps) == ("exact", True, 0)
    assert "feasible" in result.reason
    wide = mb.grid(40, 40)
    result = mb.simulate(wide, 0.6, 3, full_output=True)
    assert (result.sampler, result.is_exact, result.sweeps) == ("exact", True, 0)
    assert "planar" in result.reason
    sampler, reason = choose_sampler(wide, np.full(wide.n_parameters, np.log(1.5)), 20_000)
    assert sampler == "cftp"
    assert "(degree - 1)(2 theta - 1) <= 0.60 < 1" in reason
    assert mb.simulate(wide, 0.6, 10, sampler="cftp", full_output=True).sweeps >= 8


@pytest.mark.parametrize(
    ("make", "theta", "sampler", "reason"),
    [
        (lambda: mb.grid(40, 40), 0.8, "swendsen-wang", "the field is ordered"),
        (lambda: mb.grid(40, 40, fields=True), 0.8, "gibbs", "too strong to be sure of coalescence"),
        (lambda: mb.grid(40, 40, states=3), 0.5, "gibbs", "for binary fields"),
        (lambda: mb.grid(40, 40), None, "gibbs", "the couplings are frustrated around edge"),
    ],
)
def test_auto_where_exact_sampling_is_not_feasible(make, theta, sampler, reason):
    model = make()
    theta = unequal(model, 0.3, 0.7) if theta is None else np.full(model.n_parameters, theta)
    chosen, why = choose_sampler(model, model.chart.log_odds(theta), 10**7)
    assert chosen == sampler
    assert reason in why


def test_auto_leaves_cftp_when_it_would_take_long():
    model = mb.grid(40, 40)
    chosen, why = choose_sampler(model, np.full(model.n_parameters, 0.4), 10_000_000)
    assert chosen == "gibbs"
    assert "coupling from the past would take about" in why


def test_cftp_refuses_frustration_and_names_an_edge():
    model = mb.graph([("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(mb.InputError, match=r"cycle through edge \w--\w .*odd number"):
        mb.simulate(model, [0.6, 0.6, 0.3], 10, sampler="cftp")
    assert mb.simulate(model, [0.6, 0.3, 0.3], 10, sampler="cftp").shape == (10, 3)


def test_cftp_stops_at_its_cap():
    with pytest.raises(mb.SamplingError, match=r"sweeps = 100 .* 70 of 70 draws.* 'gibbs'"):
        mb.simulate(mb.grid(8, 8), 0.95, 70, sampler="cftp", sweeps=100)


def test_refusals():
    model = mb.grid(2, 2)
    with pytest.raises(mb.InputError, match=r"sampler = 'metropolis' .*auto, exact"):
        mb.simulate(model, 0.6, 10, sampler="metropolis")
    with pytest.raises(mb.InputError, match=r"sweeps = 5 .*sampler='exact'"):
        mb.simulate(model, 0.6, 10, sampler="exact", sweeps=5)
    for n in (0, -1, 2.5, True):
        with pytest.raises(mb.InputError, match=r"n = .*: give a whole number, at least 1"):
            mb.simulate(model, 0.6, n)
    with pytest.raises(mb.InputError, match="sweeps = 0: give a whole number, at least 1"):
        mb.simulate(model, 0.6, 10, sampler="gibbs", sweeps=0)
    with pytest.raises(mb.InputError, match="'cftp' is for binary fields"):
        mb.simulate(mb.grid(2, 2, states=3), 0.4, 10, sampler="cftp")
    with pytest.raises(mb.InputError, match=r"theta\[0\] = 1.5"):
        mb.simulate(model, [1.5, 0.5, 0.5, 0.5], 10)


def test_swendsen_wang_refuses_what_is_not_agreement():
    model = mb.graph([("a", "b")], states=3, coupling="score", fields=True)
    with pytest.raises(mb.InputError, match=r"agreement couplings, .*edge a--b"):
        mb.simulate(model, np.full(model.n_parameters, 0.3), 10, sampler="swendsen-wang")
