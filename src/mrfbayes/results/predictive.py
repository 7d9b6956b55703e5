"""Posterior predictive checks: would data from the fitted field look like the data?"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.budget import budget
from mrfbayes.base.checks import require_memory, whole
from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state, seed_sequence
from mrfbayes.base.types import DataLike
from mrfbayes.data.border import counted
from mrfbayes.data.statistics import Statistics, count_states
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.exact.choice import predicted_seconds
from mrfbayes.model.edges import pixels_of
from mrfbayes.model.field import Model
from mrfbayes.model.scales import coupling_of
from mrfbayes.particles.dense import cell_layout, make_ensemble
from mrfbayes.particles.ensembles import make_chains
from mrfbayes.particles.simulate import choose_sampler, simulate_w
from mrfbayes.results.imputation import completion_of

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior

MOST_PAIRS = 5_000
SCORE_CLASSES = 20  # classes of the sum of a row
LEAST_ROWS = 20  # observations below which single pairs, and sums of rows, are too few to compare distributions
EXACT_SECONDS = 3.0  # on the reference machine: past that, replicates come from chains that go on from one to the next
FIRST_SWEEPS = 300
# Sweeps between replicates; of fewer observations than a word holds each sweep costs little.
REPLICA_SWEEPS, REPLICA_SWEEPS_OF_FEW = 20, 50
FEW, KERNEL_ROWS = 64, 512  # observations; those that the kernels take at once, so that fewer cost as much
# Visits of a neighbour that a check within a report may take: a few seconds; and the most, half a minute.
WANTED_VISITS, MOST_VISITS = 3e10, 1.5e11
REPLICATES, LEAST_REPLICATES = 400, 200  # fewer could not show a tail probability below 1 %


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Observed statistics of the data compared with those of replicated data.

    Attributes
    ----------
    table : DataFrame
        One row per statistic: whether it was fitted, its observed value, mean and sd of the replicates, and the
        two-sided tail probability of the observed value (never below 2 / (replicates + 1)). If cells are missing, the
        data are completed at the draw of every replicate, "observed" is the mean over the completed data sets, and each
        replicate is compared with its own.
    replicates : (replicates, statistics) ndarray
        Statistics of the replicated data.

    See Also
    --------
    predictive_check : Returns it.
    plots.predictive : The picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> check = mb.predictive_check(posterior, replicates=50, rng=1, progress=False)
    >>> check.replicates.shape[0]
    50
    """

    table: pd.DataFrame
    replicates: np.ndarray

    def __repr__(self) -> str:
        worst = self.table.nsmallest(5, "p_value")
        return f"<PredictiveCheck: {len(self.replicates)} replicates, the five least like the data>\n{worst}"


@one_blas_thread()
def predictive_check(
    posterior: Posterior,
    data: DataLike | None = None,
    *,
    replicates: int = 200,
    rng: Seed | None = None,
    progress: bool = True,
) -> PredictiveCheck:
    """Simulate data sets of the observed size at posterior draws and compare their statistics with the data.

    The statistics are the counts of the model per observation, to which the model was fitted, and two kinds to which it
    was not: the agreement of every pair of nodes that share a neighbour but no edge, and, for binary and ordered
    variables, how many rows have each sum. For fewer than 20 observations, such as a single image, pairs of one
    direction are combined, and the mean state replaces the sums.

    Parameters
    ----------
    posterior : Posterior
        Result of `sample`.
    data : DataLike, optional
        The data of the posterior; by default the data that the posterior, or its file, keeps.
    replicates : int, default 200
        Number of simulated data sets.
    rng : int, SeedSequence or Generator, optional
        Seed.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.

    Returns
    -------
    PredictiveCheck
        A table with one row per statistic, and all replicates.

    Raises
    ------
    InputError
        If `posterior` is none.

    See Also
    --------
    PredictiveCheck : What it returns.
    plots.predictive : The picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> posterior = mb.sample(model, data, "mle", rng=1, progress=False)
    >>> check = mb.predictive_check(posterior, data, replicates=50, rng=1, progress=False)
    >>> bool(check.table["p_value"].min() > 0.001)
    True
    """
    from mrfbayes.results.posterior import Posterior

    if not isinstance(posterior, Posterior):
        raise InputError(f"posterior: got {type(posterior).__name__}, expected a Posterior, as from mrfbayes.sample.")
    replicates = whole("replicates", replicates, 20)
    model, seed = posterior.model, seed_sequence(rng)
    completion = completion_of(posterior, data, "predictive_check", is_own=True)
    flat = posterior.log_odds.reshape(-1, model.n_parameters)
    n_bytes = 8 * replicates * (model.n_parameters + MOST_PAIRS + SCORE_CLASSES)
    require_memory(n_bytes, f"the statistics of {replicates:,} replicates", "ask for fewer replicates=")
    chosen = generator(seed, "draws").choice(len(flat), size=replicates, replace=len(flat) < replicates)
    if completion is None:
        observed = _observed(posterior, data)
    else:
        first = completion.at(flat[chosen[0]], child(seed, "completed", 0))
        observed = observe(model, _counts(model, first, completion.weights))
    pairs = unfitted_pairs(model, observed.n_rows if observed.pairs.size else 0)
    n = max(1, round(observed.n))
    n_rows = min(n, observed.n_rows)  # of large data only a random part of the rows is kept
    even = np.ones(n_rows)
    values, at = np.empty((replicates, observed.flat.size)), np.tile(observed.flat, (replicates, 1))
    with Progress("predictive check", replicates, progress) as bar:
        for k, y in enumerate(_replicates(model, flat[chosen], n, seed)):
            budget().check("predictive check")
            agreement, sums = unfitted(model, y[:n_rows], even, pairs, observed.n_rows)
            parts = (_counts(model, y).mean, agreement, sums[: observed.sums.size])
            values[k] = np.concatenate(parts)
            if completion is not None and k:
                full = completion.at(flat[chosen[k]], child(seed, "completed", k))
                at[k] = observe(model, _counts(model, full, completion.weights)).flat
            bar.update(k + 1)
    return PredictiveCheck(_table(model, statistic_names(model, observed), at, values), values)


