"""Which recursion does which work: tables of states, or the planar determinant where it is faster or alone feasible.

Seconds are predicted from counts and constants measured once, never measured on the spot, so that the same model
always takes the same way.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from mrfbayes.exact.cost import predicted_seconds
from mrfbayes.exact.planar import PlanarRecursion
from mrfbayes.exact.planar_drawing import draw
from mrfbayes.exact.recursions import WORKS, Recursion, TooLarge, memory_limit, recursion
from mrfbayes.model.field import Model

QUICK_SECONDS = 1e-4  # of tables on a grid, below which no other way is looked for
SEARCH_SECONDS = 1e-2  # the same for other graphs, where a drawing has to be found first
COLUMNS_SECONDS = 2e-3  # of tables on a grid for a whole covariance, as `QUICK_SECONDS`
PATIENCE = 1.0  # seconds that tables may take to be set up for draws: each draw is then nearly free

_PLANAR: WeakKeyDictionary[Model, PlanarRecursion | None] = WeakKeyDictionary()
_CHOSEN: WeakKeyDictionary[Model, dict[str, Recursion]] = WeakKeyDictionary()


def planar(model: Model) -> PlanarRecursion | None:
    """The planar recursion of a model, made when first asked for; None where the field is not planar."""
    if model not in _PLANAR:
        drawing = draw(model)
        _PLANAR[model] = None if drawing is None else PlanarRecursion(drawing, _tables(model, "moments"))
    return _PLANAR[model]


def chosen(model: Model, work: str) -> Recursion:
    """The recursion that does ``work`` (a key of `WORKS`); `CostError` where none fits into memory."""
    known = _CHOSEN.setdefault(model, {})
    if work not in known:
        known[work] = _choose(model, work)
    return known[work]


def is_possible(model: Model, work: str = "log_z") -> bool:
    """Whether any recursion can do ``work`` within memory."""
    try:
        chosen(model, work)
    except TooLarge:
        return False
    return True


def covariance_by_columns(model: Model) -> PlanarRecursion | None:
    """The planar recursion where all columns of the covariance at once are faster than one parameter after another."""
    p, tables = model.n_parameters, _tables(model, "series")
    seconds = float("inf") if tables is None else predicted_seconds(tables, "first", p)
    if seconds < (COLUMNS_SECONDS if model.grid_shape is not None else SEARCH_SECONDS):
        return None
    found = planar(model)
    if found is None or found.covariance_seconds() > min(seconds, p * found.seconds("first")):
        return None
    needed = 24 * p * p
    if needed > memory_limit():
        raise TooLarge("series", found.width, needed)
    return found


def takes_planar(model: Model, work: str) -> bool:
    """Whether ``work`` is done by the planar recursion; False too where nothing can do it."""
    return is_possible(model, work) and isinstance(chosen(model, work), PlanarRecursion)


def _tables(model: Model, work: str) -> Recursion | None:
    """The recursion by tables, or None where they do not fit into memory."""
    try:
        found = recursion(model)
    except TooLarge:
        return None
    return found if found.n_bytes(work) <= memory_limit() else None


def _choose(model: Model, work: str) -> Recursion:
    assert work in WORKS
    tables = _tables(model, work)
    key = "second" if work == "series" else work
    seconds = float("inf") if tables is None else predicted_seconds(tables, key, 1)
    if tables is not None and seconds < (QUICK_SECONDS if model.grid_shape is not None else SEARCH_SECONDS):
        return tables
    if tables is not None and work == "sample" and seconds < PATIENCE:
        return tables
    found = planar(model)
    if found is not None and found.seconds(key) < seconds and found.n_bytes(work) <= memory_limit():
        return found
    return recursion(model) if tables is None else tables
