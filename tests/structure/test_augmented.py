"""Searches over graphs with missing cells against the evidence of every graph, by brute force over completions."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import mrfbayes as mb
import oracles_missing as brute

PAIRS = [(0, 1), (0, 2), (1, 2)]
MODEL = mb.graph(PAIRS, coupling="both-one", fields=True)
EVERYTHING = brute.configurations([2] * 3)
S = brute.statistics(EVERYTHING, PAIRS, "both-one", [2] * 3)

pytestmark = pytest.mark.filterwarnings("ignore:.* missing cells:mrfbayes.MRFWarning")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    p = np.exp(S @ np.array([0.9, 0.0, 0.4, -0.5, 0.2, 0.3]))
    return brute.hide(EVERYTHING[rng.choice(len(S), size=150, p=p / p.sum())], 0.3, rng)


def log_evidence(rows, chosen, rng, draws=20_000):
    """Of the graph whose parameters are ``chosen``, and its relative error: importance sampling at its mode."""
    s, n_edges = S[:, chosen], int((chosen < 3).sum())

    def log_prior(w):
        edges, nodes = w[..., :n_edges], w[..., n_edges:]
        log_normal = -0.5 * (edges**2 + np.log(2 * np.pi)).sum(axis=-1)
        return log_normal - (np.abs(nodes) + 2 * np.log1p(np.exp(-np.abs(nodes)))).sum(axis=-1)

    def down(w):
        return -brute.log_likelihood(rows, EVERYTHING, s, w) - log_prior(w)

    found = minimize(down, np.zeros(len(chosen)))
    factor = np.linalg.cholesky(1.3 * found.hess_inv)
    z = rng.standard_normal((draws, len(chosen))) / np.sqrt(rng.chisquare(8, size=(draws, 1)) / 8)
    w = found.x + z @ factor.T
    d = len(chosen)
    from scipy.special import gammaln

    log_q = gammaln((8 + d) / 2) - gammaln(4) - d / 2 * np.log(8 * np.pi) - np.log(np.diag(factor)).sum()
    log_q = log_q - (8 + d) / 2 * np.log1p((z**2).sum(axis=1) / 8)
    log_weights = brute.log_likelihood(rows, EVERYTHING, s, w) + log_prior(w) - log_q
    weights = np.exp(log_weights - log_weights.max())
    return np.log(weights.mean()) + log_weights.max(), weights.std() / weights.mean() / np.sqrt(draws)


@pytest.mark.parametrize("engine", ["states", "recursion"])
def test_inclusion_probabilities_are_those_of_all_graphs(rows, engine):
    rng = np.random.default_rng(3)
    graphs = np.array(list(itertools.product([False, True], repeat=3)))
    scores = [log_evidence(rows, np.concatenate([np.flatnonzero(g), [3, 4, 5]]), rng) for g in graphs]
    log_p, error = np.array(scores).T
    assert error.max() < 0.01
    p = np.exp(log_p - log_p.max())
    want = (p / p.sum()) @ graphs
    found = mb.select(
        MODEL, np.where(rows == brute.HOLE, np.nan, rows), missing="model", engine=engine, steps=2_500, chains=2,
        progress=False,
    )  # fmt: skip
    assert found.engine == engine
    assert np.abs((found.inclusion - want) / np.hypot(found.inclusion_error, 0.005)).max() < 5.2
    assert found.n == 150
    assert found.graphs()["probability"].equals(found.graphs()["share"])
    # Negative control: without the rows with holes the probabilities are others.
    complete = mb.select(MODEL, rows[(rows != brute.HOLE).all(axis=1)].astype(np.uint8), steps=500, progress=False)
    assert np.abs((complete.inclusion - want) / np.hypot(complete.inclusion_error, 0.005)).max() > 5.2


def test_what_a_search_cannot_do_with_missing_cells_is_refused(rows):
    x = np.where(rows == brute.HOLE, np.nan, rows)
    with pytest.raises(mb.CostError, match="needs an exact engine, 'states' or 'recursion'"):
        mb.select(MODEL, x, missing="model", engine="particles", progress=False)
    weighted = mb.count(MODEL, x, weights=np.full(len(x), 0.5), missing="model")
    with pytest.raises(mb.InputError, match="must be whole numbers in a search over graphs"):
        mb.select(MODEL, weighted, progress=False)
    statistics = mb.count(MODEL, x, missing="model")
    with pytest.raises(mb.InputError, match="groups with missing cells cannot be compared yet"):
        mb.compare_groups(MODEL, {"a": statistics, "b": statistics}, progress=False)
    with pytest.raises(mb.InputError, match="pass missing='model'"):
        mb.select(MODEL, x, progress=False)
