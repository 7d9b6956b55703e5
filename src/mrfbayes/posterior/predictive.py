"""Posterior predictive checks: would data from the fitted field look like the data?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.memory import require_memory
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state, seed_sequence
from mrfbayes.data.levels import ungrouped
from mrfbayes.data.statistics import count
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.exact.recursions import is_feasible
from mrfbayes.model.field import Model
from mrfbayes.model.natural_form import dense_layout
from mrfbayes.particles.dense import DenseEnsemble
from mrfbayes.particles.simulate import simulate
from mrfbayes.posterior.posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd


FIRST_SWEEPS, SWEEPS_BETWEEN = 500, 30  # of Gibbs chains on dense fields


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Observed against replicated statistics.

    Attributes
    ----------
    table : a row per statistic: observed value, mean and sd of the replicates, and the two-sided tail probability of
        the observed one among them (never below 2 / (replicates + 1))
    replicates : (replicates, statistics) their values
    """

    table: pd.DataFrame
    replicates: np.ndarray

    def __repr__(self) -> str:
        worst = self.table.nsmallest(5, "p_value")
        return f"<PredictiveCheck: {len(self.replicates)} replicates, the five least like the data>\n{worst}"


def predictive_check(
    posterior: Posterior, x: object, *, replicates: int = 200, rng: Seed | None = 0, progress: bool = True
) -> PredictiveCheck:
    """Simulate data sets of the observed size at draws from the posterior, and compare their counts with the observed.

    The statistics are the model's own counts per observation and, because those are what the model was fitted to, the
    agreement of every pair of nodes that share a neighbour but no edge, which it was not fitted to.

    Parameters
    ----------
    x : the data that the posterior was learned from
    replicates : number of simulated data sets
    """
    replicates = whole("replicates", replicates, 20)
    model, seed = posterior.model, seed_sequence(rng)
    statistics = count(model, x, labels=ungrouped(posterior.levels, model.nodes))
    if statistics.holes is not None:
        raise InputError(
            "the predictive check compares complete rows, and this posterior was learned from rows with missing cells, "
            "whose complete ones may be a choice of them"
        )
    if statistics.digest != posterior.data_digest:
        raise InputError("x is not the data that this posterior was learned from.")
    pairs = second_neighbours(model.edges, model.n_nodes)
    size = 8 * replicates * (model.n_parameters + len(pairs))
    require_memory(size, f"the statistics of {replicates:,} replicates", "ask for fewer replicates=")
    flat = posterior.draws.reshape(-1, model.n_parameters)
    chosen = generator(seed, "draws").choice(len(flat), size=replicates, replace=len(flat) < replicates)
    n = max(1, round(statistics.n))
    n_rows = min(n, len(statistics.rows))  # of large data only a random part of the rows is kept
    values = np.empty((replicates, model.n_parameters + len(pairs)))
    simulated = _simulated_densely if is_dense(model) and not is_feasible(model) else _simulated
    with Progress("predictive check", replicates, progress) as bar:
        for k, y in enumerate(simulated(model, flat[chosen], n, seed)):
            values[k] = _statistics(model, y, pairs, n_rows)
            bar.update(k + 1)
    observed = _statistics(model, statistics, pairs, n_rows)
    return PredictiveCheck(_table(model, pairs, observed, values), values)


def _simulated(model: Model, theta: np.ndarray, n: int, seed: np.random.SeedSequence) -> Iterator[np.ndarray]:
    """A data set (n, d) for each row of ``theta``."""
    for k, one in enumerate(theta):
        yield simulate(model, one, n, rng=child(seed, "replicate", k), progress=False)


def _simulated_densely(model: Model, theta: np.ndarray, n: int, seed: np.random.SeedSequence) -> Iterator[np.ndarray]:
    """The same on dense fields, where the chains of a data set go on from where those of the last one were.

    Draws of a posterior are near each other, so that few sweeps take the chains from one law to the next; random starts
    would take as many as the first data set.
    """
    layout = dense_layout(model)
    assert layout is not None
    even = 1.0 / np.repeat(layout.states, layout.states - 1)
    chains = DenseEnsemble(layout, even, 1, n, kernel_state(seed, "chains"))
    start = generator(seed, "start").integers(layout.states, size=(chains.n_chains, model.n_nodes))
    chains.start(start.astype(np.uint8))
    for k, one in enumerate(theta):
        chains.set_parameters(layout.forward @ model.chart.log_odds(one))
        chains.sweep(SWEEPS_BETWEEN if k else FIRST_SWEEPS)
        yield chains.rows()[:n]


def second_neighbours(edges: np.ndarray, n_nodes: int, limit: int = 5_000) -> np.ndarray:
    """(k, 2) pairs that share a neighbour but no edge, at most ``limit`` of them."""
    neighbours: list[set[int]] = [set() for _ in range(n_nodes)]
    for u, v in edges.tolist():
        neighbours[u].add(v)
        neighbours[v].add(u)
    found: set[tuple[int, int]] = set()
    for around in neighbours:
        ordered = sorted(around)
        found |= {(a, b) for i, a in enumerate(ordered) for b in ordered[i + 1 :] if b not in neighbours[a]}
        if len(found) >= limit:
            break
    return np.array(sorted(found)[:limit], dtype=np.int64).reshape(-1, 2)


def _statistics(model: Model, x: object, pairs: np.ndarray, n_rows: int) -> np.ndarray:
    """The model's counts per observation, and the pairs' agreement in the first ``n_rows`` rows."""
    statistics = count(model, x)
    rows = (x if isinstance(x, np.ndarray) else statistics.rows)[:n_rows]
    agreement = (rows[:, pairs[:, 0]] == rows[:, pairs[:, 1]]).mean(axis=0) if n_rows else np.full(len(pairs), np.nan)
    return np.concatenate([statistics.mean, agreement])


def _table(model: Model, pairs: np.ndarray, observed: np.ndarray, values: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    names = [*model.parameters, *(f"{model.nodes[u]} = {model.nodes[v]}" for u, v in pairs)]
    above = (values >= observed).sum(axis=0) + 1
    below = (values <= observed).sum(axis=0) + 1
    tail = np.minimum(1.0, 2.0 * np.minimum(above, below) / (len(values) + 1))
    frame = pd.DataFrame(
        {
            "fitted": [True] * model.n_parameters + [False] * len(pairs),
            "observed": observed,
            "replicated": values.mean(axis=0),
            "replicated_sd": values.std(axis=0, ddof=1),
            "p_value": tail,
        },
        index=pd.Index(names, name="statistic"),
    )
    return frame.dropna(subset="observed")
