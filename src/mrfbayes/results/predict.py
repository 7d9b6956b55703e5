r"""Prediction of some nodes from others: :math:`P(x_A \mid x_B)`, averaged over the posterior.

Holding :math:`x_B` leaves a smaller field on A whose node factors have taken up what the neighbours in B say. Its
probabilities are enumerated where A has few configurations, come from the exact recursions where the treewidth of A
allows, and from Gibbs samples elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.data.border import as_data
from mrfbayes.data.coding import MISSING_CODE, state_labels
from mrfbayes.data.data import Data
from mrfbayes.exact.quantities import expected_counts, is_feasible
from mrfbayes.model.build import graph
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema
from mrfbayes.particles.simulate import simulate
from mrfbayes.results.predictability import evenly

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.base.types import Coupling
    from mrfbayes.results.posterior import Posterior

ENUMERATED = 1_024  # configurations of A up to which all of them are listed
PREDICTION_SAMPLES = 1_000
PREDICTION_SWEEPS = 200


def predict_table(
    posterior: Posterior, data: object, given: Iterable[str] | str, draws: int, rng: Seed | None, progress: bool
) -> pd.DataFrame:
    """A row per observation and a column per node of A and state: see `Posterior.predict`."""
    import pandas as pd

    model = posterior.model
    known, unknown = _parts(model, given)
    variables = posterior.schema.variables
    values, index = _known_values(data, Schema(variables), known)
    patterns, which = np.unique(values, axis=0, return_inverse=True)
    log_odds = evenly(posterior.log_odds.reshape(-1, model.n_parameters), whole("draws", draws))
    potentials = [model.lowering.potentials(w) for w in log_odds]
    rest = Rest(model, known, unknown)
    columns = [(model.nodes[i], label) for i in unknown for label in state_labels(variables[i])]
    out = np.zeros((len(patterns), len(columns)))
    seed = seed_sequence(rng)
    with Progress("predicting", len(patterns) * len(log_odds), progress) as bar:
        for k, pattern in enumerate(patterns):
            for number, (node, edge) in enumerate(potentials):
                out[k] += rest.probabilities(node, edge, pattern, child(seed, "predict", k, number))
                bar.update(k * len(log_odds) + number + 1)
    table = pd.DataFrame(
        out[which.ravel()] / len(log_odds),
        index=index,
        columns=pd.MultiIndex.from_tuples(columns, names=["node", "state"]),
    )
    table.attrs |= {"given": [model.nodes[i] for i in known], "way": rest.way, "draws": len(log_odds)}
    return table


class Rest:
    """The field on the nodes A that remains when those of B are held."""

    def __init__(self, model: Model, known: Sequence[int], unknown: Sequence[int]) -> None:
        self.model, self.known, self.unknown = model, list(known), list(unknown)
        place = {node: k for k, node in enumerate(self.unknown)}
        of_known = {node: k for k, node in enumerate(self.known)}
        self.inner: list[tuple[int, int, int]] = []  # edge, both ends in A
        self.border: list[tuple[int, int, int, bool]] = []  # edge, end in A, end in B, whether A's is the edge's first
        for e, (u, v) in enumerate(model.edges.tolist()):
            if u in place and v in place:
                self.inner.append((e, place[u], place[v]))
            elif u in place or v in place:
                first = u in place
                a, b = (u, v) if first else (v, u)
                self.border.append((e, place[a], of_known[b], first))
        self.states = [int(model.states[i]) for i in self.unknown]
        self.way = "enumeration"
        if float(np.prod(np.array(self.states, dtype=float))) > ENUMERATED:
            # Two-state nodes of A have agreement coins; others tables, which hold any interaction.
            coupling: Coupling = "agreement" if model.is_binary else "table"
            pairs = [(a, b) for _, a, b in self.inner]
            nodes = range(len(self.unknown))
            self.field = graph(pairs, nodes=nodes, states=self.states, fields=True, coupling=coupling)
            self.way = "recursion" if is_feasible(self.field) else "gibbs"
        else:
            self.configurations = np.array(list(itertools.product(*(range(r) for r in self.states))), dtype=np.int64)

    def probabilities(
        self, node: np.ndarray, edge: np.ndarray, pattern: np.ndarray, seed: np.random.SeedSequence
    ) -> np.ndarray:
        """P(x_a = k | x_B) for every a of A and state k, flat."""
        nodes, edges = self._tables(node, edge, pattern)
        if self.way == "enumeration":
            return self._enumerated(nodes, edges)
        log_odds = np.concatenate([self._edge_odds(edges, nodes), *(table[1:] - table[0] for table in nodes)])
        theta = np.clip(self.field.chart.theta(log_odds), 1e-300, 1 - 1e-16)
        if self.way == "recursion":
            return self._from_counts(expected_counts(self.field, theta))
        x = simulate(
            self.field, theta, PREDICTION_SAMPLES, sampler="gibbs", sweeps=PREDICTION_SWEEPS, rng=seed, progress=False
        )
        return np.concatenate([np.bincount(x[:, a], minlength=r) / len(x) for a, r in enumerate(self.states)])

    def _tables(
        self, node: np.ndarray, edge: np.ndarray, pattern: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Log-potential tables of A's nodes, with what B adds to them, and of the edges inside A."""
        model, lowering = self.model, self.model.lowering

        def pair(e: int) -> np.ndarray:
            u, v = model.edges[e]
            if model.is_binary:
                return np.asarray(edge[e] * np.eye(2))
            cells = edge[lowering.edge_offset[e] : lowering.edge_offset[e + 1]]
            return np.asarray(cells.reshape(int(model.states[u]), int(model.states[v])))

        nodes = []
        for i in self.unknown:
            own = np.array([0.0, node[i]]) if model.is_binary else node[lowering.node_offset[i] :][: model.states[i]]
            nodes.append(own.astype(float).copy())
        for e, a, b, first in self.border:
            nodes[a] += pair(e)[:, pattern[b]] if first else pair(e)[pattern[b]]
        return nodes, [pair(e) for e, _, _ in self.inner]

    def _enumerated(self, nodes: list[np.ndarray], edges: list[np.ndarray]) -> np.ndarray:
        x = self.configurations
        log_weight = np.zeros(len(x))
        for a, table in enumerate(nodes):
            log_weight += table[x[:, a]]
        for (_, a, b), table in zip(self.inner, edges, strict=True):
            log_weight += table[x[:, a], x[:, b]]
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        return np.concatenate([np.bincount(x[:, a], weight, minlength=r) for a, r in enumerate(self.states)])

    def _edge_odds(self, edges: list[np.ndarray], nodes: list[np.ndarray]) -> np.ndarray:
        """The log-odds of the edges inside A; what a table has besides its interaction is added to ``nodes``."""
        if not edges:
            return np.zeros(0)
        if self.model.is_binary:
            return np.array([table[0, 0] for table in edges])
        for (_, a, b), table in zip(self.inner, edges, strict=True):
            nodes[a] += table[:, 0]
            nodes[b] += table[0]
        return np.concatenate([(table - table[:1] - table[:, :1] + table[0, 0])[1:, 1:].ravel() for table in edges])

    def _from_counts(self, counts: np.ndarray) -> np.ndarray:
        """Node probabilities from expected counts: states 1.. of each node are its block's outcomes, 0 is the rest."""
        offset = self.field.chart.offset
        found = []
        for block in range(len(self.field.blocks) - len(self.states), len(self.field.blocks)):
            own = counts[offset[block] : offset[block + 1]]
            found.append(np.concatenate([[1 - own.sum()], own]))
        return np.concatenate(found)


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
        absent = [name for name in names if name not in table.column_names]
        if absent:
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
