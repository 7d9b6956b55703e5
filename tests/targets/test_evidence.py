"""The evidence: quadrature, a closed form, and the constants of priors."""

import itertools

import numpy as np
import pytest
from scipy import integrate, special, stats

import mrfbayes as mb
from mrfbayes.priors import Prior
from mrfbayes.targets.evidence import block_constants, log_prior_at_no_interaction
from targets.four_node_cases import DATA, MODEL, PAIRS, quadrature


def test_evidence_of_graphs_on_four_nodes(full):
    """Every third graph in which each node has an edge, the complete one among them."""
    graphs = [edges for k in range(2, 7) for edges in itertools.combinations(PAIRS, k)]
    graphs = [edges for edges in graphs if len(set(itertools.chain(*edges))) == 4][::-3]
    assert len(graphs) == 14
    assert len(graphs[0]) == 6
    for edges in graphs:
        found = mb.evidence(mb.graph(list(edges)), DATA, draws=5_000)
        expected = full[0] if len(edges) == 6 else quadrature(list(edges))[0]
        assert abs(found.log_evidence - expected) < max(5.5 * found.standard_error, 1e-6), edges
        assert found.standard_error < 0.02


def test_evidence_of_one_edge_has_a_closed_form():
    """Thirty rows of which 21 agree, each with probability theta / 2 or (1 - theta) / 2, under Beta(2, 3)."""
    model = mb.graph([(0, 1)])
    x = np.zeros((30, 2), dtype=np.uint8)
    x[:9, 1] = 1
    found = mb.evidence(model, x, prior="beta(2, 3)", rng=1)
    expected = special.betaln(23, 12) - special.betaln(2, 3) - 30 * np.log(2)
    assert found.log_evidence == pytest.approx(expected, abs=1e-6)


LOG_DENSITIES = {
    "normal(0.5, 2)": lambda w: -0.5 * ((w - 0.5) / 2) ** 2,
    "cauchy(-1, 2.5)": lambda w: -np.log1p(((w + 1) / 2.5) ** 2),
    "logistic(1, 0.5)": lambda w: -(w - 1) / 0.5 - 2 * np.log1p(np.exp(-(w - 1) / 0.5)),
    "beta(3, 1.5)": lambda w: 3 * w - 4.5 * np.logaddexp(0, w),
}


@pytest.mark.parametrize("name", LOG_DENSITIES)
def test_constants_normalise_the_prior_of_a_coin(name):
    """By quadrature of the density of its log-odds, which is also known at no interaction."""
    prior = Prior(mb.graph([(0, 1)]), name)
    with np.errstate(over="ignore"):
        mass = integrate.quad(lambda w: np.exp(LOG_DENSITIES[name](w)), -np.inf, np.inf)[0]
    assert block_constants(prior)[0] == pytest.approx(-np.log(mass), abs=1e-6)
    assert log_prior_at_no_interaction(prior)[0] == pytest.approx(LOG_DENSITIES[name](0.0) - np.log(mass), abs=1e-6)


def test_constants_of_dice():
    """A Dirichlet for three outcomes, and normal log-odds."""
    model = mb.Model({"x": 3}, [mb.Factor("x", outcomes=np.arange(3))])
    alpha = np.full(3, 2.5)
    assert block_constants(Prior(model, {"nodes": "dirichlet(2.5)"}))[0] == pytest.approx(
        stats.dirichlet(alpha).logpdf(np.full(3, 1 / 3)) + 3 * 1.5 * np.log(3)
    )
    normal = Prior(model, {"nodes": "normal(0, 2)"})  # exchangeable: log-odds against one outcome are correlated
    density = stats.multivariate_normal(np.zeros(2), np.linalg.inv(-normal.hessian_w(np.zeros(2))))
    assert block_constants(normal)[0] == pytest.approx(density.logpdf(np.zeros(2)))


def test_evidences_of_different_data_are_not_compared():
    one, other = (mb.evidence(MODEL, data, draws=200) for data in (DATA, DATA[:9]))
    with pytest.raises(mb.InputError, match="different data"):
        one.log_bayes_factor(other)
    assert one.log_bayes_factor(one)[0] == 0
    with pytest.raises(mb.InputError, match="draws = 3"):
        mb.evidence(MODEL, DATA, draws=3)
