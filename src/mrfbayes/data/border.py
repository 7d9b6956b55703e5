"""The one way in for data: every function that takes data takes it through here."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from mrfbayes.base.errors import InputError, warn_user
from mrfbayes.data.choosing import match_columns
from mrfbayes.data.coding import check_same_coding, is_plain
from mrfbayes.data.covariates import count_covariates
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.data.values import Column, listed
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.schema import Schema


def as_data(x: object, schema: Schema | None = None) -> Data:
    """The one way in for data: a `Data` as it is, anything else read as one, coded by ``schema`` where there is one."""
    return x if isinstance(x, Data) else Data(x, schema=schema)


def counted(model: Model, x: object, schema: Schema | None = None) -> Statistics:
    """The counts of ``x``, which is a `Data`, anything that `Data` reads, or a `Statistics` of the same model."""
    require_model(model)
    if isinstance(x, Statistics):
        if x.model is not model and x.model.fingerprint != model.fingerprint:
            raise InputError(f"data is a Statistics of another model, {x.model!r}: count the data with {model!r}.")
        return x
    data = as_data(x)
    if isinstance(model, CovariateModel):
        statistics: Statistics = count_covariates(model, data if schema is None else data.recoded(schema))
    elif data._covariates or data._given:
        names = [*(data._table.names[j] for j in data._covariates), *data._given]
        remedy = "use Model.from_data(..., covariates=...) or model.with_covariates(data), or leave them out"
        raise InputError(f"covariates = {listed(names)}: the model has none; {remedy}.")
    else:
        statistics = (data if schema is None else data.recoded(schema)).count(model)
    if data.has_group and data._table.only is None:
        text = "the groups of the data are not used here: compare_groups compares them"
        warn_user(text)
        statistics = replace(statistics, warnings=(*statistics.warnings, text))
    return statistics


def common_schema(model: Model, parts: Iterable[object]) -> Schema | None:
    """One coding for several data sets: the model's, that of the parts, or one made from all of them together.

    None where all values are states already. A part that cannot be read is left to the error of its own reading.
    """
    own: Schema | None = model.schema
    together: list[Column] = []
    first: Data | None = None
    for part in parts:
        known = part.schema if isinstance(part, Statistics) else part._schema if isinstance(part, Data) else None
        if known is not None:
            own = own or known
            check_same_coding(own, known)
            continue
        with suppress(InputError):
            data = as_data(part)
            columns = data._scan(match_columns(model, data._table.source, data._table.names, data._chosen))
            first = first or data
            together = [a.joined(b) for a, b in zip(together, columns, strict=True)] if together else columns
    if own is not None or first is None:
        return own
    with suppress(InputError):  # what is wrong is said of the part where it is
        variables = first._fit(model, together)[0]
        return None if is_plain(variables) else Schema(tuple(variables))
    return None
