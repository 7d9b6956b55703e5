"""The one way in for data: every function that takes data takes it through here."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from mrfbayes.base.digests import digest_of
from mrfbayes.base.errors import InputError, MRFWarning, Problems, warn_user
from mrfbayes.data.coding import check_same_coding, is_plain
from mrfbayes.data.data import Data
from mrfbayes.data.reading import match_columns
from mrfbayes.data.statistics import Statistics, count_states
from mrfbayes.data.values import Column, listed
from mrfbayes.model.covariates import CovariateModel, Design
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
    scanned: list[tuple[Data, list[Column]]] = []
    for part in parts:
        known = part.schema if isinstance(part, Statistics) else part._schema if isinstance(part, Data) else None
        if known is not None:
            own = own or known
            check_same_coding(own, known)
            continue
        with suppress(InputError):
            data = as_data(part)
            columns = data._scan(match_columns(model, data._table.source, data._table.names, data._chosen))
            scanned.append((data, columns))
    if own is not None or not scanned:
        return own
    try:
        return _fit_together(model, scanned)
    except InputError:
        readable = [one for one in scanned if _is_readable(model, one)]
    try:
        return _fit_together(model, readable) if readable else None
    except InputError as wrong:  # each can be read, but they contradict one another
        raise InputError(f"the data sets, which are coded together: {wrong}") from None


def _fit_together(model: Model, scanned: Iterable[tuple[Data, list[Column]]]) -> Schema | None:
    """The coding of all columns of several data sets; None where all values are states already."""
    (first, together), *others = scanned
    for _, columns in others:
        together = [a.joined(b) for a, b in zip(together, columns, strict=True)]
    variables = first._fit(model, together)[0]
    return None if is_plain(variables) else Schema(tuple(variables))


def _is_readable(model: Model, one: tuple[Data, list[Column]]) -> bool:
    try:
        _fit_together(model, [one])
    except InputError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class CovariateStatistics(Statistics):
    """Rows of a field with covariates, in groups with the same values of them; ``counts`` of all would mean nothing.

    Attributes
    ----------
    design : the parameters of every group's field
    states : (n, d) uint8 all rows, 255 where a cell is missing
    weight : (n,) their weights
    group : (n,) the group of each
    z : (G, K) centred and scaled values, (G, K, d) where they differ between cells
    """

    design: Design = None  # type: ignore[assignment]
    states: np.ndarray = None  # type: ignore[assignment]
    weight: np.ndarray = None  # type: ignore[assignment]
    group: np.ndarray = None  # type: ignore[assignment]
    z: np.ndarray = None  # type: ignore[assignment]

    def of_groups(self) -> list[Statistics]:
        """The counts of every group."""
        # Most groups have one row, and lack most states.
        with warnings.catch_warnings(action="ignore", category=MRFWarning):
            return [
                count_states(self.model.base, self.states[self.group == g], self.weight[self.group == g])
                for g in range(self.design.n_fields)
            ]


def weights_of(data: Data) -> np.ndarray:
    """The weights (n,) of all rows, in their order."""
    parts = data._table.batches(data._chosen[:1], Problems())
    return np.concatenate([np.ones(len(batch.rows)) if w is None else w for batch, w in parts])


def count_covariates(model: CovariateModel, data: Data) -> CovariateStatistics:
    """The counts of data whose rows have covariates."""
    base, known = model.base, data.covariate_values
    names = [covariate.name for covariate in model.covariates]
    if absent := [name for name in (*names, *([model.offset] if model.offset else [])) if name not in known]:
        raise InputError(f"covariates: the data lack {absent[0]!r}, on which the model depends.")
    pooled = data.count(model.field)
    states = data.rows(base)
    weight = weights_of(data)
    used = (states != 255).all(axis=1) if data._missing == "drop" else (states != 255).any(axis=1)
    used &= weight > 0
    z = [(known[c.name] - c.centre) / c.scale for c in model.covariates]
    offset = None if model.offset is None else known[model.offset]
    is_cell = any(values.ndim == 2 for values in (*z, *([] if offset is None else [offset])))
    if is_cell:
        z = [np.broadcast_to(v if v.ndim == 2 else v[:, None], states.shape) for v in z]
    matrix = np.stack(z, axis=1)[used] if z else np.zeros((int(used.sum()), 0))
    states, weight = states[used], weight[used]
    flat = matrix.reshape(len(matrix), -1)
    if offset is not None:
        offset = np.broadcast_to(offset if offset.ndim == 2 else offset[:, None], (used.size, base.n_nodes))
        offset = offset[used]
        flat = np.concatenate([flat, offset], axis=1)
    _, first, group = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    design = model.design(matrix[first], None if offset is None else offset[first])
    counts, digest = np.full(model.n_parameters, np.nan), digest_of([pooled.digest, flat])
    shared = vars(replace(pooled, model=model, counts=counts, digest=digest, chunks=None, _dense=None))
    return CovariateStatistics(**shared, design=design, states=states, weight=weight, group=group, z=matrix[first])
