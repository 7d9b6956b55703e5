"""Which recursion does which work: tables of states, or the planar determinant where it is faster or alone feasible.

Seconds are predicted from counts and constants measured once, never measured on the spot, so that the same model
always takes the same way.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from mrfbayes.base import memory
from mrfbayes.exact.contract import Recursion
from mrfbayes.exact.cost import predicted_seconds
from mrfbayes.exact.memory import WORKS, TooLarge
from mrfbayes.exact.planar import PlanarRecursion, PlanarSize
from mrfbayes.exact.planar_drawing import draw, fielded_nodes
from mrfbayes.exact.recursions import recursion
from mrfbayes.model.field import Model

QUICK_SECONDS = 1e-4  # of tables on a grid, below which no other way is looked for
COLUMNS_SECONDS = 2e-3  # of tables for a whole covariance on a grid, below which no other way is looked for
SEARCH_SECONDS = 1e-2  # of tables on other graphs, where another way has to find a drawing first
CLEARLY_FASTER = 3.0  # times, for log Z inside chains
SET_UP_SECONDS = 1.0  # seconds that tables may take to be set up for draws: each draw is then nearly free

_PLANAR: WeakKeyDictionary[Model, PlanarRecursion | None] = WeakKeyDictionary()


def planar(model: Model) -> PlanarRecursion | None:
    """The planar recursion of a model, made when first asked for; None where the field is not planar."""
    if model not in _PLANAR:
        drawing = draw(model)
        _PLANAR[model] = None if drawing is None else PlanarRecursion(drawing, _tables(model, "moments"))
    return _PLANAR[model]


def planar_size(model: Model) -> PlanarSize | None:
    """What the planar recursion would take; for grids without making it. None where the field is not planar."""
    if model.grid_shape is not None and model.is_binary and not fielded_nodes(model).size:
        return PlanarSize.of_grid(*model.grid_shape)
    found = planar(model)
    return None if found is None else found.size


def chosen(model: Model, work: str) -> Recursion:
    """The recursion that does ``work`` (a key of `WORKS`); `CostError` where none fits into memory."""
    if takes_planar(model, work):
        found = planar(model)
        assert found is not None
        return found
    return recursion(model)


def takes_planar(model: Model, work: str) -> bool:
    """Whether ``work`` is done by the planar recursion; False too where nothing can do it."""
    assert work in WORKS
    tables = _tables(model, work)
    key = "second" if work == "series" else work
    seconds = float("inf") if tables is None else predicted_seconds(tables, key, 1)
    if seconds < (QUICK_SECONDS if model.grid_shape is not None else SEARCH_SECONDS):
        return False
    if work == "sample" and seconds < SET_UP_SECONDS:
        return False
    size = planar_size(model)
    return size is not None and size.seconds(key) < seconds and size.n_bytes(work) <= memory.memory_limit()


def is_planar_alone(model: Model) -> bool:
    """Whether the planar recursion gives expected counts and tables give nothing."""
    return _tables(model, "log_z") is None and takes_planar(model, "moments")


def weighs_by_planar(model: Model) -> bool:
    """Whether chains evaluate log Z by the planar recursion: alone possible, or clearly faster.

    Inside a chain there are no tables to fall back on where digits are lost, so that a small gain is not worth it.
    """
    if not takes_planar(model, "log_z"):
        return False
    tables, size = _tables(model, "log_z"), planar_size(model)
    assert size is not None
    return tables is None or CLEARLY_FASTER * size.seconds("log_z") < predicted_seconds(tables, "log_z", 1)


def covariance_by_columns(model: Model) -> PlanarRecursion | None:
    """The planar recursion where all columns of the covariance at once are faster than one parameter after another."""
    p, tables = model.n_parameters, _tables(model, "series")
    seconds = float("inf") if tables is None else predicted_seconds(tables, "first", p)
    if seconds < (COLUMNS_SECONDS if model.grid_shape is not None else SEARCH_SECONDS):
        return None
    size = planar_size(model)
    if size is None or size.covariance_seconds > min(seconds, p * size.seconds("first")):
        return None
    if 24 * p * p > memory.memory_limit():
        raise TooLarge("series", size.width, 24 * p * p)
    return planar(model)


def _tables(model: Model, work: str) -> Recursion | None:
    """The recursion by tables, or None where they do not fit into memory."""
    try:
        found = recursion(model)
    except TooLarge:
        return None
    return found if found.n_bytes(work) <= memory.memory_limit() else None
