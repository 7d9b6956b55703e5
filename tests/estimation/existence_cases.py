"""Random data sets for the existence tests, with the oracle's verdict, as many inside as on the boundary."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import oracles_existence as oracle
from estimation.fields import FIELDS, Enumerated
from mrfbayes.data.data import Data
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.estimate import estimate
from mrfbayes.model.build import graph

KINDS = FIELDS | {
    "triangle": graph([(0, 1), (1, 2), (0, 2)]),
    "complete graph of five": graph([(i, j) for i in range(5) for j in range(i)]),
    "both-one without fields": graph([(0, 1), (1, 2), (0, 2), (2, 3)], coupling="both-one"),
    "tables": graph([(0, 1), (1, 2)], states=[2, 3, 2], coupling="table"),
}


@dataclass(frozen=True)
class Case:
    """A data set and what the oracle says of it."""

    stats: Statistics
    exists: bool
    blocks: tuple[str, ...]


def cases(kind: str, seed: int, wanted: int, tries: int = 40) -> Iterator[Case]:
    """``wanted`` data sets of either verdict, or what ``tries`` times as many trials find."""
    model = KINDS[kind]
    field = Enumerated.of(model)
    points = [tuple(map(int, row)) for row in field.statistics]
    rng = np.random.default_rng(seed)
    left = {True: wanted, False: wanted}
    for _ in range(tries * wanted):
        w = rng.normal(0.0, rng.choice([0.5, 1.0, 2.0]), model.n_parameters)
        index = rng.choice(len(points), int(rng.integers(3, 40)), p=field.probabilities(w))
        exists, coordinates = oracle.verdict(points, [points[k] for k in index])
        if left[exists]:
            left[exists] -= 1
            blocks = tuple(dict.fromkeys(model.blocks[model.chart.block_of[j]] for j in coordinates))
            yield Case(Data(field.points[index]).count(model), exists, blocks)
        if not any(left.values()):
            return


def agreement(case: Case) -> None:
    """The verdict of an exact estimate agrees with the oracle, and names no factor that is not on the boundary."""
    found = estimate(case.stats.model, case.stats, algorithm="exact", progress=False).existence
    assert found.verdict == ("exists" if case.exists else "boundary")
    assert bool(set(found.factors) & set(case.blocks)) == (not case.exists)
    if not found.complete:
        assert set(found.factors) <= set(case.blocks)
