"""Observed against predicted: connected correlations of pairs and triplets, and the number of active units."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import Seed, generator, kernel_state, seed_sequence
from mrfbayes.data.border import weights_of
from mrfbayes.data.data import Data
from mrfbayes.exact.clamped import Enumerated
from mrfbayes.model.field import Model
from mrfbayes.particles.ensembles import make_chains
from mrfbayes.queries.configurations import UNSEEN, RowsLike, row_states
from mrfbayes.queries.points import Answer, Points, ThetaLike, points

CORRELATION_DRAWS = 100
MOST_CORRELATIONS = 2**18  # pairs and triplets: at 100 draws 200 MB
FIRST_CHAIN_SWEEPS, CHAIN_SWEEPS = 300, 30  # before the first draw of the posterior, and between two draws


@dataclass(frozen=True, eq=False, repr=False)
class Correlations(Answer):
    """Connected correlations, observed and predicted; see `mrfbayes.correlations`.

    Attributes
    ----------
    table : pandas.DataFrame
        Index (order, nodes), columns ``predicted``, for a posterior ``sd`` and the ends of the interval, ``observed``
        and ``observed_error``, the standard error of the observed value in so many rows.
    """


@dataclass(frozen=True, eq=False, repr=False)
class PopulationCounts(Answer):
    """Distribution of the number of active units; see `mrfbayes.population_counts`.

    Attributes
    ----------
    table : pandas.DataFrame
        Index ``active``, column ``predicted``; for a posterior ``sd`` and the ends of the interval; with data
        ``observed``, the share of rows, and ``observed_error``.
    """


def correlations(
    model: Model,
    theta: ThetaLike,
    data: RowsLike,
    *,
    third: bool = True,
    draws: int = CORRELATION_DRAWS,
    samples: int = 4096,
    ci_prob: float = 0.9,
    rng: Seed | None = None,
) -> Correlations:
    """Connected correlations of all pairs and triplets of a binary field, in the data and under the field.

    Of order 2 it is the covariance, of order 3 the mean of the product of three deviations from the mean. A field of
    pairwise couplings is fitted to the first; the second is a test of it.

    Parameters
    ----------
    model : Model
        A binary field.
    theta : (p,) array_like, Ising or Posterior
        Parameters in the order of ``model.parameters``; of a posterior, every prediction has an interval.
    data : array_like or pandas.DataFrame
        Shape (n, d). Complete rows.
    third : bool, default True
        Whether triplets are included.
    draws : int, default 100
        Draws of a posterior that are used.
    samples : int, default 4096
        Rows simulated at each draw where there are more than 2^20 configurations.
    ci_prob : float, default 0.9
        Probability of the intervals of a posterior.
    rng : int, SeedSequence or Generator, optional
        For simulated rows.

    Returns
    -------
    Correlations
        A table with one row per pair and triplet.

    Raises
    ------
    CostError
        Where there are too many triplets.

    See Also
    --------
    population_counts : how many units are active at once.
    plots.correlations : the picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> x = mb.simulate(model, 0.8, 2000, rng=1)
    >>> mb.correlations(model, 0.8, x).table["predicted"].round(2).tolist()
    [0.15, 0.09, 0.15, 0.0]
    """
    at, rows, weight = _inputs(model, theta, data, draws, ci_prob)
    d = model.n_nodes
    count = comb(d, 2) + (comb(d, 3) if third else 0)
    if count > MOST_CORRELATIONS:
        most = f"more than {MOST_CORRELATIONS:,}"
        raise CostError(f"{d} nodes have {count:,} pairs and triplets, {most}: use third=False, or fewer nodes.")
    statistic = _Cumulants(d, third)
    values, way = _predicted(at, statistic, samples, rng)
    observed, error = statistic.of_rows(rows, weight)
    names = [(k, "--".join(group)) for k in ((2, 3) if third else (2,)) for group in combinations(model.nodes, k)]
    index = pd.MultiIndex.from_tuples(names, names=["order", "nodes"])
    columns = at.columns(values, "predicted") | {"observed": observed, "observed_error": error}
    return Correlations(pd.DataFrame(columns, index=index), *way)


def population_counts(
    model: Model,
    theta: ThetaLike,
    data: RowsLike | None = None,
    *,
    draws: int = CORRELATION_DRAWS,
    samples: int = 4096,
    ci_prob: float = 0.9,
    rng: Seed | None = None,
) -> PopulationCounts:
    """Distribution of the number of units in state 1, under a binary field and in the data.

    Parameters
    ----------
    model : Model
        A binary field.
    theta : (p,) array_like, Ising or Posterior
        Parameters in the order of ``model.parameters``; of a posterior, every probability has an interval.
    data : array_like or pandas.DataFrame, optional
        Shape (n, d). Complete rows to be counted beside it.
    draws : int, default 100
        Draws of a posterior that are used.
    samples : int, default 4096
        Rows simulated at each draw where there are more than 2^20 configurations.
    ci_prob : float, default 0.9
        Probability of the intervals of a posterior.
    rng : int, SeedSequence or Generator, optional
        For simulated rows.

    Returns
    -------
    PopulationCounts
        A table with one row per number of active units.

    See Also
    --------
    correlations : of pairs and triplets.
    plots.population_counts : the picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> mb.population_counts(model, 0.8).table["predicted"].round(2).tolist()
    [0.32, 0.18, 0.18, 0.32]
    """
    at, rows, weight = _inputs(model, theta, data, draws, ci_prob)
    statistic = _Active(model.n_nodes)
    values, way = _predicted(at, statistic, samples, rng)
    columns = at.columns(values, "predicted")
    if data is not None:
        observed, error = statistic.of_rows(rows, weight)
        columns |= {"observed": observed, "observed_error": error}
    index = pd.RangeIndex(model.n_nodes + 1, name="active")
    return PopulationCounts(pd.DataFrame(columns, index=index), *way)


class _Cumulants:
    """Covariances of pairs and third cumulants of triplets of 0/1 variables, both in the order of `combinations`."""

    def __init__(self, d: int, third: bool) -> None:
        self.d, self.third = d, third
        self.pairs = np.array(list(combinations(range(d), 2)), dtype=np.int64).reshape(-1, 2)
        triplets = combinations(range(d), 3) if third else ()
        self.triplets = np.array(list(triplets), dtype=np.int64).reshape(-1, 3)

    def of_rows(self, rows: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From rows (n, d) with weights (n,); and standard errors."""
        n = weight.sum()
        share = weight / n
        centred = rows - share @ rows
        u, v = self.pairs.T
        product = centred[:, u] * centred[:, v]
        mean, square = share @ product, share @ product**2
        if self.third:
            position = np.zeros((self.d, self.d), dtype=np.int64)
            position[u, v] = np.arange(u.size)
            i, j, k = self.triplets.T
            weighted = share[:, None] * centred
            mean = np.concatenate([mean, (product.T @ weighted)[position[i, j], k]])
            square = np.concatenate([square, ((product**2).T @ (weighted * centred))[position[i, j], k]])
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0) / n)

    def of_probabilities(self, probability: np.ndarray) -> np.ndarray:
        """From the probabilities of all 2^d configurations, node i being bit i."""
        raw = probability.copy()
        for bit in range(self.d):  # to raw[S] = P(all of S are one)
            part = raw.reshape(-1, 2, 2**bit)
            part[:, 0] += part[:, 1]
        one = raw[1 << np.arange(self.d)]
        both = np.zeros((self.d, self.d))
        u, v = self.pairs.T
        both[u, v] = raw[(1 << u) | (1 << v)]
        covariance = both[u, v] - one[u] * one[v]
        i, j, k = self.triplets.T
        third = raw[(1 << i) | (1 << j) | (1 << k)] - both[i, j] * one[k] - both[i, k] * one[j] - both[j, k] * one[i]
        return np.concatenate([covariance, third + 2 * one[i] * one[j] * one[k]])


