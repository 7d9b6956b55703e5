"""Dask collections, counted partition by partition where they lie.

A partition is counted like any table, by whichever worker holds it. While all observations together, packed, take at
most 1 GiB, they travel too, and the statistics are those of one table in every respect, the digest included. Beyond
that only sums travel, so that 10^9 rows need no room here: the sums are the same, the rows that are kept are another
random subset, and the digest is that of the partitions' digests.

Values that are not plain states need one coding for all partitions. It is decided as for any table, from a small one
that holds every distinct value of every column.
"""

from __future__ import annotations

import hashlib
import warnings as python_warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from mrfbayes.base.errors import InputError, MRFWarning, Problems
from mrfbayes.data.patterns import DenseCells, PatternChunk
from mrfbayes.data.read import match_columns
from mrfbayes.data.sources import open_source
from mrfbayes.data.tally import RETAINED_BYTES, Tally, kept_rows
from mrfbayes.data.values import Column, Value
from mrfbayes.model.field import Model

if TYPE_CHECKING:
    import pandas as pd
    from dask.array import Array
    from dask.dataframe import DataFrame
    from dask.delayed import Delayed

    from mrfbayes.data.levels import Labels
    from mrfbayes.data.statistics import Statistics

Table: TypeAlias = "pd.DataFrame | np.ndarray"
Collection: TypeAlias = "DataFrame | Array"
JOINED = 8  # partitions whose sums a worker adds up at a time
_UNKNOWN = "__UNKNOWN_CATEGORIES__"  # what Dask calls categories that it has not looked at


class Part(NamedTuple):
    """What is known of some partitions, as in `Statistics`."""

    node_part: np.ndarray
    edge_part: np.ndarray
    n_rows: int
    total: float
    rows: np.ndarray
    row_weights: np.ndarray
    chunks: tuple[PatternChunk, ...] | None
    dense: DenseCells | None
    digests: tuple[str, ...]
    labels: Labels | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Terms:
    """How every partition is counted."""

    weights: str | None
    missing: str
    labels: Labels | None
    levels: object


def is_collection(x: object) -> bool:
    """Whether ``x`` is an array or a data frame of Dask."""
    return hasattr(x, "__dask_graph__") and any(kind.__module__.split(".")[0] == "dask" for kind in type(x).__mro__)


class Failure(NamedTuple):
    """Why a partition, or several together, could not be counted; ``partition`` is its number where it is one."""

    partition: int | None
    text: str


def weight_column(weights: object) -> str | None:
    """The column of a collection that holds the weights."""
    if weights is None or isinstance(weights, str):
        return weights
    raise InputError("weights: the weights of a Dask collection are one of its columns; give its name.")


def count_collection(model: Model, x: Collection, terms: Terms) -> tuple[Tally, Labels | None, tuple[str, ...]]:
    """Sums over all partitions of ``x``, the labels behind the states, and what has to be said about the data."""
    partitions, meta = _partitions(model, x, terms)
    said: tuple[str, ...] = ()
    whole = _counted(partitions, model, terms)
    if isinstance(whole, Failure) or (whole is not None and whole.labels and terms.labels is None):
        # A partition does not know what values the others have: all of them decide which value is which state.
        terms, said = _one_coding(model, partitions, meta, terms)
        if isinstance(whole, Failure) or whole.labels != terms.labels:
            whole = _counted(partitions, model, terms)
    if isinstance(whole, Failure):
        raise InputError(f"x{'' if whole.partition is None else f', partition {whole.partition}'}: {whole.text}")
    if whole is None:
        raise InputError("x: no rows; give at least one observation.")
    dropped = tuple(text for text in whole.warnings if "were dropped" in text)
    return _tally(model, whole), whole.labels, (*said, *dropped)


