"""Columns chosen by name, range or pattern, and matched to the nodes of a model."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from unicodedata import normalize

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import ColumnsLike
from mrfbayes.data.batch import Source
from mrfbayes.data.deciding import near
from mrfbayes.data.frames import ArrayTable
from mrfbayes.data.values import listed
from mrfbayes.model.field import Model


def choose_columns(
    names: Sequence[str], columns: ColumnsLike | None, drop: ColumnsLike | None, where: str
) -> list[str]:
    """The columns among ``names`` that ``columns`` asks for (all by default), but for ``drop``, in their order.

    Each request is a name, a range ``first:last``, or a pattern with ``*`` and ``?``.
    """
    wanted, unwanted = (
        {name for one in _requests(given) for name in _matches(names, one, argument, where)}
        for argument, given in (("columns", columns), ("drop", drop))
    )
    left = [name for name in names if (columns is None or name in wanted) and name not in unwanted]
    if not left:
        raise InputError(f"columns and drop leave no column of {where}.")
    return left


def _requests(given: ColumnsLike | None) -> list[str]:
    return [given] if isinstance(given, str) else [str(one) for one in given or ()]


def _matches(names: Sequence[str], request: str, argument: str, where: str) -> list[str]:
    if request in names:
        return [request]
    first, colon, last = request.partition(":")
    if colon and first in names and last in names:
        a, b = names.index(first), names.index(last)
        if a > b:
            raise InputError(
                f"{argument} = {request!r}: {first!r} comes after {last!r} in {where}; write {last}:{first}."
            )
        return list(names[a : b + 1])
    found = [name for name in names if fnmatchcase(name, request)] if any(c in request for c in "*?[") else []
    if not found:
        hint = near(request, names)
        raise InputError(f"{argument} = {request!r}: {where} has no such column{hint}; it has {listed(names)}.")
    return found


def match_columns(model: Model, source: Source, names: Sequence[str], chosen: Sequence[int]) -> list[int]:
    """Which of the chosen columns of the source is which node: by name where both have names, else by position."""
    by_name = {names[j]: j for j in chosen}
    if source.names is None and model.named and not isinstance(source, ArrayTable):
        raise InputError(
            f"{source.where}:1: no header, but the nodes have names ({listed(model.nodes)}); add a line of names."
        )
    if source.image_shape is not None and model.grid_shape not in (None, source.image_shape):
        raise InputError(
            f"{source.where} holds images of {source.image_shape[0]} x {source.image_shape[1]} pixels, the grid has "
            f"{model.grid_shape[0]} x {model.grid_shape[1]}: crop the images, or make the grid as large."
        )
    if source.names is not None and (model.named or set(model.nodes) <= set(by_name)):
        absent = [node for node in model.nodes if node not in by_name]
        if absent:
            _refuse_absent(absent, model, source, list(by_name))
        return [by_name[node] for node in model.nodes]
    if len(chosen) != model.n_nodes:
        if isinstance(source, ArrayTable) and source.x.shape == model.grid_shape:
            raise InputError(
                f"x has the shape {source.x.shape} of the grid: it is one observation? Pass x[None]; several images "
                "have the shape (n, rows, columns)."
            )
        shape = f"{model.grid_shape[0]} x {model.grid_shape[1]} grid" if model.grid_shape else "model"
        hint = ""
        if len(chosen) == model.n_nodes - 1 and model.nodes == tuple(map(str, range(model.n_nodes))):
            hint = f" (the nodes are 0 to {len(chosen)}: are some edges counted from 0 and some from 1?)"
        raise InputError(
            f"{source.where} has {len(chosen)} columns, the {shape} has {model.n_nodes} nodes: give one column per "
            f"node, in the order of model.nodes{hint}."
        )
    return list(chosen)


def _refuse_absent(absent: Sequence[str], model: Model, source: Source, names: Sequence[str]) -> None:
    hint = near(absent[0], names) or f"; it has {listed(names) or 'no columns'}"
    alike = next((name for name in names if normalize("NFKC", name) == normalize("NFKC", absent[0])), None)
    if alike is not None:
        hint = f" ({alike!r} looks the same, but is written {alike!a}, not {absent[0]!a})"
    what = f"the first is {absent[0]!r}" if len(absent) == 1 else f"they are {listed(absent)}"
    raise InputError(
        f"{source.where}: no column for {len(absent)} of {model.n_nodes} nodes, {what}{hint}: name the columns after "
        "the nodes."
    )
