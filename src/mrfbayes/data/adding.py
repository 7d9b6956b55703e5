"""Statistics of two parts of a data set as those of the whole."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.data.coding import check_same_coding
from mrfbayes.data.missing_cells import IncompleteRows, IncompleteTally
from mrfbayes.data.patterns import DenseCells, PatternChunk
from mrfbayes.data.tally import RETAINED_BYTES, Tally, kept_rows

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics


def added_tally(first: Statistics, second: Statistics) -> tuple[Tally, IncompleteRows | None]:
    """Sums of the complete rows of both, in their order, and their rows with missing cells."""
    model = first.model
    if second.model.fingerprint != model.fingerprint:
        raise InputError("Statistics of different models cannot be added: count both with the same model.")
    if first.node_part is None or second.node_part is None:
        raise InputError("Statistics made from counts alone cannot be added: add the counts and n instead.")
    check_same_coding(first.schema, second.schema)
    tally = Tally(model)
    chunks = (*(first.chunks or ()), *(second.chunks or ()))
    size = sum(chunk.columns.nbytes + chunk.weight.nbytes for chunk in chunks)
    if all(part.chunks is not None or not part.n_rows for part in (first, second)) and size <= RETAINED_BYTES:
        weighted = any(chunk.weight.size for chunk in chunks)
        for chunk in chunks:
            weight = chunk.weight if chunk.weight.size else np.ones(chunk.n)
            tally.add(unpacked(chunk), weight if weighted else None)
        tally.finish()
    else:
        _add_sums(tally, first, second)
    return tally, _add_incomplete(first, second)


def _add_sums(tally: Tally, first: Statistics, second: Statistics) -> None:
    """Sums alone, where there are too many rows to keep."""
    parts = (first, second)
    dense = DenseCells.of_all(first.model)
    for part in parts:
        if dense is not None and part.chunks is None and part.dense is None and part.n_rows:
            dense = None
        for chunk in part.chunks or ():
            if dense is not None:
                dense.add(chunk)
        if dense is not None and part.dense is not None:
            dense.cells += part.dense.cells
    digest = hashlib.sha256(b"mrfbayes partitions 1" + "".join(part.digest for part in parts).encode())
    node, edge = (np.sum([getattr(part, name) for part in parts], axis=0) for name in ("node_part", "edge_part"))
    tally.take_sums(node, edge, (first.n_rows + second.n_rows, first.n + second.n), dense, digest)
    room = kept_rows(first.model.n_nodes)
    random = np.random.Generator(np.random.SFC64(int(digest.hexdigest()[:16], 16)))
    rows, weights = [], []
    for part in parts:
        most = round(room * part.n / (first.n + second.n))
        chosen = np.sort(random.permutation(len(part.rows))[:most])
        rows.append(part.rows[chosen])
        weights.append(part.row_weights[chosen] * (part.n / max(part.row_weights[chosen].sum(), 1e-300)))
    tally.take_sample(np.concatenate(rows), np.concatenate(weights))


def _add_incomplete(first: Statistics, second: Statistics) -> IncompleteRows | None:
    tally = IncompleteTally(first.model.n_nodes)
    n_rows = n_empty = 0
    for part in (first.incomplete, second.incomplete):
        if part is not None:
            tally.add(part.rows, part.weight)
            n_rows, n_empty = n_rows + part.n_rows, n_empty + part.n_empty
    found = tally.finish()
    return None if found is None else IncompleteRows(found.rows, found.weight, n_rows, n_empty)


def unpacked(chunk: PatternChunk) -> np.ndarray:
    """The rows (n, d) of a chunk as states."""
    if chunk.columns.dtype != np.uint64:
        return np.asarray(chunk.columns.T)
    bits = np.unpackbits(chunk.columns.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return np.asarray(bits[:, : chunk.n].T)
