"""What every query takes: parameters at one point or at the draws of a posterior, and states by name and label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import interval_ends, whole
from mrfbayes.base.errors import InputError
from mrfbayes.data.coding import state_labels
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.ising import Ising
from mrfbayes.model.schema import Label, Schema, plain_schema
from mrfbayes.results.posterior import Posterior
from mrfbayes.results.predictability import evenly

ThetaLike = ArrayLike | Ising | Posterior

QUERY_DRAWS = 200  # of a posterior, evenly spread over its chains
Held = Mapping[str, Label]


@dataclass(frozen=True)
class Points:
    """Log-odds at which a query is answered.

    Attributes
    ----------
    log_odds : (k, p), one row per draw of the posterior, or a single row
    is_posterior : whether the rows are draws of a posterior
    schema : the coding of the nodes
    ci_prob : probability of the intervals
    """

    model: Model
    log_odds: np.ndarray
    is_posterior: bool
    schema: Schema
    ci_prob: float

    @cached_property
    def labels(self) -> tuple[tuple[object, ...], ...]:
        """Per node what is shown for its states."""
        if self.model.schema is not None:
            return tuple(variable.labels for variable in self.schema)
        return tuple(map(state_labels, self.schema))

    def each(self, answer: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """``answer`` at every row of the log-odds, stacked."""
        found = []
        for w in self.log_odds:
            budget().check("queries")
            found.append(answer(w))
        return np.stack(found)

    def columns(self, values: np.ndarray, name: str = "probability") -> dict[str, np.ndarray]:
        """Columns of a table from ``values`` (k, cells): the mean, and for a posterior sd and interval."""
        columns = {name: values.mean(axis=0)}
        if self.is_posterior:
            low, high = interval_ends(self.ci_prob)
            ends = np.quantile(values, [low, high], axis=0)
            columns |= {"sd": values.std(axis=0, ddof=1), f"q{100 * low:g}": ends[0], f"q{100 * high:g}": ends[1]}
        return columns

    def node(self, name: object, argument: str) -> int:
        """The index of a node by its name."""
        try:
            return self.model.nodes.index(str(name))
        except ValueError:
            nodes = _listed(self.model.nodes)
            raise InputError(f"{argument}: no node is called {name!r}; the model's nodes are {nodes}.") from None

    def state(self, node: int, label: object, argument: str) -> int:
        """The state of a node by its label, or by its number where states have no labels."""
        labels = self.labels[node]
        for state, shown in enumerate(labels):
            if label == shown or _plain(label) == str(shown):
                return state
        raise InputError(f"{argument}[{self.model.nodes[node]!r}] = {label!r}: must be one of {_listed(labels)}.")

    def given(self, given: Held | None) -> tuple[list[int], list[int]]:
        """Nodes that are held, in order, and their states."""
        if given is None:
            return [], []
        if not isinstance(given, Mapping):
            raise InputError(f"given = {given!r}: give a mapping from nodes to states, such as {{'a': 1}}.")
        held = {self.node(name, "given"): label for name, label in given.items()}
        known = sorted(held)
        return known, [self.state(node, held[node], "given") for node in known]

    def asked(self, nodes: Iterable[str] | None, known: Sequence[int], argument: str = "nodes") -> list[int]:
        """The nodes asked about: all that are not held by default."""
        if nodes is None:
            held = set(known)
            found = [i for i in range(self.model.n_nodes) if i not in held]
        else:
            found = [self.node(name, argument) for name in ([nodes] if isinstance(nodes, str) else nodes)]
        if not found:
            raise InputError(f"{argument} = {nodes!r}: no node is left; name one that given does not hold.")
        for k, node in enumerate(found):
            if node in known:
                raise InputError(f"{argument}: {self.model.nodes[node]!r} is held by given: leave it out of one.")
            if node in found[:k]:
                raise InputError(f"{argument}: {self.model.nodes[node]!r} is named twice.")
        return found


def points(model: Model, theta: ThetaLike, draws: int = QUERY_DRAWS, ci_prob: float = 0.9) -> Points:
    """The points of a query, from theta or from a posterior of the same model."""
    require_model(model)
    interval_ends(ci_prob)
    draws = whole("draws", draws, 2)
    if not isinstance(theta, Posterior):
        w = model.chart.log_odds(model.theta(theta))
        return Points(model, w[None, :], False, model.schema or plain_schema(model), ci_prob)
    if theta.model.fingerprint != model.fingerprint:
        raise InputError(f"theta: the posterior is one of {theta.model!r}, not of {model!r}: pass its own model.")
    w = evenly(theta.log_odds.reshape(-1, model.n_parameters), draws)
    return Points(model, w, True, model.schema or theta.schema, ci_prob)


def _plain(label: object) -> str:
    """A label as text: 1.0 and True are "1"."""
    if isinstance(label, (bool, np.bool_)):
        return str(int(label))
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _listed(names: Sequence[object], most: int = 8) -> str:
    return ", ".join(map(repr, names[:most])) + (", ..." if len(names) > most else "")


@dataclass(frozen=True, eq=False)
class Answer:
    """The base of all answers.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per thing asked about; for a posterior with ``sd`` and the ends of the interval.
    method : str
        How it was computed.
    is_exact : bool
        Whether the numbers are exact at each theta. Intervals are those of the posterior draws that were used.
    notes : tuple of str
        What the reader has to know.
    """

    table: pd.DataFrame
    method: str
    is_exact: bool
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        head = f"<{type(self).__name__}: {len(self.table)} rows by {self.method}, "
        head += "exact" if self.is_exact else "approximate"
        return "\n".join([head + ">", self.table.to_string(max_rows=12, max_cols=12), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{note}</p>" for note in self.notes)
        return f"{self.table.to_html(max_rows=20)}{notes}"
