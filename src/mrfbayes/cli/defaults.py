"""The model that a file suggests, where the options do not say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mrfbayes.base.errors import InputError
from mrfbayes.cli.options import Reading, build_model, grid_size
from mrfbayes.cli.understood import Understood, read_frame, understand

if TYPE_CHECKING:
    from mrfbayes.model.field import Model

READING = Reading()  # a file that needs no telling how
BALANCED = (0.4, 0.6)  # share of ones between which an image needs no node factor


@dataclass(frozen=True)
class ModelOptions:
    """What the options say; None or empty where they leave the choice to the data."""

    grid: str = ""
    graph: Path | None = None
    complete: bool = False
    fields: bool | None = None
    tied: str | None = None
    states: int | None = None
    coupling: str | None = None
    columns: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def data_and_model(path: Path, given: ModelOptions, reading: Reading = READING) -> tuple[Model, object, list[str]]:
    """The model, the data to count, and what to say about both."""
    if (bool(given.grid) + (given.graph is not None) + given.complete) > 1:
        raise InputError("which field? Give at most one of --grid RxC, --graph FILE and --complete.")
    without = (*given.without, *([reading.weights] if reading.weights else ()))
    size = grid_size(given.grid) if given.grid else None
    seen = understand(path, given.columns, without, size, reading.delimiter)
    model, said = suggested_model(seen, given, reading.n_levels)
    x: object = path if seen.image is None else seen.image.reshape(1, -1)
    if given.grid and seen.left_out:  # matched by place: only the chosen columns may be there
        frame = read_frame(path, reading.delimiter)
        x = path if frame is None else frame.select([*seen.columns, *([reading.weights] if reading.weights else ())])
    return model, x, [*seen.lines(), said]


def suggested_model(seen: Understood, given: ModelOptions, n_levels: int = 0) -> tuple[Model, str]:
    """The model, and a sentence that says what was chosen; ``n_levels`` labels were given in their order."""
    levels = n_levels or seen.ordered_states
    is_grid = bool(given.grid)
    one_image = seen.image is not None or (is_grid and seen.rows == 1)
    if seen.image is not None or (seen.is_binary and n_levels <= 2):
        states, coupling, why = 2, "agreement" if is_grid else "both-one", "two values"
    elif levels:
        states, coupling, why = levels, "agreement" if is_grid else "score", f"{levels} ordered levels"
    else:
        states, coupling, why = len(seen.levels), "agreement", f"{len(seen.levels)} labels without an order"
    states = given.states or states
    coupling = given.coupling or coupling
    tied = given.tied or ("yes" if one_image else "no")
    fields = given.fields if given.fields is not None else _needs_fields(seen, is_grid)
    complete = not is_grid and given.graph is None
    columns = None if is_grid else seen.columns
    model = build_model(given.grid, given.graph, complete, fields, tied, states, coupling, columns)
    shape = f"{given.grid} grid" if is_grid else f"graph of {given.graph}" if given.graph else "all pairs"
    said = (
        f"Model ({why}): {shape}, coupling {coupling!r}, {'' if fields else 'no '}node factors"
        f"{', tied' if tied != 'no' else ''}: {model.n_edges:,} edges, {model.n_parameters:,} parameters."
    )
    return model, said


def _needs_fields(seen: Understood, is_grid: bool) -> bool:
    if not is_grid:
        return True
    if seen.image is None:
        return False
    return not BALANCED[0] <= float(seen.image.mean()) <= BALANCED[1]