class _Active:
    """Distribution of the number of ones."""

    def __init__(self, d: int) -> None:
        self.d = d

    def of_rows(self, rows: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From rows (n, d) with weights (n,); and standard errors."""
        n = weight.sum()
        share = np.bincount(rows.sum(axis=1).astype(np.int64), weights=weight, minlength=self.d + 1) / n
        return share, np.sqrt(share * (1 - share) / n)

    def of_probabilities(self, probability: np.ndarray) -> np.ndarray:
        """From the probabilities of all 2^d configurations."""
        number = np.bitwise_count(np.arange(probability.size))
        return np.bincount(number, weights=probability, minlength=self.d + 1)


def _predicted(
    at: Points, statistic: _Cumulants | _Active, samples: int, rng: Seed | None
) -> tuple[np.ndarray, tuple[str, bool, tuple[str, ...]]]:
    """The statistic at every point, by enumeration or of rows from chains that go on from one point to the next."""
    if Enumerated.is_feasible(at.model):
        every = Enumerated(at.model)
        return at.each(lambda w: statistic.of_probabilities(every.probabilities(w))), ("enumeration", True, ())
    seed = seed_sequence(rng)
    chains = make_chains(at.model, whole("samples", samples), kernel_state(seed, "chains"))
    chains.start_at_random(generator(seed, "start"))
    chains.sweep(at.log_odds.mean(axis=0), FIRST_CHAIN_SWEEPS)

    def simulated(w: np.ndarray) -> np.ndarray:
        chains.sweep(w, CHAIN_SWEEPS)
        return statistic.of_rows(chains.rows(), np.ones(samples))[0]

    note = (
        f"Predictions are from {samples:,} rows simulated by Gibbs chains at each draw; intervals include that noise. "
        "Chains may miss modes where couplings are strong: give more samples=, or compare with mb.simulate."
    )
    return at.each(simulated), ("simulation", False, (note,))


def _inputs(
    model: Model, theta: ThetaLike, data: RowsLike | None, draws: int, ci_prob: float
) -> tuple[Points, np.ndarray, np.ndarray]:
    at = points(model, theta, draws, ci_prob)
    if not model.is_binary:
        raise InputError(f"model: units are active or not, and this model has up to {model.states.max()} states.")
    if data is None:
        return at, np.zeros((0, model.n_nodes)), np.zeros(0)
    rows = row_states(at, data, [], "data")[0]
    if not len(rows) or (rows == UNSEEN).any():
        missing = int((rows == UNSEEN).sum())
        raise InputError(f"data: {missing} cells are missing in {len(rows)} rows: give complete rows.")
    return at, rows.astype(float), weights_of(data) if isinstance(data, Data) else np.ones(len(rows))
