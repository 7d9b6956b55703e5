"""The cells of the evidence: every field and sample size at which approximations are compared with the exact posterior.

All of them stay in the averages, whatever they show.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np

import mrfbayes as mb
from mrfbayes.base.random_streams import generator

SIZES = (4, 6, 8, 10)
RANGES = ((0.5, 0.8), (0.6, 0.9), (0.7, 0.9), (0.2, 0.8))
GRID_N = (50, 100, 500, 1_000, 5_000)
GRAPH_N = (100, 500, 2_000)
GRAPHS = {
    "3-regular 16": (nx.random_regular_graph(3, 16, seed=1), 0.3, 0.8),
    "small-world 16": (nx.connected_watts_strogatz_graph(16, 4, 0.2, seed=1), 0.4, 0.75),
    "complete 8": (nx.complete_graph(8), 0.4, 0.65),
}


@dataclass(frozen=True)
class Cell:
    """One field with its data: ``data`` (n, d), or ``theta`` and ``n`` from which they are drawn."""

    name: str
    kind: str
    model: mb.Model
    n: int
    theta: np.ndarray | None = None
    data: np.ndarray | None = None


def cells(reinis: Path | None = None) -> Iterator[Cell]:
    """Cheap ones first."""
    for size in SIZES[:3]:
        yield from grids(size)
    yield from graphs()
    yield from surveys(reinis)
    yield from grids(10)


def grids(size: int) -> Iterator[Cell]:
    """Square grids of one size."""
    for n in GRID_N:
        for low, high in RANGES:
            yield grid_cell(size, size, low, high, n)


def grid_cell(rows: int, columns: int, low: float, high: float, n: int) -> Cell:
    """One agreement coin an edge, theta uniform between ``low`` and ``high``."""
    name = f"grid {rows}x{columns} ({low:g},{high:g}) n={n}"
    model = mb.grid(rows, columns)
    kind = {(0.5, 0.8): "paper", (0.2, 0.8): "mixed signs"}.get((low, high), "strong")
    theta = generator(np.random.SeedSequence(rows), name).uniform(low, high, model.n_parameters)
    return Cell(name, kind, model, n, theta)


def graphs() -> Iterator[Cell]:
    """Other graphs: without fields, and with fields in both codings."""
    for label, (graph, low, high) in GRAPHS.items():
        for fields, coupling in ((False, "agreement"), (True, "agreement"), (True, "both-one")):
            for n in GRAPH_N:
                name = f"{label} {coupling}{'+fields' if fields else ''} n={n}"
                model = mb.graph(list(graph.edges), fields=fields, coupling=coupling)
                theta = generator(np.random.SeedSequence(3), name).uniform(low, high, model.n_parameters)
                yield Cell(name, "graphs", model, n, theta)


def surveys(reinis: Path | None) -> Iterator[Cell]:
    """Real data on complete graphs with fields, both codings."""
    data = {f"adhd {items} items": mb.datasets.load_adhd().x[:, :items] for items in (9, 12)}
    if reinis is not None:
        with reinis.open() as file:
            data["reinis"] = np.array(list(csv.reader(file))[1:], dtype=np.uint8)
        data["reinis"] -= data["reinis"].min()
    for label, x in data.items():
        for coupling in ("agreement", "both-one"):
            model = mb.graph(list(nx.complete_graph(x.shape[1]).edges), fields=True, coupling=coupling)
            yield Cell(f"{label} {coupling}+fields", "surveys", model, len(x), data=x)