def _counts(model: Model, states: np.ndarray, weights: np.ndarray | None = None) -> Statistics:
    """Counts of a data set that was drawn: what it lacks is no news to the user."""
    with warnings.catch_warnings(action="ignore", category=MRFWarning):
        return count_states(model, states, weights)


def affordable_replicates(model: Model, n: float) -> int:
    """Replicates for a check that takes seconds, 200 to 400; 0 where even 200 would take minutes."""
    sweeps = REPLICA_SWEEPS if n >= FEW else REPLICA_SWEEPS_OF_FEW
    each = max(n, KERNEL_ROWS) * (model.n_nodes + 2 * model.n_edges) * sweeps
    each *= 1.0 if model.is_binary else float(model.states.max())
    if LEAST_REPLICATES * each > MOST_VISITS:
        return 0
    return int(np.clip(WANTED_VISITS / each, LEAST_REPLICATES, REPLICATES))


def _observed(posterior: Posterior, data: object) -> ObservedAverages:
    model = posterior.model
    if data is None:
        if posterior._observed is None:
            raise InputError("predictive_check: this posterior knows nothing of its data: pass data.")
        return posterior._observed
    statistics = counted(model, data, posterior.schema)
    if statistics.digest != posterior.data_digest:
        raise InputError("data: not the data that this posterior was learned from.")
    return observe(model, statistics)


def _replicates(model: Model, log_odds: np.ndarray, n: int, seed: np.random.SeedSequence) -> Iterator[np.ndarray]:
    """A data set (n, d) for each row of ``log_odds``: independent and exact where that is quick, else by chains."""
    is_quick = predicted_seconds(model, "sample", n) * len(log_odds) < EXACT_SECONDS
    if is_quick or choose_sampler(model, log_odds[0], n)[0] == "swendsen-wang":
        return _simulated(model, log_odds, n, seed)
    return (_simulated_densely if is_dense(model) else _simulated_in_turn)(model, log_odds, n, seed)


def _simulated(model: Model, log_odds: np.ndarray, n: int, seed: np.random.SeedSequence) -> Iterator[np.ndarray]:
    """A data set (n, d) for each row of ``log_odds``, each from the beginning."""
    for k, w in enumerate(log_odds):
        yield simulate_w(model, w, n, rng=child(seed, "replicate", k), progress=False).x


