"""A discrete Markov random field as dice and score coins: variables, factors, parameter blocks.

A factor is a die (its table sends each configuration of its scope to one of K outcomes, weight theta_k) or a score
coin (its table holds whole numbers s in 0..S, weight theta^s (1-theta)^(S-s)). Factors that share a block share
theta. Factors of one table are stored together as arrays, so that a field of a million edges is a few arrays.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.base.plain_text import facts
from mrfbayes.model.chart import Chart
from mrfbayes.model.edges import pixel_names, read_variables
from mrfbayes.model.factors import Factor, FactorGroup, number_blocks, unique_pairs
from mrfbayes.model.ising import Ising
from mrfbayes.model.lowering import Adjacency, Lowering, adjacency, lower
from mrfbayes.model.schema import VARIABLE_KINDS, HasSchema, Schema, schema_of

if TYPE_CHECKING:
    from mrfbayes.base.types import Coupling, EdgesLike, ThetaLike
    from mrfbayes.model.covariates import Effects


class FieldArrays(NamedTuple):
    """What a `Model` is made of; names that are None are made when asked for."""

    names: Sequence[str] | None
    states: np.ndarray
    edges: np.ndarray
    groups: Sequence[FactorGroup]
    block_names: Sequence[str] | None
    grid_shape: tuple[int, int] | None
    named: bool


class Model:
    """A field given by its variables and factors.

    Parameters
    ----------
    variables : mapping of str to int, or iterable of str
        Number of states by name, or names of binary variables.
    factors : iterable of Factor
        The factors.

    Attributes
    ----------
    nodes : tuple of str
        Names of the variables.
    edges : (m, 2) ndarray
        Pairs of variable indices, in the order of their first factor.
    parameters : tuple of str
        Names of the p free parameters: edge blocks in the order of ``edges``, then node blocks.
    schema : Schema or None
        The coding of the variables: that of the data for `Model.from_data`, None for explicit models.

    See Also
    --------
    Model.from_data, grid, graph, complete

    Examples
    --------
    >>> import mrfbayes as mb
    >>> equal = mb.Factor(("a", "b"), outcomes=[[0, 1], [1, 0]])
    >>> mb.Model({"a": 2, "b": 2}, [equal]).parameters
    ('a--b',)
    """

    def __init__(self, variables: Mapping[str, int] | Iterable[str], factors: Iterable[Factor]) -> None:
        if not isinstance(factors, Iterable):
            raise InputError(f"factors = {factors!r}: give a list of mrfbayes.Factor.")
        names, states = read_variables(variables)
        index = {name: i for i, name in enumerate(names)}
        grouped: dict[tuple[bytes, tuple[int, ...], bool, bool], list[tuple[Factor, list[int]]]] = {}
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
            key = (factor.table.tobytes(), shape, factor.is_score, factor.is_centred)
            grouped.setdefault(key, []).append((factor, where))
        members = [
            (group[0][0], np.array([w for _, w in group], dtype=np.int64), [f.block for f, _ in group])
            for group in grouped.values()
        ]
        scopes = [scope for factor, scope, _ in members if len(factor.scope) == 2]
        edges = unique_pairs(np.concatenate(scopes) if scopes else np.zeros((0, 2), dtype=np.int64))
        groups, block_names = number_blocks(members, edges, names)
        self._set(FieldArrays(names, states, edges, groups, block_names, None, True))

    @classmethod
    def from_data(
        cls,
        data: Schema | HasSchema,
        graph: EdgesLike | None = None,
        coupling: Coupling | Literal["auto"] = "auto",
        *,
        fields: bool = True,
        tied: bool = False,
        covariates: Effects | None = None,
        offset: str | None = None,
    ) -> Model:
        """The field that fits the kinds of the variables of a data set.

        Parameters
        ----------
        data : Data, Schema or any object with a ``schema``
            The data set. Its variables are the nodes; its schema is kept as ``model.schema``.
        graph : networkx graph, edge list, adjacency matrix or path, optional
            The pairs of variables with a coupling, by name (an adjacency matrix: in the order of the variables). By
            default every pair.
        coupling : {"auto", "agreement", "both-one", "score", "table"}, default "auto"
            "auto" chooses for each pair: one score coupling for two ordered variables (binary or ordinal), a table
            with a reference category where a nominal variable of three or more states takes part. A name is used for
            all pairs; see `mrfbayes.graph`.
        fields : bool, default True
            Whether each variable has thresholds.
        tied : bool, default False
            Whether all pairs share one coupling, and all variables their thresholds.
        covariates : {"thresholds", "couplings"}, optional
            What the covariates of the data act on: thresholds, or thresholds and couplings (moderated edges). By
            default the field has none: it is that of `with_covariates`, and refuses to learn from data that have some.
        offset : str, optional
            The covariate that is added to the log-odds of every binary variable, with no effect to learn; with
            ``covariates``.

        Returns
        -------
        Model

        Raises
        ------
        InputError
            If there is an `offset` without `covariates`.

        Examples
        --------
        >>> from mrfbayes import Model, Schema
        >>> from mrfbayes.model.schema import Variable
        >>> mood = Variable("mood", "ordinal", ("low", "middle", "high"))
        >>> town = Variable("town", "nominal", ("Bern", "Lima", "Oslo"))
        >>> Model.from_data(Schema((mood, town))).parameters[:2]
        ('mood--town[middle,Lima]', 'mood--town[middle,Oslo]')
        """
        from mrfbayes.model.build import model_of_schema

        if offset is not None and covariates is None:
            raise InputError(f"offset = {offset!r} is for fields with covariates: give covariates='thresholds', too.")
        model = model_of_schema(schema_of(data), graph, coupling, fields, tied)
        if covariates is None:
            return model
        return model.with_covariates(cast("HasSchema", data), covariates, offset=offset)

    def with_covariates(self, data: HasSchema, effects: Effects = "thresholds", *, offset: str | None = None) -> Model:
        """This field with effects of the covariates of a data set.

        Parameters
        ----------
        data : Data
            With covariates, whose centres and scales the model keeps: a covariate with two values is coded -1/2 and
            1/2, any other one is centred and divided by two standard deviations.
        effects : {"thresholds", "couplings"}, default "thresholds"
            What they act on: thresholds, or thresholds and couplings.
        offset : str, optional
            The covariate that is added to the log-odds of every binary variable, with no effect to learn.

        Returns
        -------
        Model
            Its parameters are those of this field, where all covariates are at their centre, then the effects, named
            ``"parameter:covariate"``; the covariate comes before brackets, as in ``"q1:age[1]"`` for ``"q1[1]"``.

        Raises
        ------
        InputError
            If the data have no covariates, or none is called `offset`.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> data = mb.Data({"a": [0, 1, 1, 0], "b": [1, 0, 1, 0], "age": [1, 2, 3, 4]}, covariates=["age"])
        >>> mb.Model.from_data(data, covariates="thresholds").parameters
        ('a--b', 'a', 'b', 'a:age', 'b:age')
        """
        from mrfbayes.model.covariates import Covariate, CovariateModel

        known = getattr(data, "covariate_values", None)
        if not known:
            raise InputError("covariates: the data have none; name their columns, as in Data(..., covariates=['age']).")
        if offset is not None and offset not in known:
            raise InputError(
                f"offset = {offset!r}: no covariate of the data is called so; they have {', '.join(known)}."
            )
        chosen = [Covariate.of(name, values) for name, values in known.items() if name != offset]
        by_row = [np.asarray(v).reshape(len(v), -1) for v in known.values()]
        n = max(map(len, by_row))
        together = np.concatenate([np.broadcast_to(v, (n, v.shape[1])) for v in by_row], axis=1)
        return CovariateModel.of(self, chosen, effects, offset, len(np.unique(together, axis=0)))

    @classmethod
    def _from_arrays(cls, arrays: FieldArrays) -> Model:
        """For the builders: everything already checked and numbered."""
        model = cls.__new__(cls)
        model._set(arrays)
        return model

    def _set(self, arrays: FieldArrays) -> None:
        names, states, edges, groups, block_names, grid_shape, named = arrays
        self._names = None if names is None else tuple(names)
        self._block_names = None if block_names is None else tuple(block_names)
        self.states = _frozen(states)
        self.edges = _frozen(edges)
        self.groups = tuple(groups)
        self.grid_shape = grid_shape
        self.named = named
        self.schema: Schema | None = None
        self.chart = Chart.of(self.groups)
        self._refuse_ambiguous_names()

    def _with_schema(self, schema: Schema | None) -> Model:
        """For the builders: this model with the coding of its variables, whose labels its parameters show."""
        self.schema = schema
        for name in ("parameters", "_outcome_labels"):
            self.__dict__.pop(name, None)
        self._refuse_ambiguous_names()
        return self

    def _refuse_ambiguous_names(self) -> None:
        """No node is called like an edge, and no two parameters alike: results are keyed by these names."""
        if self._names is None or not any("--" in name or "[" in name for name in self._names):
            return
        known = set(self._names)
        for u, v in (pair for edge in self.edges.tolist() for pair in (edge, edge[::-1])):
            if (name := f"{self._names[u]}--{self._names[v]}") in known:
                edge = f"the edge between {self._names[u]!r} and {self._names[v]!r}"
                raise InputError(f"node {name!r} is called like {edge}: rename the node (column).")
        twice = [name for name, count in Counter(self.parameters).items() if count > 1]
        if twice:
            raise InputError(
                f"two parameters would be called {twice[0]!r}: rename a node (column) that has '--' or '[' in its name."
            )

    @property
    def field(self) -> Model:
        """The field without its covariates; this field if it has none."""
        return self

    @property
    def base(self) -> Model:
        """The field of one observation; this field if there are no covariates."""
        return self

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
        return pixel_names(np.arange(self.n_nodes), self.grid_shape[1])

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
        for group in (group for group in self.groups if group.sides > 2):
            cells = [np.argwhere(group.table == k).tolist() for k in range(group.sides)]

            def texts(shown: Sequence[Sequence[object]], cells: list[list[list[int]]] = cells) -> list[str]:
                names = [[",".join(str(shown[a][s]) for a, s in enumerate(cell)) for cell in each] for each in cells]
                return [each[0] if len(each) == 1 else str(k) for k, each in enumerate(names)]

            labels |= dict.fromkeys(group.block.tolist(), texts([range(r) for r in group.table.shape]))
            variables = self.schema.variables if self.schema else ()
            for scope, block in zip(group.scope.tolist(), group.block.tolist(), strict=True) if variables else ():
                own = texts([variables[i].labels for i in scope])
                if len(set(own)) == len(own):  # labels with commas in them can give one text twice
                    labels[block] = own
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
            flags = bytes([group.is_score + 2 * group.is_centred])
            digest.update(group.table.tobytes() + flags + group.scope.tobytes() + group.block.tobytes())
        return digest.hexdigest()

    def theta(self, theta: ThetaLike, name: str = "theta") -> np.ndarray:
        """Return parameters as a (p,) array after checking that they are inside the parameter space.

        Parameters
        ----------
        theta : (p,) array_like, mapping, float or Ising
            Parameters in the order of ``parameters`` or by name; one number is used for all.
        name : str, default "theta"
            Name of the argument in error messages.

        Returns
        -------
        (p,) ndarray
            Theta.

        Raises
        ------
        InputError
            If a parameter is missing, unknown, or not a weight.
        """
        if isinstance(theta, Mapping):
            if strange := [one for one in (*self.parameters, *theta) if (one in theta) != (one in self.parameters)]:
                raise InputError(f"{name}: give every parameter by its name, and no other; check {strange[0]!r}.")
            theta = [theta[one] for one in self.parameters]
        return self.chart.check(theta.as_theta(self) if isinstance(theta, Ising) else theta, self, name)

    def _repr_html_(self) -> str:
        shape = f"{self.grid_shape[0]} x {self.grid_shape[1]} grid" if self.grid_shape else "graph"
        names = ", ".join(self.nodes[:8]) + (", ..." if self.n_nodes > 8 else "") if self.named else ""
        rows = [
            ("nodes", f"{self.n_nodes:,}" + (f": {names}" if names else "")),
            ("states", " to ".join(str(count) for count in sorted({self.states.min(), self.states.max()}))),
            *([("kinds", self._kinds())] if self.schema else []),
            ("edges", f"{self.n_edges:,}"),
            ("parameters", f"{self.n_parameters:,} in {self.chart.n_blocks:,} blocks"),
        ]
        return facts(f"Model: {shape}", rows)

    def save(self, path: str | PathLike[str], theta: ThetaLike | None = None, overwrite: bool = False) -> None:
        """Write the field to a file for other programs.

        Parameters
        ----------
        path : str or path
            Its ending sets the format. ``.graphml``: nodes, their numbers of states, and edges, which `mrfbayes.graph`
            reads. ``.uai``: a Markov network with a table per factor, at ``theta``.
        theta : (p,) array_like or float, optional
            Parameters for ``.uai``; by default those without any interaction.
        overwrite : bool, default False
            Whether an existing file is replaced.

        Raises
        ------
        InputError
            If the ending of the path is unknown, or `theta` is given for a GraphML file.
        """
        from mrfbayes.base.atomic_files import write_text
        from mrfbayes.model.formats import export_text

        ending = Path(path).suffix.lower()
        if ending not in (".graphml", ".uai"):
            raise InputError(f"path = {str(path)!r}: a field is saved as .graphml or .uai, by the ending of the name.")
        if ending == ".graphml" and theta is not None:
            raise InputError("theta is not written to GraphML, which has the graph alone: use a .uai file.")
        w = np.zeros(self.n_parameters) if theta is None else self.chart.log_odds(self.theta(theta))
        write_text(path, export_text(self, w if ending == ".uai" else None, ending[1:]), overwrite)

    def _kinds(self) -> str:
        """How many variables of each kind the schema has; empty without a schema."""
        kinds = [variable.kind for variable in self.schema] if self.schema else []
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in VARIABLE_KINDS if kind in kinds)

    def __repr__(self) -> str:
        shape = f"{self.grid_shape[0]}x{self.grid_shape[1]} grid, " if self.grid_shape else ""
        states = self._kinds() or ("binary" if self.is_binary else f"up to {self.states.max()} states")
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


def require_model(model: object) -> None:
    """Refuse what is no model before anything is asked of it."""
    if not isinstance(model, Model):
        raise InputError(f"model: got {type(model).__name__}, expected a mrfbayes Model, as from mrfbayes.grid.")
