"""How well the other nodes predict each node, and log-probabilities of single rows under a posterior.

The score of a row x is the log of its probability averaged over draws of the posterior. Where log Z can be had, that is
the exact probability of the whole row; elsewhere it is the pseudolikelihood, the product of the probabilities of each
cell given all others; `score_kind` tells which.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import interval_ends, whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import child, generator
from mrfbayes.data.tally import KEPT_ROWS
from mrfbayes.data.values import in_proportion
from mrfbayes.exact.choice import is_feasible
from mrfbayes.exact.quantities import log_partition_w
from mrfbayes.model.field import Model
from mrfbayes.results.imputation import Completion, completion_of

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.base.types import DataLike
    from mrfbayes.results.posterior import Posterior

EXACT_SCORE, PSEUDO_SCORE = "log-likelihood", "pseudo-log-likelihood"
PREDICTABILITY_COLUMNS = (
    *("accuracy", "accuracy_alone", "accuracy_gain", "accuracy_gain_q5", "accuracy_gain_q95"),
    *("log_score_gain", "log_score_gain_q5", "log_score_gain_q95"),
)
COMPLETION_SEED = child(np.random.SeedSequence(0), "predictability")  # the stream of what is drawn for missing cells
PREDICTABILITY_DRAWS = 200  # of the posterior
MOST_PREDICTED_CELLS = 2e8  # rows x (nodes + edges) x draws: fewer draws are used past that


def predictability_table(posterior: Posterior, data: object, draws: int, ci_prob: float) -> pd.DataFrame:
    """A row per node: see `Posterior.predictability`."""
    import pandas as pd

    model = posterior.model
    completion = completion_of(posterior, data, "predictability")
    if completion is None:
        rows, weights = observed_rows(posterior, data)
    else:
        if len(completion.rows) > KEPT_ROWS:
            kept = in_proportion(completion.weights, KEPT_ROWS, generator(COMPLETION_SEED, "rows"))
            completion = Completion(model, completion.rows[kept], np.ones(KEPT_ROWS))
        rows, weights = completion.rows, completion.weights
    weights = weights / weights.sum()
    n, d = rows.shape
    per_draw = n * (d + model.n_edges) * (1 if model.is_binary else float(model.states.max()))
    draws = max(20, min(whole("draws", draws), int(MOST_PREDICTED_CELLS / max(per_draw, 1))))
    log_odds = evenly(posterior.log_odds.reshape(-1, model.n_parameters), draws)
    accuracy, score = np.empty((len(log_odds), d)), np.empty((len(log_odds), d))
    shares: list[np.ndarray] = []
    for k, w in enumerate(log_odds):
        if completion is not None:
            rows = completion.at(w, child(COMPLETION_SEED, k))
        log_p = conditional_log_probabilities(model, w, rows)
        of_own = _of_own_states(log_p, rows)
        best = log_p.max(axis=2)
        ties = (log_p >= best[:, :, None] - 1e-12).sum(axis=2)
        accuracy[k] = weights @ ((of_own >= best - 1e-12) / ties)
        score[k] = weights @ of_own
        if completion is not None or k == 0:
            shares.append(np.stack([weights @ (rows == state) for state in range(int(model.states.max()))]))
    share = np.mean(shares, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        base_score = np.where(share > 0, share * np.log(share), 0.0).sum(axis=0)
    base = share.max(axis=0)
    columns: dict[str, np.ndarray] = {"accuracy": accuracy.mean(axis=0), "accuracy_alone": base}
    for name, gain in (("accuracy_gain", accuracy - base), ("log_score_gain", score - base_score)):
        columns |= interval_columns(name, gain, ci_prob)
    table = pd.DataFrame(columns, index=pd.Index(model.nodes, name="node"))
    table.attrs |= {"rows": n, "draws": len(log_odds)}
    return table


class WithPredictability:
    """How well nodes predict each other, from a `Posterior`."""

    def predictability(  # type: ignore[misc]
        self: Posterior, data: DataLike | None = None, *, draws: int = PREDICTABILITY_DRAWS, ci_prob: float = 0.9
    ) -> pd.DataFrame:
        """Return how well all other nodes predict each node in the observed rows.

        Rows with missing cells are completed at every draw that is used.

        Parameters
        ----------
        data : DataLike, optional
            Observations; by default those of the posterior (at most 4,096 rows).
        draws : int, default 200
            Number of posterior draws that are used.
        ci_prob : float, default 0.9
            Probability of the intervals.

        Returns
        -------
        DataFrame
            One row per node. ``accuracy``: share of rows in which the most probable state given the rest of the row is
            the observed one; ``accuracy_alone``: the share of the most frequent state; ``accuracy_gain`` and
            ``log_score_gain`` (nats per row, against the observed frequencies): posterior means with intervals.
        """
        if data is None and (draws, ci_prob) == (PREDICTABILITY_DRAWS, 0.9):
            return self._predictability.copy()
        return predictability_table(self, data, draws, ci_prob)

    @cached_property
    def _predictability(self: Posterior) -> pd.DataFrame:  # type: ignore[misc]
        """The table of `predictability` as it is by default, computed once, and saved with the result."""
        return predictability_table(self, None, PREDICTABILITY_DRAWS, 0.9)


def observed_rows(posterior: Posterior, data: object) -> tuple[np.ndarray, np.ndarray]:
    """(k, d) the rows that were given, or those that the posterior knows, and the weight of each (k,)."""
    statistics = None if posterior._problem is None else posterior._problem.statistics
    if data is not None:
        from mrfbayes.data.border import counted

        statistics = counted(posterior.model, data, posterior.schema)
    if statistics is None or not len(statistics.rows):
        raise InputError("predictability needs observations, and this posterior knows none: pass them as data=.")
    return statistics.rows, statistics.row_weights


def evenly(values: np.ndarray, count: int) -> np.ndarray:
    """At most ``count`` of the first axis, evenly spread."""
    if len(values) <= count:
        return values
    return np.asarray(values[np.linspace(0, len(values) - 1, count).astype(np.int64)])


def interval_columns(name: str, values: np.ndarray, ci_prob: float) -> dict[str, np.ndarray]:
    """Mean over the first axis under ``name``, and both ends of the equal-tailed interval as ``name_q5`` and so on."""
    ends = {f"{name}_q{100 * at:g}": np.quantile(values, at, axis=0) for at in interval_ends(ci_prob)}
    return {name: values.mean(axis=0), **ends}


def score_kind(model: Model) -> str:
    """Which of the two scores the field allows."""
    return EXACT_SCORE if is_feasible(model) else PSEUDO_SCORE


def row_log_weights(model: Model, log_odds: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n,) sum of w * s(x) of each row x, whose log-probability it is once A(w) is taken off.

    Parameters
    ----------
    log_odds : (p,) w
    rows : (n, d) states
    """
    node, edge = model.lowering.potentials(log_odds)
    rows = np.asarray(rows, dtype=np.int64)
    u, v = model.edges.T
    constant = float(model.lowering.constant @ log_odds)
    if model.is_binary:
        return np.asarray(constant + rows @ node + (rows[:, u] == rows[:, v]) @ edge)
    cell = model.lowering.edge_offset[:-1] + rows[:, u] * model.states[v] + rows[:, v]
    own = model.lowering.node_offset[:-1] + rows
    return np.asarray(constant + node[own].sum(axis=1) + edge[cell].sum(axis=1))


