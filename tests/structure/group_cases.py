"""Small groups whose differences can all be enumerated, for tests of comparisons between groups."""

import numpy as np
from scipy.special import gammaln

import mrfbayes as mb
import oracles_structure as truth
from structure.graph_cases import complete, draw_data, statistics_of


def some_groups(d=4, n=(150, 250), seed=3):
    model = complete(d, fields=True, coupling="both-one")
    statistics = statistics_of(model, "both-one", True)
    rng = np.random.default_rng(seed)
    base = rng.normal(0.2, 0.7, statistics.shape[1])
    differs = rng.random(base.size) < 0.4
    data = {}
    for k, size in enumerate(n):
        w = base + (rng.normal(0, 1.2, base.size) * differs if k else 0.0)
        data["abc"[k]] = draw_data(statistics, model.states, w, size, seed + k)
    return model, statistics, data


def difference_evidences(model, statistics, data, draws=2000):
    """All subsets of edges that differ, with log evidence and its error, each by importance sampling.

    The difference between any two groups is standard normal: rates are corners of a simplex with edges of length one.
    """
    corners = {
        2: np.array([[-0.5], [0.5]]),
        3: np.array([[-0.5, -0.5 / 3**0.5], [0.5, -0.5 / 3**0.5], [0, 1 / 3**0.5]]),
    }
    m, p = model.n_edges, statistics.shape[1]
    counts = [mb.Data(x).count(model).counts for x in data.values()]
    sizes = [len(x) for x in data.values()]
    evidences, errors, graphs = [], [], truth.all_graphs(m)
    rng = np.random.default_rng(5)
    for present in graphs:
        moved = np.concatenate([np.flatnonzero(present), np.arange(m, p)])
        evidence, error = group_evidence(statistics, counts, sizes, moved, corners[len(data)], rng, draws)
        evidences.append(evidence)
        errors.append(error)
    return graphs, np.array(evidences), np.array(errors)


def exact_differences(model, statistics, data, draws=2000):
    """Inclusion and errors by enumeration."""
    graphs, log_p, errors = difference_evidences(model, statistics, data, draws)
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    inclusion = weight @ graphs
    error = np.sqrt((((graphs - inclusion) * (weight * errors)[:, None]) ** 2).sum(axis=0))
    return inclusion, error


def group_evidence(statistics, counts, sizes, moved, corners, rng, draws, df=8):
    """Log evidence of groups whose parameters ``moved`` differ; baseline logistic, differences standard normal."""
    p = statistics.shape[1]
    rates = [np.hstack([np.eye(p), *(c * np.eye(p)[:, moved] for c in corner)]) for corner in corners]
    base, spread = truth.logistic(0, 1), truth.normal(0, 1)

    def log_z(w):
        energy = w @ statistics.T
        top = energy.max(axis=-1, keepdims=True)
        weight = np.exp(energy - top)
        return (top + np.log(weight.sum(axis=-1, keepdims=True)))[..., 0], weight / weight.sum(axis=-1, keepdims=True)

    def target(v):
        value = base(v[..., :p])[0].sum(axis=-1) + spread(v[..., p:])[0].sum(axis=-1)
        for rate, s, n in zip(rates, counts, sizes, strict=True):
            w = v @ rate.T
            value = value + w @ s - n * log_z(w)[0]
        return value

    v = np.zeros(rates[0].shape[1])
    for _ in range(100):
        gradient = np.concatenate([base(v[:p])[1], spread(v[p:])[1]])
        information = -np.diag(np.concatenate([base(v[:p])[2], spread(v[p:])[2]]))
        for rate, s, n in zip(rates, counts, sizes, strict=True):
            probability = log_z(rate @ v)[1]
            mean = probability @ statistics
            covariance = (statistics * probability[:, None]).T @ statistics - np.outer(mean, mean)
            gradient += rate.T @ (s - n * mean)
            information += n * rate.T @ covariance @ rate
        step = np.linalg.solve(information, gradient)
        v = v + step * min(1.0, 1.0 / np.abs(step).max())
        if np.abs(step).max() < 1e-9:
            break
    factor = np.linalg.cholesky(np.linalg.inv(information))
    z, chi = rng.standard_normal((draws // 2, v.size)), rng.chisquare(df, draws // 2)
    z, chi = np.concatenate([z, -z]), np.concatenate([chi, chi])
    sample = v + (z / np.sqrt(chi / df)[:, None]) @ factor.T
    log_q = gammaln((df + v.size) / 2) - gammaln(df / 2) - v.size / 2 * np.log(df * np.pi)
    log_q = log_q - np.log(np.diag(factor)).sum() - (df + v.size) / 2 * np.log1p((z**2).sum(axis=1) / chi)
    log_weight = target(sample) - log_q
    weight = np.exp(log_weight - log_weight.max())
    return log_weight.max() + np.log(weight.mean()), weight.std() / weight.mean() / np.sqrt(draws)
