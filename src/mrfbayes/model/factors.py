"""The factors of a field: what a user gives (`Factor`), and all factors of one table as arrays (`FactorGroup`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from mrfbayes.base.errors import InputError

MAX_STATES = 255  # data are stored as bytes
MOST_OUTCOMES = MAX_STATES**2  # of a factor on two variables; also the largest score of a pair


@dataclass(frozen=True)
class Factor:
    """One factor of a field.

    Parameters
    ----------
    scope : tuple of str
        Names of one or two variables.
    outcomes : array_like of int, optional
        Table with one axis per variable of the scope: outcome 0..K-1 of each configuration. Exactly one of ``outcomes``
        and ``scores`` is given.
    scores : array_like of int, optional
        Table with one axis per variable of the scope: score 0..S of each configuration.
    block : str, optional
        Name of the parameter block; factors with the same block are tied. By default a block of its own.
    is_centred : bool, default False
        Whether the indicators of the outcomes of a pair are double-centred, so that its log-odds do not change the
        average weight of each state of either variable, over equally likely states of the other one.

    See Also
    --------
    Model : Takes a list of them.
    graph : A field on a graph.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> equal = mb.Factor(("a", "b"), outcomes=[[0, 1], [1, 0]])
    >>> mb.Model(["a", "b"], [equal]).n_parameters
    1
    """

    scope: tuple[str, ...]
    outcomes: np.ndarray | None = None
    scores: np.ndarray | None = None
    block: str | None = None
    is_centred: bool = False
    table: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.scope, Iterable) and not isinstance(self.scope, int):
            raise InputError(f"scope = {self.scope!r}: a factor has one or two variables, given by their names.")
        scope = (self.scope,) if isinstance(self.scope, (str, int)) else tuple(self.scope)
        object.__setattr__(self, "scope", tuple(str(name) for name in scope))
        if len(self.scope) not in (1, 2):
            raise InputError(f"scope = {self.scope!r}: a factor has one or two variables.")
        if len(set(self.scope)) != len(self.scope):
            raise InputError(f"scope = {self.scope!r} names a variable twice: a self-loop is not a factor.")
        if (self.outcomes is None) == (self.scores is None):
            raise InputError(f"factor on {self.scope!r}: give exactly one of outcomes= (a die) and scores= (a coin).")
        received = self.outcomes if self.scores is None else self.scores
        try:
            given = np.asarray(received)
            with np.errstate(invalid="ignore"):
                table = given.astype(np.int64)
            is_whole = given.ndim == len(self.scope) and table.size > 0 and np.array_equal(given, table)
        except (TypeError, ValueError, OverflowError):
            is_whole = False
        if not is_whole or table.min() < 0 or table.max() > MOST_OUTCOMES:
            raise InputError(
                f"factor on {self.scope!r}: its table must hold whole numbers from 0 to {MOST_OUTCOMES}, with one axis "
                f"per variable; got {' '.join(str(received).split())[:60]}."
            )
        if self.scores is None and not np.array_equal(np.unique(table), np.arange(table.max() + 1)):
            raise InputError(f"factor on {self.scope!r}: outcomes must be 0..K-1, each used at least once.")
        if table.max() < 1:
            raise InputError(f"factor on {self.scope!r}: a table of zeros says nothing about its variables.")
        if self.is_centred and (self.outcomes is None or len(self.scope) != 2):
            raise InputError(f"factor on {self.scope!r}: is_centred is for outcomes= of two variables.")
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    @property
    def is_score(self) -> bool:
        """Whether this is a score coin."""
        return self.scores is not None


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


@dataclass(frozen=True)
class FactorGroup:
    """All factors with the same table: ``scope`` (f, arity) variable indices, ``block`` (f,) block indices."""

    table: np.ndarray
    is_score: bool
    scope: np.ndarray
    block: np.ndarray
    is_centred: bool = False

    @cached_property
    def statistics(self) -> np.ndarray:
        """(k, ...) value of each of the block's k statistics, whose sums are s, in every cell of the table."""
        if self.is_score:
            return np.asarray(self.table[None], dtype=float)
        found: np.ndarray = (self.table == np.arange(self.sides - 1).reshape(-1, *[1] * self.arity)).astype(float)
        if self.is_centred:
            for axis in (1, 2):
                found -= found.mean(axis=axis, keepdims=True)
        return found

    def factor(self, scope: tuple[str, ...], block: str | None = None) -> Factor:
        """One of the factors, on other names."""
        outcomes, scores = (None, self.table) if self.is_score else (self.table, None)
        return Factor(scope, outcomes, scores, block, self.is_centred)

    @cached_property
    def kind(self) -> ParameterKind:
        """The kind of the blocks.

        A score coupling w adds w s(x_u, x_v) to the log weight. Its strength is w times the root mean square of s after
        double-centring, which is the product of the standard deviations of the two scores, all levels being equally
        likely: .25 for two binary variables, 2 for two of five levels. The scale is the inverse of it, 1 for two binary
        variables, so that a prior of that scale has the same strength for any number of levels.
        """
        size = self.sides - 1
        if self.arity == 1:
            return ParameterKind("threshold", 1.0, (size, 1))
        table = self.table
        rows, columns = (side - 1 for side in table.shape)
        u, v = np.indices(table.shape)
        if self.is_score or (table.shape == (2, 2) and np.array_equal(table, 1 - u * v)):
            interaction = (table if self.is_score else table == 0).astype(float)
            interaction -= interaction.mean(axis=0) + interaction.mean(axis=1, keepdims=True) - interaction.mean()
            strength = float(np.sqrt((interaction**2).mean()))
            return ParameterKind("score", BINARY_INTERACTION / strength if strength > 0 else 1.0, (1, 1))
        if np.array_equal(table, np.where(u == v, 0, 1)):
            return ParameterKind("agreement", 1.0, (1, 1))
        if np.array_equal(table, np.where(u * v > 0, (u - 1) * columns + v - 1, rows * columns)):
            return ParameterKind("table", 1.0, (rows, columns))
        return ParameterKind("other", 1.0, (size, 1))

    @property
    def arity(self) -> int:
        """Number of variables in each scope."""
        return int(self.scope.shape[1])

    @property
    def sides(self) -> int:
        """K of the die; a score coin has two."""
        return 2 if self.is_score else int(self.table.max()) + 1

    @property
    def tosses(self) -> int:
        """How often one observation tosses one of these factors: S for a score coin, 1 for a die."""
        return int(self.table.max()) if self.is_score else 1


