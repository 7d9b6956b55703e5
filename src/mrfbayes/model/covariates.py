r"""Fields whose parameters depend on covariates.

.. math:: w_g = w_0 + o_g + \sum_k z_{gk} w_k

for observations with the covariate values z_g: the thresholds (and, where asked for, the couplings) have an effect
w_k for every covariate k, and o is an offset of the thresholds. Values are centred and scaled: a covariate with two
values becomes -1/2 and 1/2, as two groups are coded; any other one is divided by two standard deviations (Gelman 2008),
so that both kinds of effects have one prior. Covariates may differ from cell to cell of one observation, as the height
of every pixel of a map does; then thresholds that are tied share the effect, not the value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from mrfbayes.base.checks import one_of
from mrfbayes.base.errors import InputError
from mrfbayes.model.factors import FactorGroup
from mrfbayes.model.field import FieldArrays, Model

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from mrfbayes.model.lowering import Lowering

Effects = Literal["thresholds", "couplings"]
EFFECTS = ("thresholds", "couplings")


class Covariate(NamedTuple):
    """A covariate: its value v enters as z = (v - centre) / scale."""

    name: str
    centre: float
    scale: float

    @classmethod
    def of(cls, name: str, values: np.ndarray) -> Covariate:
        """The centre and scale for ``values``; refused where they are all the same."""
        distinct = np.unique(values)
        if distinct.size < 2:
            raise InputError(f"covariates: {name!r} has the one value {distinct[0]:g}; it has no effect to learn.")
        if distinct.size == 2:
            return cls(name, float(distinct.mean()), float(distinct[1] - distinct[0]))
        return cls(name, float(values.mean()), 2.0 * float(values.std()))


@dataclass(frozen=True, eq=False)
class Design:
    """How the parameters of G distinct fields follow from those of a model: w_g = M_g w + offset_g.

    Attributes
    ----------
    matrix : (G * p0, P) all M_g, one above the other
    offset : (G, p0)
    """

    matrix: csr_array
    offset: np.ndarray

    @cached_property
    def _back(self) -> csr_array:
        return self.matrix.T.tocsr()

    @property
    def n_fields(self) -> int:
        """Number G of distinct fields."""
        return len(self.offset)

    def at(self, w: np.ndarray) -> np.ndarray:
        """(..., G, p0) parameters of every field at w (..., P)."""
        flat = np.asarray((self.matrix @ w.reshape(-1, w.shape[-1]).T).T)
        return np.asarray(flat.reshape(*w.shape[:-1], *self.offset.shape) + self.offset)

    def back(self, gradient: np.ndarray) -> np.ndarray:
        """(..., P) derivatives in w from those in every field's parameters (..., G, p0)."""
        flat = gradient.reshape(-1, self.offset.size)
        return np.asarray((self._back @ flat.T).T).reshape(*gradient.shape[:-2], -1)


