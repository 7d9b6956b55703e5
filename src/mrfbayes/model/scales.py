r"""The three scales in which people quote the parameters of a field, and the one place that converts them.

``theta`` is the weight of a factor's first outcome. ``log-odds`` is :math:`w = \log\theta/(1-\theta)`, for a die
against its last outcome. ``ising`` is the field written with spins :math:`\sigma = 2x - 1`,

.. math:: \log p(\sigma) = \sum_{uv} J_{uv}\sigma_u\sigma_v + \sum_u h_u\sigma_u + \text{constant},

which is linear in w: an agreement coin gives J = w/2, a node coin h = w/2, and a "both one" coin J = w/4 and w/4 to
the h of both ends.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.checks import one_of
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.model.build import COUPLINGS, coupling_table
from mrfbayes.model.factors import BINARY_INTERACTION
from mrfbayes.model.field import Model
from mrfbayes.model.lowering import EdgeFinder

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def coupling_of(model: Model) -> str:
    """The name of the coupling that all edges have, or an empty text where there is none or it has no name."""
    found = set()
    for group in model.groups:
        if group.arity == 2:
            found.add(next((name for name in COUPLINGS if _is(name, group.table, group.is_score)), ""))
    return found.pop() if len(found) == 1 else ""


def _is(coupling: str, table: np.ndarray, is_score: bool) -> bool:
    if coupling == "both-one" and table.shape != (2, 2):
        return False
    named, named_is_score = coupling_table(coupling, *table.shape)
    return is_score == named_is_score and np.array_equal(table, named)


def meaning(model: Model, scale: str) -> str:
    """What the parameters of an edge mean in ``scale``."""
    texts = tomllib.loads(Path(__file__).with_name("wording.toml").read_text(encoding="utf-8"))
    by_coupling: dict[str, str] = texts[scale]
    return by_coupling.get(coupling_of(model), by_coupling["other"])


def scale_name(model: Model, scale: str, nodes: bool = False) -> str:
    """How an axis or a table names the scale of edges, or of node factors."""
    if scale == "ising":
        return "field h (spins -1, +1)" if nodes else "coupling J (spins -1, +1)"
    if nodes:
        return "theta" if scale == "theta" else "threshold (log-odds)"
    if scale == "theta":
        return "theta (0.5: no interaction)" if model.chart.all_coins else "theta"
    return {"both-one": "coupling (log odds ratio)"}.get(coupling_of(model), "coupling (log-odds)")


def quantity(model: Model, scale: str) -> str:
    """What a sentence calls the number of an edge."""
    if scale != "log-odds":
        return {"theta": "theta", "ising": "coupling J"}[scale]
    return "log odds ratio" if coupling_of(model) == "both-one" else "coupling in log-odds"


def natural_scale(model: Model) -> Scale:
    """The scale that people quote: log-odds for "both-one", "score" and fields; theta for the paper's bare coins."""
    coupling = coupling_of(model)
    has_fields = any(group.arity == 1 for group in model.groups)
    return "theta" if coupling == "agreement" and not has_fields else "log-odds"


TABLE_SCALES = ("theta", "log-odds", "ising")


@dataclass(frozen=True)
class Scaled:
    """The rows of a table in one scale, edges before nodes.

    Attributes
    ----------
    scale : "theta", "log-odds" or "ising"
    names : of the rows; those of ``model.parameters`` unless the scale is "ising"
    n_edge_rows : how many of them, from the first, belong to edges
    neutral : (rows,) the value that means "no interaction"
    """

    model: Model
    scale: Scale
    names: tuple[str, ...]
    n_edge_rows: int
    neutral: np.ndarray
    _map: csr_array | None = None  # (rows, p) of log-odds

    @property
    def is_monotone(self) -> bool:
        """Whether row j is an increasing function of theta_j alone, so that quantiles carry over."""
        return self.scale == "theta" or (self.scale == "log-odds" and self.model.chart.all_coins)

    def values(self, theta: object) -> np.ndarray:
        """``theta`` (..., p) in this scale, (..., rows)."""
        theta = np.asarray(theta, dtype=float)
        return np.asarray(theta) if self.scale == "theta" else self.of_log_odds(self.model.chart.log_odds(theta))

    def of_log_odds(self, w: np.ndarray) -> np.ndarray:
        """The log-odds ``w`` (..., p) in this scale, (..., rows)."""
        if self.scale == "theta":
            return self.model.chart.theta(w)
        if self._map is None:
            return w
        flat = w.reshape(-1, self.model.n_parameters)
        return np.asarray((self._map @ flat.T).T).reshape(*w.shape[:-1], len(self.names))


