"""`mrfbayes.Data`: the one object that reads a table and owns its coding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, cast

import numpy as np

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.base.plain_text import grid
from mrfbayes.base.types import ColumnsLike, DataLike, LevelsLike, MarksLike
from mrfbayes.data.coded_table import CodedTable
from mrfbayes.data.coding import Encoder, UnknownValueError, state_counts
from mrfbayes.data.deciding import read_options
from mrfbayes.data.reading import (
    RoleTable,
    check_covariates,
    choose_columns,
    match_columns,
    plain_values,
    read_role,
    refuse_repeated_people,
)
from mrfbayes.data.sources import open_source, widened
from mrfbayes.data.statistics import Statistics, statistics_of
from mrfbayes.data.values import Column, as_value, listed
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.schema import Kind, Schema, plain_schema

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

Missing = Literal["model", "drop"]
VARIABLE_COLUMNS = ("variable", "kind", "labels (cells)", "missing")  # of `Data._variable_rows`


class ReadingOptions(TypedDict, total=False):
    """The keyword arguments of `Data`."""

    columns: ColumnsLike | None
    drop: ColumnsLike | None
    levels: LevelsLike | None
    kinds: Kind | Mapping[str, Kind] | None
    missing: Missing
    na_values: MarksLike | None
    schema: Schema | None
    sheet: str | int | None
    weights: ArrayLike | None
    group: ArrayLike | None
    covariates: ColumnsLike | Mapping[str, ArrayLike] | None
    delimiter: str | None


class Data(CodedTable):
    """A table of discrete variables: read lazily, coded once.

    One pass over the source decides the coding of every variable, which `schema` keeps and all results carry; one pass
    counts. Kinds: *binary* (two values), *ordinal* (whole numbers, at most 12 from the smallest to the largest; ordered
    categoricals; labels in a known order or listed in ``levels``), *nominal* (other labels). A column never changes the
    coding of another one.

    Parameters
    ----------
    source : array, table or path
        Array (n, d), images (n, rows, columns), pandas, polars, Arrow, xarray or Dask table, mapping from names to
        columns; path of a CSV or TSV file (also gzipped), a Parquet file or a folder of them, an Excel workbook, an
        SPSS or Stata file, PNG or NPY images; a list of files, or a pattern such as ``"wave*.csv"``.
    columns, drop : list of str, optional
        Columns to use, or to leave out: names, ranges ``"q1:q9"``, patterns ``"q*"``.
    levels : list or dict, optional
        Labels in ascending order, for all columns that hold them, or by column; also as text, ``"never<rarely<often"``,
        and several such texts, ``["no<yes", "mood=low<high"]``.
    kinds : str or dict, optional
        "binary", "ordinal" or "nominal", by column, where the values do not tell.
    missing : {"model", "drop"}
        Keep rows with missing cells, or leave them out.
    na_values : list or dict, optional
        Further values that mark missing cells, such as -99, for all columns or by column. Blanks, NaN, "NA" and other
        usual marks are always missing.
    schema : Schema, optional
        The coding of earlier data, for rows that have to be coded alike; unknown labels are refused.
    sheet : str or int, optional
        Sheet of a workbook; the first by default.
    weights : str or array, optional
        Column with the rows' weights, or one weight per row. Weights may be fractions; n is their sum.
    group : str or array, optional
        Column whose values are groups, or one label per row; for `compare_groups`.
    covariates : list of str, or mapping from names to arrays, optional
        Columns that are no variables of the model but may act on it; kept as numbers. Arrays have one value per row, or
        one per cell: (n, d), or (rows, columns) of one image.
    delimiter : str, optional
        Of a text file; recognised by default.

    See Also
    --------
    Schema : The coding.
    Model.from_data : The model that fits the kinds of the variables.
    Statistics : Counts, from `Data.count`.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> data = mb.Data({"sleep": [1, 2, 4, 5, 1], "worry": ["no", "yes", "yes", "", "no"]})
    >>> data.schema["sleep"].kind, data.schema["sleep"].n_states
    ('ordinal', 5)
    >>> data.schema["worry"].labels
    ('no', 'yes')
    """

    def __init__(
        self,
        source: DataLike,
        *,
        columns: ColumnsLike | None = None,
        drop: ColumnsLike | None = None,
        levels: LevelsLike | None = None,
        kinds: Kind | Mapping[str, Kind] | None = None,
        missing: Missing = "model",
        na_values: MarksLike | None = None,
        schema: Schema | None = None,
        sheet: str | int | None = None,
        weights: ArrayLike | None = None,
        group: ArrayLike | None = None,
        covariates: ColumnsLike | Mapping[str, ArrayLike] | None = None,
        delimiter: str | None = None,
    ) -> None:
        if isinstance(source, (Data, Statistics)):
            raise InputError(f"source is a {type(source).__name__} already: use it as it is.")
        if missing not in ("model", "drop"):
            raise InputError(f"missing = {missing!r}: choose 'model' or 'drop'.")
        if schema is not None and not isinstance(schema, Schema):
            raise InputError(f"schema is a {type(schema).__name__}: give the schema of a Data or of a result.")
        if schema is not None and (levels is not None or kinds is not None):
            raise InputError("schema has the levels and kinds of all variables: leave levels and kinds out.")
        opened = open_source(source, delimiter, sheet)
        names = opened.names or tuple(map(str, range(opened.n_columns)))
        index = {name: j for j, name in enumerate(names)}
        roles = [read_role(*role, names, opened, source) for role in (("weights", weights), ("group", group))]
        self._missing, self._table = missing, RoleTable(opened, names, roles[0], roles[1])
        chosen = names if columns is None and drop is None else choose_columns(names, columns, drop, opened.where)
        self._given = dict(covariates) if isinstance(covariates, Mapping) else {}
        named = None if isinstance(covariates, Mapping) else covariates
        acting = [] if named is None else choose_columns(names, named, None, opened.where, "covariates")
        self._covariates = [index[name] for name in acting]
        used = {*self._covariates, *(role for role in roles if isinstance(role, int))}
        self._chosen = [index[name] for name in chosen if index[name] not in used]
        if schema is not None and opened.names is not None:
            self._chosen = [j for j in self._chosen if names[j] in schema.names]
        if not self._chosen:
            has = f"it has {listed(names)}" if names else "it has no columns"
            raise InputError(f"{opened.where}: no column is left as a variable; {has}.")
        self._options = read_options(levels, kinds, na_values, [names[j] for j in self._chosen])
        self._schema = schema
        self._columns: dict[int, Column] = {}
        self._size: tuple[int, float] | None = None

    @classmethod
    def from_long(cls, source: DataLike, row: str, column: str, value: str, **options: Unpack[ReadingOptions]) -> Data:
        """Data from a long table, with a row for each answer.

        Parameters
        ----------
        source : table or path
            As for `Data`.
        row, column, value : str
            Names of the columns that hold the observation, the variable and the value.
        **options
            As for `Data`.

        Returns
        -------
        Data
            A row per observation, in the order of their first answer; what is not there is missing.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> long = {"who": ["a", "a", "b"], "item": ["x", "y", "x"], "answer": [0, 1, 1]}
        >>> mb.Data.from_long(long, "who", "item", "answer").rows().tolist()
        [[0, 1], [1, 255]]
        """
        opened = open_source(source, options.pop("delimiter", None), options.pop("sheet", None))
        return cls(cast("DataLike", widened(opened, row, column, value)), **options)

    @property
    def schema(self) -> Schema:
        """The coding of the variables; every result keeps it."""
        return self._decided[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What asks for a decision, such as columns that were left out."""
        return tuple(self._decided[1].warnings)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is good to know about the coding, such as levels that never occur."""
        return tuple(self._decided[1].notes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._read_size()[0]

    @property
    def n(self) -> float:
        """Total weight of the rows; their number where there are no weights."""
        return self._read_size()[1]

    @property
    def image_shape(self) -> tuple[int, int] | None:
        """Rows and columns of the images; None for tables."""
        return self._table.source.image_shape

    @property
    def group_labels(self) -> tuple[str, ...]:
        """Names of the groups, sorted; empty where there are none."""
        pieces = self._table.pieces([], Problems()) if isinstance(self._table.group, int) else ()
        parts = [self._table.group] if isinstance(self._table.group, np.ndarray) else [labels for *_, labels in pieces]
        return tuple(sorted({label for part in parts if part is not None for label in part.tolist()}))

    @property
    def covariates(self) -> np.ndarray | None:
        """(n, k) numbers in the columns that were named as covariates, NaN where missing; None where there are none.

        Raises
        ------
        InputError
            If a covariate holds text.
        """
        if not self._covariates:
            return None
        problems, parts = Problems(), []
        names = [self._table.names[j] for j in self._covariates]
        for batch, _ in self._table.batches(self._covariates, problems):
            cells = [[as_value(v) for v in plain_values(batch.column(j)).tolist()] for j in range(len(names))]
            for name, column in zip(names, cells, strict=True):
                if texts := [value for value in column if isinstance(value, str)]:
                    raise InputError(f"covariates: {name!r} holds {texts[0]!r}; give numbers.")
            parts.append(np.array(cells, dtype=float).T)
        problems.refuse()
        return np.concatenate(parts)

    @property
    def covariate_values(self) -> dict[str, np.ndarray]:
        """The covariates by name, (n,) with a value per row or (n, d) with one per cell; none is missing."""
        columns = self.covariates
        known = {} if columns is None else {self._table.names[j]: columns[:, k] for k, j in enumerate(self._covariates)}
        given = {**known, **self._given}
        return check_covariates(given, self.n_rows, len(self._chosen)) if given else {}

    @property
    def variables(self) -> pd.DataFrame:
        """One row per variable with its kind, labels in state order, their frequencies, and missing cells."""
        import pandas as pd

        columns = {column.name: column for column in self._scan(self._chosen)}
        by_place = self._table.source.names is None
        rows = []
        for j, variable in enumerate(self.schema):
            column = columns[variable.name] if not by_place or variable.name in columns else list(columns.values())[j]
            counts = state_counts(variable, column)
            rows.append((variable.name, variable.kind, list(variable.labels), counts, column.n_missing))
        return pd.DataFrame(rows, columns=["name", "kind", "labels", "n", "n_missing"]).set_index("name")

    def __repr__(self) -> str:
        kinds = [variable.kind for variable in self.schema]
        shown = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        missing = sum(column.n_missing for column in self._scan(self._chosen))
        cells = f", {missing:,} missing cells" if missing else ""
        return f"<Data: {self.n_rows:,} rows of {len(kinds)} variables ({shown}){cells}; {self.where!r}>"

    def _repr_html_(self) -> str:
        remarks = "".join(f"<div>{text}</div>" for text in map(escape, (*self.warnings, *self.notes)))
        return grid(VARIABLE_COLUMNS, self._variable_rows(), repr(self)[1:-1]) + remarks

    def _variable_rows(self, most: int | None = None) -> list[list[str]]:
        """`variables` as text: name, kind, labels with their frequencies, missing cells."""
        rows = []
        for name, kind, labels, counts, n_missing in self.variables[:most].itertuples():
            shown = [f"{label} ({count})" for label, count in zip(labels, counts, strict=True)]
            rows.append([str(name), kind, ", ".join(shown[:12]) + (", ..." if len(shown) > 12 else ""), str(n_missing)])
        return rows

    def count(self, model: Model) -> Statistics:
        """Count the outcomes of a model, the sufficient statistics of all methods.

        Parameters
        ----------
        model : Model
            The field. Columns are matched to its nodes by name, or by position where one of both has no names. A model
            with a schema codes the rows by it; else the numbers of states of the model are used.

        Returns
        -------
        Statistics
            Counts, a sample of the rows, and warnings about the data.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> mb.Data([[0, 0], [1, 1], [0, 1]]).count(mb.grid(1, 2)).counts
        array([2.])
        """
        require_model(model)
        chosen = match_columns(model, self._table.source, self._table.names, self._chosen)
        variables, found = self._coding_of(model, chosen)
        try:
            return statistics_of(
                model, self._states(chosen, variables, model), self._missing, variables, self.where, found
            )
        except UnknownValueError:
            variables, found = self._read_coding(model, chosen)
        return statistics_of(model, self._states(chosen, variables, model), self._missing, variables, self.where, found)

    def coded(self, model: Model) -> Data:
        """Return the same rows with the coding of a model, so that parts of them have the same coding.

        Parameters
        ----------
        model : Model
            The field.

        Returns
        -------
        Data
            The rows with this coding.
        """
        chosen = match_columns(model, self._table.source, self._table.names, self._chosen)
        variables, _ = self._coding_of(model, chosen)
        if variables is None:
            try:
                for _ in self._states(chosen, None, model):
                    pass
            except UnknownValueError:
                variables, _ = self._read_coding(model, chosen)
        if variables is None:
            variables = plain_schema(model).variables
        return self._with(_schema=Schema(tuple(variables)), _chosen=chosen)

    def parts(self) -> dict[str, Data]:
        """Return the rows of each group, all with the same schema.

        Returns
        -------
        dict of str to Data
            The rows by the name of the group.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> data = mb.Data({"a": [0, 1, 1], "b": [1, 0, 1], "who": ["x", "y", "x"]}, group="who")
        >>> {name: part.n_rows for name, part in data.parts().items()}
        {'x': 2, 'y': 1}
        """
        schema = self._schema or self.schema
        return {name: self._with(_schema=schema, _table=replace(self._table, only=name)) for name in self.group_labels}

    def refuse_repeated_people(self) -> None:
        """Raise an error where a column that is no variable says that the groups are the same people."""
        columns = (self._table.weights, self._table.group)  # those that are not given as arrays
        used = {*self._chosen, *self._covariates, *(name for name in columns if isinstance(name, (str, int)))}
        named = self._table.source.names is not None
        refuse_repeated_people(self._table, [j for j in range(len(self._table.names)) if named and j not in used])

    def rows(self, by: Model | Schema | None = None) -> np.ndarray:
        """Return the states of all rows in their order.

        Parameters
        ----------
        by : Model or Schema, optional
            The variables and the coding to use; by default `schema`.

        Returns
        -------
        (n, d) ndarray of uint8
            States 0..r-1; 255 where a cell is missing.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> mb.Data({"a": ["no", "yes", ""], "b": [1, 2, 3]}).rows().tolist()
        [[0, 0], [1, 1], [255, 2]]
        """
        if isinstance(by, Model):
            data = self.coded(by)
            chosen, schema = data._chosen, data._schema
        else:
            schema = self.schema if by is None else by
            chosen = self._columns_of(schema)
        assert schema is not None
        variables = self._marked(self._variables_for(schema, chosen), chosen)
        encode, problems = Encoder(variables, np.array([v.n_states for v in variables])), Problems()
        try:
            parts = [encode(batch) for batch, _ in self._table.batches(chosen, problems)]
        except UnknownValueError:
            self._refuse(chosen, variables)
        problems.refuse()
        return np.concatenate(parts)

    def recoded(self, schema: Schema) -> Data:
        """Return the same rows coded by the schema of a result.

        Parameters
        ----------
        schema : Schema
            The coding.

        Returns
        -------
        Data
            The rows with this coding.

        Raises
        ------
        InputError
            If this `Data` was made with a coding that differs from ``schema``.
        """
        self._check_schema(schema)
        return self._with(_schema=schema)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that are variables; numbers where the source has no names."""
        return tuple(self._table.names[j] for j in self._chosen)

    def value_totals(self) -> dict[float | str, int]:
        """Count how many cells of all variables have each value.

        Returns
        -------
        dict
            Numbers of cells by value.
        """
        columns = self._scan(self._chosen)[: None if self.image_shape is None else 1]
        return sum((column.counts for column in columns), Counter[float | str]())

    @property
    def has_group(self) -> bool:
        """Whether the rows belong to groups."""
        return self._table.group is not None