class CovariateModel(Model):
    """A field with covariates; made by `Model.from_data` or `Model.with_covariates`.

    Its parameters are those of ``field``, at the centre of all covariates, then a copy of the thresholds (or of all
    parameters) for each covariate, named ``"parameter:covariate"``; the covariate comes
    before brackets, as in ``"q1:age[1]"`` for ``"q1[1]"``.

    Attributes
    ----------
    field : the field without covariates
    base : the same with a threshold for every node, which is the field of one observation
    covariates : names, centres and scales
    effects : "thresholds" or "couplings", which includes the thresholds
    offset : name of the covariate that is added to the log-odds of every binary variable; None without one
    n_designs : number of distinct covariate values in the data that the model was made for
    """

    covariates: tuple[Covariate, ...]
    effects: Effects
    offset: str | None
    n_designs: int

    @classmethod
    def of(
        cls, field: Model, covariates: Sequence[Covariate], effects: Effects, offset: str | None, n_designs: int
    ) -> CovariateModel:
        """The model; `InputError` where it makes no sense."""
        one_of("covariates", effects, EFFECTS)
        if not any(group.arity == 1 for group in field.groups):
            raise InputError("covariates act on thresholds: make the field with fields=True.")
        moved = [group.block for group in field.groups if group.arity == 1 or effects == "couplings"]
        own = np.unique(np.concatenate(moved)).astype(np.int64)
        if offset is not None and not field.is_binary:
            raise InputError(f"offset = {offset!r}: offsets are for binary variables, and a variable here has more.")
        made = cls.__new__(cls)
        made._field, made.covariates, made.effects, made.offset = field, tuple(covariates), effects, offset
        made.n_designs = n_designs
        made._base = _untied_thresholds(field)
        made._own = own
        groups, names = list(field.groups), list(field.blocks)
        for covariate in made.covariates:
            rank = np.full(field.chart.n_blocks, -1)
            rank[own] = len(names) + np.arange(own.size)
            groups += [
                FactorGroup(g.table, g.is_score, g.scope, rank[g.block])
                for g in field.groups
                if (rank[g.block] >= 0).all()
            ]
            names += [f"{field.blocks[block]}:{covariate.name}" for block in own.tolist()]
        made._set(_arrays(field, groups, names))
        made._with_schema(field.schema)
        return made

    _field: Model
    _base: Model
    _own: np.ndarray  # blocks of the field that have effects

    @property
    def field(self) -> Model:
        """The field without covariates."""
        return self._field

    @property
    def base(self) -> Model:
        """The field of one observation."""
        return self._base

    @property
    def lowering(self) -> Lowering:
        """Refused: there is one for every value of the covariates."""
        raise self.no_one_field

    @property
    def no_one_field(self) -> InputError:
        """The error of all that computes with one field."""
        names = ", ".join(covariate.name for covariate in self.covariates)
        return InputError(
            f"this field depends on covariates ({names}), so there is no one field to compute with: choose their "
            "values, as in post.at(...), which is the posterior of a field without covariates."
        )

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the structure, with the coding of the covariates."""
        more = repr((self.covariates, self.effects, self.offset)).encode()
        return hashlib.sha256(super().fingerprint.encode() + more).hexdigest()

    @cached_property
    def owned(self) -> np.ndarray:
        """Parameters of the field that have effects."""
        return np.flatnonzero(np.isin(self.field.chart.block_of, self._own))

    @cached_property
    def expand(self) -> csr_array:
        """(p0, p) parameters of ``base`` from those of ``field``."""
        from scipy.sparse import csr_array

        column = np.zeros(self.base.n_parameters, dtype=np.int64)
        for group, untied in zip(self.field.groups, self.base.groups, strict=True):
            for k in range(group.sides - 1):
                column[self.base.chart.offset[untied.block] + k] = self.field.chart.offset[group.block] + k
        shape = (column.size, self.field.n_parameters)
        return csr_array((np.ones(column.size), (np.arange(column.size), column)), shape=shape)

    @cached_property
    def node_of(self) -> np.ndarray:
        """(p0,) the node that each threshold of ``base`` belongs to; -1 for couplings."""
        node = np.full(self.base.n_parameters, -1)
        for group in self.base.groups:
            if group.arity == 1:
                for k in range(group.sides - 1):
                    node[self.base.chart.offset[group.block] + k] = group.scope[:, 0]
        return node

    def design(self, z: np.ndarray, offset: np.ndarray | None = None) -> Design:
        """The fields for covariates ``z`` (G, K) or (G, K, d), already centred and scaled; ``offset`` (G, d)."""
        from scipy.sparse import csr_array, hstack, vstack

        is_cell = z.ndim == 3
        if is_cell and self.effects == "couplings":
            raise InputError("covariates = 'couplings': values that differ between cells act on thresholds only.")
        p0, place = self.base.n_parameters, np.maximum(self.node_of, 0)
        own = self.expand[:, self.owned].tocoo()
        stacks = [vstack([self.expand] * len(z))]
        for k in range(z.shape[1]):
            values = z[:, k][:, place] if is_cell else np.broadcast_to(z[:, k, None], (len(z), p0))
            row = (np.arange(len(z))[:, None] * p0 + own.row).ravel()
            entries = (values[:, own.row] * own.data).ravel()
            column = np.tile(own.col, len(z))
            stacks.append(csr_array((entries, (row, column)), shape=(len(z) * p0, own.shape[1])))
        shift = np.zeros((len(z), p0))
        if offset is not None:
            shift = np.where(self.node_of >= 0, offset[:, place], 0.0)
        return Design(csr_array(hstack(stacks)), shift)

    def scale(self, values: Mapping[str, object]) -> np.ndarray:
        """(K,) centred and scaled values of the covariates, by name; the centre where one is left out."""
        unknown = [name for name in values if name not in [c.name for c in self.covariates]]
        if unknown:
            known = ", ".join(covariate.name for covariate in self.covariates)
            raise InputError(f"{unknown[0]} = {values[unknown[0]]!r}: no covariate of this name; there are {known}.")
        found = []
        for covariate in self.covariates:
            value = values.get(covariate.name, covariate.centre)
            if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
                raise InputError(f"{covariate.name} = {value!r}: give a number.")
            found.append((float(value) - covariate.centre) / covariate.scale)
        return np.array(found)

    def log_odds_at(self, w: np.ndarray, values: Mapping[str, object]) -> np.ndarray:
        """(..., p) log-odds of ``field`` where the covariates have the given values, from w (..., P)."""
        z, p, size = self.scale(values), self.field.n_parameters, self.owned.size
        out = w[..., :p].copy()
        for k, value in enumerate(z):
            out[..., self.owned] += value * w[..., p + k * size : p + (k + 1) * size]
        return out


def _arrays(field: Model, groups: Sequence[FactorGroup], names: Sequence[str]) -> FieldArrays:
    """Those of ``field``, with other factors."""
    return FieldArrays(field.nodes, field.states, field.edges, groups, names, field.grid_shape, field.named)


def _untied_thresholds(field: Model) -> Model:
    """The field with thresholds of its own for every node."""
    groups = []
    tied = [group for group in field.groups if group.arity == 2]
    edge_blocks = np.unique(np.concatenate([group.block for group in tied])) if tied else np.zeros(0, int)
    if all(np.unique(group.block).size == len(group.block) for group in field.groups if group.arity == 1):
        return field
    names = [field.blocks[block] for block in edge_blocks.tolist()]
    for group in field.groups:
        if group.arity == 2:
            groups.append(group)
            continue
        groups.append(FactorGroup(group.table, group.is_score, group.scope, len(names) + np.arange(len(group.scope))))
        names += [field.nodes[i] for i in group.scope[:, 0].tolist()]
    return Model._from_arrays(_arrays(field, groups, names))._with_schema(field.schema)