def scaled(model: Model, scale: Scale | None = None) -> Scaled:
    """The rows of ``model`` in ``scale``; by default in its natural scale."""
    scale = scale or natural_scale(model)
    one_of("scale", scale, TABLE_SCALES)
    if scale == "ising":
        return _ising(model)
    chart = model.chart
    neutral = model.no_interaction if scale == "theta" else np.zeros(model.n_parameters)
    return Scaled(model, scale, model.parameters, int(chart.offset[n_edge_blocks(model)]), neutral)


def n_edge_blocks(model: Model) -> int:
    """How many blocks belong to edges; they are the first ones."""
    return 1 + max(
        (int(group.block.max()) for group in model.field.groups if group.arity == 2 and group.block.size), default=-1
    )


def _ising(model: Model) -> Scaled:
    if not model.is_binary:
        raise InputError(
            f"scale = 'ising' is for variables with two states, and this model has up to {model.states.max()}: use "
            "'log-odds' or 'theta'."
        )
    d, m = model.n_nodes, model.n_edges
    matrix = 0.5 * model.lowering.matrix
    equal: dict[tuple[bool, bytes, bytes], list[int]] = {}  # rows of M that are one row of the table, as of tied edges
    for r in (*range(d, d + m), *range(d)):
        own = slice(matrix.indptr[r], matrix.indptr[r + 1])
        if own.start < own.stop:
            key = (r < d, matrix.indices[own].tobytes(), matrix.data[own].tobytes())
            equal.setdefault(key, []).append(r)
    names = tuple(_ising_name(model, members) for members in equal.values())
    n_edge_rows = sum(not is_node for is_node, _, _ in equal)
    first = [members[0] for members in equal.values()]
    return Scaled(model, "ising", names, n_edge_rows, np.zeros(len(names)), matrix[first])


def _ising_name(model: Model, members: list[int]) -> str:
    """The name of the row of the table for these rows of M: nodes, or edges, which are numbered after them."""
    first, d = members[0], model.n_nodes
    if len(members) == 1:
        return "--".join(model.nodes[i] for i in ([first] if first < d else model.edges[first - d]))
    if first >= d:
        row, column, _ = model.lowering.forward
        return model.blocks[int(model.chart.block_of[column[np.searchsorted(row, first)]])]
    blocks = n_edge_blocks(model)
    is_every_node = len(members) == d and len(model.blocks) > blocks
    return model.blocks[blocks] if is_every_node else f"{model.nodes[first]} and {len(members) - 1} more"


def edge_strengths(model: Model, log_odds: np.ndarray) -> np.ndarray:
    """(..., m) strengths of the edges at ``log_odds`` (..., p), with all covariates at their centre.

    The log-odds of a coupling with one parameter. Of a table its norm: the root mean square of the double-centred table
    over .25, which is the absolute log odds ratio of two binary variables of the same strength. It does not depend on
    which category is the reference.
    """
    w = np.asarray(log_odds, dtype=float)
    out = np.zeros((*w.shape[:-1], model.n_edges))
    find = EdgeFinder(model.edges, model.n_nodes)
    for group in model.field.groups:
        if group.arity != 2:
            continue
        edge, first = find(group.scope)[0], model.chart.offset[group.block]
        kind = group.kind
        if kind.kind != "table":
            out[..., edge] = w[..., first]
            continue
        rows, columns = (np.eye(k) - 1 / (k + 1) for k in kind.shape)
        form = np.kron(rows, columns) / (np.prod(np.add(kind.shape, 1)) * BINARY_INTERACTION**2)
        cells = w[..., first[:, None] + np.arange(group.sides - 1)]
        out[..., edge] = np.sqrt(np.einsum("...a,ab,...b->...", cells, form, cells))
    return out


def has_tables(model: Model) -> bool:
    """Whether an edge of the model is a table."""
    return any(group.arity == 2 and group.kind.kind == "table" for group in model.groups)
