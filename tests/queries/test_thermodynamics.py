"""Thermodynamics and annealed log Z against enumeration, closed forms and exact values."""

import itertools
import math

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

import mrfbayes as mb
import small_fields

mpl.use("Agg")


def spins_energy(model, ising, x):
    """Energy of the rows of ``x`` by its definition."""
    sigma = 2 * x - 1
    pairs = model.edges
    return -(ising.coupling * sigma[:, pairs[:, 0]] * sigma[:, pairs[:, 1]]).sum(axis=1) - sigma @ np.array(ising.field)


def test_every_quantity_equals_enumeration_over_spins():
    model = mb.graph(small_fields.SQUARE, fields=True, coupling="both-one")
    ising = mb.Ising(0.45, [0.2, -0.3, 0.1, 0.4])
    x = small_fields.states(model)
    energy = spins_energy(model, ising, x)
    temperatures = [0.5, 1.0, 2.5]
    scan = mb.thermodynamics(model, ising, temperatures=temperatures).table["value"]
    for t in temperatures:
        weight = np.exp(-energy / t)
        p = weight / weight.sum()
        mean = p @ energy
        assert scan["log_z", t] == pytest.approx(np.log(weight.sum()), rel=1e-11)
        assert scan["energy", t] == pytest.approx(mean, rel=1e-10)
        assert scan["entropy", t] == pytest.approx(-p @ np.log(p), rel=1e-10)
        assert scan["heat_capacity", t] == pytest.approx(p @ (energy - mean) ** 2 / t**2, rel=1e-9)


@pytest.mark.parametrize("name", ["Potts", "ordinal", "table"])
def test_entropy_and_heat_capacity_of_other_fields_equal_enumeration(name):
    model = small_fields.FIELDS[name]()
    theta = small_fields.random_theta(model, 1)
    p = np.exp(small_fields.log_weights(model, theta, small_fields.states(model)) - small_fields.log_z(model, theta))
    logs = np.log(p)
    scan = mb.thermodynamics(model, theta).table["value"]
    assert scan["entropy", 1.0] == pytest.approx(-p @ logs, rel=1e-10)
    assert scan["heat_capacity", 1.0] == pytest.approx(p @ (logs - p @ logs) ** 2, rel=1e-9)


def test_chain_has_its_known_thermodynamics():
    """An open Ising chain: log Z = d log 2 + (d - 1) log cosh(J / T), C from its second derivative."""
    model, d, coupling = mb.graph([(i, i + 1) for i in range(999)]), 1000, 0.8
    scan = mb.thermodynamics(model, mb.Ising(coupling), temperatures=[0.7, 1.3]).table["value"]
    for t in (0.7, 1.3):
        k = coupling / t
        assert scan["log_z", t] == pytest.approx(d * np.log(2) + (d - 1) * np.log(np.cosh(k)), rel=1e-10)
        assert scan["energy", t] == pytest.approx(-(d - 1) * coupling * np.tanh(k), rel=1e-9)
        assert scan["heat_capacity", t] == pytest.approx((d - 1) * (k / np.cosh(k)) ** 2, rel=1e-7)


def test_annealed_scan_agrees_with_the_exact_one():
    model, temperatures = mb.grid(6, 6, fields=True), [0.8, 1.0, 1.6]
    theta = model.chart.theta(np.random.default_rng(2).normal(0, 0.5, model.n_parameters))
    exact = mb.thermodynamics(model, theta, temperatures=temperatures).table["value"]
    found = mb.thermodynamics(
        model, theta, temperatures=temperatures, method="annealed", particles=1024, progress=False
    )
    assert not found.is_exact
    error = found.table["error"]
    for t in temperatures:
        assert abs(found.table["value"]["log_z", t] - exact["log_z", t]) < 4.9 * error["log_z", t]
        assert found.table["value"]["heat_capacity", t] == pytest.approx(exact["heat_capacity", t], rel=0.35)
        sd = np.sqrt(exact["heat_capacity", t]) * t  # of the energy
        assert abs(found.table["value"]["energy", t] - exact["energy", t]) < 4.9 * 2 * sd / np.sqrt(1024)


def test_wide_fields_are_refused_with_the_alternative():
    with pytest.raises(mb.CostError, match="annealed"):
        mb.thermodynamics(mb.grid(60, 60, fields=True), 0.6)


def test_posterior_intervals_and_pictures():
    model = mb.graph([("a", "b"), ("b", "c")], fields=True)
    x = small_fields.draw(model, np.array([0.75, 0.6, 0.45, 0.5, 0.55]), 300, 5)
    post = mb.sample(model, x, "exact", rng=1, progress=False)
    scan = mb.thermodynamics(model, post, temperatures=np.linspace(0.3, 2, 8), draws=40)
    assert scan.peak.shape == (40,)
    assert (scan.table["q5"] <= scan.table["q95"]).all()
    found, counts = mb.correlations(model, post, x, draws=40), mb.population_counts(model, post, x, draws=40)
    assert {"sd", "q5", "q95", "observed"} <= set(found.table) & set(counts.table)
    for draw, result in (
        (mb.plots.temperature_scan, scan),
        (mb.plots.correlations, found),
        (mb.plots.population_counts, counts),
    ):
        ax = pyplot.subplots()[1]
        assert draw(result, ax=ax) is ax
        assert len(mb.plots.data(ax))


WRONG = [
    (lambda m: mb.thermodynamics(m, 0.6, temperatures=[1.0, -2.0]), "temperatures", "-2.0"),
    (lambda m: mb.thermodynamics(m, 0.6, method="magic"), "method", "'magic'"),
]


@pytest.mark.parametrize(("call", "argument", "value"), WRONG, ids=[f"{w[1]}={w[2]}" for w in WRONG])
def test_wrong_arguments_are_named_with_their_value(call, argument, value):
    with pytest.raises(mb.InputError) as error:
        call(mb.graph([("a", "b"), ("b", "c")]))
    assert argument in str(error.value)
    assert value in str(error.value)


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
