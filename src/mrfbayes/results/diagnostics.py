"""Convergence diagnostics of draws (Vehtari et al. 2021), for all parameters at once.

The same quantities as in arviz_stats, against which they are tested; kept here because importing that package takes
longer than most runs, and every run is checked. They cost less than the draws themselves: every parameter is sorted
once for R-hat and both effective sizes, normal scores come from a table by rank, the folded ranks from merging the two
halves of what is sorted already, and autocovariances are summed directly as long as few lags decide (else by FFT).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mrfbayes.base.checks import interval_ends

MOST_R_HAT = 1.01  # Vehtari et al. (2021)
LEAST_ESS = 400  # of each parameter, over all chains: as they advise for four of them
LEVEL, SLACK = 1e-3, 1.25  # of the test whether R-hat is above chance; its own error of the effective size
DIRECT_LAGS = 12  # autocovariances summed one by one before the Fourier transform takes over
COPIED = 8  # parameters that are taken out of the draws together: a cache line of them
LOOKED_AT = 2**16  # numbers that are worked on together, few enough for the processor's cache
TAILS = (0.05, 0.95)
TAIL_LEAST = 20  # draws that a tail index is estimated from
MOST_TAIL_INDEX = 0.7  # above it, a mean is not stated: the limit of Pareto k for the same reason


def is_enough(draws: np.ndarray) -> bool:
    """Whether chains (chains, draws, p) are long enough to be quoted: R-hat and effective sizes of every parameter."""
    return not draws.shape[2] or convergence(draws).is_enough


class Convergence(NamedTuple):
    """Rank-normalised split R-hat, bulk and tail effective sample size of every parameter (p,).

    ``excess`` (p,) is by how much R-hat is above what converged chains would show, where that is significant, else 0:
    with m half-chains R-hat is 1 + m / (2 ESS) on average, and chains of any number agree to 1.01 only in the long run.
    """

    r_hat: np.ndarray
    ess_bulk: np.ndarray
    ess_tail: np.ndarray
    excess: np.ndarray

    @property
    def least_ess(self) -> float:
        """The smallest effective size, of bulk and tails."""
        return float(np.minimum(self.ess_bulk, self.ess_tail).min(initial=np.inf))

    @property
    def agree(self) -> bool:
        """Whether no chain differs from the others by more than chance."""
        return bool((self.excess <= MOST_R_HAT - 1).all())

    @property
    def is_enough(self) -> bool:
        """Whether the draws are precise enough to be quoted."""
        return self.agree and self.least_ess >= LEAST_ESS


def convergence(draws: np.ndarray) -> Convergence:
    """All three of draws (chains, draws, p), from one sort of every parameter."""
    out = np.full((4, draws.shape[2]), np.nan)
    if draws.shape[1] >= 4:
        table = _score_table(2 * draws.shape[0] * (draws.shape[1] // 2))
        for columns, whole in _blocks(draws):
            series = _split(whole)
            scores, ordered = np.empty(series.shape), np.empty((len(series), table.size // 2 + 1))
            out[0, columns] = [_ranked(series[k], scores[k], ordered[k], table) for k in range(len(series))]
            out[1, columns] = _effective_size(scores)
            out[3, columns] = _excess(out[0, columns], scores, draws.shape[2])
            if draws.shape[1] % 2:
                at = np.quantile(whole, TAILS, axis=(1, 2))
            else:
                ranks = np.arange(ordered.shape[1])
                at = np.transpose([np.interp(np.array(TAILS) * ranks[-1], ranks, one) for one in ordered])
            sizes = [_effective_size(_split((whole <= q[:, None, None]).astype(float))) for q in at]
            out[2, columns] = np.minimum(*sizes)
    return Convergence(*out)


def _excess(r_hat: np.ndarray, scores: np.ndarray, n_parameters: int) -> np.ndarray:
    """What R-hat (k,) of scores (k, m, n) has beyond chance, at a level of `LEVEL` for all parameters together.

    The expectation comes from the autocorrelation within chains: chains that differ do not make it larger. Means of m
    converged half-chains have a variance that is chi-squared with m - 1 degrees of freedom.
    """
    from scipy.special import chdtri

    out, m = np.zeros(len(r_hat)), scores.shape[1]
    if (high := np.flatnonzero(~(r_hat <= MOST_R_HAT))).size:
        expected = m / (2 * _effective_size(scores[high], is_within=True))
        by_chance = expected * SLACK * float(chdtri(m - 1, LEVEL / n_parameters)) / (m - 1)
        above = r_hat[high] - 1
        out[high] = np.where(above <= by_chance, 0.0, above - expected)
    return out


def mcse_mean(draws: np.ndarray) -> np.ndarray:
    """Monte-Carlo standard error of the mean (p,)."""
    return np.asarray(draws.std(axis=(0, 1), ddof=1) / np.sqrt(_size_of(draws)))


def mcse_sd(draws: np.ndarray) -> np.ndarray:
    """Monte-Carlo standard error of the standard deviation (p,)."""
    square = (draws - draws.mean(axis=(0, 1))) ** 2
    variance = square.mean(axis=(0, 1))
    square_variance = (square**2).mean(axis=(0, 1)) - variance**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(square_variance / _size_of(square) / variance) / 2)


def mcse_quantile(draws: np.ndarray, probability: float) -> np.ndarray:
    """Monte-Carlo standard error of a quantile (p,): half the distance of the quantiles one error of rank either side.

    The effective size is that of the indicator of the quantile, and the probability of a draw below it has a Beta
    distribution with as many draws (Vehtari et al. 2021, Appendix C).
    """
    from scipy.special import betaincinv, ndtr

    out = np.empty(draws.shape[2])
    for columns, series in _blocks(draws):
        at = np.quantile(series, probability, axis=(1, 2))
        size = _effective_size(_split((series <= at[:, None, None]).astype(float)))
        ends = betaincinv(size * probability + 1, size * (1 - probability) + 1, ndtr(np.array([[-1.0], [1.0]])))
        low, high = (np.array([np.quantile(s, e) for s, e in zip(series, end, strict=True)]) for end in ends)
        out[columns] = (high - low) / 2
    return out


def tail_index(draws: np.ndarray) -> np.ndarray:
    """Hill's estimate (p,) of the heavier tail's index, from the outer twentieth of the draws.

    A mean exists where it is below 1; the tails of a Cauchy distribution have 1, those of a normal one about .1.
    """
    flat = draws.reshape(-1, draws.shape[2])
    away = np.sort(np.abs(flat - np.median(flat, axis=0)), axis=0)[-max(TAIL_LEAST, len(flat) // 20) :]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(away / away[0]).mean(axis=0))


def _blocks(draws: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """A few parameters at a time: where they stand, and their draws (k, chains, draws), contiguous."""
    small = max(1, LOOKED_AT // max(draws.shape[0] * draws.shape[1], 1))
    large = max(COPIED, small)
    for first in range(0, draws.shape[2], large):
        copied = np.ascontiguousarray(np.moveaxis(draws[..., first : first + large], 2, 0))
        for k in range(0, len(copied), small):
            part = copied[k : k + small]
            yield slice(first + k, first + k + len(part)), part


def _size_of(draws: np.ndarray) -> np.ndarray:
    """Effective size (p,) of the draws (chains, draws, p) themselves, as for their mean."""
    out = np.empty(draws.shape[2])
    for columns, series in _blocks(draws):
        out[columns] = _effective_size(_split(series))
    return out


def _split(series: np.ndarray) -> np.ndarray:
    """Each chain cut into halves: (k, chains, draws) -> (k, 2 chains, draws // 2), without a middle draw."""
    k, m, n = series.shape
    if n % 2:
        series = np.concatenate([series[..., : n // 2], series[..., n // 2 + 1 :]], axis=2)
    return series.reshape(k, 2 * m, n // 2)


def _score_table(size: int) -> np.ndarray:
    """Normal scores of the average ranks 1, 1.5, 2, ... among ``size`` values."""
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(2, 2 * size + 1) / 2 - 0.375) / (size + 0.25)))


def _scores(ordered: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Normal scores of sorted values by their average ranks; rejected steps make plenty of ties."""
    differs = ordered[1:] != ordered[:-1]
    if differs.all():
        return table[::2]
    starts = np.concatenate([[0], np.flatnonzero(differs) + 1])
    counts = np.diff(starts, append=ordered.size)
    return np.repeat(table[2 * starts + counts - 1], counts)


def _ranked(values: np.ndarray, scores: np.ndarray, ordered: np.ndarray, table: np.ndarray) -> float:
    """R-hat of one parameter's split chains (m, n); writes its normal scores (m, n), and itself ``ordered`` (m n,)."""
    flat = values.reshape(-1)
    order = np.argsort(flat)
    np.take(flat, order, out=ordered, mode="clip")  # what is out of bounds cannot be; without it there is a copy
    scores.reshape(-1)[order] = _scores(ordered, table)
    # Distances from the median: below it they fall, above they rise, so that a stable sort merges two runs.
    middle = ordered.size // 2
    median = ordered[middle] if ordered.size % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    distance = np.abs(ordered - median)
    fold = np.argsort(distance, kind="stable")
    folded = np.empty(values.shape)
    folded.reshape(-1)[order[fold]] = _scores(distance[fold], table)
    return max(_potential_scale(scores), _potential_scale(folded))


def _potential_scale(series: np.ndarray) -> float:
    """R-hat of split chains (m, n)."""
    n = series.shape[1]
    mean = series.mean(axis=1)
    centred = series - mean[:, None]
    within = np.vdot(centred, centred) / (series.size - len(series))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt((n * mean.var(ddof=1) / within + n - 1) / n))


def _effective_size(series: np.ndarray, is_within: bool = False) -> np.ndarray:
    """Effective sample size by Geyer's initial monotone sequence, (k,), of already split chains (k, m, n).

    ``is_within`` leaves out by how much the means of the chains differ.
    """
    k, m, n = series.shape
    if n < 4:
        return np.full(k, np.nan)
    means = series.mean(axis=2)
    centred = series - means[..., None]
    variance = np.einsum("kmn,kmn->k", centred, centred) / (m * n)
    total = variance + (means.var(axis=1, ddof=1) if m > 1 and not is_within else 0.0)

    def rho(left: np.ndarray, lag: int, of: np.ndarray) -> np.ndarray:
        covariance = np.einsum("kmn,kmn->k", left[..., : n - lag], left[..., lag:]) / (m * n)
        return np.asarray(1.0 - (variance[of] - covariance) * (n / (n - 1)) / total[of])

    pair_sum, smallest = np.zeros(k), np.full(k, np.inf)
    going = np.flatnonzero(total > 0)
    left = centred if going.size == k else centred[going]
    lag = 0
    while going.size and lag + 1 < min(n, DIRECT_LAGS):
        pair = rho(left, lag + 1, going) + (rho(left, lag, going) if lag else 1.0)
        positive = pair > 0
        if not positive.all():
            going, left, pair = going[positive], left[positive], pair[positive]
        smallest[going] = np.minimum(smallest[going], pair)
        pair_sum[going] += smallest[going]
        lag += 2
    if going.size and lag + 1 < n:
        covariance = _autocovariance(left)[:, lag : n - n % 2]
        rho_left = 1.0 - (variance[going, None] - covariance) * (n / (n - 1)) / total[going, None]
        pairs = rho_left.reshape(going.size, -1, 2).sum(axis=2)
        positive_so_far = np.logical_and.accumulate(pairs > 0, axis=1)
        monotone = np.minimum.accumulate(np.minimum(pairs, smallest[going, None]), axis=1)
        pair_sum[going] += np.where(positive_so_far, monotone, 0.0).sum(axis=1)
    tau = np.maximum(2.0 * pair_sum - 1.0, 1.0 / np.log10(m * n))
    return np.asarray(np.where(total > 0, m * n / tau, m * n))


def _autocovariance(centred: np.ndarray) -> np.ndarray:
    """Autocovariances (k, n) at all lags, averaged over the chains (k, m, n), by the Fourier transform."""
    from scipy.fft import irfft, next_fast_len, rfft

    _, m, n = centred.shape
    size = next_fast_len(2 * n - 1, real=True)
    spectrum = rfft(centred, size, axis=2)
    power = np.einsum("kmf,kmf->kf", spectrum.real, spectrum.real)
    power += np.einsum("kmf,kmf->kf", spectrum.imag, spectrum.imag)
    return np.asarray(irfft(power, size, axis=1)[:, :n] / (m * n))


def moment_columns(values: np.ndarray, ci_prob: float) -> dict[str, np.ndarray]:
    """Mean, sd, interval, Monte-Carlo error, effective sizes and R-hat of draws (chains, draws, k); NaN without any."""
    ends = interval_ends(ci_prob)
    names = ["mean", "sd", *(f"q{100 * at:g}" for at in ends), "mcse_mean", "ess_bulk", "ess_tail", "r_hat"]
    if not values.shape[1]:
        return {name: np.full(values.shape[2], np.nan) for name in names}
    found = convergence(values)
    columns = (
        *(values.mean(axis=(0, 1)), values.std(axis=(0, 1), ddof=1), *np.quantile(values, ends, axis=(0, 1))),
        *(mcse_mean(values), found.ess_bulk, found.ess_tail, found.r_hat),
    )
    return dict(zip(names, columns, strict=True))
