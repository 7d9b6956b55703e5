"""A table with its coding: which columns are variables, what they hold, and which value is which state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.coding import Encoder, UnknownValueError, check_same_coding, fit_schema, refuse_unknown
from mrfbayes.data.deciding import CodingFindings, CodingOptions, column_problem, decide, kind_of, refuse_unused_orders
from mrfbayes.data.reading import RoleTable
from mrfbayes.data.values import NO_CODEBOOK, Batch, Column, Source, in_order, listed
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema, Variable

MAX_GREYS = 12


class CodedTable:
    """What `Data` knows and does inside: one pass decides the coding, one pass encodes."""

    _table: RoleTable
    _chosen: list[int]  # columns that are variables
    _options: CodingOptions
    _schema: Schema | None  # the coding where it was given
    _columns: dict[int, Column]  # what was read of each column
    _size: tuple[int, float] | None  # rows and total weight

    @property
    def where(self) -> str:
        """The source, as messages name it."""
        return self._table.source.where

    @property
    def is_named(self) -> bool:
        """Whether the columns of the source have names."""
        return self._table.source.names is not None

    @cached_property
    def _decided(self) -> tuple[Schema, CodingFindings]:
        columns = self._scan(self._chosen)
        found = CodingFindings(notes=list(self._table.source.notes))
        if self._schema is not None:
            variables = self._variables_for(self._schema, self._chosen)
            refuse_unknown(columns, variables, found.problems)
            found.problems.refuse()
            return Schema(variables), found
        decided = self._decide(columns, found)
        refuse_unused_orders(columns, self._options, found.problems)
        found.problems.refuse()
        kept = tuple(variable for variable in decided if variable is not None)
        if not kept:
            raise InputError(f"{self._table.source.where}: every column is constant; there is nothing to learn.")
        return Schema(kept), found

    def _decide(self, columns: Sequence[Column], found: CodingFindings) -> list[Variable | None]:
        if self._table.source.image_shape is not None:
            where, greys = columns[0].where, tuple(in_order(columns[0].first))
            if len(greys) > MAX_GREYS:
                raise InputError(f"{where}: {len(greys)} greys; cut the images into states, as in image > 0.5.")
            if len(greys) == 1 and greys[0] not in (0.0, 1.0):
                raise InputError(f"{where}: every pixel is {greys[0]:g}; give states 0 and 1.")
            greys = (0.0, 1.0) if len(greys) == 1 else greys
            return [Variable(column.name, kind_of(len(greys)), greys) for column in columns]
        return [decide(column, self._options, found) for column in columns]

    def _with(self, **changes: object) -> Self:
        made = object.__new__(type(self))
        made.__dict__ |= {k: v for k, v in self.__dict__.items() if k not in ("_decided",)}
        made._columns, made._size = {}, None
        made.__dict__ |= changes
        return made

    def _coding_of(self, model: Model, chosen: Sequence[int]) -> tuple[Sequence[Variable] | None, CodingFindings]:
        """The coding for a model as far as it is known without reading; None: values may be states already."""
        known: Schema | None = model.schema
        if known is not None:
            self._check_schema(known)
            return self._marked(known.variables, chosen), CodingFindings()
        if self._schema is not None:
            variables = self._marked(self._variables_for(self._schema, chosen), chosen)
            for variable, r in zip(variables, model.states.tolist(), strict=True):
                if variable.n_states != r:
                    labels = f"{variable.n_states} labels ({listed(variable.values)})"
                    raise InputError(f"{variable.name!r} has {labels}: set states={variable.n_states} in the model.")
            return variables, CodingFindings()
        source = self._table.source
        is_typed = any(source.codebook(j) != NO_CODEBOOK or source.categories(j)[0] is not None for j in chosen)
        if self._options == CodingOptions() and not is_typed:
            return None, CodingFindings()
        return self._read_coding(model, chosen)

    def _columns_of(self, schema: Schema) -> list[int]:
        """The columns that hold the variables of a schema: by name, or by position where there are no names."""
        by_name = {self._table.names[j]: j for j in self._chosen}
        if all(name in by_name for name in schema.names):
            return [by_name[name] for name in schema.names]
        if len(schema) == len(self._chosen) and not self.is_named:
            return list(self._chosen)
        absent = next(name for name in schema.names if name not in by_name)
        raise InputError(f"{self.where}: no column {absent!r}; it has {listed(by_name)}.")

    def _variables_for(self, schema: Schema, chosen: Sequence[int]) -> tuple[Variable, ...]:
        """The coding of some columns: by name, or by position where names are others."""
        names = [self._table.names[j] for j in chosen]
        if set(names) <= set(schema.names):
            return schema.select(names).variables
        if len(names) == len(schema):
            return schema.variables
        absent = next(name for name in names if name not in schema.names)
        raise InputError(f"schema: no variable is called {absent!r}; it has {listed(schema.names)}.")

    def _check_schema(self, known: Schema) -> None:
        """Refuse a coding that the user chose and that is not the model's."""
        if self._schema is not None and self._table.source.names is not None:
            check_same_coding(known, self._schema)
        for name, levels in self._options.levels_of.items():
            if name in known.names and known[name].values != levels:
                codes = f"the model codes it by {listed(known[name].values)}"
                raise InputError(
                    f"levels of {name!r} = {listed(levels)}: {codes}; leave levels out, or change the model."
                )

    def _marked(self, variables: Sequence[Variable], chosen: Sequence[int]) -> list[Variable]:
        """Variables with the marks of missing cells that these data have beside those of the schema."""
        marked = []
        for variable, j in zip(variables, chosen, strict=True):
            marks = self._marks(j) - set(variable.na_values)
            marked.append(replace(variable, na_values=(*variable.na_values, *marks)) if marks else variable)
        return marked

    def _marks(self, j: int) -> frozenset[float | str]:
        name, declared = self._table.names[j], self._table.source.codebook(j).missing
        if self._schema is not None and name in self._schema.names:
            declared |= frozenset(self._schema[name].na_values)
        return self._options.marks | self._options.marks_of.get(name, frozenset()) | declared

    def _read_coding(self, model: Model, chosen: Sequence[int]) -> tuple[Sequence[Variable], CodingFindings]:
        """The coding for a model after a pass over the rows, which names everything that stands against it."""
        known: Schema | None = model.schema or self._schema
        if known is not None:
            variables, _ = self._coding_of(model, chosen)
            assert variables is not None
            self._refuse(chosen, variables)
        return self._fit(model, self._scan(chosen))

    def _fit(self, model: Model, columns: Sequence[Column]) -> tuple[Sequence[Variable], CodingFindings]:
        """The coding of columns by a model without a schema."""
        found, aside = CodingFindings(), CodingFindings()
        has_levels = [self._options.levels_for(column) is not None for column in columns]
        is_image = self._table.source.image_shape is not None
        if is_image:
            decided = self._decide(columns, found)
        else:
            decided = [
                self._decide([c], found if own else aside)[0] for c, own in zip(columns, has_levels, strict=True)
            ]
        refuse_unused_orders(columns, self._options, found.problems)
        schema = fit_schema(model, columns, decided, [is_image or one for one in has_levels], found)
        found.problems.refuse()
        found.notes += [text for text in aside.notes if any(repr(c.name) in text for c in columns if c.is_text)]
        return schema.variables, found

    def _refuse(self, chosen: Sequence[int], variables: Sequence[Variable]) -> None:
        problems = Problems()
        marked = {j: frozenset(variable.na_values) for j, variable in zip(chosen, variables, strict=True)}
        columns = self._scan(chosen, marked)
        pairs = list(zip(columns, variables, strict=True))
        is_states = all(set(column.first) <= set(range(v.n_states)) and not column.strange for column, v in pairs)
        if is_states and not self.is_named:
            name, values = next((v.name, v.values) for column, v in pairs if not set(column.first) <= set(v.values))
            coded = f"{self.where} holds states from 0, but {name!r} is coded by {listed(values)}"
            problems.add(f"{coded}: pass the values, for example from simulate(..., labels=True).")
        else:
            refuse_unknown(columns, variables, problems)
        problems.refuse()

    def _states(
        self, chosen: Sequence[int], variables: Sequence[Variable] | None, model: Model
    ) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        encode, problems = Encoder(variables, model.states), Problems()
        for batch, weight in self._table.batches(chosen, problems):
            if problems:
                raise UnknownValueError
            yield encode(batch), weight
        if problems:
            raise UnknownValueError

    def _scan(self, chosen: Sequence[int], marked: Mapping[int, frozenset[float | str]] | None = None) -> list[Column]:
        """What the columns hold, from one pass over those that were not read before."""
        known = {} if marked is not None else self._columns
        new = [j for j in chosen if j not in known]
        if not new:
            return [known[j] for j in chosen]
        source, problems = self._table.source, Problems()
        made = [self._empty_column(j, source, marked) for j in new]
        is_image = source.image_shape is not None
        total, n_rows = 0.0, 0
        for batch, weight in self._table.batches(new, problems):
            n_rows += len(batch.rows)
            total += len(batch.rows) if weight is None else float(weight.sum())
            if is_image:
                assert isinstance(batch.columns, np.ndarray)
                made[0].see(Batch([batch.columns.ravel()], np.zeros(batch.columns.size, dtype=np.int64)), 0)
                continue
            for j, column in enumerate(made):
                column.see(batch, j)
        for column in made:
            if self._options.levels_for(column) is None:
                column.read_truths()
        if problems and not is_image:
            for text in filter(None, map(column_problem, made)):
                problems.add(text)
        problems.refuse()
        if is_image:
            made = [replace(made[0], name=column.name) for column in made]
        self._size = (n_rows, total)
        known.update(zip(new, made, strict=True))
        return [known[j] for j in chosen]

    def _empty_column(self, j: int, source: Source, marked: Mapping[int, frozenset[float | str]] | None) -> Column:
        book = source.codebook(j)
        marks = self._marks(j) if marked is None else marked.get(j, frozenset())
        return Column(self._table.names[j], source.where, *source.categories(j), book.texts, marks, book.is_nominal)

    def _read_size(self) -> tuple[int, float]:
        if self._size is None:
            self._scan(self._chosen)
        assert self._size is not None
        return self._size
