"""Rank tests: draws from the prior, data, posterior; where the truth lies among the draws must be uniform."""

import numpy as np
from scipy import stats

import mrfbayes as mb
from structure.graph_cases import complete, draw_data, statistics_of

REPLICATIONS, KEPT, THIN, WARMUP = 400, 39, 12, 60


def rank_of(truth, draws, rng):
    """Ranks in 0..KEPT of every column, ties broken at random."""
    below, equal = (draws < truth).sum(axis=0), (draws == truth).sum(axis=0)
    return below + (rng.random(truth.size) * (equal + 1)).astype(np.int64)


def p_values(found):
    """Of uniform ranks, one per column."""
    bins = np.stack([np.bincount(column * 8 // (KEPT + 1), minlength=8) for column in found.T])
    return stats.chisquare(bins, axis=1).pvalue


def counted(model, statistics, x):
    """Binary rows as `Statistics`: the configurations' own, added up."""
    index = x @ (2 ** np.arange(x.shape[1])[::-1])
    return mb.Statistics.from_counts(model, statistics[index].sum(axis=0), len(x))


def graph_ranks(slab, edges, size_prior, seed, hidden=0.0):
    """Ranks (R, p + 1) of every log-odds and of the number of edges.

    An edge is there with probability 1/2 (or with a uniform density), has a standard normal log-odds, and theta is
    uniform for the nodes; ``slab`` and ``edges`` are what the search is told. Of every row but its first cell a share
    of the cells is ``hidden``, twice as many where the first cell is one: missing at random, not completely.
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
        run = {"draws": KEPT, "thin": THIN, "warmup": WARMUP, "chains": 1, "rng": r, "progress": False}
        data = counted(model, statistics, x)
        if hidden:
            share = hidden * (2 / 3) * (1 + x[:, :1]) * (np.arange(x.shape[1]) > 0)
            data = mb.Data(np.where(rng.random(x.shape) < share, np.nan, x)).count(model)
        sel = mb.select(model, data, slab=slab, edges=edges, prior="uniform", **run)
        draws = np.column_stack([sel.log_odds[0], sel.included[0].sum(axis=1)])
        found[r] = rank_of(np.append(w, present.sum()), draws, rng)
    return found


def group_ranks(differences, n_groups, seed):
    """Ranks (R, G p + 1) of the groups' log-odds' coordinates and of the number of edges that differ.

    The baseline's theta is uniform, an edge differs with probability 1/2, differences between any two groups are
    standard normal; ``differences`` is what the comparison is told.
    """
    from mrfbayes.structure.groups import simplex

    model = complete(3, fields=True, coupling="both-one")
    statistics = statistics_of(model, "both-one", True)
    m, p = model.n_edges, model.n_parameters
    rng = np.random.default_rng(seed)
    rate = np.hstack([np.ones((n_groups, 1)), simplex(n_groups)])
    found = np.empty((REPLICATIONS, n_groups * p + 1), dtype=np.int64)
    for r in range(REPLICATIONS):
        differs = rng.random(m) < 0.5
        coordinates = np.vstack([rng.logistic(size=p), rng.standard_normal((n_groups - 1, p))])
        coordinates[1:, :m] *= differs
        data = {
            str(g): counted(model, statistics, draw_data(statistics, model.states, w, 60, int(rng.integers(2**31))))
            for g, w in enumerate(rate @ coordinates)
        }
        run = {"draws": KEPT, "thin": THIN, "warmup": WARMUP, "chains": 1, "rng": r, "progress": False}
        compared = mb.compare_groups(model, data, differences=differences, prior="uniform", **run)
        draws = compared.coordinates[0].reshape(KEPT, -1)
        size = (compared.coordinates[0, :, 1, :m] != 0).sum(axis=1)
        found[r] = rank_of(np.append(coordinates, differs.sum()), np.column_stack([draws, size]), rng)
    return found
