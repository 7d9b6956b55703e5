"""Convergence diagnostics of draws (Vehtari et al. 2021), for all parameters at once.

The same quantities as in arviz_stats, against which they are tested; kept here because importing that package takes
longer than most runs, and every run is checked.
"""

from __future__ import annotations

import numpy as np

MOST_R_HAT = 1.01  # Vehtari et al. (2021)
LEAST_ESS = 400  # of each parameter, over all chains: as they advise for four of them


def is_enough(draws: np.ndarray) -> bool:
    """Whether chains (chains, draws, p) are long enough to be quoted: R-hat and effective size of every parameter."""
    if not draws.shape[2]:
        return True
    return bool(r_hat(draws).max() <= MOST_R_HAT and ess_bulk(draws).min() >= LEAST_ESS)


def _split(draws: np.ndarray) -> np.ndarray:
    """Each chain cut into halves: (chains, draws, p) -> (2 chains, draws // 2, p)."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]], axis=0)


def _rank_normal(draws: np.ndarray) -> np.ndarray:
    """Normal scores of the pooled (average) ranks of each parameter."""
    from scipy.special import ndtri

    chains, n, p = draws.shape
    ranks = np.empty((chains * n, p))
    for j, column in enumerate(draws.reshape(chains * n, p).T):
        # Average ranks of ties, which rejected steps make plenty of; scipy.stats takes longer to import than all this.
        _, inverse, count = np.unique(column, return_inverse=True, return_counts=True)
        ranks[:, j] = (np.cumsum(count) - (count - 1) / 2)[inverse]
    return np.asarray(ndtri((ranks - 0.375) / (chains * n + 0.25))).reshape(chains, n, p)


def _potential_scale(draws: np.ndarray) -> np.ndarray:
    n = draws.shape[1]
    between = n * draws.mean(axis=1).var(axis=0, ddof=1)
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((between / within + n - 1) / n))


def r_hat(draws: np.ndarray) -> np.ndarray:
    """Rank-normalised split R-hat (p,) of draws (chains, draws, p): the larger of bulk and folded."""
    if draws.shape[1] < 4:
        return np.full(draws.shape[2], np.nan)
    split = _split(draws)
    bulk = _potential_scale(_rank_normal(split))
    median = np.median(split, axis=(0, 1))
    return np.asarray(np.maximum(bulk, _potential_scale(_rank_normal(np.abs(split - median)))))


def _effective_size(draws: np.ndarray) -> np.ndarray:
    """Effective sample size by Geyer's initial monotone sequence, (p,), of already split chains."""
    m, n, p = draws.shape
    if n < 4:
        return np.full(p, np.nan)
    centred = draws - draws.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum), size, axis=1)[:, :n].mean(axis=0) / n  # (n, p)
    mean_variance = covariance[0] * n / (n - 1)
    total = covariance[0] + (draws.mean(axis=1).var(axis=0, ddof=1) if m > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1.0 - (mean_variance - covariance * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2, p).sum(axis=1)  # (n // 2, p)
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    pairs = np.where(positive, np.minimum.accumulate(pairs, axis=0), 0.0)
    tau = -1.0 + 2.0 * pairs.sum(axis=0)
    tau = np.maximum(tau, 1.0 / np.log10(m * n))
    constant = ~(total > 0)
    return np.asarray(np.where(constant, m * n, m * n / tau))


def ess_bulk(draws: np.ndarray) -> np.ndarray:
    """Bulk effective sample size (p,)."""
    return _effective_size(_rank_normal(_split(draws)))


def ess_tail(draws: np.ndarray) -> np.ndarray:
    """Tail effective sample size (p,): the smaller of those of the 5 % and 95 % quantiles."""
    sizes = []
    for q in (0.05, 0.95):
        quantile = np.quantile(draws, q, axis=(0, 1))
        sizes.append(_effective_size(_split((draws <= quantile).astype(float))))
    return np.asarray(np.minimum(*sizes))


def mcse_mean(draws: np.ndarray) -> np.ndarray:
    """Monte-Carlo standard error of the mean (p,)."""
    return np.asarray(draws.std(axis=(0, 1), ddof=1) / np.sqrt(_effective_size(_split(draws))))


def mcse_sd(draws: np.ndarray) -> np.ndarray:
    """Monte-Carlo standard error of the standard deviation (p,)."""
    square = (draws - draws.mean(axis=(0, 1))) ** 2
    variance = square.mean(axis=(0, 1))
    spread = (square**2).mean(axis=(0, 1)) - variance**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(spread / _effective_size(_split(square)) / variance) / 2)
