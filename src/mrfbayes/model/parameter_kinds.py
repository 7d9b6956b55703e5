"""Kinds of parameter blocks, which decide the default prior and its scale."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mrfbayes.model.factors import FactorGroup

BlockKind = Literal["agreement", "score", "table", "threshold", "other"]
BINARY_INTERACTION = 0.25  # root mean square of the double-centred table x_u x_v of two binary variables


class ParameterKind(NamedTuple):
    """The kind of the blocks of one group of factors.

    Attributes
    ----------
    kind : "agreement", "score" (with "both-one"), "table" (with a reference category), "threshold" (a node), "other"
    scale : how wide a prior has to be relative to that of two binary variables, to be equally sceptical
    shape : rows and columns of the block's log-odds; one column for all but tables
    """

    kind: BlockKind
    scale: float
    shape: tuple[int, int]


def parameter_kind(group: FactorGroup) -> ParameterKind:
    """The kind of a group's blocks.

    A score coupling w adds w s(x_u, x_v) to the log weight. Its strength is w times the root mean square of s after
    double-centring, which is the product of the standard deviations of the two scores, all levels being equally
    likely: .25 for two binary variables, 2 for two of five levels. The scale is the inverse of it, 1 for two binary
    variables, so that a prior of that scale has the same strength for any number of levels.
    """
    size = group.sides - 1
    if group.arity == 1:
        return ParameterKind("threshold", 1.0, (size, 1))
    table = group.table
    rows, columns = (side - 1 for side in table.shape)
    u, v = np.indices(table.shape)
    if group.is_score or (table.shape == (2, 2) and np.array_equal(table, 1 - u * v)):
        interaction = (table if group.is_score else table == 0).astype(float)
        interaction -= interaction.mean(axis=0) + interaction.mean(axis=1, keepdims=True) - interaction.mean()
        strength = float(np.sqrt((interaction**2).mean()))
        return ParameterKind("score", BINARY_INTERACTION / strength if strength > 0 else 1.0, (1, 1))
    if np.array_equal(table, np.where(u == v, 0, 1)):
        return ParameterKind("agreement", 1.0, (1, 1))
    if np.array_equal(table, np.where(u * v > 0, (u - 1) * columns + v - 1, rows * columns)):
        return ParameterKind("table", 1.0, (rows, columns))
    return ParameterKind("other", 1.0, (size, 1))
