"""What a parameter means, in one sentence for each kind of coupling and each scale."""

from __future__ import annotations

import numpy as np

from mrfbayes.model.build import COUPLINGS, coupling_table
from mrfbayes.model.field import Model

_THETA = {
    "agreement": (
        "theta of an edge is the weight of its two nodes being equal, against 1 - theta for being different: 0.5 means "
        "no interaction, more means that they tend to agree, all other nodes being equal."
    ),
    "both-one": (
        "theta of an edge is the weight of both nodes being 1, against 1 - theta for anything else: 0.5 means no "
        "interaction, more means that the two occur together, all other nodes being equal."
    ),
    "score": (
        "theta of an edge is the weight of each unit of the product of its two levels, against 1 - theta for each unit "
        "that is lacking: 0.5 means no interaction, more means that high goes with high."
    ),
    "table": (
        "theta of an edge has one weight per pair of states other than the reference categories, against the weight of "
        "all pairs with a reference category: equal weights mean no interaction."
    ),
    "": "theta is the weight of a factor's first outcome: equal weights mean no interaction.",
}
_LOG_ODDS = {
    "agreement": (
        "The coupling of an edge is the log-odds that its two nodes agree rather than differ, all other nodes being "
        "equal: 0 means no interaction, and +1 multiplies the odds of agreement by 2.7."
    ),
    "both-one": (
        "The coupling of an edge is the log odds ratio of its two nodes, all other nodes being equal: 0 means no "
        "interaction, and +1 multiplies the odds of one by 2.7 where the other one is present."
    ),
    "score": (
        "The coupling of an edge is the log-odds per unit of the product of its two levels, all other nodes being "
        "equal: 0 means no interaction, and above 0 high goes with high."
    ),
    "table": (
        "The coupling of an edge is a table of log odds ratios against the reference categories of its two nodes: 0 "
        "everywhere means no interaction."
    ),
    "": "The coupling is the log-odds of a factor's first outcome against its last one: 0 means no interaction.",
}
_ISING = (
    "J is the coupling of two spins that are -1 or +1, and h the field of one spin, as in log p = sum J s s + sum h s: "
    "0 means no interaction, above 0 spins tend to be equal."
)


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


def meaning(model: Model, scale: str) -> str:
    """What the parameters of an edge mean in ``scale``."""
    if scale == "ising":
        return _ISING
    return (_THETA if scale == "theta" else _LOG_ODDS)[coupling_of(model)]


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


def natural_scale(model: Model) -> str:
    """The scale that people quote: log-odds for "both-one", "score" and fields; theta for the paper's bare coins."""
    coupling = coupling_of(model)
    has_fields = any(group.arity == 1 for group in model.groups)
    return "theta" if coupling == "agreement" and not has_fields else "log-odds"
