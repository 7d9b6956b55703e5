"""Pieces of a field: nodes near each other, and the field that they make by themselves."""

from __future__ import annotations

import numpy as np

from mrfbayes.model.field import Factor, Model


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


def sub_field(model: Model, nodes: np.ndarray) -> Model | None:
    """The factors among ``nodes`` as a field of their own, untied; None where no two of them share one."""
    inside = np.zeros(model.n_nodes, dtype=bool)
    inside[nodes] = True
    factors, pairs = [], 0
    for group in model.groups:
        for scope in group.scope[inside[group.scope].all(axis=1)].tolist():
            names = tuple(f"v{i}" for i in scope)
            outcomes, scores = (None, group.table) if group.is_score else (group.table, None)
            factors.append(Factor(names, outcomes, scores))
            pairs += len(scope) == 2
    if not pairs:
        return None
    return Model({f"v{i}": int(model.states[i]) for i in nodes.tolist()}, factors)
