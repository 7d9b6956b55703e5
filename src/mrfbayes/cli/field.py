"""The field that the options of a command describe, and the parameters of one to simulate from."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import ThetaLike
from mrfbayes.cli import show
from mrfbayes.cli.options import DataOptions, FieldOptions
from mrfbayes.data.values import listed

if TYPE_CHECKING:
    import numpy as np

    from mrfbayes.data.data import Data
    from mrfbayes.model.field import Model


def build_field(options: FieldOptions) -> Model:
    """The model of commands without data, on a grid or a graph."""
    from mrfbayes.model.build import graph, grid

    if bool(options.grid) == (options.graph is not None):
        raise InputError("which field? Give exactly one of --grid RxC and --graph FILE.")
    common, by_name = read_states(options.states)
    how: dict[str, Any] = {"fields": bool(options.fields), "coupling": options.coupling or "agreement"}
    if options.grid:
        return grid_field(options, lambda size, **rest: grid(*size, **rest), states=common, **how)
    refuse_grid_options(options)
    nodes, edges = read_graph(options)
    states = states_of_nodes(dict.fromkeys(nodes, common or 2), by_name)
    return graph(edges, nodes=nodes, states=states, tied=_tie(options) is True, **how)


def read_graph(options: FieldOptions) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """The nodes and edges of the file that ``--graph`` names."""
    from mrfbayes.model.build import graph

    assert options.graph is not None
    whole = graph(options.graph, merge_edges=options.merge_edges)
    return whole.nodes, [(whole.nodes[u], whole.nodes[v]) for u, v in whole.edges.tolist()]


def read_graph_of(options: FieldOptions, data: Data) -> tuple[list[str], list[tuple[str, str]]]:
    """As `read_graph`, with the names of columns of the data: those in the file, or numbers of columns from 0."""
    nodes, edges = read_graph(options)
    known = data._table.names
    column = {node: node for node in nodes if node in set(known)}
    if not column and all(re.fullmatch("[0-9]{1,9}", node) for node in nodes):
        column = {node: known[int(node)] for node in nodes if int(node) < len(known)}
    if unknown := [node for node in nodes if node not in column]:
        raise InputError(
            f"--graph {options.graph}: {data.where} has no column {unknown[0]!r}, which is a node; it has "
            f"{listed(known)}. Write names as they are there, or the numbers of columns, counted from 0."
        )
    return [column[node] for node in nodes], [(column[u], column[v]) for u, v in edges]


def data_field(options: DataOptions, data: Data) -> Model:
    """The model of commands with data: `Model.from_data`, or what the options ask for in its place."""
    from mrfbayes.fitting.fit import image_model
    from mrfbayes.model.build import complete, graph
    from mrfbayes.model.field import Model

    if bool(options.grid) + (options.graph is not None) + options.complete > 1:
        raise InputError("which field? Give at most one of --grid RxC, --graph FILE and --complete.")
    common, by_name = read_states(options.states)
    if options.grid or data.image_shape is not None:
        if options.graph is not None or options.complete:
            raise InputError(f"{data.where}: images are observations of a grid: leave --graph and --complete out.")
        chosen: dict[str, Any] = {"states": common, "fields": options.fields, "coupling": options.coupling}
        return grid_field(options, partial(image_model, data), data.image_shape, **chosen)
    refuse_grid_options(options)
    how: dict[str, Any] = {"fields": options.fields is not False, "tied": _tie(options) is True}
    edges = None
    if options.graph is not None:
        nodes, given = read_graph_of(options, data)
        inside = set(data.column_names)
        edges = [(u, v) for u, v in given if u in inside and v in inside]
        if len(edges) < len(given):
            out = listed([node for node in nodes if node not in inside])
            left = (
                f"--graph {options.graph}: {len(given) - len(edges)} of its {len(given)} edges are left out with {out}"
            )
            show.messages([], [left], to_stderr=True)
    if common is None and not by_name:
        return Model.from_data(data, edges, cast("Any", options.coupling or "auto"), **how)
    sizes = {v.name: v.n_states if common is None else common for v in data.schema}
    states = states_of_nodes(sizes, by_name)
    is_binary = set(states.values()) == {2}
    coupling = options.coupling or ("both-one" if is_binary else "score")
    if edges is None:
        return complete(list(sizes), states=states, coupling=coupling, **how)
    return graph(edges, nodes=list(sizes), states=states, coupling=coupling, **how)


def read_data(options: DataOptions, group: str | None = None) -> Data:
    """The data; of a graph's file only the columns that are its nodes, where no columns were chosen."""
    from dataclasses import replace

    import numpy as np

    from mrfbayes.data.data import Data

    data = options.read(group)
    if options.graph is not None and not (options.columns or options.drop):
        data = replace(options, columns=read_graph_of(options, data)[0]).read(group)
    if options.grid and not data.is_named and data.image_shape is None:
        rows, columns = grid_size(options.grid)
        if len(data.column_names) == columns != rows * columns and data.n_rows == rows:
            return Data(np.asarray(data.rows())[None])  # one image as a text file
    return data


