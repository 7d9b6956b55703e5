"""The most probable configurations of a field: maximum a posteriori inference, and the k best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import whole
from mrfbayes.exact.contract import refused
from mrfbayes.exact.held import held_field
from mrfbayes.model.field import Model
from mrfbayes.queries.points import QUERY_DRAWS, Answer, Held, Points, points
from mrfbayes.results.row_scores import row_log_weights

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.queries.points import ThetaLike


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
    import pandas as pd

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
