"""Slow, obvious answers by enumeration. Nothing here imports the package under test.

Binary fields are given as ``field`` (d,), ``coupling`` (m,), ``pairs`` (m, 2): the log weight of x is
sum field * x + sum coupling * [x_u == x_v]. Categorical ones as ``node_tables`` (one (r_i,) array a node) and
``edge_tables`` (one (r_u, r_v) array an edge) of log weights.
"""

from __future__ import annotations

import itertools

import numpy as np


def grid_pairs(rows, cols):
    """Edges of a grid with row-major nodes, sorted by their ends."""
    pairs = []
    for i in range(rows * cols):
        if (i + 1) % cols:
            pairs.append((i, i + 1))
        if i + cols < rows * cols:
            pairs.append((i, i + cols))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def binary_states(d):
    """All 2^d states, (2^d, d), node 0 slowest."""
    return np.array(list(itertools.product((0, 1), repeat=d)), dtype=np.int64).reshape(2**d, d)


def binary_statistics(d, pairs):
    """The sufficient statistics of every state: x_i, then agree_e. (2^d, d + m) floats."""
    x = binary_states(d)
    return np.hstack([x, x[:, pairs[:, 0]] == x[:, pairs[:, 1]]]).astype(float)


def log_sum_exp(values):
    top = np.max(values)
    return top + np.log(np.sum(np.exp(values - top)))


def binary_log_weights(field, coupling, pairs):
    return binary_statistics(len(field), pairs) @ np.concatenate([field, coupling])


def binary_log_z(field, coupling, pairs):
    return log_sum_exp(binary_log_weights(field, coupling, pairs))


def binary_probabilities(field, coupling, pairs):
    """Probability of each state, in the order of `binary_states`."""
    log_weights = binary_log_weights(field, coupling, pairs)
    return np.exp(log_weights - log_sum_exp(log_weights))


def cumulants(statistics, probabilities):
    """Mean (k,), covariance (k, k) and third cumulants (k, k, k) of the columns of ``statistics``."""
    mean = probabilities @ statistics
    centred = statistics - mean
    weighted = centred * probabilities[:, None]
    covariance = weighted.T @ centred
    third = np.einsum("sa,sb,sc->abc", weighted, centred, centred, optimize=True)
    return mean, covariance, third


def binary_cumulants(field, coupling, pairs):
    """`cumulants` of (x_i, agree_e) under the field."""
    return cumulants(binary_statistics(len(field), pairs), binary_probabilities(field, coupling, pairs))


def categorical_log_weights(node_tables, edge_tables, pairs):
    """States (S, d) in lexicographic order and their log weights (S,)."""
    states = np.array(list(itertools.product(*(range(len(t)) for t in node_tables))), dtype=np.int64)
    log_weights = np.zeros(len(states))
    for i, table in enumerate(node_tables):
        log_weights += np.asarray(table)[states[:, i]]
    for (u, v), table in zip(pairs, edge_tables, strict=True):
        log_weights += np.asarray(table)[states[:, u], states[:, v]]
    return states, log_weights


def categorical_log_z(node_tables, edge_tables, pairs):
    return log_sum_exp(categorical_log_weights(node_tables, edge_tables, pairs)[1])


def grid_log_z_dense(rows, cols, field, coupling):
    """Log Z of a binary grid by dense row-to-row matrices, in logarithms throughout; cols <= 10 or so."""
    pairs = grid_pairs(rows, cols)
    right = {(u, v): w for (u, v), w in zip(pairs.tolist(), coupling, strict=True)}
    line = binary_states(cols)
    message = np.zeros(2**cols)
    for r in range(rows):
        first = r * cols
        if r:
            terms = np.zeros((2**cols, 2**cols))
            for c in range(cols):
                terms += right[first - cols + c, first + c] * (line[:, c][:, None] == line[:, c][None, :])
            terms += message[:, None]
            top = terms.max(axis=0)
            message = top + np.log(np.exp(terms - top).sum(axis=0))
        message = message + line @ field[first : first + cols]
        for c in range(cols - 1):
            message += right[first + c, first + c + 1] * (line[:, c] == line[:, c + 1])
    return log_sum_exp(message)


