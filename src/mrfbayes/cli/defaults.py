"""Data and the model that they suggest, where the options do not say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mrfbayes.base.errors import InputError
from mrfbayes.cli.field import Usual, build_field
from mrfbayes.cli.options import DataOptions
from mrfbayes.cli.understood import Understood, understand
from mrfbayes.report.wording import plural

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.model.field import Model

BALANCED = (0.4, 0.6)  # share of ones between which an image needs no node factor


@dataclass(frozen=True)
class Given:
    """What a command works on: the model, the data to count, what to say about both, and how they are read."""

    model: Model
    x: object
    lines: list[str]
    options: DataOptions

    def count(self) -> Statistics:
        """The counts of the data."""
        return self.options.reading.count(self.model, self.x)


def explicit_field(options: DataOptions) -> Given:
    """The field as it is asked for, with the plainest choices where the options do not say; see `suggested_field`."""
    if (bool(options.grid) + (options.graph is not None) + options.complete) != 1:
        raise InputError("which field? Give exactly one of --grid RxC, --graph FILE and --complete.")
    seen = understand(options)
    model = build_field(options, Usual(columns=_chosen(seen, options), is_complete=options.complete))
    return Given(model, seen.x_of(model), [], options)


def suggested_field(options: DataOptions) -> Given:
    """The field that the data suggest, where the options leave the choice: see `usual_of`."""
    if (bool(options.grid) + (options.graph is not None) + options.complete) > 1:
        raise InputError("which field? Give at most one of --grid RxC, --graph FILE and --complete.")
    seen = understand(options)
    if seen.shape is not None and not options.grid:
        if options.graph is not None or options.complete:
            raise InputError(f"{seen.name}: images are observations of a grid: leave --graph and --complete out.")
        options = replace(options, grid=f"{seen.shape[0]}x{seen.shape[1]}")
    usual, why = usual_of(seen, options)
    model = build_field(options, usual)
    return Given(model, seen.x_of(model), [*seen.lines(), _sentence(model, options, usual, why)], options)


def usual_of(seen: Understood, options: DataOptions) -> tuple[Usual, str]:
    """Two values: both-one with node factors; ordered levels: score; on a grid agreement, tied for a single image."""
    n_levels = options.reading.n_levels
    levels = n_levels or seen.ordered_states
    is_grid = bool(options.grid)
    if seen.is_binary and n_levels <= 2:
        states, coupling, why = 2, "agreement" if is_grid else "both-one", "two values"
    elif levels:
        states, coupling, why = levels, "agreement" if is_grid else "score", f"{levels} ordered levels"
    else:
        n = max(_own_states(seen, options).values(), default=len(seen.levels))
        states, coupling, why = n, "agreement", f"up to {n} labels without an order; --levels 'low<high' gives one"
    tied = "yes" if is_grid and seen.rows == 1 else "no"
    is_complete = not is_grid and options.graph is None
    fields = _needs_fields(seen, is_grid)
    own = {} if is_grid else {name: n for name, n in _own_states(seen, options).items() if n != max(states, 2)}
    return Usual(max(states, 2), coupling, fields, tied, _chosen(seen, options), is_complete, own), why


def _own_states(seen: Understood, options: DataOptions) -> dict[str, int]:
    """How many states each column of words has: as many as its order names, or as the columns that share its words."""
    texts = {name: {str(value) for value in found} for name, found in seen.values.items()}
    if not any(isinstance(value, str) for value in seen.levels) or seen.is_binary:
        return {}
    orders = [(*_order(text),) for text in options.reading.levels]
    out = {}
    for name, labels in texts.items():
        given = [order for who, order in orders if who == name or (not who and labels <= set(order))]
        together = set(labels)
        for other in (*texts.values(), *reversed(texts.values())):
            together |= other if together & other else set()
        out[name] = max(2, len(given[-1]) if given else len(together))
    return out


def _order(text: str) -> tuple[str, list[str]]:
    """The column that an order of ``--levels`` is for, empty for all, and its labels."""
    who, mark, rest = text.partition("=")
    is_named = bool(mark) and "<" not in who
    return (who.strip() if is_named else ""), [label.strip() for label in (rest if is_named else text).split("<")]


def _chosen(seen: Understood, options: DataOptions) -> list[str] | None:
    """The columns for the nodes; of a graph's file only where some were chosen: others are matched by name anyway."""
    if options.graph is not None and not (options.columns or options.without):
        return None
    return seen.columns


def _sentence(model: Model, options: DataOptions, usual: Usual, why: str) -> str:
    shape = f"{options.grid} grid" if options.grid else f"graph of {options.graph}" if options.graph else "all pairs"
    if options.grid:
        around = [
            "8 neighbours" if options.neighbours == 8 else "",
            "periodic" if options.periodic else "",
            "masked" if options.mask else "",
        ]
        shape += "".join(f", {one}" for one in around if one)
    fields = usual.fields if options.fields is None else options.fields
    tied = (options.tied or usual.tied) != "no"
    size = f"{plural(model.n_edges, 'edge')}, {plural(model.n_parameters, 'parameter')}"
    return (
        f"Model ({why}): {shape}, coupling {options.coupling or usual.coupling!r}, {'' if fields else 'no '}node "
        f"factors{', tied' if tied else ''}: {size}."
    )


def _needs_fields(seen: Understood, is_grid: bool) -> bool:
    if not is_grid:
        return True
    return seen.ones is not None and not BALANCED[0] <= seen.ones <= BALANCED[1]
