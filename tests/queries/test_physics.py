"""Thermodynamics, correlations and population counts against enumeration and closed forms."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

import mrfbayes as mb
import small_fields
from mrfbayes.exact.clamped import Enumerated

mpl.use("Agg")
BINARY = ["grid", "grid, fields", "graph, fields", "graph, both-one", "star", "isolated"]


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


@pytest.mark.parametrize("name", BINARY)
def test_correlations_and_counts_equal_enumeration(name):
    model = small_fields.FIELDS[name]()
    theta = small_fields.random_theta(model, 3)
    x = small_fields.states(model)
    p = np.exp(small_fields.log_weights(model, theta, x) - small_fields.log_z(model, theta))
    rows = small_fields.draw(model, theta, 200, 4)
    table = mb.correlations(model, theta, rows).table
    centred, observed = x - p @ x, rows - rows.mean(axis=0)
    for order in (2, 3):
        for group in itertools.combinations(range(model.n_nodes), order):
            row = table.loc[order, "--".join(model.nodes[i] for i in group)]
            assert row["predicted"] == pytest.approx(p @ np.prod(centred[:, group], axis=1), abs=1e-12)
            product = np.prod(observed[:, group], axis=1)
            assert row["observed"] == pytest.approx(product.mean(), abs=1e-12)
            assert row["observed_error"] == pytest.approx(product.std() / np.sqrt(200), abs=1e-12)
    counts = mb.population_counts(model, theta, rows).table
    np.testing.assert_allclose(counts["predicted"], np.bincount(x.sum(axis=1), p), atol=1e-13)
    np.testing.assert_allclose(counts["observed"] * 200, np.bincount(rows.sum(axis=1), minlength=len(counts)))


def test_simulated_correlations_are_those_of_a_large_field():
    """A chain of 30 nodes has too many configurations; covariances of neighbours are tanh(w / 2) / 4."""
    model = mb.graph([(i, i + 1) for i in range(29)])
    assert not Enumerated.is_feasible(model)
    theta = 0.7
    found = mb.correlations(model, theta, np.eye(30, dtype=int), third=False, samples=20_000)
    assert not found.is_exact
    assert found.notes
    near = found.table.loc[2].loc[[f"{i}--{i + 1}" for i in range(29)], "predicted"]
    expected = 0.25 * (2 * theta - 1)
    assert np.abs(near - expected).max() < 4.9 * 0.25 / np.sqrt(20_000)
    counts = mb.population_counts(model, theta, samples=20_000).table["predicted"]
    assert counts.sum() == pytest.approx(1.0)
    assert counts @ counts.index == pytest.approx(15.0, abs=4.9 * np.sqrt(30 * 0.25 * 7 / 3) / np.sqrt(20_000) * 1.5)


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
    pyplot.close("all")


WRONG = [
    (lambda m: mb.thermodynamics(m, 0.6, temperatures=[1.0, -2.0]), "temperatures", "-2.0"),
    (lambda m: mb.thermodynamics(m, 0.6, method="magic"), "method", "'magic'"),
    (lambda m: mb.correlations(m, 0.6, [[0, 1, None]]), "data", "1"),
    (lambda m: mb.correlations(m, 0.6, [[0, 1]]), "data", "(1, 2)"),
    (lambda m: mb.population_counts(mb.graph([(0, 1)], states=3), 0.4), "model", "3"),
]


@pytest.mark.parametrize(("call", "argument", "value"), WRONG, ids=[f"{w[1]}={w[2]}" for w in WRONG])
def test_wrong_arguments_are_named_with_their_value(call, argument, value):
    with pytest.raises(mb.InputError) as error:
        call(mb.graph([("a", "b"), ("b", "c")]))
    assert argument in str(error.value)
    assert value in str(error.value)


def test_too_many_triplets_are_refused():
    with pytest.raises(mb.CostError, match="third"):
        mb.correlations(mb.graph([(i, i + 1) for i in range(200)]), 0.6, np.zeros((2, 201), dtype=int))
