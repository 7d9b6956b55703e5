"""The sentences that a person needs: what was asked, what came out, what it rests on. Generated, with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.model.lattice import pixels_of
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.model.wording import coupling_of, quantity
from mrfbayes.report.checks import BAD, CARE, checks
from mrfbayes.report.findings import Findings
from mrfbayes.report.wording import (
    bayes_factor,
    decimals,
    fragility,
    grid_of,
    interval,
    listed,
    number,
    plural,
    support,
)

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {"agreement": "agreement", "both-one": '"both present"', "score": "ordinal", "table": "general"}


def brief(findings: Findings) -> list[str]:
    """At most five sentences, in the order in which people ask."""
    said = [asked(findings), came_out(findings), strongest(findings), nodes(findings), trust(findings)]
    return [sentence for sentence in said if sentence]


def asked(findings: Findings) -> str:
    """Data and model."""
    posterior, model = findings.posterior, findings.posterior.model
    kind = "yes/no variable" if model.is_binary else f"variable with up to {model.states.max()} states"
    many = "yes/no variables" if model.is_binary else f"variables with up to {model.states.max()} states"
    where = plural(model.n_nodes, kind, many)
    if model.grid_shape:
        where = f"{grid_of(model.grid_shape)} of {where}"
    coupling = _KINDS.get(coupling_of(model), "pairwise")
    if not model.n_edges:
        share = "no coupling"
    elif findings.is_tied:
        share = f"{plural(len(findings.edges), f'{coupling} coupling')} shared by {model.n_edges:,} neighbouring pairs"
    else:
        article = "an" if coupling[0] in "ao" else "a"
        share = f"{article} {coupling} coupling for each of {plural(model.n_edges, 'pair')}"
        share = share.replace("each of 1 pair", "the one pair")
    was = "was" if posterior.n == 1 else "were"
    return (
        f"{_observations(posterior.n)} of {where} {was} fitted with {share}{_thresholds(findings)}: "
        f"{plural(model.n_parameters, 'parameter')} in all."
    )


def _observations(n: float) -> str:
    return plural(round(n), "observation") if abs(n - round(n)) < 1e-9 else f"Observations of total weight {n:,.1f}"


def _thresholds(findings: Findings) -> str:
    model = findings.posterior.model
    blocks = model.chart.n_blocks - n_edge_blocks(model)
    if not any(group.arity == 1 for group in model.groups):
        return ""
    several = "" if model.is_binary else "state past the first of each "
    each = f" and a threshold for each {several}variable"
    return each if blocks > 1 or model.n_nodes == 1 else " and one threshold for all"


def came_out(findings: Findings) -> str:
    """How many edges the data speak for, against, or leave open."""
    said, total = findings.verdicts, len(findings.edges)
    if not total or said["unknown"] == total:
        return ""
    fragile = int(findings.edges["fragile"].sum())
    close = fragility(fragile, "draws")
    if total == 1:
        what = "a coupling of neighbours" if findings.is_tied else f"the edge {listed([str(findings.edges.index[0])])}"
        factor = bayes_factor(*findings.edges[["log_bf10", "bound"]].iloc[0])
        verdict = next(name for name, count in said.items() if count)
        text = {
            "present": f"The data support {what} (Bayes factor {factor})",
            "absent": f"The data speak against {what} (Bayes factor {factor})",
            "undecided": f"The data do not decide about {what} (Bayes factor {factor})",
        }[verdict]
        return text + (f"; {close}." if fragile else ".")
    thing = "coupling" if findings.is_tied else "edge"
    text = support(said, total, thing)
    text = text[0].upper() + text[1:]
    if said["unknown"]:
        text += f"; {plural(said['unknown'], thing)} had no Bayes factor"
    return f"{text}; {close}." if fragile else f"{text}."


def strongest(findings: Findings) -> str:
    """The edges that stand out."""
    edges = findings.edges
    model = findings.posterior.model
    if (
        not len(edges) or (model.chart.sides[: n_edge_blocks(model)] > 2).any()
    ):  # a table of weights has no one strength
        return ""
    name = quantity(findings.posterior.model, findings.scale)
    if len(edges) <= 3:
        parts = [f"{_named(findings, edge)}{_estimate(row)}" for edge, row in edges.iterrows()]
        return f"Posterior mean of {'theta' if name == 'theta' else f'the {name}'}: {listed(parts)}."
    neutral = 0.5 if findings.scale == "theta" else 0.0
    size = (edges["mean"] - neutral).abs()
    supported = findings.verdicts["present"] > 0
    chosen = edges[edges["verdict"] == "present"] if supported else edges
    top = chosen.loc[size[chosen.index].sort_values(ascending=False).index[:3]]
    first = top.iloc[0]
    factor = (
        f", Bayes factor {bayes_factor(first['log_bf10'], first['bound'])}"
        if first["log_bf10"] == first["log_bf10"]
        else ""
    )
    others = f", followed by {listed(list(map(str, top.index[1:])))}" if len(top) > 1 else ""
    unsure = "" if supported or findings.verdicts["unknown"] == len(edges) else ", though the data do not decide on it"
    return (
        f"The strongest {'supported ' if supported else ''}edge is {listed([str(top.index[0])])}: "
        f"{name} {_estimate(first, factor)}{others}{unsure}."
    )


def _named(findings: Findings, edge: object) -> str:
    """A tied coupling is called after all its edges only where there are several kinds."""
    return "" if findings.is_tied and len(findings.edges) == 1 else f"{edge} "


def _estimate(row: pd.Series, more: str = "") -> str:
    digits = decimals(row["sd"])
    return f"{number(row['mean'], digits)} (90% interval {interval(row['q5'], row['q95'], digits)}{more})"


def nodes(findings: Findings) -> str:
    """The node that the others tell most about; of a tied field what neighbours tell on average."""
    pooled = findings.pooled
    if pooled is not None:
        one = "variable" if pixels_of(findings.posterior.model.nodes) is None else "pixel"
        return (
            f"Its neighbours name the state of a {one} in {pooled['accuracy']:.0%} of all cases, against "
            f"{pooled['accuracy_alone']:.0%} without them."
        )
    table = findings.nodes
    if "accuracy_gain" not in table or findings.is_tied or len(table) < 2 or not findings.posterior.model.n_edges:
        return ""
    best = table["log_score_gain"].idxmax()
    row = table.loc[best]
    if not row["log_score_gain"] > 0:
        return "No variable is predicted better by the others than by its own frequencies."
    if row["accuracy"] <= row["accuracy_alone"]:
        return (
            f"The variable that the others tell most about is {best}, though its commonest state remains the best "
            f"guess ({row['accuracy_alone']:.0%} of the rows)."
        )
    return (
        f"The variable that the others predict best is {best}: they name its state in {row['accuracy']:.0%} of the "
        f"rows, against {row['accuracy_alone']:.0%} without them."
    )


def trust(findings: Findings) -> str:
    """What the numbers rest on, and whether anything speaks against them."""
    posterior, found = findings.posterior, findings.diagnostics
    flaw = ", whose spreads are too small" if posterior.method == "pseudo" else ""
    target = (
        "These numbers target the exact posterior"
        if posterior.target == "exact"
        else "These numbers approximate the posterior"
    )
    parts = [] if posterior.target == "exact" else [posterior.label + flaw]
    if found.get("r_hat", 0) > 0:
        parts.append(f"largest R-hat {found['r_hat']:.3f}")
    if found.get("ess", 0) > 0:
        parts.append(f"smallest effective sample size {found['ess']:,.0f}")
    if "pareto_k" in found:
        parts.append(f"Pareto k {number(found['pareto_k'])}")
    if posterior.facts.trust is not None:
        parts.append(posterior.facts.trust.split(" (")[0])
    if posterior.facts.missing is not None:
        parts.append("cells assumed to be missing at random")
    text = target + (f" ({'; '.join(parts)})" if parts else "")
    seen = checks(findings)
    bad = [_called(check.name) for check in seen if check.state == BAD]
    care = [_called(check.name) for check in seen if check.state == CARE and check.name != "Target"]
    doubts = len(findings.doubts)
    if bad:
        return f"{text}; do not quote them as they are: {listed(bad + care)} failed, see below."
    if care:
        return f"{text}; look at {listed(care)} before quoting them."
    if doubts:
        return f"{text}; {plural(doubts, 'warning')} below."
    return f"{text}; nothing else speaks against them." if flaw else f"{text}; nothing speaks against them."


def _called(check: str) -> str:
    """A check within a sentence: names of quantities stay as they are."""
    return check if check in ("R-hat", "Pareto k") else f"the {check.lower()}"