def row_scores(model: Model, draws: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n,) log of each row's probability, averaged over ``draws`` (k, p) of the log-odds; see `score_kind`."""
    distinct, which = np.unique(np.asarray(rows), axis=0, return_inverse=True)
    is_exact = score_kind(model) == EXACT_SCORE
    scores = np.empty((len(draws), len(distinct)))
    for k, w in enumerate(draws):
        if is_exact:
            scores[k] = row_log_weights(model, w, distinct) - log_partition_w(model, w)
        else:
            scores[k] = _of_own_states(conditional_log_probabilities(model, w, distinct), distinct).sum(axis=1)
    top = scores.max(axis=0)
    return np.asarray((top + np.log(np.exp(scores - top).mean(axis=0)))[which.ravel()])


def _of_own_states(log_p: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n, d) of ``log_p`` (n, d, r) the entries at the states of ``rows`` (n, d)."""
    return np.asarray(np.take_along_axis(log_p, rows[:, :, None].astype(np.int64), axis=2)[:, :, 0])


def conditional_log_probabilities(model: Model, log_odds: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n, d, r) log P(x_i = k | the rest of the row), r the largest number of states; -inf past a node's own.

    Parameters
    ----------
    log_odds : (p,) w
    rows : (n, d) observed states
    """
    node, edge = model.lowering.potentials(log_odds)
    logits = _binary(model, node, edge, rows) if model.is_binary else _tables(model, node, edge, rows)
    top = logits.max(axis=2, keepdims=True)
    return np.asarray(logits - top - np.log(np.exp(logits - top).sum(axis=2, keepdims=True)))


def _binary(model: Model, field: np.ndarray, coupling: np.ndarray, rows: np.ndarray) -> np.ndarray:
    from scipy.sparse import csr_array

    u, v = model.edges.T
    shape = (model.n_nodes, model.n_nodes)
    between = csr_array((np.tile(coupling, 2), (np.concatenate([u, v]), np.concatenate([v, u]))), shape=shape)
    one = field + (between @ (2.0 * rows.T - 1.0)).T
    return np.stack([np.zeros_like(one), one], axis=2)


def _tables(model: Model, node: np.ndarray, edge: np.ndarray, rows: np.ndarray) -> np.ndarray:
    lowering, states = model.lowering, model.states
    logits = np.full((len(rows), model.n_nodes, int(states.max())), -np.inf)
    for i, r in enumerate(states.tolist()):
        logits[:, i, :r] = node[lowering.node_offset[i] : lowering.node_offset[i] + r]
    for e, (u, v) in enumerate(model.edges.tolist()):
        cells = edge[lowering.edge_offset[e] : lowering.edge_offset[e + 1]]
        table = cells.reshape(int(states[u]), int(states[v]))
        logits[:, u, : states[u]] += table[:, rows[:, v]].T
        logits[:, v, : states[v]] += table[rows[:, u]]
    return logits
