"""Annealed log Z against exact values, in units of its own error; conventions of log Z."""

import itertools
import math

import numpy as np
import pytest

import mrfbayes as mb

GRID = mb.grid(8, 8)
Z_LIMIT = 4.9  # two-sided level 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_annealed_equals_exact_within_its_error(seed):
    for model, theta in ((GRID, 0.66), (mb.grid(4, 4, states=3, fields=True), None)):
        if theta is None:
            theta = model.chart.theta(np.random.default_rng(3).normal(0, 0.7, model.n_parameters))
        found = mb.annealed_log_partition(model, theta, rng=seed, progress=False)
        assert found.is_trusted
        assert 0 < found.error < 0.1
        assert abs(found.log_z - mb.log_partition(model, theta)) < Z_LIMIT * found.error


def test_error_bar_has_the_size_of_the_errors():
    """Negative control: errors that were five times smaller would fail here."""
    exact = mb.log_partition(GRID, 0.66)
    runs = [mb.annealed_log_partition(GRID, 0.66, particles=64, levels=60, rng=k, progress=False) for k in range(40)]
    scaled = np.array([(run.log_z - exact) / run.error for run in runs])
    assert 0.6 < np.sqrt(np.mean(scaled**2)) < 1.6


def test_too_few_levels_are_marked():
    with pytest.warns(mb.MRFWarning, match="levels"):
        found = mb.annealed_log_partition(mb.grid(30, 30), 0.75, levels=2, progress=False)
    assert not found.is_trusted


def test_costly_annealing_is_refused(monkeypatch):
    monkeypatch.setattr("mrfbayes.queries.thermodynamics.MOST_UPDATES", 1e4)
    with pytest.raises(mb.CostError, match="particles"):
        mb.annealed_log_partition(GRID, 0.66, progress=False)


def brute_force_ising(d, pairs, coupling, field, temperature):
    total = 0.0
    for spins in itertools.product((-1, 1), repeat=d):
        energy = sum(coupling * spins[u] * spins[v] for u, v in pairs) + sum(
            h * s for h, s in zip(field, spins, strict=True)
        )
        total += math.exp(energy / temperature)
    return math.log(total)


@pytest.mark.parametrize("coupling", ["agreement", "both-one"])
def test_boltzmann_convention_is_the_sum_over_spins(coupling):
    pairs = [(0, 1), (1, 2), (0, 2), (2, 3)]
    model = mb.graph(pairs, fields=True, coupling=coupling)
    field = [0.3, -0.2, 0.1, 0.5]
    ising = mb.Ising(0.4, field, temperature=1.7)
    expected = brute_force_ising(4, pairs, 0.4, field, 1.7)
    assert mb.log_partition(model, ising) == pytest.approx(expected, rel=1e-12)
    theta = model.theta(ising)
    assert mb.log_partition(model, theta, convention="boltzmann") == pytest.approx(expected, rel=1e-12)
    assert mb.log_partition(model, ising, convention="weights") == pytest.approx(mb.log_partition(model, theta))
    assert mb.log_partition(model, theta) != pytest.approx(expected, rel=1e-3)  # the conventions do differ
    found = mb.annealed_log_partition(model, ising, progress=False)
    assert found.convention == "boltzmann"
    assert abs(found.log_z - expected) < Z_LIMIT * found.error


def test_boltzmann_convention_needs_spins():
    with pytest.raises(mb.InputError, match="log-odds"):
        mb.log_partition(mb.graph([(0, 1)], states=3), 0.4, convention="boltzmann")
