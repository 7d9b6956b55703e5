"""A table of mixed kinds with three variables, and the evidence of its graphs by importance sampling."""

import itertools

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import minimize
from scipy.special import logsumexp

from mrfbayes.model.schema import Schema, Variable

ILL = Variable("ill", "binary", ("no", "yes"))
MOOD = Variable("mood", "ordinal", ("low", "middle", "high"))
TOWN = Variable("town", "nominal", ("Bern", "Lima", "Oslo"))
MIXED = Schema((ILL, MOOD, TOWN))
STATES = (2, 3, 3)
SIZES = [1, 2, 4]  # parameters of ill--mood, ill--town, mood--town
CELLS = np.array(list(itertools.product(*map(range, STATES))))


def statistics(is_centred=True):
    """(18, 12) value of every sufficient statistic: the three edges, then the thresholds; tables are double-centred."""
    ill, mood, town = CELLS.T
    half, third = (1 / 2, 1 / 3) if is_centred else (0, 0)
    columns = [ill * mood]
    columns += [(ill - half) * ((town == k) - third) for k in (1, 2)]
    columns += [((mood == j) - third) * ((town == k) - third) for j in (1, 2) for k in (1, 2)]
    columns += [ill] + [mood == k for k in (1, 2)] + [town == k for k in (1, 2)]
    return np.stack(columns, axis=1).astype(float)


def slab_covariances():
    """Of the edges: independent normal cells, double-centred, with sd 1 of each log odds ratio."""
    two, one = np.eye(2) + 1, np.array([[2.0]])
    ordinal = (0.25 / (0.5 * np.sqrt(8 / 12))) ** 2
    return [np.array([[ordinal]]), np.kron(one, two) / 4, np.kron(two, two) / 4]


NODES = [1, 2, 2]  # thresholds
EDGE = np.repeat([0, 1, 2], SIZES)


def log_prior(w, present, node_sd=10.0):
    """Log density of the log-odds of the edges that are there, then of the thresholds."""
    blocks = [slab_covariances()[k] for k in np.flatnonzero(present)]
    blocks += [node_sd**2 * (np.eye(k) + 1) / 2 for k in NODES]
    ends = np.cumsum([len(v) for v in blocks])
    parts = np.split(w, ends[:-1], axis=-1)
    densities = [stats.multivariate_normal(np.zeros(len(v)), v) for v in blocks]
    return sum(density.logpdf(part) for density, part in zip(densities, parts, strict=True))


def patterns(table):
    """(n, 18) per row of a table of labels: which cells it may be, missing entries being any."""
    codes = np.stack([pd.Index(v.values).get_indexer(table[v.name]) for v in MIXED], axis=1)
    return ((codes[:, None] == CELLS) | (codes[:, None] < 0)).all(axis=2)


def importance(target, size, rng, draws=40_000):
    """Log of the integral of exp(target), its standard error, and weighted draws: importance sampling at the mode."""
    found = minimize(lambda w: -target(w[None])[0], np.zeros(size), method="BFGS")
    step = 0.01 * np.eye(size)
    curvature = sum(
        a * b * target((found.x + a * step[:, None] + b * step).reshape(-1, size)) for a in (-1, 1) for b in (-1, 1)
    )
    covariance = np.linalg.inv(-curvature.reshape(size, size) / (4 * 0.01**2))
    proposal = stats.multivariate_t(found.x, 1.2 * covariance, df=8, seed=rng)
    w = proposal.rvs(draws).reshape(draws, -1)
    log_weight = target(w) - proposal.logpdf(w)
    weight = np.exp(log_weight - log_weight.max())
    log_mean = log_weight.max() + np.log(weight.mean())
    return log_mean, weight.std() / weight.mean() / np.sqrt(draws), w, weight / weight.sum()


def log_likelihood(seen, present):
    """As a function of the log-odds (k, p) of the edges that are there and the thresholds; ``seen`` by `patterns`."""
    chosen = np.concatenate([np.flatnonzero(np.isin(EDGE, np.flatnonzero(present))), np.arange(7, 12)])
    s = statistics()[:, chosen]
    distinct, count = np.unique(seen, axis=0, return_counts=True)

    def value(w):
        p = np.exp(w @ s.T)
        return np.log(p @ distinct.T) @ count - len(seen) * np.log(p.sum(axis=1))

    return value


def graph_evidence(table, present, rng):
    """`importance` of the posterior of one graph."""
    likelihood = log_likelihood(patterns(table), present)
    size = sum(np.array(SIZES)[np.asarray(present)]) + 5
    return importance(lambda w: likelihood(w) + log_prior(w, present), size, rng)


def difference_evidence(tables, present, rng):
    """`importance` of two groups that differ in the edges ``present``: their baseline, then their differences."""
    everything = np.ones(3, dtype=bool)
    likelihoods = [log_likelihood(patterns(table), everything) for table in tables]
    chosen = np.concatenate([np.flatnonzero(np.isin(EDGE, np.flatnonzero(present))), np.arange(7, 12)])

    def target(w):
        base, rest = w[:, :12], w[:, 12:]
        half = np.zeros_like(base)
        half[:, chosen] = rest / 2
        value = likelihoods[0](base - half) + likelihoods[1](base + half)
        return value + log_prior(base, everything) + log_prior(rest, present, node_sd=1.0)

    return importance(target, 12 + len(chosen), rng)


def averaged(evidence, rng):
    """Inclusion probabilities from the evidence of all eight graphs, and their errors."""
    graphs = np.array(list(itertools.product((0, 1), repeat=3)), dtype=bool)
    logs, errors = np.array([evidence(graph, rng)[:2] for graph in graphs]).T
    p = np.exp(logs - logsumexp(logs))
    inclusion = p @ graphs
    return inclusion, np.sqrt(((graphs - inclusion) ** 2 * (p * errors)[:, None] ** 2).sum(axis=0))


def with_holes(rows, share=0.12):
    """The table of labels with some cells missing."""
    return labelled(rows).astype(object).mask(np.random.default_rng(13).random(rows.shape) < share).dropna(how="all")


def labelled(rows):
    """States as a table of labels."""
    return pd.DataFrame({v.name: np.array(v.values)[states] for v, states in zip(MIXED, rows.T, strict=True)})
