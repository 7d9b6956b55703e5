"""The field that the options of a command describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrfbayes.base.errors import InputError
from mrfbayes.cli.options import FieldOptions

if TYPE_CHECKING:
    import numpy as np

    from mrfbayes.model.field import Model


@dataclass(frozen=True)
class Usual:
    """What is taken where the options do not say.

    ``columns`` are all nodes of a complete graph, and those to which the graph of a file is cut; None leaves it whole.
    ``own_states`` has the number of states of columns whose labels are not those of the others.
    """

    states: int = 2
    coupling: str = "agreement"
    fields: bool = False
    tied: str = "no"
    columns: Sequence[str] | None = None
    is_complete: bool = False
    own_states: Mapping[str, int] = field(default_factory=dict)


PLAIN = Usual()


def build_field(options: FieldOptions, usual: Usual = PLAIN) -> Model:
    """The model, on a grid, on a graph, or on all pairs of columns."""
    from mrfbayes.model.build import complete as build_complete
    from mrfbayes.model.build import graph as build_graph
    from mrfbayes.model.build import grid as build_grid

    if (bool(options.grid) + (options.graph is not None) + usual.is_complete) != 1:
        raise InputError("which field? Give exactly one of --grid RxC, --graph FILE and --complete.")
    tied = options.tied or usual.tied
    if tied not in ("no", "yes", "direction"):
        raise InputError(f"--tied {tied}: choose no, yes or direction.")
    tie: bool | str = {"no": False, "yes": True}.get(tied, "direction")
    rest: dict[str, Any] = {
        "fields": usual.fields if options.fields is None else options.fields,
        "coupling": options.coupling or usual.coupling,
    }
    common, by_name = _states(options.states, usual)
    if options.grid:
        rows, cols = grid_size(options.grid)
        if by_name:
            raise InputError(f"--states {next(iter(by_name))}=...: the pixels of a grid have one number of states.")
        mask = None if options.mask is None else read_mask(options.mask)
        rest |= {"neighbours": options.neighbours, "periodic": options.periodic, "mask": mask}
        return build_grid(rows, cols, states=common, tied=tie, **rest)
    for name, is_given in (
        ("--mask", options.mask),
        ("--periodic", options.periodic),
        ("--neighbours", options.neighbours != 4),
    ):
        if is_given:
            raise InputError(f"{name} is for grids: give --grid RxC.")
    if tie == "direction":
        raise InputError("--tied direction is for grids: only there edges have directions.")
    if usual.is_complete:
        if not usual.columns:
            raise InputError("--complete needs a data file whose columns have names, and at least one of them.")
        states = _by_node(usual.columns, common, by_name)
        return build_complete(usual.columns, states=states, tied=bool(tie), **rest)
    whole = build_graph(options.graph, merge_edges=options.merge_edges)
    nodes = [node for node in whole.nodes if usual.columns is None or node in usual.columns] or list(whole.nodes)
    edges = [(whole.nodes[u], whole.nodes[v]) for u, v in whole.edges.tolist()]
    inside = [(u, v) for u, v in edges if u in nodes and v in nodes]
    states = _by_node(nodes, common, by_name)
    return build_graph(inside, nodes=nodes, tied=bool(tie), states=states, **rest)


def _states(given: Sequence[str] | None, usual: Usual) -> tuple[int, dict[str, int]]:
    """The number of states of all columns, and of those that are named."""
    common, by_name = usual.states, {} if given else dict(usual.own_states)
    for text in given or ():
        name, _, number = text.rpartition("=")
        if not (number.isascii() and number.isdigit()):
            raise InputError(f"--states {text}: write a whole number, as 3, or for one column mood=5.")
        if name:
            by_name[name] = int(number)
        else:
            common = int(number)
    return common, by_name


def _by_node(nodes: Sequence[str], common: int, by_name: Mapping[str, int]) -> int | dict[str, int]:
    unknown = [name for name in by_name if name not in nodes]
    if unknown:
        raise InputError(f"--states {unknown[0]}=...: no column is called {unknown[0]!r}.")
    return {node: by_name.get(node, common) for node in nodes} if by_name else common


def read_mask(path: Path) -> np.ndarray:
    """Zeros and ones from a CSV, PNG or NPY file."""
    import numpy as np

    from mrfbayes.data.images import is_image, read_image

    if is_image(str(path)):
        array = read_image(str(path))
        return (array > array.min()).astype(np.uint8) if np.unique(array).size == 2 else array
    if not path.is_file():
        raise InputError(f"--mask {path}: no such file.")
    try:
        lines = path.read_text(encoding="utf-8-sig").replace(";", ",").split("\n")
        return np.array([[int(cell) for cell in line.split(",")] for line in lines if line.strip()])
    except (ValueError, UnicodeDecodeError):
        raise InputError(f"--mask {path}: expected rows of zeros and ones.") from None


def grid_size(text: str) -> tuple[int, int]:
    """Rows and columns of ``--grid``."""
    rows, _, cols = text.lower().partition("x")
    if not (text.isascii() and rows.isdigit() and cols.isdigit()):
        raise InputError(f"--grid {text}: write rows x columns, for example 8x8.")
    return int(rows), int(cols)
