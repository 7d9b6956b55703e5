"""A discrete Markov random field as dice and score coins: variables, factors, parameter blocks.

A factor is a die (its table sends each configuration of its scope to one of K outcomes, weight theta_k) or a score
coin (its table holds whole numbers s in 0..S, weight theta^s (1-theta)^(S-s)). Factors that share a block share
theta. Factors of one table are stored together as arrays, so that a field of a million edges is a few arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.html import facts
from mrfbayes.model.adjacency import Adjacency, adjacency
from mrfbayes.model.chart import Chart
from mrfbayes.model.ising import Ising
from mrfbayes.model.lowering import Lowering, lower

MAX_STATES = 255  # data are stored as bytes
MOST_OUTCOMES = MAX_STATES**2  # of a factor on two variables; also the largest score of a pair


@dataclass(frozen=True)
class Factor:
    """One factor of a field.

    Parameters
    ----------
    scope : names of one or two variables
    outcomes : int table, one axis per variable of the scope
        Outcome 0..K-1 of each configuration: a K-sided die. Exactly one of ``outcomes`` and ``scores`` is given.
    scores : int table, one axis per variable of the scope
        Score 0..S of each configuration: a coin tossed S times.
    block : name of the parameter block; factors with the same block are tied. Default: a block of its own.
    """

    scope: tuple[str, ...]
    outcomes: np.ndarray | None = None
    scores: np.ndarray | None = None
    block: str | None = None
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
        try:
            given = np.asarray(self.outcomes if self.scores is None else self.scores)
            with np.errstate(invalid="ignore"):
                table = given.astype(np.int64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"factor on {self.scope!r}: its table must be an array of whole numbers, one axis per variable."
            ) from None
        if not table.size or table.max() > MOST_OUTCOMES:
            raise InputError(
                f"factor on {self.scope!r}: its table has shape {given.shape}; give whole numbers up to "
                f"{MOST_OUTCOMES}."
            )
        if given.ndim != len(self.scope) or not np.array_equal(given, table) or table.min(initial=0) < 0:
            raise InputError(
                f"factor on {self.scope!r}: its table must hold whole numbers >= 0 with one axis per variable, "
                f"got {given.dtype} of shape {given.shape}."
            )
        if self.scores is None and not np.array_equal(np.unique(table), np.arange(table.max() + 1)):
            raise InputError(f"factor on {self.scope!r}: outcomes must be 0..K-1, each used at least once.")
        if table.max(initial=0) < 1:
            raise InputError(f"factor on {self.scope!r}: a table of zeros says nothing about its variables.")
        table.setflags(write=False)
        object.__setattr__(self, "table", table)

    @property
    def is_score(self) -> bool:
        """Whether this is a score coin."""
        return self.scores is not None


@dataclass(frozen=True)
class FactorGroup:
    """All factors with the same table: ``scope`` (f, arity) variable indices, ``block`` (f,) block indices."""

    table: np.ndarray
    is_score: bool
    scope: np.ndarray
    block: np.ndarray

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


class Model:
    """A field given by its variables and factors; see also `mrfbayes.grid` and `mrfbayes.graph`.

    Parameters
    ----------
    variables : mapping name -> number of states, or an iterable of names (two states each)
    factors : iterable of `Factor`

    Attributes
    ----------
    nodes : names of the variables
    edges : (m, 2) pairs of variable indices, in the order of their first factor
    parameters : names of the p free parameters: edge blocks in the order of ``edges``, then node blocks
    """

    def __init__(self, variables: Mapping[str, int] | Iterable[str], factors: Iterable[Factor]) -> None:
        if not isinstance(factors, Iterable):
            raise InputError(f"factors = {factors!r}: give a list of mrfbayes.Factor.")
        names, states = _variables(variables)
        index = {name: i for i, name in enumerate(names)}
        grouped: dict[tuple[bytes, tuple[int, ...], bool], list[tuple[Factor, list[int]]]] = {}
        for factor in factors:
            if not isinstance(factor, Factor):
                raise InputError(f"factors: got {type(factor).__name__}, expected mrfbayes.Factor.")
            for name in factor.scope:
                if name not in index:
                    raise InputError(f"factor on {factor.scope!r}: no variable is called {name!r}.")
            where = [index[name] for name in factor.scope]
            shape = tuple(int(states[i]) for i in where)
            if factor.table.shape != shape:
                raise InputError(
                    f"factor on {factor.scope!r}: its table has shape {factor.table.shape}, its variables have "
                    f"{shape} states."
                )
            key = (factor.table.tobytes(), shape, factor.is_score)
            grouped.setdefault(key, []).append((factor, where))
        members = [
            (group[0][0], np.array([w for _, w in group], dtype=np.int64), [f.block for f, _ in group])
            for group in grouped.values()
        ]
        scopes = [scope for factor, scope, _ in members if len(factor.scope) == 2]
        edges = _unique_pairs(np.concatenate(scopes) if scopes else np.zeros((0, 2), dtype=np.int64))
        groups, block_names = _number_blocks(members, edges, names)
        self._set(names, states, edges, groups, block_names, None, True)

    @classmethod
    def _from_arrays(
        cls,
        names: Sequence[str] | None,
        states: np.ndarray,
        edges: np.ndarray,
        groups: Sequence[FactorGroup],
        block_names: Sequence[str] | None,
        grid_shape: tuple[int, int] | None,
        named: bool,
    ) -> Model:
        """For the builders: everything already checked and numbered; ``None`` names are made when asked for."""
        model = cls.__new__(cls)
        model._set(names, states, edges, groups, block_names, grid_shape, named)
        return model

    def _set(
        self,
        names: Sequence[str] | None,
        states: np.ndarray,
        edges: np.ndarray,
        groups: Sequence[FactorGroup],
        block_names: Sequence[str] | None,
        grid_shape: tuple[int, int] | None,
        named: bool,
    ) -> None:
        self._names = None if names is None else tuple(names)
        self._block_names = None if block_names is None else tuple(block_names)
        self.states = _frozen(states)
        self.edges = _frozen(edges)
        self.groups = tuple(groups)
        self.grid_shape = grid_shape
        self.named = named
        self.chart = Chart.of(self.groups)
        self._refuse_ambiguous_names()

    def _refuse_ambiguous_names(self) -> None:
        """No node is called like an edge, and no two parameters alike: results are keyed by these names."""
        if self._names is None or not any("--" in name or "[" in name for name in self._names):
            return
        known = set(self._names)
        for u, v in self.edges.tolist():
            for name in (f"{self._names[u]}--{self._names[v]}", f"{self._names[v]}--{self._names[u]}"):
                if name in known:
                    raise InputError(
                        f"node {name!r} is called like the edge between {self._names[u]!r} and {self._names[v]!r}: "
                        "rename the node (column)."
                    )
        seen: set[str] = set()
        for name in self.parameters:
            if name in seen:
                raise InputError(
                    f"two parameters would be called {name!r}: rename a node (column) that has '--' or '[' in its name."
                )
            seen.add(name)

    @property
    def n_nodes(self) -> int:
        """Number of variables d."""
        return int(self.states.size)

    @property
    def n_edges(self) -> int:
        """Number of pairs of variables that share a factor."""
        return len(self.edges)

    @property
    def n_parameters(self) -> int:
        """Number p of free parameters."""
        return self.chart.n_parameters

    @property
    def is_binary(self) -> bool:
        """Whether every variable has two states (the fast path)."""
        return bool((self.states == 2).all())

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Names of the variables."""
        if self._names is not None:
            return self._names
        assert self.grid_shape is not None
        rows, columns = self.grid_shape
        return tuple(f"{r},{c}" for r in range(rows) for c in range(columns))

    @cached_property
    def blocks(self) -> tuple[str, ...]:
        """Names of the parameter blocks."""
        if self._block_names is not None:
            return self._block_names
        names = [""] * self.chart.n_blocks
        for group in self.groups:
            for scope, block in zip(group.scope.tolist(), group.block.tolist(), strict=True):
                names[block] = "--".join(self.nodes[i] for i in scope)
        return tuple(names)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the p free parameters, in the order of theta."""
        names: list[str] = []
        labels = self._outcome_labels
        for block, name in enumerate(self.blocks):
            sides = int(self.chart.sides[block])
            names += [name] if sides == 2 else [f"{name}[{labels[block][k]}]" for k in range(sides - 1)]
        return tuple(names)

    @cached_property
    def _outcome_labels(self) -> dict[int, list[str]]:
        """For dice with more than two sides: the configurations behind each outcome, where there is just one."""
        labels: dict[int, list[str]] = {}
        for group in self.groups:
            if group.sides > 2:
                found = [np.argwhere(group.table == k) for k in range(group.sides)]
                text = [",".join(map(str, f[0])) if len(f) == 1 else str(k) for k, f in enumerate(found)]
                labels.update(dict.fromkeys(map(int, np.unique(group.block)), text))
        return labels

    @cached_property
    def no_interaction(self) -> np.ndarray:
        """theta (p,) at which every factor is constant, that is, absent: 1/2 for a coin, 1/K for a die."""
        return _frozen(self.chart.uniform())

    @cached_property
    def adjacency(self) -> Adjacency:
        """Neighbour lists."""
        return adjacency(self.edges, self.n_nodes)

    @cached_property
    def lowering(self) -> Lowering:
        """The field as the kernels see it."""
        return lower(self.states, self.edges, self.groups, self.n_parameters, self.chart)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the structure; checkpoints and results carry it."""
        digest = hashlib.sha256()
        digest.update(self.states.tobytes() + self.edges.tobytes())
        for group in self.groups:
            digest.update(group.table.tobytes() + bytes([group.is_score]) + group.scope.tobytes())
            digest.update(group.block.tobytes())
        return digest.hexdigest()

    def theta(self, theta: object, name: str = "theta") -> np.ndarray:
        """``theta`` (or `mrfbayes.Ising`) as a (p,) float array, checked to lie inside the parameter space."""
        return self.chart.check(theta.as_theta(self) if isinstance(theta, Ising) else theta, self, name)

    def _repr_html_(self) -> str:
        shape = f"{self.grid_shape[0]} x {self.grid_shape[1]} grid" if self.grid_shape else "graph"
        names = ", ".join(self.nodes[:8]) + (", ..." if self.n_nodes > 8 else "") if self.named else ""
        rows = [
            ("nodes", f"{self.n_nodes:,}" + (f": {names}" if names else "")),
            ("states", " to ".join(str(count) for count in sorted({self.states.min(), self.states.max()}))),
            ("edges", f"{self.n_edges:,}"),
            ("parameters", f"{self.n_parameters:,} in {self.chart.n_blocks:,} blocks"),
        ]
        return facts(f"Model: {shape}", rows)

    def save(self, path: str | PathLike[str], theta: object = None, overwrite: bool = False) -> None:
        """Write the field for other programs, by the ending of ``path``.

        Parameters
        ----------
        path : ``.graphml``: nodes, their numbers of states, and edges, which `mrfbayes.graph` reads; ``.uai``: a Markov
            network with a table per factor, at ``theta``
        theta : (p,) weights, or one number for all; for ``.uai``, where no interaction at all is the default
        overwrite : whether a file that is there may be replaced
        """
        from mrfbayes.model.formats import write_graphml, write_uai

        ending = Path(path).suffix.lower()
        if ending == ".graphml":
            if theta is not None:
                raise InputError("theta is not written to GraphML, which has the graph alone: use a .uai file.")
            write_graphml(self, path, overwrite)
        elif ending == ".uai":
            write_uai(self, self.no_interaction if theta is None else theta, path, overwrite)
        else:
            raise InputError(f"path = {str(path)!r}: a field is saved as .graphml or .uai, by the ending of the name.")

    def __repr__(self) -> str:
        shape = f"{self.grid_shape[0]}x{self.grid_shape[1]} grid, " if self.grid_shape else ""
        states = "binary" if self.is_binary else f"up to {self.states.max()} states"
        return f"<Model: {shape}{self.n_nodes} nodes ({states}), {self.n_edges} edges, {self.n_parameters} parameters>"


