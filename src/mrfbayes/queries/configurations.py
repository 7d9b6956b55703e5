"""Single configurations: log-probabilities of rows, with cells left out summed over, and the most probable ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import pandas as pd

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.data.border import as_data
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.data import Data
from mrfbayes.exact.held import held_field
from mrfbayes.exact.recursions import refused
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Label, Schema
from mrfbayes.queries.points import QUERY_DRAWS, Answer, Held, Points, ThetaLike, points
from mrfbayes.results.predictability import row_log_weights

RowsLike: TypeAlias = np.ndarray | pd.DataFrame | Data | Mapping[str, Label] | Sequence[Sequence[Label | None]]


UNSEEN = -1  # a cell that is summed over


@dataclass(frozen=True, eq=False, repr=False)
class RowProbabilities(Answer):
    """Log-probabilities of rows; see `mrfbayes.log_probability`.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per row: ``log_probability``; for a posterior the log of the probability averaged over draws, with the
        ``sd`` and the interval of the log-probability over the draws.
    """


def log_probability(
    model: Model,
    theta: ThetaLike,
    rows: RowsLike,
    *,
    given: Held | None = None,
    draws: int = QUERY_DRAWS,
    ci_prob: float = 0.9,
) -> RowProbabilities:
    """Exact log-probability of each row, given the states of some nodes.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like, Ising or Posterior
        Parameters in the order of ``model.parameters``.
    rows : array_like (n, d), mapping, Data, or anything that `Data` reads
        Values as in the data, states where the model has no schema; a column per node. Cells that are missing, and
        columns that a table or mapping does not have, are summed over: the result is the probability of what is there.
        A mapping from names to values is one row.
    given : mapping of str to label, optional
        Nodes that are held, and their states; they must not be columns of ``rows``.
    draws : int, default 200
        Draws of a posterior that are used.
    ci_prob : float, default 0.9
        Probability of the intervals of a posterior.

    Returns
    -------
    RowProbabilities
        Log-probabilities of the rows.

    Raises
    ------
    CostError
        Where the partition function does not fit into memory.

    See Also
    --------
    annealed_log_partition : log Z with an error bar where the exact sum is out of reach.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> mb.log_probability(model, 0.8, [[1, 1, 1], [1, 0, None]]).table.round(3)["log_probability"].tolist()
    [-1.139, -2.303]
    """
    at = points(model, theta, draws, ci_prob)
    known, pattern = at.given(given)
    states, index = row_states(at, rows, known, "rows")
    distinct, which = np.unique(states, axis=0, return_inverse=True)
    with refused("use mb.annealed_log_partition for log Z with an error bar, or hold nodes with given="):
        logs = at.each(_scores(model, known, pattern, distinct))[:, which.ravel()]
    top = logs.max(axis=0)
    columns = {"log_probability": top + np.log(np.exp(logs - top).mean(axis=0))}
    if at.is_posterior:
        columns |= {name: column for name, column in at.columns(logs).items() if name != "probability"}
    return RowProbabilities(pd.DataFrame(columns, index=index), "elimination", True, ())


def _scores(model: Model, known: list[int], pattern: list[int], rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Log P(seen cells | given) of distinct rows (n, d), `UNSEEN` where a cell is summed over."""
    rows = rows.copy()
    rows[:, known] = pattern
    base, seen = held_field(model, known), rows != UNSEEN
    is_full = seen.all(axis=1)
    masks = np.unique(seen[~is_full], axis=0)
    fields = {mask.tobytes(): held_field(model, np.flatnonzero(mask).tolist()) for mask in masks}

    def log_probabilities(log_odds: np.ndarray) -> np.ndarray:
        logs = np.empty(len(rows))
        logs[is_full] = row_log_weights(model, log_odds, rows[is_full])
        for i in np.flatnonzero(~is_full).tolist():
            logs[i] = fields[seen[i].tobytes()].log_z(log_odds, rows[i, seen[i]].tolist())
        return logs - base.log_z(log_odds, pattern)

    return log_probabilities


def _is_read(rows: Sequence[object]) -> bool:
    """Whether a list is one of files or of rows with names, not of cells."""
    if isinstance(rows, str) or not rows:
        return isinstance(rows, str)
    return isinstance(rows[0], Mapping) or (isinstance(rows[0], str) and Path(rows[0]).exists())


