"""Which pictures each kind of result has: what `Result.plot` draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, TypeAlias

from mrfbayes import plots
from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.base.types import Drawing, PlotOption
    from mrfbayes.model.result import Result
    from mrfbayes.results.posterior import Posterior

Picture: TypeAlias = "Callable[..., Drawing]"


def _field(posterior: Posterior, ax: Axes | None = None) -> Drawing:
    return plots.field(posterior.model, posterior, ax=ax)


def _of_posterior(draw: Picture) -> Picture:
    return wraps(draw)(lambda fit, **options: draw(fit.posterior, **options))


POSTERIOR: dict[str, Picture] = {
    "network": plots.network,
    "panels": plots.network_panels,
    "forest": plots.forest,
    "nodes": partial(plots.forest, nodes=True),
    "centrality": plots.centrality,
    "evidence": plots.edge_evidence,
    "field": _field,
    "marginals": plots.marginals,
    "ranks": plots.ranks,
}
# By the name of the class; the first picture is drawn where none is named.
PICTURES: Mapping[str, Mapping[str, Picture]] = {
    "Posterior": POSTERIOR,
    "Selection": {
        "structures": plots.structures,
        "network": plots.network,
        "panels": plots.network_panels,
        "evidence": plots.edge_evidence,
        "complexity": plots.complexity,
    },
    "GroupComparison": {
        "differences": plots.group_differences,
        "network": plots.group_networks,
        "evidence": plots.group_differences,
    },
    "Fit": {name: _of_posterior(draw) for name, draw in POSTERIOR.items()},
    "Estimate": {"trace": plots.estimate_trace},
    "Segmentation": {"labels": plots.segmentation},
}


def draw(result: Result, kind: str | None, options: Mapping[str, PlotOption]) -> Drawing:
    """The picture ``kind`` of a result; the first of its class by default."""
    name = type(result).__name__
    pictures = PICTURES.get(name, {})
    if not pictures:
        raise InputError(f"plot: {name} has no picture; plot one of the results in it.")
    if kind is not None and kind not in pictures:
        raise InputError(f"kind = {kind!r}: {name} has the pictures {', '.join(map(repr, pictures))}.")
    kind = kind or next(iter(pictures))
    known = list(signature(pictures[kind]).parameters)[1:]
    if unknown := [option for option in options if option not in known]:
        raise InputError(f"plot: picture {kind!r} has no option {unknown[0]!r}; its options: {', '.join(known)}.")
    return pictures[kind](result, **options)