def factors_per_block(model: Model) -> np.ndarray:
    """(B,) how many factors share each parameter block: more than one where parameters are tied."""
    shared = np.zeros(model.chart.n_blocks, dtype=np.int64)
    for group in model.groups:
        shared += np.bincount(group.block, minlength=shared.size)
    return shared


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def check_states(states: object, where: str) -> int:
    """A number of states as an int, checked."""
    if isinstance(states, (bool, np.bool_)) or not isinstance(states, (int, np.integer)):
        raise InputError(f"{where} = {states!r}: a number of states is a whole number from 2 to {MAX_STATES}.")
    if not 2 <= states <= MAX_STATES:
        raise InputError(f"{where} = {states}: a variable has from 2 to {MAX_STATES} states.")
    return int(states)


def _variables(variables: Mapping[str, int] | Iterable[str]) -> tuple[tuple[str, ...], np.ndarray]:
    if isinstance(variables, (str, bytes)) or not isinstance(variables, Iterable):
        raise InputError(f"variables = {variables!r}: give a list of names, or a mapping from names to states.")
    if isinstance(variables, Mapping):
        pairs = [(str(name), check_states(r, f"variables[{name!r}]")) for name, r in variables.items()]
    else:
        pairs = [(str(name), 2) for name in variables]
    if not pairs:
        raise InputError("variables is empty: a field has at least one variable.")
    names = tuple(name for name, _ in pairs)
    check_names(names)
    return names, np.array([r for _, r in pairs], dtype=np.int64)


