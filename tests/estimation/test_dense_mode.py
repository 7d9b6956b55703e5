"""The mode of dense fields by particles against enumeration, in posterior sds."""

import itertools

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.errors import CalibrationError
from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation import dense_mode as dense_modes
from mrfbayes.estimation.dense_mode import CHAINS, REPLICAS, DensePosterior, dense_mode, level_means
from mrfbayes.estimation.pseudolikelihood import PseudoObjective
from mrfbayes.methods.langevin.langevin import DISAGREEMENT, DOUBTFUL_MODE
from mrfbayes.model.natural_form import dense_layout
from mrfbayes.particles.dense import DenseEnsemble
from mrfbayes.priors import Prior

KINDS = {
    "both-one": (2, "both-one", "normal(0, 1)"),
    "agreement": (2, "agreement", "uniform"),
    "ordered": ([3, 2, 4, 3, 3], "score", {"edges": "cauchy(0, 1)", "nodes": "normal(0, 1.5)"}),
    "Potts": (3, "agreement", "normal(0, 1)"),
}


def case(name, n=300, d=5):
    states, coupling, prior = KINDS[name]
    model = mb.graph(list(itertools.combinations(range(d), 2)), states=states, fields=True, coupling=coupling)
    rng = np.random.default_rng(3)
    theta = model.chart.theta(0.3 * rng.normal(size=model.n_parameters))
    x = mb.simulate(model, theta, n, rng=1)
    return model, x, prior


def every_state(model):
    return np.array(list(itertools.product(*(range(r) for r in model.states))), dtype=np.uint8)


def sufficient(model, x):
    """s (k, p) of rows by counting each alone."""
    return np.array([mb.Data(np.stack([row, row])).count(model).counts / 2 for row in x])


def exact_mode(model, x, prior):
    """Newton's method on the enumerated posterior: mode and sds."""
    s = sufficient(model, every_state(model))
    counts, n = mb.Data(x).count(model).counts, len(x)
    w = np.zeros(model.n_parameters)
    for _ in range(60):
        weight = np.exp(s @ w - (s @ w).max())
        weight /= weight.sum()
        mean = weight @ s
        hessian = prior.hessian_w(w)
        hessian = np.diag(hessian) if hessian.ndim == 1 else hessian
        information = n * ((s - mean).T * weight) @ (s - mean) - hessian
        step = np.linalg.solve(information, counts - n * mean + prior.gradient_w(w))
        w = w + step * min(1.0, 1.0 / np.abs(step).max())
    return w, np.sqrt(np.diag(np.linalg.inv(information)))


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
@pytest.mark.parametrize("name", KINDS)
def test_mode_and_spread_are_those_of_the_enumerated_posterior(name):
    model, x, given = case(name)
    prior = Prior(model, given)
    posterior = DensePosterior(dense_layout(model), mb.Data(x).count(model), prior)
    found = dense_mode(posterior, seed_sequence(2))
    w, sd = exact_mode(model, x, prior)
    assert np.sqrt(np.mean(((found.w - w) / sd) ** 2)) < 0.04
    assert np.abs(found.sd / sd - 1).max() < 0.12
    assert found.error < 0.05
    assert found.disagreement < 5


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_counts_alone_are_enough():
    model, x, given = case("both-one")
    prior = Prior(model, given)
    counted = mb.Data(x).count(model)
    alone = Statistics.from_counts(model, counted.counts, counted.n)
    found = dense_mode(DensePosterior(dense_layout(model), alone, prior), seed_sequence(2))
    w, sd = exact_mode(model, x, prior)
    assert np.sqrt(np.mean(((found.w - w) / sd) ** 2)) < 0.04


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
@pytest.mark.parametrize("name", KINDS)
def test_the_gradient_of_the_pseudolikelihood_is_its_slope(name):
    model, x, given = case(name)
    objective = PseudoObjective(model, mb.Data(x).count(model), Prior(model, given))
    w = 0.2 * np.random.default_rng(1).normal(size=model.n_parameters)
    _, gradient = objective.value_gradient(w)
    for j in range(0, w.size, 3):
        ahead, behind = w.copy(), w.copy()
        ahead[j] += 1e-5
        behind[j] -= 1e-5
        slope = (objective.value_gradient(ahead)[0] - objective.value_gradient(behind)[0]) / 2e-5
        assert abs(slope - gradient[j]) < 1e-4 * max(1.0, abs(slope))


def test_an_ordered_field_is_noticed():
    """Two phases that chains do not cross between: the mode cannot be found, and fresh particles say so."""
    d = 30
    model = mb.graph(list(itertools.combinations(range(d), 2)), fields=True, coupling="both-one")
    rng = np.random.default_rng(0)
    x = (rng.random((400, d)) < np.where(rng.random((400, 1)) < 0.9, 0.98, 0.02)).astype(np.uint8)
    posterior = DensePosterior(dense_layout(model), mb.Data(x).count(model), Prior(model, "normal(0, 1)"))
    found = dense_mode(posterior, seed_sequence(2))
    assert not found.converged
    assert found.error > DOUBTFUL_MODE  # so that `langevin` says so


