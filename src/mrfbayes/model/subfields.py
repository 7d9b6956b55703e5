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


def sub_field(model: Model, nodes: np.ndarray) -> tuple[Model, np.ndarray] | None:
    """The factors among ``nodes`` as a field of their own, and the block of ``model`` that each of its blocks is.

    None where no two nodes share a factor.
    """
    inside = np.zeros(model.n_nodes, dtype=bool)
    inside[nodes] = True
    factors, pairs = [], 0
    for group in model.groups:
        own = inside[group.scope].all(axis=1)
        for scope, block in zip(group.scope[own].tolist(), group.block[own].tolist(), strict=True):
            factors.append(group.factor(tuple(f"v{i}" for i in scope), str(block)))
            pairs += len(scope) == 2
    if not pairs:
        return None
    piece = Model({f"v{i}": int(model.states[i]) for i in nodes.tolist()}, factors)
    return piece, np.array([int(block) for block in piece.blocks])
