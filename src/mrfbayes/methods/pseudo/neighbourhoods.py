"""Neighbourhood patterns in the form that the pseudolikelihood's kernels take."""

from __future__ import annotations

import numpy as np

from mrfbayes.base.errors import CostError, InputError
from mrfbayes.data.patterns import MAX_PATTERN_BYTES, PatternTable, column_bytes
from mrfbayes.kernels.methods.pseudo import DensePatterns, ListedPatterns, TablePatterns
from mrfbayes.methods.problem import Problem, writable


def every_row(problem: Problem) -> PatternTable:
    """Each observation as a pattern of its own, at every node."""
    model, statistics = problem.model, problem.statistics
    offset, neighbour, _ = model.adjacency
    if statistics.chunks is None:
        raise InputError("plain=True needs every observation, and these data kept counts only: use plain=False.")
    n = sum(chunk.n for chunk in statistics.chunks)
    size = n * (neighbour.size + 8 * model.n_nodes)
    if size > MAX_PATTERN_BYTES:
        raise CostError(
            f"plain=True needs {size / 2**30:.1f} GiB for n = {n} here: use plain=False, the same function."
        )
    columns = np.concatenate([column_bytes(c, np.arange(model.n_nodes)) for c in statistics.chunks], axis=1)
    weight = np.concatenate([c.weight if c.weight.size else np.ones(c.n) for c in statistics.chunks])
    states = [columns[neighbour[offset[i] : offset[i + 1]]].T.ravel() for i in range(model.n_nodes)]
    return PatternTable(
        np.arange(model.n_nodes + 1) * n, offset * n, np.concatenate(states), np.tile(weight, model.n_nodes)
    )


def binary_patterns(
    problem: Problem, table: PatternTable, slope_edges: np.ndarray, plain: bool
) -> tuple[DensePatterns, ListedPatterns]:
    """The patterns of each node, all of them or listed; adds what folding leaves behind to ``slope_edges``."""
    model = problem.model
    offset, _, edge = model.adjacency
    has_field = np.zeros(model.n_nodes, dtype=bool)
    has_field[model.lowering.forward.row[model.lowering.forward.row < model.n_nodes]] = True
    dense: list[tuple[int, bool, np.ndarray]] = []
    listed: list[tuple[int, np.ndarray, np.ndarray]] = []
    for i in range(model.n_nodes):
        degree = int(offset[i + 1] - offset[i])
        weight = table.weight[table.node_offset[i] : table.node_offset[i + 1]]
        states = table.states[table.states_offset[i] : table.states_offset[i + 1]].reshape(weight.size, degree)
        if plain or 2**degree > max(2 * weight.size, 16):
            listed.append((i, np.packbits(states, axis=1, bitorder="little"), weight))
            continue
        cells = np.bincount(states @ (1 << np.arange(degree)), weights=weight, minlength=2**degree)
        fold = degree > 0 and not has_field[i]
        if fold:
            kept, complement = cells[1::2], cells[::2][::-1]
            signs = 2 * (np.arange(1, 2**degree, 2)[:, None] >> np.arange(degree) & 1) - 1
            np.add.at(slope_edges, edge[offset[i] : offset[i + 1]], complement @ signs)
            cells = kept + complement
        dense.append((i, fold, cells))
    starts = [np.cumsum([0, *(len(weight) for *_, weight in part)]) for part in (dense, listed)]
    bytes_start = np.cumsum([0, *(code.size for _, code, _ in listed)])[:-1]
    flat = np.concatenate([np.zeros(0), *(cells for *_, cells in dense)])
    codes = np.concatenate([np.zeros(0, np.uint8), *(code.ravel() for _, code, _ in listed)])
    widest = max((code.shape[1] for _, code, _ in listed), default=0)
    return (
        DensePatterns(
            writable([i for i, *_ in dense], np.int64),
            writable([fold for _, fold, _ in dense], bool),
            writable(starts[0], np.int64),
            writable(flat),
            np.zeros(flat.size),
            np.zeros(model.n_edges),
            int(np.diff(offset).max()),
        ),
        ListedPatterns(
            writable([i for i, *_ in listed], np.int64),
            writable(starts[1], np.int64),
            writable(bytes_start, np.int64),
            writable(codes, np.uint8),
            writable(np.concatenate([np.zeros(0), *(w for *_, w in listed)])),
            np.zeros(256 * widest),
        ),
    )


def table_patterns(problem: Problem, table: PatternTable) -> TablePatterns:
    """The patterns of a categorical field, with the cells that each neighbour selects."""
    model = problem.model
    offset, _, edge = model.adjacency
    here = np.repeat(np.arange(model.n_nodes), np.diff(offset))
    width = model.states[model.edges[edge, 1]]
    is_first = model.edges[edge, 0] == here
    integers = (
        model.states,
        model.lowering.node_offset,
        model.lowering.edge_offset[edge],
        np.where(is_first, 1, width),
        np.where(is_first, width, 1),
        table.node_offset,
        table.states_offset,
    )
    parts = [*(writable(part, np.int64) for part in integers), writable(table.states, np.uint8), writable(table.weight)]
    return TablePatterns._make([*parts, np.zeros(int(model.states.max()))])
