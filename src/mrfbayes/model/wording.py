"""What a parameter means, in one sentence for each kind of coupling and each scale."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import numpy as np

from mrfbayes.base.types import Scale
from mrfbayes.model.build import COUPLINGS, coupling_table
from mrfbayes.model.field import Model


def coupling_of(model: Model) -> str:
    """The name of the coupling that all edges have, or an empty text where there is none or it has no name."""
    found = set()
    for group in model.groups:
        if group.arity == 2:
            found.add(next((name for name in COUPLINGS if _is(name, group.table, group.is_score)), ""))
    return found.pop() if len(found) == 1 else ""


def _is(coupling: str, table: np.ndarray, is_score: bool) -> bool:
    if coupling == "both-one" and table.shape != (2, 2):
        return False
    named, named_is_score = coupling_table(coupling, *table.shape)
    return is_score == named_is_score and np.array_equal(table, named)


@cache
def _meanings() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("wording.toml").read_text(encoding="utf-8"))


def meaning(model: Model, scale: str) -> str:
    """What the parameters of an edge mean in ``scale``."""
    by_coupling = _meanings()[scale]
    return by_coupling.get(coupling_of(model), by_coupling["other"])


def scale_name(model: Model, scale: str, nodes: bool = False) -> str:
    """How an axis or a table names the scale of edges, or of node factors."""
    if scale == "ising":
        return "field h (spins -1, +1)" if nodes else "coupling J (spins -1, +1)"
    if nodes:
        return "theta" if scale == "theta" else "threshold (log-odds)"
    if scale == "theta":
        return "theta (0.5: no interaction)" if model.chart.all_coins else "theta"
    return {"both-one": "coupling (log odds ratio)"}.get(coupling_of(model), "coupling (log-odds)")


def quantity(model: Model, scale: str) -> str:
    """What a sentence calls the number of an edge."""
    if scale != "log-odds":
        return {"theta": "theta", "ising": "coupling J"}[scale]
    return "log odds ratio" if coupling_of(model) == "both-one" else "coupling in log-odds"


def natural_scale(model: Model) -> Scale:
    """The scale that people quote: log-odds for "both-one", "score" and fields; theta for the paper's bare coins."""
    coupling = coupling_of(model)
    has_fields = any(group.arity == 1 for group in model.groups)
    return "theta" if coupling == "agreement" and not has_fields else "log-odds"
