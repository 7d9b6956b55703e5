"""Rank tests over graph and parameters together: draws from the prior, data, posterior; ranks must be uniform."""

import numpy as np
import pytest
from scipy import stats

import mrfbayes as mb
from structure.graph_cases import complete, draw_data, statistics_of

REPLICATIONS, KEPT, LEVEL = 400, 39, 1e-6


def ranks(slab, edges, size_prior, seed):
    """Ranks (R, p + 1) in 0..KEPT of every log-odds and of the number of edges, ties broken at random.

    An edge is there with probability 1/2 (or with a uniform density), has a standard normal log-odds, and theta is
    uniform for the nodes; ``slab`` and ``edges`` are what the search is told.
    """
    model = complete(4, fields=True, coupling="both-one")
    statistics = statistics_of(model, "both-one", True)
    m, p = model.n_edges, model.n_parameters
    rng = np.random.default_rng(seed)
    found = np.empty((REPLICATIONS, p + 1), dtype=np.int64)
    for r in range(REPLICATIONS):
        density = 0.5 if size_prior == "bernoulli" else rng.random()
        present = rng.random(m) < density
        w = np.concatenate([np.where(present, rng.standard_normal(m), 0.0), rng.logistic(size=p - m)])
        x = draw_data(statistics, model.states, w, 80, int(rng.integers(2**31)))
        counts = mb.Statistics.from_counts(model, mb_counts(statistics, x), len(x))
        sel = mb.select(
            model, counts, slab=slab, edges=edges, steps=12 * KEPT, thin=12, warmup=60, chains=1, rng=r, progress=False
        )
        draws = np.column_stack([sel.log_odds[0], sel.included[0].sum(axis=1)])
        truth = np.append(w, present.sum())
        below, equal = (draws < truth).sum(axis=0), (draws == truth).sum(axis=0)
        found[r] = below + (rng.random(p + 1) * (equal + 1)).astype(np.int64)
    return found


def mb_counts(statistics, x):
    """Sufficient statistics of binary rows: the configurations' own, added up."""
    index = x @ (2 ** np.arange(x.shape[1])[::-1])
    return statistics[index].sum(axis=0)


def p_values(found):
    """Of uniform ranks, one per column."""
    bins = np.stack([np.bincount(column * 8 // (KEPT + 1), minlength=8) for column in found.T])
    return stats.chisquare(bins, axis=1).pvalue


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
@pytest.mark.parametrize(("edges", "size_prior"), [("bernoulli(0.5)", "bernoulli"), ("beta-bernoulli(1, 1)", "beta")])
def test_ranks_are_uniform(edges, size_prior):
    assert p_values(ranks("normal(0, 1)", edges, size_prior, seed=1)).min() > LEVEL


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_ranks_see_a_wrong_prior():
    assert p_values(ranks("normal(0, 1)", "bernoulli(0.8)", "bernoulli", seed=2)).min() < LEVEL