def categorical_statistics(node_tables, edge_tables, pairs):
    """Cell indicators (S, cells) of every state, nodes then edges, tables flattened by rows; and log weights (S,)."""
    states, log_weights = categorical_log_weights(node_tables, edge_tables, pairs)
    columns = [states[:, i] == k for i, table in enumerate(node_tables) for k in range(len(table))]
    for (u, v), table in zip(pairs, edge_tables, strict=True):
        rows, cols = np.shape(table)
        columns += [(states[:, u] == a) & (states[:, v] == b) for a in range(rows) for b in range(cols)]
    return np.stack(columns, axis=1).astype(float), log_weights


def derivatives_along(statistics, log_weights, direction):
    """Log Z, E[T], Cov[T, v.T] and the third cumulant of (T, v.T, v.T) by enumeration."""
    probabilities = np.exp(log_weights - log_sum_exp(log_weights))
    mean = probabilities @ statistics
    centred = statistics - mean
    along = centred @ direction
    first = (probabilities * along) @ centred
    second = (probabilities * along**2) @ centred
    return log_sum_exp(log_weights), mean, first, second


def connected_graphs(max_nodes):
    """Every connected graph on 1..max_nodes nodes up to isomorphism, as (number of nodes, (m, 2) pairs)."""
    import networkx

    for graph in networkx.graph_atlas_g():
        if 1 <= len(graph) <= max_nodes and networkx.is_connected(graph):
            yield len(graph), np.array(graph.edges, dtype=np.int64).reshape(-1, 2)


def chi_square(counts, probabilities):
    """p-value of observed counts; cells with fewer than 5 expected are pooled."""
    from scipy.stats import chi2

    counts, expected = np.asarray(counts, dtype=float), np.asarray(probabilities) * np.sum(counts)
    rare = expected < 5
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    if (counts[~keep] > 0).any():
        return 0.0
    statistic = ((counts[keep] - expected[keep]) ** 2 / expected[keep]).sum()
    return float(chi2.sf(statistic, keep.sum() - 1))


def evidence_on_four_nodes(data, edges, points=10):
    """Log evidence, mean and sd of theta under the uniform prior for agreement coins on 4 nodes, by brute force."""
    n, k = len(data), len(edges)
    if not k:
        return -n * np.log(16), np.zeros(0), np.zeros(0)
    nodes, weights = np.polynomial.legendre.leggauss(points)
    axes = np.meshgrid(*[(nodes + 1) / 2] * k, indexing="ij", sparse=True)
    volume = np.ones([points] * k)
    for axis in np.meshgrid(*[weights / 2] * k, indexing="ij", sparse=True):
        volume = volume * axis
    z = np.zeros([points] * k)
    for x in itertools.product((0, 1), repeat=3):  # the first node is zero: up to a global flip
        x = (0, *x)
        weight = np.ones([points] * k)
        for t, (u, v) in zip(axes, edges, strict=True):
            weight *= t if x[u] == x[v] else 1 - t
        z += 2 * weight
    log_density = -n * np.log(z)
    for t, (u, v) in zip(axes, edges, strict=True):
        agree = int((data[:, u] == data[:, v]).sum())
        log_density += agree * np.log(t) + (n - agree) * np.log(1 - t)
    top = log_density.max()
    mass = np.exp(log_density - top) * volume
    mean = np.array([(mass * t).sum() for t in axes]) / mass.sum()
    square = np.array([(mass * t * t).sum() for t in axes]) / mass.sum()
    return top + np.log(mass.sum()), mean, np.sqrt(square - mean**2)


def square_posterior(pairs, data, points=24):
    """Mean and sd of theta (4,) of four nodes and four coins, uniform prior: Gauss-Legendre on (0, 1)^4, 2^4 states."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    axes = np.meshgrid(*[(nodes + 1) / 2] * 4, indexing="ij")
    volume = np.prod(np.meshgrid(*[weights / 2] * 4, indexing="ij"), axis=0)
    z = np.zeros(axes[0].shape)
    for x in binary_states(4):
        weight = np.ones_like(z)
        for t, (u, v) in zip(axes, pairs, strict=True):
            weight *= t if x[u] == x[v] else 1 - t
        z += weight
    log_density = -len(data) * np.log(z)
    for t, (u, v) in zip(axes, pairs, strict=True):
        agree = int((data[:, u] == data[:, v]).sum())
        log_density += agree * np.log(t) + (len(data) - agree) * np.log(1 - t)
    density = np.exp(log_density - log_density.max()) * volume
    density /= density.sum()
    mean = np.array([(density * t).sum() for t in axes])
    return mean, np.sqrt(np.array([(density * t * t).sum() for t in axes]) - mean**2)