def unique_pairs(scopes: np.ndarray) -> np.ndarray:
    """Pairs of variables in the order of their first appearance, in the direction of that appearance."""
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for u, v in scopes.tolist():
        seen.setdefault((min(u, v), max(u, v)), (u, v))
    return np.array(list(seen.values()), dtype=np.int64).reshape(-1, 2)


def number_blocks(
    members: list[tuple[Factor, np.ndarray, list[str | None]]], edges: np.ndarray, names: tuple[str, ...]
) -> tuple[list[FactorGroup], list[str]]:
    """Blocks in the order of theta: those of the edges in the order of ``edges``, then those of the nodes."""
    position = {tuple(sorted(pair)): k for k, pair in enumerate(edges.tolist())}
    first: dict[tuple[object, ...], tuple[int, int, int]] = {}  # block key -> (node block?, edge or node, appearance)
    shape: dict[tuple[object, ...], tuple[bool, int, int]] = {}
    keys: list[list[tuple[object, ...]]] = []
    count = 0
    for factor, scope, blocks in members:
        sides = 2 if factor.is_score else int(factor.table.max()) + 1
        row: list[tuple[object, ...]] = []
        for where, block in zip(scope.tolist(), blocks, strict=True):
            key: tuple[object, ...] = ("own", count) if block is None else ("tied", block)
            kind = (factor.is_score, sides, len(where))
            if shape.setdefault(key, kind) != kind:
                raise InputError(
                    f"block {block!r} ties factors of different kinds: all must be dice with the same number of "
                    "outcomes, or all score coins, and all on edges or all on nodes."
                )
            place = (0, position[tuple(sorted(where))], count) if len(where) == 2 else (1, where[0], count)
            first[key] = min(first.get(key, place), place)
            row.append(key)
            count += 1
        keys.append(row)
    number = {key: k for k, key in enumerate(sorted(first, key=lambda key: first[key]))}
    groups, block_names = [], [""] * len(number)
    for (factor, scope, _), row in zip(members, keys, strict=True):
        own = np.array([number[k] for k in row])
        groups.append(FactorGroup(factor.table, factor.is_score, scope, own, factor.is_centred))
        for key, where in zip(row, scope.tolist(), strict=True):
            block_names[number[key]] = str(key[1]) if key[0] == "tied" else "--".join(names[i] for i in where)
    times, seen = Counter(block_names), Counter[str]()
    for k, name in enumerate(block_names):
        if times[name] > 1:  # two untied factors on the same scope
            seen[name] += 1
            block_names[k] = f"{name}#{seen[name]}"
    return groups, block_names