def grid_field(
    options: FieldOptions, make: Callable[..., Model], shape: tuple[int, int] | None = None, **rest: object
) -> Model:
    """A grid of the size that was asked for, else of ``shape``."""
    if read_states(options.states)[1]:
        raise InputError(f"--states {options.states}: the pixels of a grid have one number of states.")
    rest |= {"neighbours": options.neighbours, "periodic": options.periodic, "tied": _tie(options)}
    rest |= {"mask": None if options.mask is None else read_mask(options.mask)}
    size = grid_size(options.grid) if options.grid else shape
    return make(size, **{name: value for name, value in rest.items() if value is not None})


def refuse_grid_options(options: FieldOptions) -> None:
    """Refuse what has a meaning on grids only."""
    flags = {"--mask": options.mask, "--periodic": options.periodic, "--neighbours": options.neighbours != 4}
    for name, is_given in {**flags, "--tied direction": _tie(options) == "direction"}.items():
        if is_given:
            raise InputError(f"{name} is for grids: give --grid RxC.")


def _tie(options: FieldOptions) -> bool | str | None:
    if options.tied is None:
        return None
    if options.tied not in ("no", "yes", "direction"):
        raise InputError(f"--tied {options.tied}: choose no, yes or direction.")
    return {"no": False, "yes": True}.get(options.tied, "direction")


def read_states(given: Sequence[str] | None) -> tuple[int | None, dict[str, int]]:
    """The number of states of all columns, where it was given, and of those that are named."""
    common, by_name = None, {}
    for text in given or ():
        name, _, number = text.rpartition("=")
        if not (number.isascii() and number.isdigit()):
            raise InputError(f"--states {text}: write a whole number, as 3, or for one column mood=5.")
        if name:
            by_name[name] = int(number)
        else:
            common = int(number)
    return common, by_name


def states_of_nodes(sizes: Mapping[str, int], by_name: Mapping[str, int]) -> dict[str, int]:
    """The number of states of every node: ``sizes``, but for those that are named."""
    if unknown := [name for name in by_name if name not in sizes]:
        raise InputError(f"--states {unknown[0]}=...: no column is called {unknown[0]!r}.")
    return {**sizes, **by_name}


def read_mask(path: Path) -> np.ndarray:
    """Zeros and ones from a CSV, PNG or NPY file."""
    import numpy as np

    from mrfbayes.data.sources import is_image, read_image

    if is_image(str(path)):
        array = read_image(str(path))
        return (array > array.min()).astype(np.uint8) if np.unique(array).size == 2 else array
    if not path.is_file():
        raise InputError(f"--mask {path}: no such file.")
    try:
        lines = path.read_text(encoding="utf-8-sig").replace(";", ",").splitlines()
        return np.loadtxt(lines, dtype=int, delimiter=",", ndmin=2)
    except ValueError:
        raise InputError(f"--mask {path}: expected rows of zeros and ones.") from None


def grid_size(text: str) -> tuple[int, int]:
    """Rows and columns of ``--grid``."""
    rows, _, cols = text.lower().partition("x")
    if not (text.isascii() and rows.isdigit() and cols.isdigit()):
        raise InputError(f"--grid {text}: write rows x columns, for example 8x8.")
    return int(rows), int(cols)


def read_theta(model: Model, theta: str, couplings: str, fields: str, temperature: float) -> ThetaLike:
    """What `mrfbayes.simulate` takes: one number, a weight per parameter, or an `mrfbayes.Ising`."""
    if theta == "ising":
        from mrfbayes.model.ising import Ising

        if not couplings:
            raise InputError("ising: give the couplings, as --J 0.4 or --J couplings.csv (columns edge, J).")
        return Ising(_number_or_table(couplings, "--J"), _number_or_table(fields, "--h"), temperature)
    if couplings or fields != "0" or temperature != 1.0:
        raise InputError(f"--J, --h and --temperature go with 'ising' in place of theta, not with {theta!r}.")
    return _number_or_table(theta, "theta")


def _number_or_table(text: str, name: str) -> float | dict[str, float]:
    """A number, or the first two columns of a CSV file as a mapping from names to numbers."""
    try:
        return float(text)
    except ValueError:
        pass
    path = Path(text)
    if not path.is_file():
        raise InputError(f"{name} {text}: neither a number nor a file.")
    numbers: dict[str, float] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            if not row:
                continue
            try:
                numbers[row[0].strip()] = float(row[1])
            except (ValueError, IndexError):
                if number > 1:  # the first line may hold names of the columns
                    raise InputError(f"{path}:{number}: expected a name and a number, as a--b,0.5.") from None
    return numbers
