"""One number per edge: the log-odds of its coupling, or the norm of its table."""

from __future__ import annotations

import numpy as np

from mrfbayes.model.field import Model
from mrfbayes.model.lowering import EdgeFinder
from mrfbayes.model.parameter_kinds import BINARY_INTERACTION, parameter_kind


def edge_strengths(model: Model, log_odds: np.ndarray) -> np.ndarray:
    """(..., m) strengths of the edges at ``log_odds`` (..., p).

    The log-odds of a coupling with one parameter. Of a table its norm: the root mean square of the double-centred table
    over .25, which is the absolute log odds ratio of two binary variables of the same strength. It does not depend on
    which category is the reference.
    """
    w = np.asarray(log_odds, dtype=float)
    out = np.zeros((*w.shape[:-1], model.n_edges))
    find = EdgeFinder(model.edges, model.n_nodes)
    for group in model.groups:
        if group.arity != 2:
            continue
        edge, first = find(group.scope)[0], model.chart.offset[group.block]
        kind = parameter_kind(group)
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
    return any(group.arity == 2 and parameter_kind(group).kind == "table" for group in model.groups)
