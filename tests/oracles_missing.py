"""Data with missing cells by brute force: every completion of every row, nothing shared with the package."""

import itertools

import numpy as np

HOLE = 255


def configurations(states):
    """(K, d) all configurations of variables with these numbers of states."""
    return np.array(list(itertools.product(*(range(r) for r in states))))


def statistics(x, pairs, coupling, states=None):
    """(n, p) of rows ``x``: an entry per pair, then, with ``states``, one per state 1, 2, ... of each node."""
    u, v = np.asarray(pairs).T
    a, b = x[:, u], x[:, v]
    edges = {"agreement": a == b, "both-one": (a == 1) & (b == 1), "score": a * b}[coupling].astype(float)
    if states is None:
        return edges
    levels = [(x[:, i] == s).astype(float) for i, r in enumerate(states) for s in range(1, r)]
    return np.column_stack([edges, *levels])


def completions(row, everything):
    """Which configurations agree with a row where it is seen."""
    return ((everything == row) | (row == HOLE)).all(axis=1)


def log_likelihood(rows, everything, s, w):
    """Of one w (p,) or of several (k, p): a plain sum over the completions of every row."""
    log_weights = s @ np.atleast_2d(w).T  # (K, k)
    top = log_weights.max(axis=0)
    weights = np.exp(log_weights - top)
    total = -len(rows) * np.log(weights.sum(axis=0))
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    for row, count in zip(distinct, counts, strict=True):
        total += count * np.log(weights[completions(row, everything)].sum(axis=0))
    return total if np.ndim(w) == 2 else total[0]


def derivatives(rows, everything, s, w, factor=None):
    """Gradient, information, third derivatives along the columns of ``factor``, and the contracted fourth.

    The third are L_abc f_b f_c for each column f; the fourth is L_abcd S_cd with S = factor factor^T.
    """
    factor = np.zeros((len(w), 1)) if factor is None else factor
    gradient, information, third, fourth = 0.0, 0.0, 0.0, 0.0
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    for row, count in zip(distinct, counts, strict=True):
        for sign, kept in ((count, completions(row, everything)), (-count, np.ones(len(s), dtype=bool))):
            weights = np.exp(s[kept] @ w - (s[kept] @ w).max())
            weights /= weights.sum()
            mean = weights @ s[kept]
            d = s[kept] - mean
            covariance = (d * weights[:, None]).T @ d
            along = d @ factor
            square = (along**2).sum(axis=1)
            gradient = gradient + sign * mean
            information = information - sign * covariance
            third = third + sign * (d * weights[:, None]).T @ along**2
            spread = factor @ factor.T
            moment = (d * (weights * (square - weights @ square))[:, None]).T @ d
            fourth = fourth + sign * (moment - 2 * covariance @ spread @ covariance)
    return gradient, information, np.asarray(third).T, fourth


def hide(x, share, rng):
    """Rows ``x`` with a share of their cells hidden completely at random, but never all cells of a row."""
    rows = np.array(x, dtype=np.int64)
    hidden = rng.random(rows.shape) < share
    hidden[np.arange(len(rows)), rng.integers(rows.shape[1], size=len(rows))] = False
    rows[hidden] = HOLE
    return rows


def posterior(rows, everything, s, centre, spread, draws, rng):
    """Mean, sd and their Monte-Carlo errors of theta = 1 / (1 + exp(-w)) under uniform priors of coins.

    Importance sampling from a t distribution with 8 degrees of freedom at ``centre`` with covariance ``spread``.
    """
    p = len(centre)
    factor = np.linalg.cholesky(1.2 * np.asarray(spread))
    scale = np.sqrt(rng.chisquare(8, size=draws) / 8)
    z = rng.standard_normal((draws, p)) / scale[:, None]
    w = centre + z @ factor.T
    log_proposal = -0.5 * (8 + p) * np.log1p((z**2).sum(axis=1) / 8)
    log_prior = -np.abs(w).sum(axis=1) - 2 * np.log1p(np.exp(-np.abs(w))).sum(axis=1)
    log_target = np.concatenate([log_likelihood(rows, everything, s, w[k : k + 2_000]) for k in range(0, draws, 2_000)])
    log_weights = log_target + log_prior - log_proposal
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    theta = 1 / (1 + np.exp(-w))
    mean = weights @ theta
    sd = np.sqrt(weights @ (theta - mean) ** 2)
    effective = 1 / (weights**2).sum()
    mean_error = np.sqrt((weights**2) @ (theta - mean) ** 2)
    sd_error = np.sqrt((weights**2) @ ((theta - mean) ** 2 - sd**2) ** 2) / (2 * sd)
    return mean, sd, mean_error, sd_error, effective
