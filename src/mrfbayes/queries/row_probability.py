"""Log-probabilities of rows, with cells left out summed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.data.border import as_data
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.exact.contract import refused
from mrfbayes.exact.held import HeldField, held_field
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema
from mrfbayes.queries.points import QUERY_DRAWS, Answer, Held, Points, points
from mrfbayes.results.row_scores import row_log_weights

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.data.data import Data
    from mrfbayes.model.schema import Label
    from mrfbayes.queries.points import ThetaLike

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
    import pandas as pd

    at = points(model, theta, draws, ci_prob)
    known, pattern = at.given(given)
    states, index = row_states(at, rows, known, "rows")
    distinct, which = np.unique(states, axis=0, return_inverse=True)
    with refused("use mb.annealed_log_partition for log Z with an error bar, or hold nodes with given="):
        score = _Scores(model, known, pattern, distinct)
        logs = at.each(score)[:, which.ravel()]
    top = logs.max(axis=0)
    columns = {"log_probability": top + np.log(np.exp(logs - top).mean(axis=0))}
    if at.is_posterior:
        columns |= {name: column for name, column in at.columns(logs).items() if name != "probability"}
    return RowProbabilities(pd.DataFrame(columns, index=index), "elimination", True, ())


class _Scores:
    """Log P(seen cells | given) of distinct rows (n, d), `UNSEEN` where a cell is summed over."""

    def __init__(self, model: Model, known: list[int], pattern: list[int], rows: np.ndarray) -> None:
        self.model, self.rows, self.pattern = model, rows.copy(), pattern
        self.rows[:, known] = pattern
        self.base = held_field(model, known)
        seen = self.rows != UNSEEN
        self.is_full = seen.all(axis=1)
        self.fields: dict[bytes, HeldField] = {}
        for mask in np.unique(seen[~self.is_full], axis=0):
            self.fields[mask.tobytes()] = held_field(model, np.flatnonzero(mask).tolist())
        self.seen = seen

    def __call__(self, log_odds: np.ndarray) -> np.ndarray:
        logs = np.empty(len(self.rows))
        logs[self.is_full] = row_log_weights(self.model, log_odds, self.rows[self.is_full])
        for i in np.flatnonzero(~self.is_full).tolist():
            field = self.fields[self.seen[i].tobytes()]
            logs[i] = field.log_z(log_odds, self.rows[i, self.seen[i]].tolist())
        return logs - self.base.log_z(log_odds, self.pattern)


def _is_read(rows: Sequence[object]) -> bool:
    """Whether a list is one of files or of rows with names, not of cells."""
    if isinstance(rows, str) or not rows:
        return isinstance(rows, str)
    return isinstance(rows[0], Mapping) or (isinstance(rows[0], str) and Path(rows[0]).exists())


def row_states(at: Points, rows: RowsLike, known: list[int], argument: str) -> tuple[np.ndarray, pd.Index]:
    """(n, d) states, `UNSEEN` where a cell is missing, and the index of the result."""
    import pandas as pd

    model, source = at.model, cast("object", rows)
    if isinstance(rows, Mapping):
        source = {str(name): label if np.ndim(label) else [label] for name, label in rows.items()}
    elif isinstance(rows, np.ndarray) or (isinstance(rows, Sequence) and not _is_read(rows)):
        cells = np.atleast_2d(rows if isinstance(rows, np.ndarray) else np.array(rows, dtype=object))
        if cells.ndim != 2 or cells.shape[1] != model.n_nodes:
            raise InputError(
                f"{argument} has shape {cells.shape}, expected (n, {model.n_nodes}): a column per node, or a table "
                "or mapping with names."
            )
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
