"""Small fields whose graphs can all be enumerated, with data, for tests of the search over graphs."""

import itertools

import numpy as np

import mrfbayes as mb
import oracles_structure as truth

SLABS = {
    "normal(0, 1)": truth.normal(0, 1),
    "cauchy(0, 2.5)": truth.cauchy(0, 2.5),
    "logistic(0, 1)": truth.logistic(0, 1),
}
PRIORS = {"bernoulli(0.5)": truth.bernoulli(0.5), "beta-bernoulli(1, 1)": truth.beta_bernoulli(1, 1)}


def complete(d, **options):
    return mb.graph(list(itertools.combinations(range(d), 2)), **options)


def statistics_of(model, coupling, fields):
    """Value of every statistic in every configuration: edges, then a column per node state but state 0."""
    x = truth.all_configurations(model.states)
    u, v = x[:, model.edges[:, 0]], x[:, model.edges[:, 1]]
    columns = [u == v if coupling == "agreement" else u * v]
    if fields:
        columns += [x[:, [i]] == k for i, r in enumerate(model.states) for k in range(1, r)]
    return np.hstack(columns).astype(float)


def draw_data(statistics, states, w, n, seed):
    """``n`` rows from the field with log-odds w, by enumeration."""
    p = np.exp(statistics @ w - truth_log_z(statistics, w))
    rng = np.random.default_rng(seed)
    return truth.all_configurations(states)[rng.choice(len(p), n, p=p / p.sum())]


def truth_log_z(statistics, w):
    energy = statistics @ w
    return energy.max() + np.log(np.exp(energy - energy.max()).sum())


def case(d, coupling, fields, states=2, n=200, seed=0):
    """(model, statistics, data): unequal log-odds, some edges absent."""
    model = complete(d, states=states, fields=fields, coupling=coupling)
    statistics = statistics_of(model, coupling, fields)
    rng = np.random.default_rng(seed)
    scale = 1.0 if coupling == "agreement" or max(model.states) == 2 else 0.4
    w = rng.normal(0.3, scale, statistics.shape[1])
    w[: model.n_edges] *= rng.random(model.n_edges) < 0.5
    return model, statistics, draw_data(statistics, model.states, w, n, seed + 1)


def exact_posterior(model, statistics, x, slab, edges, node=None, draws=2000):
    """What enumeration says: graph probabilities, inclusion, its error, means, sds.

    The slab of a product of scores is scaled by their sds, r equally likely levels having sqrt((r^2 - 1) / 12): its
    statistic is multiplied by that here. Thresholds have sd 10, with agreement couplings a logistic prior.
    """
    counts, m = mb.Data(x).count(model).counts, model.n_edges
    is_agreement = statistics[0, 0] == 1  # of the configuration of zeros
    node = node or (truth.logistic(0, 1) if is_agreement else truth.normal(0, 10))
    sds = np.sqrt((model.states[model.edges] ** 2 - 1) / 12)
    scale = np.ones(statistics.shape[1])
    scale[:m] = 1.0 if is_agreement else 0.25 / sds.prod(axis=1)
    rng = np.random.default_rng(7)
    found = truth.graph_evidences(statistics * scale, counts * scale, len(x), m, SLABS[slab], node, rng, draws)
    p, inclusion, error, mean, sd = truth.graph_posterior(found, m, PRIORS[edges])
    return p, inclusion, error, mean * scale, sd * scale


def assert_agrees(found, errors, truth, truth_errors, most=5.0):
    """Within five Monte-Carlo errors, which exclude all but one in a million; errors are not below 1e-4."""
    z = np.abs(found - truth) / np.sqrt(np.maximum(errors, 1e-4) ** 2 + truth_errors**2)
    assert z.max() < most, z