def check_names(names: Sequence[str]) -> None:
    """Names are non-empty and unique."""
    seen: set[str] = set()
    for name in names:
        if not name.strip():
            raise InputError("a node has an empty name: give every node a name.")
        if name in seen:
            raise InputError(f"two nodes are called {name!r}: names must be unique.")
        seen.add(name)


def _unique_pairs(scopes: np.ndarray) -> np.ndarray:
    """Pairs of variables in the order of their first appearance, in the direction of that appearance."""
    seen: dict[tuple[int, int], tuple[int, int]] = {}
    for u, v in scopes.tolist():
        seen.setdefault((min(u, v), max(u, v)), (u, v))
    return np.array(list(seen.values()), dtype=np.int64).reshape(-1, 2)


def _number_blocks(
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
        groups.append(FactorGroup(factor.table, factor.is_score, scope, np.array([number[k] for k in row])))
        for key, where in zip(row, scope.tolist(), strict=True):
            block_names[number[key]] = str(key[1]) if key[0] == "tied" else "--".join(names[i] for i in where)
    duplicated = {name for name in block_names if block_names.count(name) > 1}
    seen: dict[str, int] = {}
    for k, name in enumerate(block_names):
        if name in duplicated:  # two untied factors on the same scope
            seen[name] = seen.get(name, 0) + 1
            block_names[k] = f"{name}#{seen[name]}"
    return groups, block_names


def require_model(model: object) -> None:
    """Refuse what is no model before anything is asked of it."""
    if not isinstance(model, Model):
        raise InputError(f"model: got {type(model).__name__}, expected a mrfbayes Model, as from mrfbayes.grid.")