def _partitions(model: Model, x: Collection, terms: Terms) -> tuple[list[Delayed], Table]:
    """Delayed tables or arrays, and an empty one of the same kind; refused where columns are not those of the model."""
    if terms.missing not in ("refuse", "drop"):
        raise InputError(
            f"missing = {terms.missing!r}: rows of a Dask collection with missing cells can be refused or dropped; "
            "count such rows from a table or a file."
        )
    is_table = hasattr(type(x), "columns")
    if not is_table and (not hasattr(type(x), "rechunk") or x.ndim != 2):
        raise InputError(f"x is a {type(x).__name__}; of Dask's collections give a data frame, or an array (n, d).")
    meta = x._meta if is_table else np.zeros((0, x.shape[1]), dtype=x.dtype)
    source = open_source(model, meta, None)
    match_columns(model, source, terms.weights)
    if not is_table:
        return list(x.rechunk({1: -1}).to_delayed().ravel()), meta
    needed = [*model.nodes, *([] if terms.weights is None else [terms.weights])]
    if set(model.nodes) <= set(map(str, x.columns)) and all(name in list(x.columns) for name in needed):
        x, meta = x[needed], meta[needed]  # so that files are not read further than that
    return list(x.to_delayed()), meta


def _counted(partitions: Sequence[Delayed], model: Model, terms: Terms) -> Part | Failure | None:
    """All partitions as one part: counted, and added up a few at a time, by whatever does the work of Dask here."""
    import dask

    field, how = dask.delayed(model), dask.delayed(terms)
    count_part, join_some = dask.delayed(_count_part, pure=False), dask.delayed(_join_some, pure=False)
    parts = [count_part(partition, number, field, how) for number, partition in enumerate(partitions)]
    while len(parts) > 1:
        parts = [join_some(parts[first : first + JOINED], field) for first in range(0, len(parts), JOINED)]
    whole: Part | Failure | None = dask.compute(*parts)[0] if parts else None
    return whole


def _count_part(x: Table, number: int, model: Model, terms: Terms) -> Part | Failure | None:
    """One partition; None where it has no rows."""
    from mrfbayes.data.statistics import count

    if not len(x):
        return None
    try:
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore", MRFWarning)
            found = count(model, x, terms.weights, terms.missing, terms.labels, levels=terms.levels)
    except InputError as error:
        return Failure(number, str(error))
    return _part(found)


def _join_some(parts: Sequence[Part | Failure | None], model: Model) -> Part | Failure | None:
    """Several parts as one; the first failure where there is any, or where their labels differ."""
    for part in parts:
        if isinstance(part, Failure):
            return part
    known = [part for part in parts if isinstance(part, Part)]
    if len({part.labels for part in known}) > 1:
        return Failure(None, "its partitions have different labels")
    return join(model, known) if known else None


def _part(found: Statistics) -> Part:
    assert found.node_part is not None
    assert found.edge_part is not None
    return Part(
        found.node_part,
        found.edge_part,
        found.n_rows,
        found.n,
        found.rows,
        found.row_weights,
        found.chunks,
        found.dense,
        (found.digest,),
        found.labels,
        found.warnings,
    )


def join(model: Model, parts: Sequence[Part]) -> Part:
    """Several parts as one, in their order; packed observations as long as there is room for all of them."""
    packed = [chunk for part in parts for chunk in part.chunks or ()]
    fits = all(part.chunks is not None for part in parts)
    fits = fits and sum(chunk.columns.nbytes + chunk.weight.nbytes for chunk in packed) <= RETAINED_BYTES
    digests = tuple(digest for part in parts for digest in part.digests)
    return Part(
        np.sum([part.node_part for part in parts], axis=0),
        np.sum([part.edge_part for part in parts], axis=0),
        sum(part.n_rows for part in parts),
        float(sum(part.total for part in parts)),
        *_some_rows(model, parts, digests),
        tuple(packed) if fits else None,
        None if fits else _dense(model, parts),
        digests,
        parts[0].labels,
        tuple(text for part in parts for text in part.warnings),
    )


def _dense(model: Model, parts: Sequence[Part]) -> DenseCells | None:
    """Look-up tables of all patterns, where they are small enough."""
    whole = DenseCells.of_all(model)
    if whole is None:
        return None
    for part in parts:
        if part.chunks is None and part.dense is None:
            return None
        for chunk in part.chunks or ():
            whole.add(chunk)
        if part.dense is not None:
            whole.cells += part.dense.cells
    return whole


