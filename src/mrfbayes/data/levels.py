"""The order of text labels: given by the user, by a type, or by words whose order everybody knows; else not known."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypedDict

import numpy as np

from mrfbayes.base.errors import InputError, Problems
from mrfbayes.data.values import Column, Value, as_value, in_order, is_missing, listed, show
from mrfbayes.model.field import Model

Labels = tuple[tuple[object, ...] | None, ...]
# Lower first. A single word of a pair stands for its place, unless it is a word of other pairs, too.
KNOWN_PAIRS = (
    ("no", "yes"),
    ("false", "true"),
    ("absent", "present"),
    ("low", "high"),
    ("lo", "hi"),
    ("off", "on"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("disagree", "agree"),
    ("incorrect", "correct"),
    ("fail", "pass"),
    ("failed", "passed"),
    ("failure", "success"),
    ("inactive", "active"),
    ("unexposed", "exposed"),
    ("untreated", "treated"),
    ("without", "with"),
    ("never", "ever"),
    ("small", "large"),
    ("down", "up"),
    ("closed", "open"),
    ("nein", "ja"),
    ("non", "oui"),
)
PAIRS_OF_AMBIGUOUS_WORDS = (  # known only where both words occur
    ("n", "y"),
    ("f", "t"),
    ("l", "h"),
    ("wrong", "right"),
    ("small", "big"),
    ("control", "case"),
    ("control", "treatment"),
    ("control", "treated"),
    ("nee", "ja"),
    ("no", "si"),
    ("no", "sí"),
    ("não", "sim"),
)
_PARTNERS = {word: pair for pair in KNOWN_PAIRS for word in pair if sum(word in other for other in KNOWN_PAIRS) == 1}


@dataclass(frozen=True)
class Levels:
    """Orders that the user gave: one for every column that holds these labels, or one per node."""

    shared: tuple[Value, ...] | None
    by_node: Mapping[str, tuple[Value, ...]]

    def of(self, node: str, column: Column) -> tuple[Value, ...] | None:
        """The levels that apply to a column."""
        if node in self.by_node:
            return self.by_node[node]
        if self.shared is None:
            return None
        inside = [value in self.shared for value in column.first]
        return self.shared if any(inside) and (all(inside) or column.is_text) else None


def read_levels(levels: object, model: Model) -> Levels | None:
    """The argument ``levels=``: labels in ascending order, or a mapping from nodes to such lists.

    A list may be written as text, ``"never<rarely<often"``, and a list of such texts gives some nodes their own:
    ``["no<yes", "mood=low<high"]``.
    """
    if levels is None:
        return None
    if isinstance(levels, str):
        levels = [levels]
    if isinstance(levels, Mapping):
        given = {str(node): one for node, one in levels.items()}
    elif isinstance(levels, Iterable):
        entries = list(levels)
        if entries and all(isinstance(entry, str) and "<" in entry for entry in entries):
            given = dict(_named(entry, model) for entry in entries)
            if len(given) < len(entries):
                raise InputError(f"levels = {entries!r}: two orders for the same columns; give one.")
        else:
            given = {"": entries}
    else:
        raise InputError(f"levels = {levels!r}: give labels in ascending order, as ['never', 'sometimes', 'always'].")
    unknown = [node for node in given if node and node not in model.nodes]
    if unknown:
        near = difflib.get_close_matches(unknown[0], model.nodes, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise InputError(f"levels: no node is called {unknown[0]!r}{hint}.")
    checked = {node: _check(node, one) for node, one in given.items()}
    return Levels(checked.pop("", None), checked)


def _named(text: str, model: Model) -> tuple[str, list[str]]:
    """``"mood=low<high"`` as the node and its labels; ``"low<high"`` belongs to no node in particular."""
    node, _, rest = text.partition("=")
    if rest and (node.strip() in model.nodes or "<" not in node):
        return node.strip(), [label.strip() for label in rest.split("<")]
    return "", [label.strip() for label in text.split("<")]


def _check(node: str, levels: object) -> tuple[Value, ...]:
    name = f"levels of {node!r}" if node else "levels"
    if isinstance(levels, str):
        levels = [label.strip() for label in levels.split("<")]
    if not isinstance(levels, Iterable):
        raise InputError(f"{name} = {levels!r}: give labels in ascending order, as ['low', 'high'].")
    entries = list(levels)
    values: list[Value] = []
    for entry in entries:
        value = None if is_missing(entry) else as_value(entry)
        if value is None:
            raise InputError(f"{name}: {entry!r} is no label; give text or numbers, none of them missing.")
        if value in values:
            raise InputError(f"{name}: {show(value)} stands there twice; give each label once.")
        values.append(value)
    if len(values) < 2:
        raise InputError(f"{name} = {entries!r}: give at least two labels, in ascending order.")
    return tuple(values)


def order_matters(model: Model, nodes: Sequence[int]) -> bool:
    """Whether another order of the labels that ``nodes`` share would give another model.

    Scores depend on it, and so does every table that tells the two states of a binary variable apart, as the coin of a
    node does. Agreement does not as long as both ends share their labels, and dice with an outcome per configuration
    only change names.
    """
    inside = np.zeros(model.n_nodes, dtype=bool)
    inside[list(nodes)] = True
    for group in model.groups:
        touched = inside[group.scope]
        if touched.any() and _depends(
            group.table, group.is_score, bool((touched.all(axis=1) | ~touched.any(axis=1)).all())
        ):
            return True
    return False


def _depends(table: np.ndarray, is_score: bool, is_shared: bool) -> bool:
    """Whether a factor depends on the order, both of whose ends share their labels or not."""
    if is_score:
        return True
    if table.ndim == 1 or table.shape[0] != table.shape[1]:
        return table.size == 2 or int(table.max()) + 1 < table.size
    is_agreement = len(set(table.diagonal())) == 1 and len(set(table[~np.eye(len(table), dtype=bool)])) == 1
    if len(table) == 2:
        return not (is_agreement and is_shared)
    return not (is_agreement or int(table.max()) + 1 == table.size)


@dataclass(frozen=True)
class Ordered:
    """Labels in their order, and whether that order is known or just alphabetical."""

    labels: tuple[Value, ...]
    is_known: bool


def order_labels(
    columns: Sequence[Column],
    states: Sequence[int],
    matters: Callable[[Sequence[int]], bool],
    problems: Problems,
) -> tuple[list[tuple[Value, ...]], list[str]]:
    """Labels of each column in the order of its states, and warnings.

    Columns with as many states that share labels share all of them, so that equal states mean equal labels also where
    a level is missing in one column.
    """
    own = [_own_labels(column, r) for column, r in zip(columns, states, strict=True)]
    chosen: list[tuple[Value, ...]] = [()] * len(columns)
    warnings: list[str] = []
    for group in _linked(own, states):
        members = [columns[k] for k in group]
        r = states[group[0]]
        found = _order(members, [own[k] for k in group], problems)
        for k in group:
            chosen[k] = found.labels
        has_gap = len(found.labels) < r and not any(column.is_ordered for column in members)
        if len(found.labels) > r:
            problems.add(_too_many_together(members, found.labels, r))
        elif (not found.is_known or has_gap) and matters(group):
            problems.add(_ask(members, found, r))
        elif not found.is_known:
            mapping = ", ".join(f"{show(label)} = {s}" for s, label in enumerate(found.labels))
            warnings.append(
                f"{members[0].where}: the order of the labels in {_columns(members)} is not known; they were sorted: "
                f"{mapping} (levels= sets another order; on the command line --levels)"
            )
        if has_gap:
            has = "has" if len(members) == 1 else "have"
            warnings.append(
                f"{members[0].where}: {_columns(members)} {has} {len(found.labels)} labels for {r} states; they were "
                "taken as the first states"
            )
    return chosen, warnings


def _own_labels(column: Column, states: int) -> list[Value]:
    """Labels of a column: those of its type, those that occur, and the partner of a word from a known pair."""
    labels = _categories(column)
    labels += [value for value in column.first if value not in labels]
    only = labels[0] if len(labels) == 1 and states == 2 else None
    if isinstance(only, str) and (pair := _PARTNERS.get(only.strip().casefold())) is not None:
        return [only if only.strip().casefold() == word else _like(word, only) for word in pair]
    return labels


def _categories(column: Column) -> list[Value]:
    values = [as_value(value) for value in column.categories or ()]
    return [value for value in values if value is not None and not is_missing(value)]


def _like(word: str, example: str) -> str:
    """``word`` in the capitals of ``example``."""
    example = example.strip()
    return word.upper() if example.isupper() else word.capitalize() if example[:1].isupper() else word


def _linked(own: Sequence[Sequence[Value]], states: Sequence[int]) -> list[list[int]]:
    """Groups of columns, with as many states, that are linked by common labels."""
    parent = list(range(len(own)))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    holder: dict[tuple[int, Value], int] = {}
    for k, labels in enumerate(own):
        for label in labels:
            parent[root(k)] = root(holder.setdefault((states[k], label), k))
    groups: dict[int, list[int]] = {}
    for k in range(len(own)):
        groups.setdefault(root(k), []).append(k)
    return list(groups.values())


def _order(columns: Sequence[Column], own: Sequence[Sequence[Value]], problems: Problems) -> Ordered:
    """All labels of linked columns, in the order that types or known pairs give them, else sorted."""
    labels = in_order({label for labels in own for label in labels})
    typed = [column for column in columns if column.is_ordered]
    if typed:
        merged = _merge([_categories(column) for column in typed])
        if merged is None:
            problems.add(
                f"{columns[0].where}: {_columns(typed)} order their categories differently; give all the same order, "
                "or pass levels=."
            )
            return Ordered(tuple(labels), True)
        if set(merged[0]) == set(labels):
            return Ordered(tuple(merged[0]), merged[1])
    by_word = {str(label).strip().casefold(): label for label in labels}
    for pair in (*KNOWN_PAIRS, *PAIRS_OF_AMBIGUOUS_WORDS):
        if set(by_word) == set(pair) and len(by_word) == len(labels):
            return Ordered(tuple(by_word[word] for word in pair), True)
    return Ordered(tuple(labels), False)


def _merge(orders: Sequence[Sequence[Value]]) -> tuple[list[Value], bool] | None:
    """One order of all labels that agrees with every given one, and whether it is the only one; None if none does."""
    later: dict[Value, set[Value]] = {label: set() for order in orders for label in order}
    for order in orders:
        for first, second in pairwise(order):
            later[first].add(second)
    merged: list[Value] = []
    is_only = True
    while later:
        after = {label for labels in later.values() for label in labels}
        free = [label for label in later if label not in after]
        if not free:
            return None
        is_only &= len(free) == 1
        merged.append(free[0])
        del later[free[0]]
    return merged, is_only


def _columns(columns: Sequence[Column]) -> str:
    names = ", ".join(repr(column.name) for column in columns[:3]) + (", ..." if len(columns) > 3 else "")
    return f"column {names}" if len(columns) == 1 else f"columns {names}"


def _ask(columns: Sequence[Column], found: Ordered, states: int) -> str:
    column = columns[0]
    row = min(column.first.values(), default=0)
    place = f"{column.where}:{row}:{column.name}"
    if found.is_known:
        return (
            f"{place}: {len(found.labels)} labels ({listed(found.labels)}) in {_columns(columns)} for {states} states; "
            f"say which states they are by levels=[...] with all {states} labels in ascending order (on the command "
            "line --levels)."
        )
    return (
        f"{place}: the order of the labels {listed(found.labels)} in {_columns(columns)} is not known, and here it "
        f"matters; give it, lowest first, by levels=[...] (on the command line --levels "
        "'LOWEST<...<HIGHEST')."
    )


def _too_many_together(columns: Sequence[Column], labels: Sequence[Value], states: int) -> str:
    column = columns[0]
    hold = "holds" if len(columns) == 1 else "together hold"
    return (
        f"{column.where}:{max(column.first.values(), default=0)}:{column.name}: {_columns(columns)} {hold} "
        f"{len(labels)} labels ({listed(labels)}) for {states} states; set states={len(labels)} in the model (on the "
        f"command line --states {len(labels)}), merge labels, or give levels= per column."
    )


def near(value: Value, levels: Sequence[Value]) -> str:
    """A hint at the level that was probably meant."""
    found = difflib.get_close_matches(str(value).strip().casefold(), [str(v).casefold() for v in levels], n=1)
    meant = [v for v in levels if found and str(v).casefold() == found[0]]
    return f" (did you mean {show(meant[0])}?)" if meant else ""


class LevelGroup(TypedDict):
    """The labels of some nodes, lowest first; ``nodes`` is None for all of them."""

    nodes: list[str] | None
    labels: list[object]


def grouped(labels: Labels, nodes: Sequence[str]) -> list[LevelGroup]:
    """Labels per node in few words, fit for JSON: nodes with the same labels together, None for all nodes."""
    members: dict[tuple[object, ...], list[str]] = {}
    for node, one in zip(nodes, labels, strict=True):
        if one is not None:
            members.setdefault(one, []).append(node)
    return [
        {"nodes": None if len(names) == len(nodes) else names, "labels": list(one)} for one, names in members.items()
    ]


def ungrouped(groups: Sequence[LevelGroup], nodes: Sequence[str]) -> Labels | None:
    """Labels per node from `grouped`; None where there are none."""
    by_node = {node: tuple(group["labels"]) for group in groups for node in group["nodes"] or nodes}
    return tuple(by_node.get(node) for node in nodes) if by_node else None


def mapping_lines(groups: Sequence[LevelGroup]) -> list[str]:
    """What `grouped` says, for people: a line per set of labels."""
    lines = []
    for group in groups:
        names = group["nodes"]
        who = "all columns" if names is None else ", ".join(map(str, names[:6])) + (", ..." if len(names) > 6 else "")
        lines.append(f"{who}: " + ", ".join(f"{label} = {s}" for s, label in enumerate(group["labels"])))
    return lines


def mapping_text(groups: Sequence[LevelGroup]) -> str:
    """What `mapping_lines` says, to be put behind a description; what a terminal would obey is written out."""
    return "".join(f"; {repr(line)[1:-1]}" for line in mapping_lines(groups))
