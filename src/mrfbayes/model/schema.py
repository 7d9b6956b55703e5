"""The coding of variables: which value of the data is which state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from mrfbayes.base.checks import one_of
from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from mrfbayes.base.types import Stored
    from mrfbayes.model.field import Model

Kind = Literal["binary", "ordinal", "nominal"]
Label = str | float
VARIABLE_KINDS: tuple[Kind, ...] = ("binary", "ordinal", "nominal")


@dataclass(frozen=True)
class Variable:
    """The coding of one variable.

    Attributes
    ----------
    name : str
        Name of the variable, that is, of its column.
    kind : {"binary", "ordinal", "nominal"}
        Ordinal: the order of the labels is known, and their distances count. Nominal: no order is known.
    values : tuple of str or float
        The value in the data behind each state 0, 1, ..., in state order. Numbers are floats.
    texts : tuple of str or None
        Names of the values where the source has names for them, such as the value labels of an SPSS file.
    na_values : tuple of str or float
        Values that mark missing cells, beside blanks and the usual marks.
    """

    name: str
    kind: Kind
    values: tuple[Label, ...]
    texts: tuple[str, ...] | None = None
    na_values: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        one_of(f"kind of {self.name!r}", self.kind, VARIABLE_KINDS)
        if len(set(self.values)) != len(self.values):
            raise InputError(f"levels of {self.name!r}: a label is listed twice.")
        if self.kind == "binary" and len(self.values) != 2:
            raise InputError(f"{self.name!r} is binary and has {len(self.values)} labels: give two.")

    @property
    def n_states(self) -> int:
        """Number of states r."""
        return len(self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        """What is shown for each state, in state order."""
        if self.texts is not None:
            return self.texts
        return tuple(value if isinstance(value, str) else f"{value:g}" for value in self.values)


@dataclass(frozen=True)
class Schema:
    """The coding of all variables of a data set; equal for equal codings.

    A schema is decided once, when `mrfbayes.Data` first reads its source. Models made from the data and all results
    have it, and later rows are coded by it.

    Parameters
    ----------
    variables : tuple of Variable
        The coding of each variable.

    See Also
    --------
    Data : Decides it.
    Model.from_data : Keeps it.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> schema = mb.Data({"mood": ["low", "high"], "score": [1, 3]}).schema
    >>> schema["score"].kind
    'binary'
    """

    variables: tuple[Variable, ...]

    def __len__(self) -> int:
        return len(self.variables)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise KeyError(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in order."""
        return tuple(variable.name for variable in self.variables)

    def select(self, names: Sequence[str]) -> Schema:
        """Return the coding of some of the variables.

        Parameters
        ----------
        names : sequence of str
            Names of the variables, in the order of the result.

        Returns
        -------
        Schema
            The coding of these variables.
        """
        by_name = {variable.name: variable for variable in self.variables}
        return Schema(tuple(by_name[name] for name in names))

    def to_dict(self) -> list[dict[str, Stored]]:
        """Return the schema in a form that JSON can store.

        Returns
        -------
        list of dict
            One entry per variable; `from_dict` reads it.
        """
        stored = [asdict(variable) for variable in self.variables]
        return [{k: list(v) if isinstance(v, tuple) else v for k, v in one.items()} for one in stored]

    @classmethod
    def from_dict(cls, stored: Sequence[Mapping[str, Stored]]) -> Schema:
        """Return the schema that `to_dict` stored.

        Parameters
        ----------
        stored : sequence of mapping
            Result of `to_dict`.

        Returns
        -------
        Schema
            The coding.

        Raises
        ------
        InputError
            If an entry cannot be read.
        """
        variables = []
        for one in stored:
            name, kind, values, texts = (one[key] for key in ("name", "kind", "values", "texts"))
            marks = one.get("na_values", [])
            if not isinstance(name, str) or kind not in VARIABLE_KINDS or not isinstance(texts, list | None):
                raise InputError(f"schema: the entry of {name!r} cannot be read.")
            if not isinstance(values, list) or not isinstance(marks, list):
                raise InputError(f"schema: the values of {name!r} cannot be read.")
            shown = None if texts is None else tuple(map(str, texts))
            variables.append(Variable(name, kind, _labels(values), shown, _labels(marks)))
        return cls(tuple(variables))


class HasSchema(Protocol):
    """What has a coding: `Data`, models and results."""

    @property
    def schema(self) -> Schema | None:
        """Which value of the data is which state."""


def plain_schema(model: Model) -> Schema:
    """The coding of a model whose data are its states 0..r-1."""
    named = zip(model.nodes, model.states.tolist(), strict=True)
    kinds: tuple[Kind, Kind] = ("ordinal", "binary")
    return Schema(tuple(Variable(node, kinds[r == 2], tuple(float(s) for s in range(r))) for node, r in named))


def schema_of(data: object) -> Schema:
    """The schema of a data set: ``data`` itself, or its attribute ``schema``."""
    schema = data if isinstance(data, Schema) else getattr(data, "schema", None)
    if not isinstance(schema, Schema):
        raise InputError(
            f"data: a {type(data).__name__} has no schema; read it first, as in mrfbayes.Data(data), and pass that."
        )
    return schema


def _labels(stored: Sequence[str | float]) -> tuple[Label, ...]:
    return tuple(value if isinstance(value, str) else float(value) for value in stored)
