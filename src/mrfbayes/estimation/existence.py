"""Does a finite maximum likelihood estimate exist?

It does if and only if the mean statistics lie in the relative interior of the marginal polytope. Checks before any
ascent, cheapest first:

- an outcome that never occurs, or on large fields a joint state of a pair with all its parameters: boundary;
- observed rows whose statistics span the polytope's whole dimension: interior, since a mean on a face has all its rows
  on that face.

Elsewhere the ascent itself tells (`existence_at`): where it converged the information vanishes along some direction if
and only if the mean is on the boundary. A factor is named where such a direction involves its parameters: its data
determine no finite, unique value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.data.statistics import Statistics
from mrfbayes.exact import quantities as exact
from mrfbayes.exact.clamped import observed
from mrfbayes.model.field import Model
from mrfbayes.model.lowering import EdgeFinder, sparse_map
from mrfbayes.model.natural_form import contrasts, margins
from mrfbayes.particles.moments import row_statistics

if TYPE_CHECKING:  # SciPy is imported only where a quicker check has not decided
    from scipy.sparse import csr_array

MAX_DENSE = 2_000  # parameters, for dense linear algebra
MAX_CERTIFICATE = 500  # parameters, for the proof by the information matrix
RANK_TOLERANCE = 1e-9  # of eigenvalues of an integer Gram matrix, against rounding of 1e-13
RUNAWAY = 15.0  # log-odds: an undecided maximum this far out is taken as not finite
SMALLEST_SHARE = 0.02  # of a direction of length one: a parameter with less is not named


@dataclass(frozen=True)
class Existence:
    """``verdict``: "exists", "boundary" or "not decided"; ``factors``: names on the boundary; ``reason``: in words.

    ``complete`` says whether ``factors`` is the whole list.
    """

    verdict: str
    factors: tuple[str, ...]
    reason: str
    complete: bool = True


def existence(model: Model, stats: Statistics) -> Existence:
    """What the data alone tell about the MLE of ``model``: whether it is finite, and if not, which factors are not."""
    if stats.incomplete is not None:
        return Existence("not decided", (), "cells are missing")
    never = stats.lacks_outcome[model.chart.block_of]
    if never.any():
        reason = "outcomes that never occur; further factors may be involved"
        return Existence("boundary", _names(model, never), reason, False)
    if _rows_span_everything(model, stats):
        return Existence("exists", (), "the observed rows span the whole marginal polytope")
    if model.n_parameters > MAX_CERTIFICATE and (empty := _empty_cells(model, stats)):
        reason = "a pair of states that never occurs; further factors may be involved"
        return Existence("boundary", empty, reason, False)
    return Existence("not decided", (), "no outcome is missing, and the observed rows span no whole polytope")


def existence_at(model: Model, stats: Statistics, w: np.ndarray, is_exact: bool) -> Existence | None:
    """The verdict where an ascent ended, ``is_exact`` where it climbed the exact likelihood to its maximum.

    Observations are whole numbers, so an existing maximum keeps a share of order 1/n off every face, and with it a
    variance of that order; on the way to infinity the variance falls as fast as the gradient, far below.
    """
    if is_exact and model.n_parameters <= MAX_CERTIFICATE:
        null = _lineality(model)
        information = observed(stats).information(w, exact.covariance_w(model, w)) / stats.n_all + null @ null.T
        values, vectors = np.linalg.eigh(information)
        vanishing = np.abs(vectors[:, values <= 1e-4 / stats.n_all]).max(axis=1, initial=0.0) > SMALLEST_SHARE
        if not vanishing.any():
            return Existence("exists", (), "a finite maximum was found, with information in every direction")
        return Existence("boundary", _names(model, vanishing), "the information vanishes on the way to the maximum")
    far = ~(np.abs(w) <= RUNAWAY)
    if far.any():
        return Existence("boundary", _names(model, far), f"log-odds grow beyond {RUNAWAY:g}", False)
    return None


def _names(model: Model, touched: np.ndarray) -> tuple[str, ...]:
    """Names of the blocks that some of the parameters ``touched`` (p,) belong to."""
    return tuple(model.blocks[b] for b in np.unique(model.chart.block_of[touched]).tolist())


def basis_matrix(model: Model) -> csr_array:
    """s as combinations of linearly independent functions of x, without the constant; (functions, p).

    The functions are [x_i = a] and [x_i = a][x_j = b] for a, b >= 1.
    """
    states, edges = model.states, model.edges
    node_start = np.concatenate([[0], np.cumsum(states - 1)])
    wide = (states[edges[:, 0]] - 1) * (states[edges[:, 1]] - 1) if len(edges) else np.zeros(0, dtype=np.int64)
    edge_start = node_start[-1] + np.concatenate([[0], np.cumsum(wide)])
    find_edge = EdgeFinder(edges, model.n_nodes)
    entries: list[tuple[np.ndarray, np.ndarray, float]] = []
    for group in model.groups:
        for outcome, table in enumerate(group.statistics):
            parameter = model.chart.offset[group.block] + outcome
            parts = [(node_start[group.scope[:, k]], parameter, along[1:]) for k, along in enumerate(margins(table))]
            if group.arity == 2:
                edge, swapped = find_edge(group.scope)
                for chosen, inner in ((~swapped, contrasts(table)), (swapped, contrasts(table).T)):
                    parts.append((edge_start[edge[chosen]], parameter[chosen], inner.ravel()))
            for start, columns, values in parts:
                entries += [(start + k, columns, value) for k, value in enumerate(values.tolist())]
    return sparse_map(entries, (int(edge_start[-1]), model.n_parameters))


def _null_space(gram: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(gram)
    return np.asarray(vectors[:, values <= RANK_TOLERANCE * max(1.0, float(values[-1]))])


def _lineality(model: Model) -> np.ndarray:
    """Basis (p, k) of the directions along which no probability changes."""
    if model.lowering.is_plain:
        return np.zeros((model.n_parameters, 0))
    basis = basis_matrix(model)
    return _null_space((basis.T @ basis).toarray())


def _rows_span_everything(model: Model, stats: Statistics) -> bool:
    p = model.n_parameters
    if p == 0:
        return True
    if p > MAX_DENSE or len(stats.rows) == 0:
        return False
    dimension = p - _lineality(model).shape[1]
    if len(stats.rows) <= dimension:
        return False
    table = row_statistics(model, stats.rows)
    table -= table[0]  # differences of whole numbers: exact
    return bool(p - _null_space(table.T @ table).shape[1] >= dimension)


def _empty_cells(model: Model, stats: Statistics) -> tuple[str, ...]:
    """Names of the factors on binary pairs of which a joint state never occurs, where each pair has all parameters."""
    if not model.is_binary or stats.node_part is None or stats.edge_part is None or model.n_edges == 0:
        return ()
    row, column, _ = model.lowering.forward
    on_edge = row >= model.n_nodes
    of_edges, own = column[on_edge], ~np.isin(column, column[on_edge])
    of_nodes = column[own]
    is_whole = (  # each node and edge has exactly one parameter of its own, so that M can be inverted
        model.n_parameters == model.lowering.n_rows
        and np.array_equal(row[on_edge], model.n_nodes + np.arange(model.n_edges))
        and np.unique(of_edges).size == model.n_edges
        and np.array_equal(row[own], np.arange(model.n_nodes))
        and np.unique(of_nodes).size == model.n_nodes
    )
    if not is_whole:
        return ()
    (ones_u, ones_v), agree = stats.node_part[model.edges.T], stats.edge_part
    both = (ones_u + ones_v + agree - stats.n) / 2
    cells = np.stack([both, ones_u - both, ones_v - both, agree - both])
    empty = (cells <= 1e-9 * stats.n).any(axis=0)
    touched = np.zeros(model.n_parameters, dtype=bool)
    touched[of_edges[empty]] = touched[of_nodes[model.edges[empty].ravel()]] = True
    return _names(model, touched)
