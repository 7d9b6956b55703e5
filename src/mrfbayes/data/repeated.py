"""Groups that are the same people measured again: noticed by a column that identifies them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.reading import RoleTable, plain_values

MOST_SHARED = 0.5  # of the smaller group's values, past which a column says that people are in both groups
FEWEST = 5  # rows of a group below which that is chance


def refuse_repeated_people(table: RoleTable, unused: Sequence[int]) -> None:
    """Refuse groups that share the values of a column which is no variable and has every value once in each group."""
    found: list[dict[str, list[object]]] = [{} for _ in unused]
    for batch, _, labels in table.pieces(list(unused), Problems()) if unused else ():
        if labels is None:
            return
        for k in range(len(unused)):
            for value, label in zip(plain_values(batch.column(k)).tolist(), labels.tolist(), strict=True):
                found[k].setdefault(label, []).append(value)
    for column, by_group in zip(unused, found, strict=True):
        values = {name: set(cells) for name, cells in by_group.items()}
        if any(len(values[name]) < len(cells) for name, cells in by_group.items()):
            continue  # a value occurs twice within a group: it identifies nobody
        for first, second in combinations(values, 2):
            shared, fewest = len(values[first] & values[second]), min(len(values[first]), len(values[second]))
            if fewest >= FEWEST and shared > MOST_SHARED * fewest:
                raise InputError(
                    f"group: {shared} of the values in {table.names[column]!r} occur both in {first!r} and in "
                    f"{second!r}, so that the groups look like the same people measured again. Groups have to be "
                    "different people: their answers are taken to be independent. If they are, and merely have equal "
                    f"numbers, read the data without {table.names[column]!r}."
                )
