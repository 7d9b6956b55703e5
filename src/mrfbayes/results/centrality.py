"""Centrality of the nodes: the sum of their couplings (expected influence) and of their sizes (strength)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.lowering import EdgeFinder
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.results.predictability import evenly, interval_columns

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior

MOST_DRAWS = 4_000
NUMBERS = 2**25  # draws x edges that are held at once


def centrality_table(posterior: Posterior, scale: str, interval: float) -> pd.DataFrame:
    """A row per node: see `Posterior.centrality`."""
    import pandas as pd
    from scipy.sparse import csr_array

    model = posterior.model
    if scale not in ("log-odds", "ising"):
        raise InputError(f"scale = {scale!r}: centrality adds couplings; choose 'log-odds' or 'ising'.")
    if (model.chart.sides[: n_edge_blocks(model)] > 2).any():
        raise InputError("centrality: an edge with a table of weights has no single coupling to add.")
    draws = max(50, min(MOST_DRAWS, NUMBERS // max(model.n_edges, 1)))
    log_odds = evenly(posterior.log_odds.reshape(-1, model.n_parameters), draws)
    couplings = _couplings(posterior, log_odds, scale)
    rows, columns = model.edges.T.ravel(), np.tile(np.arange(model.n_edges), 2)
    incidence = csr_array((np.ones(rows.size), (rows, columns)), shape=(model.n_nodes, model.n_edges))
    measures = {
        "strength": (incidence @ np.abs(couplings).T).T,
        "expected_influence": (incidence @ couplings.T).T,
    }
    found: dict[str, np.ndarray] = {}
    for name, values in measures.items():
        found |= interval_columns(name, np.asarray(values), interval)
    table = pd.DataFrame(found, index=pd.Index(model.nodes, name="node"))
    table.attrs |= {"scale": scale, "draws": len(log_odds)}
    return table


def _couplings(posterior: Posterior, log_odds: np.ndarray, scale: str) -> np.ndarray:
    """(draws, m) one coupling per edge."""
    model = posterior.model
    if scale == "ising":
        return np.stack([model.lowering.potentials(w)[1] / 2 for w in log_odds]) if model.is_binary else _refuse()
    out = np.zeros((len(log_odds), model.n_edges))
    find = EdgeFinder(model.edges, model.n_nodes)
    for group in model.groups:
        if group.arity == 2:
            out[:, find(group.scope)[0]] += log_odds[:, model.chart.offset[group.block]]
    return out


def _refuse() -> np.ndarray:
    raise InputError("scale = 'ising' is for variables with two states: use 'log-odds'.")
