"""Rows with missing cells: what is known of observations of which some cells are missing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.memory import require_memory
from mrfbayes.data.coding import MISSING_CODE
from mrfbayes.data.values import listed
from mrfbayes.model.field import Model

MISSING_AT_RANDOM = (
    "assumed to be missing at random: whether a cell is missing may depend on the observed cells, not on the missing "
    "value itself; if it does, results are biased, and the data cannot tell"
)
NAMED_PAIRS = 5
MERGED_ROWS = 1 << 16  # rows with missing cells that are collected before equal ones are joined


@dataclass(frozen=True, eq=False)
class IncompleteRows:
    """The distinct rows with missing cells; rows that are equal in what is missing and in what is seen count once.

    Attributes
    ----------
    rows : (k, d) uint8 states, 255 where a cell is missing; each row has a missing cell and a seen one
    weight : (k,) total weight of the observations that each row stands for
    n_rows : how many observations they are
    n_empty : observations without a single cell, which say nothing and are left out
    """

    rows: np.ndarray
    weight: np.ndarray
    n_rows: int
    n_empty: int = 0

    @property
    def n(self) -> float:
        """Total weight."""
        return float(self.weight.sum())

    @property
    def seen(self) -> np.ndarray:
        """(k, d) whether each cell is there."""
        return np.asarray(self.rows != MISSING_CODE)

    @property
    def share(self) -> float:
        """Share of the cells of these rows that are missing, by weight."""
        return float(self.weight @ (~self.seen).mean(axis=1) / max(self.n, 1e-300))

    @property
    def description(self) -> str:
        """How many rows they are, in words."""
        return "1 row has missing cells" if self.n_rows == 1 else f"{self.n_rows:,} rows have missing cells"

    def digest(self, complete: str) -> str:
        """SHA-256 of these rows after those without missing cells, whose digest is ``complete``."""
        known = hashlib.sha256(b"mrfbayes holes 1" + complete.encode())
        for array in (np.array(self.rows.shape, dtype="<i8"), self.rows, self.weight.astype("<f8")):
            known.update(np.ascontiguousarray(array).data)
        return known.hexdigest()

    def seen_cells(self, model: Model) -> np.ndarray:
        """Weight of every state of every node, flat as the node tables are."""
        node_offset = model.lowering.node_offset
        row, node = np.nonzero(self.seen)
        where = node_offset[node] + self.rows[row, node]
        return np.bincount(where, weights=self.weight[row], minlength=int(node_offset[-1]))


class IncompleteTally:
    """Collects rows with missing cells from batches; see `add` and `finish`."""

    def __init__(self, n_nodes: int) -> None:
        self._n_nodes = n_nodes
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting = 0
        self.n_rows = 0
        self.n_empty = 0

    def add(self, rows: np.ndarray, weight: np.ndarray | None) -> None:
        """Take in (k, d) states with `MISSING_CODE` in each row, and their weights (k,) or None."""
        weights = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
        known = (rows != MISSING_CODE).any(axis=1)
        self.n_empty += int((~known).sum())
        self.n_rows += int(known.sum())
        self._parts.append((np.ascontiguousarray(rows[known]), weights[known]))
        self._waiting += int(known.sum())
        if self._waiting > MERGED_ROWS:
            self._merge()

    def join(self, part: IncompleteRows) -> None:
        """Take in the rows of another data set."""
        self.add(part.rows, part.weight)
        self.n_rows += part.n_rows - len(part.rows)
        self.n_empty += part.n_empty

    def finish(self) -> IncompleteRows | None:
        """The distinct rows, in order of their values; None where there are none of any weight."""
        if not self.n_rows:
            return None
        self._merge()
        rows, weight = self._parts[0]
        kept = weight > 0
        if not kept.any():
            return None
        rows, weight = np.ascontiguousarray(rows[kept]), weight[kept]
        rows.setflags(write=False)
        weight.setflags(write=False)
        return IncompleteRows(rows, weight, self.n_rows, self.n_empty)

    def _merge(self) -> None:
        rows, weights = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        needed = 3 * rows.nbytes  # sorted, compared, joined
        require_memory(needed, f"{len(rows):,} rows with missing cells", "missing='drop' leaves such rows out")
        as_bytes = rows.view(np.dtype((np.void, self._n_nodes))).ravel()
        _, first, group = np.unique(as_bytes, return_index=True, return_inverse=True)
        total = np.bincount(group, weights=weights, minlength=first.size)
        self._parts = [(rows[first], total)]
        self._waiting = 0


def refuse_hidden(model: Model, incomplete: IncompleteRows, n_complete: float) -> None:
    """Refuse variables without an observed cell, unless observed variables share all their parameters.

    States of a hidden variable with parameters of its own can be renamed without a change of the likelihood.
    """
    if n_complete > 0:
        return
    is_hidden = np.logical_not(incomplete.seen.any(axis=0))
    if not is_hidden.any():
        return
    touches_hidden = [is_hidden[group.scope].any(axis=1) for group in model.groups]
    is_known = np.zeros(model.chart.n_blocks, dtype=bool)  # blocks with a factor of observed variables only
    for group, hidden in zip(model.groups, touches_hidden, strict=True):
        is_known[group.block[~hidden]] = True
    refused: set[int] = set()
    for group, hidden in zip(model.groups, touches_hidden, strict=True):
        scope = group.scope[hidden & ~is_known[group.block]]
        refused.update(scope[is_hidden[scope]].tolist())
    if refused:
        names = listed([model.nodes[i] for i in sorted(refused)])
        what = "variable has" if len(refused) == 1 else "variables have"
        raise InputError(
            f"{len(refused)} {what} no observed cell and parameters that no observed variables share: {names}; states "
            "of hidden variables can be permuted: leave them out of the model, or tie the parameters (tied=True)."
        )


def missing_note(incomplete: IncompleteRows, n_complete: float) -> str:
    """How many cells are missing, and what using the others assumes."""
    share = incomplete.share * incomplete.n / (incomplete.n + n_complete)
    return f"{incomplete.description} ({share:.1%} of all cells), {MISSING_AT_RANDOM}"


def missing_warnings(model: Model, incomplete: IncompleteRows, n_complete: float) -> list[str]:
    """Rows that were left out, and pairs of neighbours that were never seen together."""
    texts = []
    if incomplete.n_empty:
        texts.append(f"{incomplete.n_empty:,} rows without a single observed cell were left out")
    if n_complete > 0 or not model.n_edges:
        return texts
    seen = incomplete.seen
    apart = np.array([not (seen[:, u] & seen[:, v]).any() for u, v in model.edges.tolist()])
    if apart.any():
        pairs = [f"{model.nodes[u]!r} and {model.nodes[v]!r}" for u, v in model.edges[apart][:NAMED_PAIRS].tolist()]
        more = ", ..." if apart.sum() > NAMED_PAIRS else ""
        what = f"neighbours that were never observed together: {'; '.join(pairs)}{more}"
        texts.append(f"{what}: their interactions rest on the prior and on other variables")
    return texts