@pytest.mark.parametrize(("coupling", "are_apart"), [(0.6, True), (0.0, False)])
def test_chains_from_two_starts_tell_phases_that_they_do_not_cross(coupling, are_apart):
    """Nine of ten rows are in one phase, random starts end in either; without couplings there are no phases."""
    model = mb.graph(list(itertools.combinations(range(20), 2)), fields=True)
    x = np.repeat(np.random.default_rng(0).random((400, 1)) < 0.9, 20, axis=1).astype(np.uint8)
    x[::20] = np.arange(20) % 2  # so that no edge always agrees
    statistics, layout = mb.Data(x).count(model), dense_layout(model)
    w = np.where(np.arange(model.n_parameters) < model.n_edges, coupling, 0.0)
    ensemble = DenseEnsemble(layout, level_means(layout, statistics), REPLICAS, CHAINS, kernel_state(seed_sequence(1)))
    ensemble.start(dense_modes._two_starts(x, layout.states, ensemble.n_chains, np.random.default_rng(1)))
    ensemble.set_parameters(DensePosterior(layout, statistics, Prior(model)).natural(w))
    ensemble.sweep(100)
    assert (dense_modes._disagreement(ensemble.moments(2, 20)) > DISAGREEMENT) == are_apart


def test_fields_with_other_tables_have_no_dense_form():
    assert dense_layout(mb.graph([(0, 1), (1, 2)], states=3, coupling="table")) is None
    assert dense_layout(mb.graph([(0, 1), (1, 2)], states=[2, 3, 3], coupling="agreement", fields=True)) is None
    layout = dense_layout(mb.graph([(0, 1), (1, 2)], states=2, coupling="table"))
    assert layout is not None
    assert layout.coupling == "product"


def sparse_with_hubs():
    """Thirty nodes, four of which are joined to all others: degree 29, treewidth 4."""
    return mb.graph([(h, j) for h in range(4) for j in range(h + 1, 30)], fields=True, coupling="both-one")


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_the_estimate_on_a_graph_with_hubs_is_the_exact_one():
    model = sparse_with_hubs()
    theta = model.chart.theta(0.4 * np.random.default_rng(5).normal(size=model.n_parameters))
    x = mb.simulate(model, theta, 600, rng=1)
    exact = mb.estimate(model, x, algorithm="exact", prior="normal(0, 1)", progress=False)
    found = mb.estimate(model, x, algorithm="chord", prior="normal(0, 1)", progress=False)
    off = (found.log_odds - exact.log_odds) / found.standard_error
    assert found.converged
    assert np.sqrt(np.mean(off**2)) < 2.0  # noise alone: 1; steps leave a little
    assert np.abs(off).max() < 8
    assert found.monte_carlo_error < 0.05
    # Negative control: the maximum without a prior is elsewhere, and is found there.
    alone = mb.estimate(model, x, algorithm="chord", progress=False)
    expected = mb.estimate(model, x, algorithm="exact", progress=False)
    assert np.abs((alone.log_odds - exact.log_odds) / alone.standard_error).max() > 10
    assert np.sqrt(np.mean(((alone.log_odds - expected.log_odds) / alone.standard_error) ** 2)) < 2.5


def test_tables_have_their_mode():
    model = mb.graph([(0, 1), (1, 2), (0, 2)], states=3, coupling="table", fields=True)
    x = np.random.default_rng(0).integers(0, 3, size=(200, 3))
    exact = mb.estimate(model, x, algorithm="exact", prior="normal(0, 1)", progress=False)
    found = mb.estimate(model, x, algorithm="chord", prior="normal(0, 1)", progress=False)
    assert found.converged
    assert np.sqrt(np.mean(((found.log_odds - exact.log_odds) / found.standard_error) ** 2)) < 2.5


def test_what_chord_refuses():
    x = np.random.default_rng(0).integers(0, 3, size=(200, 3))
    large = mb.complete([f"v{i}" for i in range(200)], fields=True)
    with pytest.raises(mb.InputError, match=r"'chord'.* 20,100"):
        mb.estimate(large, np.random.default_rng(0).integers(0, 2, size=(50, 200)), algorithm="chord", progress=False)
    binary = mb.graph([(0, 1), (1, 2)], fields=True)
    with pytest.raises(mb.InputError, match="tolerance = 0: give a positive number"):
        mb.estimate(binary, x.clip(0, 1), algorithm="chord", tolerance=0, progress=False)


def test_auto_estimates_dense_fields_by_chord():
    model = mb.graph(list(itertools.combinations(range(32), 2)), fields=True, coupling="both-one")
    x = np.random.default_rng(0).integers(0, 2, size=(300, 32))
    found = mb.estimate(model, x, progress=False, prior="normal(0, 1)")
    assert found.method == "chord"
    assert "log Z is not feasible" in found.reason


class FlatPrior:
    """A prior without curvature, so that the data alone have to determine every parameter."""

    def hessian_w(self, w):
        return np.zeros(w.size)


def test_an_information_that_is_not_positive_definite_is_a_failed_calibration():
    model = mb.graph([(0, 1), (0, 2), (1, 2)], coupling="both-one", fields=True)
    statistics = mb.Data(np.tile(np.eye(3, dtype=int), (2, 1))).count(model)
    posterior = DensePosterior(dense_layout(model), statistics, FlatPrior())
    w = np.zeros(model.n_parameters)
    text = r"the information at the mode is not positive definite \(.*\): give the parameters a narrower prior, or use"
    with pytest.raises(CalibrationError, match=text):
        posterior.factor(-np.eye(w.size), w, 100, 0.0)