def _simulated_in_turn(
    model: Model, log_odds: np.ndarray, n: int, seed: np.random.SeedSequence
) -> Iterator[np.ndarray]:
    """A data set (n, d) for each row of ``log_odds``, by Gibbs chains that go on from where the last one left them.

    Draws of a posterior are near each other, so that few sweeps take the chains from one law to the next; random starts
    would take as many as the first data set.
    """
    chains = make_chains(model, n, kernel_state(seed, "replicates"))
    chains.start_at_random(generator(seed, "start"))
    chains.sweep(log_odds.mean(axis=0), FIRST_SWEEPS)
    for w in log_odds:
        chains.sweep(w, REPLICA_SWEEPS if n >= FEW else REPLICA_SWEEPS_OF_FEW)
        yield chains.rows()


def _simulated_densely(
    model: Model, log_odds: np.ndarray, n: int, seed: np.random.SeedSequence
) -> Iterator[np.ndarray]:
    """A data set (n, d) for each row of ``log_odds`` on a dense field, by chains that go on from the last data set."""
    layout = cell_layout(model)
    even = 1.0 / np.repeat(layout.states, layout.states - 1)
    chains = make_ensemble(layout, even, 1, n, kernel_state(seed, "chains"))
    start = generator(seed, "start").integers(layout.states, size=(chains.n_chains, model.n_nodes))
    chains.start(start.astype(np.uint8))
    for k, w in enumerate(log_odds):
        chains.set_parameters(layout.forward @ w)
        chains.sweep(REPLICA_SWEEPS if k else FIRST_SWEEPS)
        yield chains.rows()[:n]


def _table(model: Model, names: list[str], at: np.ndarray, values: np.ndarray) -> pd.DataFrame:
    """Replicates ``values`` (replicates, statistics) beside what each is compared with, ``at``."""
    import pandas as pd

    above = (values >= at).sum(axis=0) + 1
    below = (values <= at).sum(axis=0) + 1
    tail = np.minimum(1.0, 2.0 * np.minimum(above, below) / (len(values) + 1))
    columns = {"fitted": np.arange(len(names)) < model.n_parameters, "observed": at.mean(axis=0)}
    columns |= {"replicated": values.mean(axis=0), "replicated_sd": values.std(axis=0, ddof=1), "p_value": tail}
    frame = pd.DataFrame(columns, index=pd.Index(names, name="statistic"))
    never = ~frame["fitted"] & ((at == 0) & (values == 0)).all(axis=0)  # sums that nobody has, nor could
    return frame[~never]


# What a check compares: averages over the observations, so a file can hold them without holding anybody's answers.


class ObservedAverages(NamedTuple):
    """Averages over the observations.

    Attributes
    ----------
    n : number of observations (or their total weight)
    n_rows : observations that ``pairs`` and ``sums`` are worth: n, or fewer where only some of the rows were kept
    fitted : (p,) counts of the model's own outcomes per observation
    pairs : (k,) agreement of the pairs of nodes that share a neighbour but no edge; of few rows, as of a single image,
        its average over all pairs of each direction
    sums : (c,) share of the rows whose states sum to each value, or class of values; of few rows the mean state; empty
        where sums mean nothing
    shares : shares of all states of the first node, then of the second, and so on; empty where they are not known
    """

    n: float
    n_rows: int
    fitted: np.ndarray
    pairs: np.ndarray
    sums: np.ndarray
    shares: np.ndarray

    @property
    def flat(self) -> np.ndarray:
        """What a predictive check compares, in the order of `statistic_names`."""
        return np.concatenate([self.fitted, self.pairs, self.sums])


def observe(model: Model, statistics: Statistics) -> ObservedAverages:
    """The averages of counted data; without rows the fitted ones alone."""
    n_rows = max(1, round(statistics.n_kept)) if len(statistics.rows) else 0
    extra = unfitted(model, statistics.rows, statistics.row_weights, unfitted_pairs(model, n_rows), n_rows)
    return ObservedAverages(statistics.n, n_rows, statistics.mean, *extra, _shares(model, statistics))


class PairClasses(NamedTuple):
    """Pairs of nodes (k, 2), the class of each (k,), and what the classes are called; each pair is one by default."""

    pairs: np.ndarray
    of: np.ndarray
    names: list[str]


