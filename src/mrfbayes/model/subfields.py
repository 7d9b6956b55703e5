"""Pieces of a field: nodes near each other, and the field that they make by themselves."""

from __future__ import annotations

import numpy as np

from mrfbayes.model.field import Model


def ball(model: Model, start: int, size: int) -> np.ndarray:
    """Up to ``size`` nodes around ``start``, nearest first."""
    adjacency = model.adjacency
    found, seen = [start], {start}
    for node in found:
        for other in adjacency.neighbour[adjacency.offset[node] : adjacency.offset[node + 1]].tolist():
            if other not in seen and len(found) < size:
                seen.add(other)
                found.append(other)
    return np.sort(np.array(found))


def sub_field(model: Model, nodes: np.ndarray, tied: bool = False) -> Model | None:
    """The factors among ``nodes`` as a field of their own, untied unless asked for; None where no two share one."""
    inside = np.zeros(model.n_nodes, dtype=bool)
    inside[nodes] = True
    factors, pairs = [], 0
    for group in model.groups:
        own = inside[group.scope].all(axis=1)
        for scope, block in zip(group.scope[own].tolist(), group.block[own].tolist(), strict=True):
            names = tuple(f"v{i}" for i in scope)
            factors.append(group.factor(names, f"block {block}" if tied else None))
            pairs += len(scope) == 2
    if not pairs:
        return None
    return Model({f"v{i}": int(model.states[i]) for i in nodes.tolist()}, factors)


def whole_blocks(model: Model, piece: Model, nodes: np.ndarray) -> np.ndarray:
    """(B,) the block of ``model`` that each block of ``piece``, made of its ``nodes``, comes from."""
    place = {}
    inside = np.zeros(model.n_nodes, dtype=bool)
    inside[nodes] = True
    for group in model.groups:
        own = inside[group.scope].all(axis=1)
        for scope, block in zip(group.scope[own].tolist(), group.block[own].tolist(), strict=True):
            place[group.key, tuple(scope)] = block
    found = np.empty(piece.chart.n_blocks, dtype=np.int64)
    for group in piece.groups:
        for scope, block in zip(nodes[group.scope].tolist(), group.block.tolist(), strict=True):
            found[block] = place[group.key, tuple(scope)]
    return found
