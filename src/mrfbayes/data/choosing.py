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

    def chosen(argument: str, requests: ColumnsLike | None) -> set[str]:
        texts = [requests] if isinstance(requests, str) else [] if requests is None else list(map(str, requests))
        return {name for text in texts for name in _matches(names, text, argument, where)}

    wanted, unwanted = chosen("columns", columns), chosen("drop", drop)
    left = [name for name in names if (columns is None or name in wanted) and name not in unwanted]
    if not left:
        raise InputError(f"columns and drop leave no column of {where}.")
    return left


def _matches(names: Sequence[str], request: str, argument: str, where: str) -> list[str]:
    if request in names:
        return [request]
    first, colon, last = request.partition(":")
    if colon and first in names and last in names:
        a, b = names.index(first), names.index(last)
        if a > b:
            raise InputError(f"{argument} = {request!r}: {first!r} comes after {last!r}; write {last}:{first}.")
        return list(names[a : b + 1])
    matching = [name for name in names if fnmatchcase(name, request)] if any(c in request for c in "*?[") else []
    if not matching:
        hint = near(request, names)
        raise InputError(f"{argument} = {request!r}: {where} has no such column{hint}; it has {listed(names)}.")
    return matching


def match_columns(model: Model, source: Source, names: Sequence[str], chosen: Sequence[int]) -> list[int]:
    """Which of the chosen columns of the source is which node: by name where both have names, else by position."""
    by_name, where, shape = {names[j]: j for j in chosen}, source.where, model.grid_shape
    if source.names is None and model.named and not isinstance(source, ArrayTable):
        raise InputError(f"{where}:1: no header, but the nodes have names ({listed(model.nodes)}); add them.")
    if source.image_shape is not None and shape not in (None, source.image_shape):
        images, grid = (f"{size[0]} x {size[1]}" for size in (source.image_shape, shape))
        raise InputError(f"{where} holds images of {images} pixels, the grid has {grid}: crop them or change it.")
    if source.names is not None and (model.named or set(model.nodes) <= set(by_name)):
        absent = [node for node in model.nodes if node not in by_name]
        if absent:
            _refuse_absent(absent, model, source, list(by_name))
        return [by_name[node] for node in model.nodes]
    if len(chosen) != model.n_nodes:
        if isinstance(source, ArrayTable) and source.x.shape == shape:
            raise InputError(f"x has the shape {shape} of the grid: is it one observation? Pass x[None].")
        kind = "model" if shape is None else f"{shape[0]} x {shape[1]} grid"
        hint = f"{where} has {len(chosen)} columns, the {kind} has {model.n_nodes} nodes"
        if len(chosen) == model.n_nodes - 1 and model.nodes == tuple(map(str, range(model.n_nodes))):
            hint += f" (0 to {len(chosen)}: are some edges counted from 0 and some from 1?)"
        raise InputError(f"{hint}: give one column per node, in the order of model.nodes.")
    return list(chosen)


def _refuse_absent(absent: Sequence[str], model: Model, source: Source, names: Sequence[str]) -> None:
    hint = near(absent[0], names) or f"; it has {listed(names) or 'no columns'}"
    alike = next((name for name in names if normalize("NFKC", name) == normalize("NFKC", absent[0])), None)
    if alike is not None:
        hint = f" ({alike!r} looks the same, but is written {alike!a}, not {absent[0]!a})"
    what = f"no column for {len(absent)} of {model.n_nodes} nodes, {listed(absent)}{hint}"
    raise InputError(f"{source.where}: {what}: name the columns after the nodes.")