def unfitted_pairs(model: Model, n_rows: int) -> PairClasses:
    """Pairs that share a neighbour but no edge; where rows are few all of one direction are a class."""
    pairs = second_neighbours(model.edges, model.n_nodes) if n_rows else np.zeros((0, 2), dtype=np.int64)
    if n_rows >= LEAST_ROWS or not len(pairs):
        return PairClasses(pairs, np.arange(len(pairs)), [f"{model.nodes[u]} = {model.nodes[v]}" for u, v in pairs])
    place = pixels_of(model.nodes)
    if place is None:
        return PairClasses(pairs, np.zeros(len(pairs), dtype=np.int64), ["agreement of second neighbours"])
    step = place[pairs[:, 1]] - place[pairs[:, 0]]
    if model.grid_shape is not None:  # around a periodic border
        step = np.where(np.abs(step) > 2, step - np.sign(step) * np.array(model.grid_shape), step)
    back = (step[:, 0] < 0) | ((step[:, 0] == 0) & (step[:, 1] < 0))
    steps, of = np.unique(np.where(back[:, None], -step, step), axis=0, return_inverse=True)
    return PairClasses(pairs, of.ravel(), [f"agreement at ({down}, {right})" for down, right in steps.tolist()])


def _shares(model: Model, statistics: Statistics) -> np.ndarray:
    if statistics.node_part is None:
        return np.zeros(0)
    part = np.asarray(statistics.node_part, dtype=float) / statistics.n
    return np.stack([1 - part, part], axis=1).ravel() if model.is_binary else part


def unfitted(
    model: Model, rows: np.ndarray, weights: np.ndarray, classes: PairClasses, n_rows: int
) -> tuple[np.ndarray, np.ndarray]:
    """Agreement of the pairs of each class, and the distribution of the sums of the rows (k, d) of ``weights`` (k,).

    ``n_rows`` tells whether they are few; see `ObservedAverages`.
    """
    pairs, agreement = classes.pairs, np.zeros(0)
    total = max(weights.sum(), 1e-300)  # divided by last: ties of whole weights stay ties
    if len(pairs):
        agreement = weights @ (rows[:, pairs[:, 0]] == rows[:, pairs[:, 1]]) / total
        agreement = np.bincount(classes.of, agreement) / np.bincount(classes.of)
    has_sums = model.n_nodes > 1 and (model.is_binary or coupling_of(model) == "score")
    if not len(rows) or not has_sums:
        return agreement, np.zeros(0)
    if n_rows < LEAST_ROWS:
        return agreement, np.array([weights @ rows.sum(axis=1, dtype=np.int64) / (total * rows.shape[1])])
    bounds = sum_bounds(model)
    place = np.searchsorted(bounds, rows.sum(axis=1, dtype=np.int64), side="right") - 1
    return agreement, np.bincount(place, weights, minlength=bounds.size - 1) / total


def sum_bounds(model: Model) -> np.ndarray:
    """(c + 1,) first sum of every class, and the first that no row can have."""
    most = int((model.states - 1).sum())
    width = -(-(most + 1) // SCORE_CLASSES)
    return np.append(np.arange(0, most + 1, width), most + 1)


def statistic_names(model: Model, observed: ObservedAverages) -> list[str]:
    """Names of `ObservedAverages.flat`: parameters, "a = b" for agreeing pairs, "sum 3" or "sum 3 to 5" for sums.

    Of few rows: parameters, "agreement at (1, 1)" for the pairs of one direction, and "mean state".
    """
    names = list(model.parameters)
    if observed.pairs.size:
        names += unfitted_pairs(model, observed.n_rows).names
    if observed.n_rows < LEAST_ROWS:
        names += ["mean state"] * observed.sums.size
    elif observed.sums.size:
        bounds = sum_bounds(model)
        ends = zip(bounds[:-1].tolist(), (bounds[1:] - 1).tolist(), strict=True)
        names += [f"sum {low}" if low == high else f"sum {low} to {high}" for low, high in ends]
    return names


def second_neighbours(edges: np.ndarray, n_nodes: int, limit: int = MOST_PAIRS) -> np.ndarray:
    """(k, 2) pairs that share a neighbour but no edge, at most ``limit`` of them."""
    if len(edges) == n_nodes * (n_nodes - 1) // 2:
        return np.zeros((0, 2), dtype=np.int64)
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort(both.T[::-1])]
    offset = np.searchsorted(both[:, 0], np.arange(n_nodes + 1))
    found: set[tuple[int, int]] = set()
    for node in range(n_nodes):  # sets are made as they are needed: a field of a million nodes is left early
        ordered = both[offset[node] : offset[node + 1], 1].tolist()
        for i, a in enumerate(ordered):
            near = set(both[offset[a] : offset[a + 1], 1].tolist())
            found |= {(a, b) for b in ordered[i + 1 :] if b not in near}
        if len(found) >= limit:
            break
    return np.array(sorted(found)[:limit], dtype=np.int64).reshape(-1, 2)
