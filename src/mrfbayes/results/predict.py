r"""Prediction of some nodes from others: :math:`P(x_A \mid x_B)`, averaged over the posterior.

Holding :math:`x_B` leaves a smaller field on A (`mrfbayes.exact.held`). Its probabilities are exact where its treewidth
allows, and come from Gibbs samples elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, kernel_state, seed_sequence
from mrfbayes.data.border import as_data
from mrfbayes.data.coding import MISSING_CODE, state_labels
from mrfbayes.data.data import Data
from mrfbayes.exact.held import held_field
from mrfbayes.exact.recursions import TooLarge
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema
from mrfbayes.particles.completions import complete_by_gibbs
from mrfbayes.particles.dense import cell_layout
from mrfbayes.results.predictability import evenly

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.base.types import DataLike
    from mrfbayes.results.posterior import Posterior

PREDICTION_SAMPLES = 1_000
PREDICTION_SWEEPS = 200


class WithPrediction:
    """Predictions from a `Posterior`."""

    def predict(  # type: ignore[misc]
        self: Posterior,
        data: DataLike,
        given: Iterable[str] | str,
        *,
        draws: int = 100,
        rng: Seed | None = None,
        progress: bool = True,
    ) -> pd.DataFrame:
        """Return the probability of every state of the unknown nodes, averaged over the posterior.

        Parameters
        ----------
        data : DataLike
            Rows with the states of the given nodes: a table with their names, a mapping for one row, or an array with a
            column per given node (in the order of ``model.nodes``) or per node.
        given : str or iterable of str
            Names of the known nodes.
        draws : int, default 100
            Number of posterior draws that are used.
        rng : int, SeedSequence or Generator, optional
            Seed, for fields that need Gibbs sampling.
        progress : bool, default True
            Whether a progress bar is shown after two seconds.

        Returns
        -------
        DataFrame
            One row per row of ``data``, columns (node, state); ``attrs["algorithm"]`` is "exact", or "gibbs" where
            the field of the unknown nodes is too large for exact sums.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> model = mb.graph([("a", "b"), ("b", "c")])
        >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
        >>> posterior.predict({"a": 1}, given="a").shape
        (1, 4)
        """
        import pandas as pd

        model = self.model
        known, unknown = _parts(model, given)
        variables = self.schema.variables
        values, index = _known_values(data, Schema(variables), known)
        patterns, which = np.unique(values, axis=0, return_inverse=True)
        log_odds = evenly(self.log_odds.reshape(-1, model.n_parameters), whole("draws", draws))
        held, algorithm = held_field(model, known), "exact" if is_exact(model, known, log_odds[0]) else "gibbs"
        columns = [(model.nodes[i], label) for i in unknown for label in state_labels(variables[i])]
        out = np.zeros((len(patterns), len(columns)))
        seed = seed_sequence(rng)
        with Progress("predicting", len(patterns) * len(log_odds), progress) as bar:
            for k, pattern in enumerate(patterns):
                for number, w in enumerate(log_odds):
                    if algorithm == "exact":
                        out[k] += held.marginals(w, pattern)[0]
                    else:
                        out[k] += by_gibbs(model, known, w, pattern, kernel_state(seed, "predict", k, number))
                    bar.update(k * len(log_odds) + number + 1)
        table = pd.DataFrame(
            out[which.ravel()] / len(log_odds),
            index=index,
            columns=pd.MultiIndex.from_tuples(columns, names=["node", "state"]),
        )
        table.attrs |= {"given": [model.nodes[i] for i in known], "algorithm": algorithm, "draws": len(log_odds)}
        return table


def is_exact(model: Model, known: Sequence[int], log_odds: np.ndarray) -> bool:
    """Whether the field that remains when the nodes ``known`` are held can be summed over."""
    try:
        held_field(model, known).marginals(log_odds, [0] * len(known))
    except TooLarge:
        return False
    return True


def by_gibbs(
    model: Model, known: Sequence[int], log_odds: np.ndarray, pattern: np.ndarray, state: np.ndarray
) -> np.ndarray:
    """P(x_a = k | x_B) for every other node a and state k, flat, from `PREDICTION_SAMPLES` Gibbs samples."""
    rows = np.full((PREDICTION_SAMPLES, model.n_nodes), MISSING_CODE, dtype=np.uint8)
    rows[:, known] = pattern
    x = complete_by_gibbs(cell_layout(model), rows, log_odds, state, PREDICTION_SWEEPS)
    rest = np.setdiff1d(np.arange(model.n_nodes), known)
    return np.concatenate([np.bincount(x[:, a], minlength=model.states[a]) / len(x) for a in rest])


def _parts(model: Model, given: Iterable[str] | str) -> tuple[list[int], list[int]]:
    names = [given] if isinstance(given, str) else [str(name) for name in given]
    index = {name: i for i, name in enumerate(model.nodes)}
    for name in names:
        if name not in index:
            raise InputError(f"given: no node is called {name!r}; name columns of data that are nodes of the model.")
    known = sorted({index[name] for name in names})
    unknown = [i for i in range(model.n_nodes) if i not in set(known)]
    if not unknown:
        raise InputError("given names every node: leave out those that are to be predicted.")
    return known, unknown


def _known_values(data: object, schema: Schema, known: Sequence[int]) -> tuple[np.ndarray, pd.Index]:
    """(n, |B|) states of the known nodes, and the index of the rows."""
    import pandas as pd

    if isinstance(data, (np.ndarray, pd.Series)) and data.ndim == 1:
        has_names = isinstance(data, pd.Series) and data.index.dtype.kind in "OUS"
        data = pd.Series(data).to_frame().T if has_names else np.atleast_2d(np.asarray(data))
    names = [schema.variables[i].name for i in known]
    if not names:  # nothing is known: as many rows as there are
        index = data.index if isinstance(data, pd.DataFrame) else pd.RangeIndex(len(np.atleast_2d(np.asarray(data))))
        return np.zeros((len(index), 0), dtype=np.int64), index
    table = as_data(data)
    if table.is_named:
        if absent := [name for name in names if name not in table.column_names]:
            raise InputError(f"data has no column {absent[0]!r}, which given names.")
    elif len(table.column_names) == len(schema) != len(names):
        table = Data(data, columns=[table.column_names[i] for i in known])
    elif len(table.column_names) != len(names):
        raise InputError(
            f"data has {len(table.column_names)} columns: give one per known node ({len(names)}) or one per node "
            f"({len(schema)}), in the order of model.nodes, or a table with names."
        )
    states = table.rows(schema.select(names))
    row, column = np.nonzero(states == MISSING_CODE)
    if row.size:
        raise InputError(f"data: row {row[0]}, {names[column[0]]!r} is missing; give only rows in which it is known.")
    index = data.index if isinstance(data, pd.DataFrame) else pd.RangeIndex(len(states))
    return states.astype(np.int64), index
