"""The sentences of a report, from the templates in `sentences.j2`; and how far to trust a result, check by check."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.data.coding import coding_lines
from mrfbayes.data.statistics import Statistics
from mrfbayes.model.edges import pixels_of
from mrfbayes.model.scales import coupling_of, n_edge_blocks, quantity
from mrfbayes.priors import Prior
from mrfbayes.report import wording
from mrfbayes.report.findings import Findings
from mrfbayes.report.wording import fill
from mrfbayes.results.diagnostics import MOST_R_HAT

GOOD, CARE, BAD, INFO = "good", "care", "bad", "info"
SURPRISING = 0.01
FEW_STATISTICS = 20  # among which one that is surprising is one too many


class TrustCheck(NamedTuple):
    """``state`` is good, care, bad or info."""

    name: str
    state: str
    figure: str
    text: str


def checks(findings: Findings) -> list[TrustCheck]:
    """All checks that this result has."""
    posterior, found = findings.posterior, findings.diagnostics
    facts, out = posterior.facts, []

    def add(name: str, state: str, figure: str, detail: object = "") -> None:
        out.append(TrustCheck(name, state, figure, " ".join(fill("check", name, detail))))

    state = GOOD if posterior.target == "exact" else CARE if facts.is_narrow else INFO
    figure = "too narrow" if facts.is_narrow else posterior.target
    out.append(TrustCheck("Target", state, figure, " ".join(fill("check_target", posterior))))
    if facts.trust is not None:
        worst = max(facts.trust_mean or 0.0, facts.trust_sd or 0.0)
        state = GOOD if worst < 0.1 else CARE if worst < 0.2 else BAD
        add("Approximation", state, f"{worst:.1%}", facts.trust)
    if "r_hat" in found:
        worst = found["r_hat"]
        agree = found.get("r_hat_excess", worst - 1) <= MOST_R_HAT - 1  # but for chance
        state = BAD if not worst <= 1.05 else GOOD if agree else CARE
        add("R-hat", state, f"{worst:.3f}")
    if "ess" in found:
        least, wanted = found["ess"], 100 * min(len(posterior.draws), 4)
        state = GOOD if least >= wanted else CARE if least >= wanted / 4 else BAD
        add("Effective sample size", state, f"{least:,.0f}", f"{wanted:,}")
    if not posterior.has_chains:
        add("Draws", GOOD, f"{found['draws']:,.0f}")
    if "pareto_k" in found:
        k = found["pareto_k"]
        add("Pareto k", GOOD if k < 0.7 else CARE if k < 1 else BAD, f"{k:.2f}")
    if "noise" in found:
        add("Noise", GOOD if found["noise"] < 1 else BAD, f"{found['noise']:.2g}")
    if facts.missing is not None:
        add("Missing cells", INFO, "at random", facts.missing)
    out.append(_predictive(findings))
    if posterior.partial:
        add("Run", CARE, "partial", f"{posterior.steps:,}")
    return out


def _rows_used(statistics: Statistics | None) -> int:
    """How many rows there were; 0 where only their counts are known, as of a loaded result."""
    if statistics is None or (statistics.n and not statistics.n_rows):
        return 0
    return statistics.n_rows + (0 if statistics.incomplete is None else statistics.incomplete.n_rows)


def _predictive(findings: Findings) -> TrustCheck:
    check, name = findings.predictive, "Predictive check"
    if check is None:
        return TrustCheck(name, INFO, "not made", *fill("check", f"No {name.lower()}", findings.missing[name.lower()]))
    table = check.table
    # Apart: thousands of statistics that the model was fitted to, and so reproduces, would hide the few others.
    fitted, others = (table.loc[table["fitted"] == kind, "p_value"] for kind in (True, False))
    of_fitted, of_others = (int((p < SURPRISING).sum()) for p in (fitted, others))
    by_chance, allowed = SURPRISING * len(others), float(len(table) > FEW_STATISTICS)
    is_good = of_others <= max(allowed, 3 * by_chance) and of_fitted <= max(allowed, SURPRISING * len(fitted))
    facts = {
        "limit": SURPRISING,
        "of_fitted": of_fitted,
        "fitted": len(fitted),
        "of_others": of_others,
        "others": len(others),
        "by_chance": by_chance,
        "worst": [] if is_good else list(map(str, table.nsmallest(3, "p_value").index)),
    }
    figure = f"{of_fitted + of_others:,} of {len(table):,}"
    return TrustCheck(name, GOOD if is_good else CARE, figure, " ".join(fill("check_predictive", facts)))


WORTH_SHOWING = 0.01  # probability of a single graph, below which graphs are not listed
PACKAGE_NAMES = {"python": "Python", "numpy": "NumPy", "numba": "Numba", "scipy": "SciPy"}
NAMED_EDGES = 3  # the strongest
FEW_NODES = 4  # from which on centrality is worth a sentence


def sentences(findings: Findings, part: str) -> list[str]:
    """The sentences of one macro of `sentences.j2`, filled with the findings and with what is derived of them."""
    return wording.fill(part, findings, derive(findings))


def facts(findings: Findings, part: str) -> list[tuple[str, str]]:
    """Names and values of a macro whose lines are "name: value"; those without a value are left out."""
    pairs = [line.partition(":")[::2] for line in sentences(findings, part)]
    return [(name, value.strip()) for name, value in pairs if value.strip()]


def brief(findings: Findings) -> list[str]:
    """The findings in a few sentences."""
    return sentences(findings, "brief")


def methods_paragraph(findings: Findings) -> str:
    """What was done, in the past tense, ready to paste."""
    return " ".join(sentences(findings, "methods"))


def citations(findings: Findings) -> list[str]:
    """What this result rests on."""
    return sentences(findings, "references")


def derive(f: Findings) -> dict[str, object]:
    """What the templates need beside the findings."""
    posterior, model, seen = f.posterior, f.model, checks(f)
    versions = dict(posterior.versions)
    statistics, coded = f.statistics, [] if model.grid_shape else coding_lines(posterior.schema)
    incomplete = None if statistics is None else statistics.incomplete
    return {
        "most_states": int(model.states.max()),
        "states": sorted(set(model.states.tolist())),
        "coding": "; ".join(coded[:12]) + ("; ..." if len(coded) > 12 else ""),
        "coupling": coupling_of(model),
        "has_thresholds": any(group.arity == 1 for group in model.groups),
        "one_threshold": model.chart.n_blocks - n_edge_blocks(model) == 1 and model.n_nodes > 1,
        "is_whole": abs(posterior.n - round(posterior.n)) < 1e-9,
        "is_lattice": pixels_of(model.nodes) is not None,
        "incomplete": incomplete,
        "rows": _rows_used(statistics),
        "n_edges": len(f.edges),
        "verdicts": f.verdicts if f.is_judged else None,
        "fragile": int(f.edges["fragile"].sum()) if f.is_judged else 0,
        "quantity": quantity(model, f.scale),
        "strongest": _strongest(f),
        "best": _largest(f, "log_score_gain") if model.n_edges and not f.is_tied else None,
        "central": _largest(f, "strength", FEW_NODES),
        "robust": _robust(f),
        "groups": _groups(f),
        "search": _search(f),
        "worth_showing": WORTH_SHOWING,
        "moved": 0 if f.saturated is None else int((f.saturated.edges["verdict"] != f.edges["verdict"]).sum()),
        "bad": [_called(check.name) for check in seen if check.state == BAD],
        "care": [_called(check.name) for check in seen if check.state == CARE and check.name != "Target"],
        "version": versions.pop("mrfbayes", ""),
        "packages": [f"{PACKAGE_NAMES.get(name, name)} {text}" for name, text in versions.items()],
        "priors": _default_priors(f),
        "spent": {name: value for name, value in posterior.timings.items() if value >= 0.05},
    }


def _strongest(f: Findings) -> list[dict[str, object]]:
    """The supported edges (all, where none is) with the largest couplings; none of tables, which have no one size."""
    edges, model = f.edges, f.model
    if (model.chart.sides[: n_edge_blocks(model)] > 2).any():
        return []
    if len(edges) > NAMED_EDGES:
        edges = edges[edges["verdict"] == "present"] if f.verdicts["present"] else edges
        size = (edges["mean"] - f.neutral).abs().sort_values(ascending=False)
        edges = edges.loc[size.index[:NAMED_EDGES]]
    return [{"name": str(name), **row} for name, row in edges.to_dict("index").items()]


def _largest(f: Findings, measure: str, least: int = 2) -> dict[str, object] | None:
    """The node with the largest value of a measure, where there are enough nodes that have it."""
    if measure not in f.nodes or len(f.nodes) < least:
        return None
    name = f.nodes[measure].idxmax()
    return {"name": name, **f.nodes.loc[name].to_dict()}


def _robust(f: Findings) -> dict[str, int] | None:
    """Which verdicts stay under all priors."""
    table = f.sensitivity
    if table is None:
        return None
    by_edge, kept = table.attrs["verdicts"], table.attrs["robust"]
    found = {"slabs": table["slab"].nunique(), "graphs": table["graphs"].nunique(), "kept": int(kept.sum())}
    for name in ("present", "absent"):
        found |= {name: int((kept & (by_edge[0] == name)).sum())}
        found |= {f"least_{name}": int(table[name].min()), f"most_{name}": int(table[name].max())}
    return found


def _groups(f: Findings) -> dict[str, object] | None:
    found = f.groups
    if found is None:
        return None
    edges = found._evidence_table()
    counts = edges["verdict"].value_counts()
    which = edges[edges["verdict"] == "present"].sort_values("log_bf10", ascending=False).index
    return {
        "sizes": [f"{name} (n = {n:g})" for name, n in zip(found.groups, found.group_n, strict=True)],
        "total": len(edges),
        **{name: int(counts.get(name, 0)) for name in ("present", "absent", "undecided")},
        "which": list(map(str, which)),
        "none": f.no_difference,
        "expected": float(found.inclusion.sum()),
        "prior_expected": float(found.prior_inclusion.sum()),
        "strengths": found.global_strength().rename_axis("name").reset_index().to_dict("records"),
        "error": float(np.nan_to_num(found.inclusion_error).max()),
    }


def _search(f: Findings) -> dict[str, float] | None:
    """What is said of the posterior over graphs."""
    found = f.selection
    if found is None:
        return None
    total, top = np.cumsum(found.size_probability), found.graphs(1)
    return {
        "low": int(np.searchsorted(total, 0.05)),
        "high": int(np.searchsorted(total, 0.95)),
        "median": len(found.median_graph),
        "top": float(top["probability"].iloc[0]) if len(top) else 0.0,
        "error": float(np.nan_to_num(found.inclusion_error).max()),
    }


def _called(check: str) -> str:
    """A check within a sentence: names of quantities stay as they are."""
    return check if check in ("R-hat", "Pareto k") else f"the {check.lower()}"


def _default_priors(f: Findings) -> list[str]:
    """The priors of couplings and of thresholds, where the default ones were used and there are both."""
    default, first = Prior(f.model, "default"), n_edge_blocks(f.model)
    if str(f.posterior.settings.get("prior")) != str(default) or not 0 < first < f.model.chart.n_blocks:
        return []
    parts = default.per_block[:first], default.per_block[first:]
    return [", ".join(dict.fromkeys(map(str, part))) for part in parts]