def row_states(at: Points, rows: RowsLike, known: list[int], argument: str) -> tuple[np.ndarray, pd.Index]:
    """(n, d) states, `UNSEEN` where a cell is missing, and the index of the result."""
    model, source = at.model, cast("object", rows)
    if isinstance(rows, Mapping):
        source = {str(name): label if np.ndim(label) else [label] for name, label in rows.items()}
    elif isinstance(rows, np.ndarray) or (isinstance(rows, Sequence) and not _is_read(rows)):
        cells = np.atleast_2d(rows if isinstance(rows, np.ndarray) else np.array(rows, dtype=object))
        if cells.ndim != 2 or cells.shape[1] != model.n_nodes:
            shape = f"{argument} has shape {cells.shape}, expected (n, {model.n_nodes})"
            raise InputError(f"{shape}: a column per node, or a table or mapping with names.")
        empty = {i for i in known if pd.isna(cells[:, i]).all()}
        source = {node: cells[:, i] for i, node in enumerate(model.nodes) if i not in empty}
    data = as_data(source)
    nodes = at.asked(data.column_names, known, argument)
    coding = at.schema.variables
    try:
        own = [replace(coding[i], name=name) for i, name in zip(nodes, data.column_names, strict=True)]
        found = data.rows(Schema(tuple(own))).astype(np.int64)
    except InputError as error:
        raise InputError(f"{argument}: {error}") from None
    states = np.full((len(found), model.n_nodes), UNSEEN, dtype=np.int64)
    states[:, nodes] = np.where(found == MISSING_CODE, UNSEEN, found)
    return states, rows.index if isinstance(rows, pd.DataFrame) else pd.RangeIndex(len(found))


@dataclass(frozen=True, eq=False, repr=False)
class Configurations(Answer):
    """The most probable configurations, best first; see `mrfbayes.most_probable`.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per configuration: the state of each node that is not held, ``log_probability`` given what is held, and
        ``probability``. For a posterior ``probability`` is averaged over its draws, with ``sd`` and interval, and
        ``best`` is the share of draws at which this configuration is the most probable one.
    states : (k, d) numpy.ndarray
        The same configurations as states 0..r-1 of all nodes, held ones included.
    """

    states: np.ndarray


def most_probable(
    model: Model,
    theta: ThetaLike,
    *,
    given: Held | None = None,
    k: int = 1,
    draws: int = QUERY_DRAWS,
    ci_prob: float = 0.9,
) -> Configurations:
    """The k most probable configurations, given the states of some nodes.

    The recursion is that of the partition function with the maximum in place of the sum, so the result is exact.
    For a posterior, the k best of every draw are ranked by their probability averaged over the draws.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like, Ising or Posterior
        Parameters in the order of ``model.parameters``; of a posterior, every probability has an interval.
    given : mapping of str to label, optional
        Nodes that are held, and their states: labels where the model has a schema, else numbers from 0.
    k : int, default 1
        How many configurations.
    draws : int, default 200
        Draws of a posterior that are used.
    ci_prob : float, default 0.9
        Probability of the intervals of a posterior.

    Returns
    -------
    Configurations
        Where several configurations are equally probable, which of them comes first is arbitrary but repeatable.

    Raises
    ------
    CostError
        Where the recursion does not fit into memory.

    See Also
    --------
    marginals : the most probable state of each node by itself can be another one.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> mb.most_probable(model, 0.8, given={"a": 1}, k=2).table[["b", "c", "probability"]].round(2).values.tolist()
    [[1.0, 1.0, 0.64], [1.0, 0.0, 0.16]]
    """
    at = points(model, theta, draws, ci_prob)
    k = whole("k", k)
    known, pattern = at.given(given)
    field = held_field(model, known)
    found, firsts, log_z = [], [], []
    with refused("hold more nodes with given=, or look at the rows of mb.simulate(model, theta, n)"):
        for w in at.log_odds:
            budget().check("most probable configurations")
            rows, _ = field.best(w, pattern, k)
            log_z.append(field.log_z(w, pattern))
            found.append(rows)
            firsts.append(rows[0])
    states = np.unique(np.concatenate(found), axis=0) if at.is_posterior else found[0]
    logs = np.stack([row_log_weights(model, w, states) - z for w, z in zip(at.log_odds, log_z, strict=True)])
    order = np.argsort(-np.exp(logs).mean(axis=0) if at.is_posterior else -logs[0], kind="stable")[:k]
    best = np.array([(np.array(firsts) == row).all(axis=1).mean() for row in states[order]])
    table = _table(at, known, states[order], logs[:, order], best)
    return Configurations(table, "maximum by elimination", True, (), states[order])


def _table(at: Points, known: list[int], states: np.ndarray, logs: np.ndarray, best: np.ndarray) -> pd.DataFrame:
    columns: dict[str, np.ndarray] = {}
    for i in range(at.model.n_nodes):
        if i not in known:
            labels = np.empty(len(at.labels[i]), dtype=object)
            labels[:] = at.labels[i]
            columns[at.model.nodes[i]] = pd.Series(labels[states[:, i]]).infer_objects().to_numpy()
    top = logs.max(axis=0)
    columns["log_probability"] = top + np.log(np.exp(logs - top).mean(axis=0))
    columns |= at.columns(np.exp(logs))
    if at.is_posterior:
        columns["best"] = best
    return pd.DataFrame(columns, index=pd.RangeIndex(1, len(states) + 1, name="rank"))
