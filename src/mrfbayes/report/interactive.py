"""The numbers behind the network that readers of the page can change: nodes, layouts, and a list of edges each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from mrfbayes.model.edge_strength import edge_strengths
from mrfbayes.plots.layouts import positions
from mrfbayes.report.tables import script_safe

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.report.findings import Findings

MOST_LIVE_NODES = 150
MOST_POWERS = 6.0  # of ten: evidence is cut there
VERDICTS = ("present", "undecided", "absent", "unknown")


def live_network(findings: Findings) -> Markup | None:
    """JSON for the page's own script; None where there is no network to draw."""
    f, model = findings, findings.model
    if f.places is None or model.n_nodes > MOST_LIVE_NODES:
        return None
    style = f.node_style
    nodes = [
        {
            "name": name,
            "text": str(style["text"].iloc[k]) if "text" in style else "",
            "community": int(style["community"].iloc[k]) if "community" in style else -1,
            "ring": _short(style["ring"].iloc[k]) if "ring" in style else 0,
        }
        for k, name in enumerate(model.nodes)
    ]
    answer = "Average over graphs" if f.selection is not None else "Posterior"
    networks = [_judged(f, answer, "Bayes factor", f.edges)]
    if f.saturated is not None:
        networks.append(_judged(f, "All edges in the model", "Bayes factor", f.saturated.edges))
    if f.groups is not None:
        means = f.groups.means()
        strength = {name: edge_strengths(model, means[name].to_numpy()) for name in f.groups.groups}
        for place, name in enumerate(f.groups.groups):
            draws = f.groups.log_odds[:, :, place, model.chart.offset[: model.n_edges]]
            above = np.clip((draws > 0).mean(axis=(0, 1)), 1e-7, 1 - 1e-7)
            odds = np.abs(np.log10(above / (1 - above)))
            said = ["present" if one >= 1 else "undecided" for one in odds]
            networks.append(_network(f, f"Group {name}", "odds of the sign", strength[name], odds, said))
        values = np.stack(list(strength.values()))
        change = values[-1] - values[0] if len(values) == 2 else np.ptp(values, axis=0)
        table = f.groups._evidence_table()
        evidence = table["log_bf10"].to_numpy() / math.log(10)
        names = f.groups.groups
        called = f"{names[1]} less {names[0]}" if len(names) == 2 else "Largest difference between groups"
        networks.append(_network(f, called, "Bayes factor of a difference", change, evidence, list(table["verdict"])))
    layouts = {"springs": f.places, "circle": positions(model, "circle")}
    return script_safe(
        {
            "nodes": nodes,
            "layouts": {name: np.round(_unit(places), 3).tolist() for name, places in layouts.items()},
            "networks": networks,
            "verdicts": VERDICTS,
        }
    )


def _judged(findings: Findings, name: str, evidence: str, table: pd.DataFrame) -> dict[str, object]:
    power = table["log_bf10"].to_numpy() / math.log(10)
    return _network(findings, name, evidence, table["mean"].to_numpy(), power, list(table["verdict"]))


def _network(
    findings: Findings, name: str, evidence: str, mean: np.ndarray, power: np.ndarray, verdict: list[str]
) -> dict[str, object]:
    """Edges as [first, second, coupling, log10 of the evidence, verdict]."""
    neutral = 0.5 if findings.scale == "theta" and evidence == "Bayes factor" else 0.0
    cut = np.clip(np.nan_to_num(power), -MOST_POWERS, MOST_POWERS)
    edges = [
        [u, v, _short(mean[k] - neutral), _short(cut[k]), VERDICTS.index(verdict[k])]
        for k, (u, v) in enumerate(findings.model.edges.tolist())
    ]
    return {"name": name, "evidence": evidence, "edges": edges}


def _short(value: float) -> float:
    return float(f"{float(np.nan_to_num(value)):.3g}")


def _unit(places: np.ndarray) -> np.ndarray:
    """Places in [0, 1]^2, y downwards."""
    low, high = places.min(axis=0), places.max(axis=0)
    unit = (places - low) / np.maximum(high - low, 1e-9)
    return np.stack([unit[:, 0], 1 - unit[:, 1]], axis=1)