def _some_rows(model: Model, parts: Sequence[Part], digests: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """A random subset of the rows, from each part in proportion to its weight, and the weight that each stands for."""
    room = kept_rows(model.n_nodes)
    if sum(len(part.rows) for part in parts) <= room and all(len(part.rows) == part.n_rows for part in parts):
        return np.concatenate([part.rows for part in parts]), np.concatenate([part.row_weights for part in parts])
    random = np.random.Generator(np.random.SFC64(int(hashlib.sha256("".join(digests).encode()).hexdigest()[:16], 16)))
    weight = np.array([part.total for part in parts])
    share = random.multinomial(room, weight / weight.sum())
    taken, weights = [], []
    for part, k in zip(parts, share.tolist(), strict=True):
        chosen = np.sort(random.choice(len(part.rows), min(k, len(part.rows)), replace=False))
        taken.append(part.rows[chosen])
        weights.append(part.row_weights[chosen] * (part.total / max(part.row_weights[chosen].sum(), 1e-300)))
    return np.concatenate(taken), np.concatenate(weights)


def _tally(model: Model, whole: Part) -> Tally:
    """As if all rows had come in one stream where they are there; else their sums."""
    tally = Tally(model)
    if whole.chunks is None:
        digest = hashlib.sha256(b"mrfbayes partitions 1" + "".join(whole.digests).encode())
        tally.take_sums(whole.node_part, whole.edge_part, (whole.n_rows, whole.total), whole.dense, digest)
        tally.take_sample(whole.rows, whole.row_weights)
        return tally
    for chunk in whole.chunks:
        tally.add(unpacked(chunk), chunk.weight if chunk.weight.size else None)
    tally.finish()
    return tally


def unpacked(chunk: PatternChunk) -> np.ndarray:
    """The rows (n, d) of a chunk as states."""
    if chunk.columns.dtype != np.uint64:
        return np.asarray(chunk.columns.T)
    bits = np.unpackbits(chunk.columns.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return np.asarray(bits[:, : chunk.n].T)


def _one_coding(
    model: Model, partitions: Sequence[Delayed], meta: Table, terms: Terms
) -> tuple[Terms, tuple[str, ...]]:
    """Terms with the labels of all partitions together, and what was said when they were decided."""
    import dask

    from mrfbayes.data.statistics import count

    columns: list[Column] = []
    values_of, field = dask.delayed(_values, pure=False), dask.delayed(model)
    for part in dask.compute(*(values_of(partition, field) for partition in partitions)):
        if columns and part:
            for column, more in zip(columns, part, strict=True):
                column.join(more)
        columns = columns or part
    if not columns:
        raise InputError("x: no rows; give at least one observation.")
    strange = [column.strange for column in columns if column.strange]
    if strange:
        raise InputError(strange[0])
    values = {node: list(column.first) for node, column in zip(model.nodes, columns, strict=True)}
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", MRFWarning)
        small = count(model, _small_table(model, values, meta), labels=terms.labels, levels=terms.levels)
    about_rows = ("only one observation", "constant", "no edges", "unused state", "never occurs", "state 0 occurs")
    said = tuple(text for text in small.warnings if not any(words in text for words in about_rows))
    return Terms(terms.weights, terms.missing, small.labels, None if small.labels else terms.levels), said


def _values(x: Table, model: Model) -> list[Column]:
    """What one partition holds in the columns of the nodes."""
    if not len(x):
        return []
    source = open_source(model, x, None)
    chosen = match_columns(model, source, None)
    columns = [Column(node, "x") for node in model.nodes]
    for batch in source.batches(chosen, Problems()):
        for j, column in enumerate(columns):
            column.see(batch.column(j), batch.rows)
    return columns


def _small_table(model: Model, values: Mapping[str, Sequence[Value]], meta: Table) -> Table:
    """A table in which every column has its distinct values, with the categories of the collection's types."""
    longest = max(map(len, values.values()))
    if not all(values.values()):
        empty = next(node for node, known in values.items() if not known)
        raise InputError(f"x: column {empty!r} has no values at all; leave it out of the model.")
    arrays = {}
    for node, known in values.items():
        is_text = any(isinstance(value, str) for value in known)
        array = np.array([*known, *[known[0]] * (longest - len(known))], dtype=object if is_text else float)
        arrays[node] = array
    if isinstance(meta, np.ndarray):
        return np.stack(list(arrays.values()), axis=1)
    import pandas as pd

    table = pd.DataFrame(arrays)
    for node, name in zip(model.nodes, match_columns(model, open_source(model, meta, None), None), strict=True):
        kind = meta.dtypes.iloc[name]
        if isinstance(kind, pd.CategoricalDtype) and _UNKNOWN not in list(kind.categories):
            table[node] = pd.Categorical(table[node], dtype=kind)
    return table
