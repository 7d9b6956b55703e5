"""The sentences that a person needs: what was asked, what came out, what it rests on. Generated, with numbers."""

from __future__ import annotations

from mrfbayes.model.wording import coupling_of, quantity
from mrfbayes.report.findings import Findings
from mrfbayes.report.wording import bayes_factor, interval, listed, number, plural


def brief(findings: Findings) -> list[str]:
    """At most five sentences, in the order in which people ask."""
    said = [asked(findings), came_out(findings), strongest(findings), nodes(findings), trust(findings)]
    return [sentence for sentence in said if sentence]


def asked(findings: Findings) -> str:
    """Data and model."""
    posterior, model = findings.posterior, findings.posterior.model
    states = "yes/no variables" if model.is_binary else f"variables with up to {model.states.max()} states"
    n = plural(round(posterior.n), "observation")
    field = f"a {model.grid_shape[0]} x {model.grid_shape[1]} grid" if model.grid_shape else ""
    where = f"{field} of {model.n_nodes:,} {states}" if field else f"{model.n_nodes:,} {states}"
    kind = {"agreement": "agreement", "both-one": '"both present"', "score": "ordinal", "table": "general"}
    coupling = kind.get(coupling_of(model), "pairwise")
    if findings.is_tied:
        share = f"{plural(len(findings.edges), f'{coupling} coupling')} shared by {model.n_edges:,} neighbouring pairs"
    else:
        share = f"a {coupling} coupling for each of {plural(model.n_edges, 'pair')}".replace("a agree", "an agree")
        share = share.replace("a ordinal", "an ordinal")
    extra = " and a threshold for each variable" if any(group.arity == 1 for group in model.groups) else ""
    return f"{n} of {where} were fitted with {share}{extra}: {plural(model.n_parameters, 'parameter')} in all."


def came_out(findings: Findings) -> str:
    """How many edges the data speak for, against, or leave open."""
    said, total = findings.verdicts, len(findings.edges)
    if not total or said["unknown"] == total:
        return ""
    text = (
        f"The data support {plural(said['present'], 'edge')} of {total:,} (Bayes factor above 10), speak against "
        f"{said['absent']:,} (below 1/10), and leave {said['undecided']:,} undecided"
    )
    fragile = int(findings.edges["fragile"].sum())
    if fragile:
        text += (
            f"; {plural(fragile, 'verdict is', 'verdicts are')} so close to a boundary that more draws could change it"
        )
    return text + "."


def strongest(findings: Findings) -> str:
    """The edges that stand out."""
    edges = findings.edges
    if not len(edges):
        return ""
    name = quantity(findings.posterior.model, findings.scale)
    if len(edges) <= 3:
        parts = [
            f"{edge} {number(row['mean'])} (90 % interval {interval(row['q5'], row['q95'])})"
            for edge, row in edges.iterrows()
        ]
        return f"Posterior mean of the {name}: {listed(parts)}."
    neutral = 0.5 if findings.scale == "theta" else 0.0
    size = (edges["mean"] - neutral).abs()
    chosen = edges[edges["verdict"] == "present"] if findings.verdicts["present"] else edges
    top = chosen.loc[size[chosen.index].sort_values(ascending=False).index[:3]]
    first = top.iloc[0]
    factor = f", Bayes factor {bayes_factor(first['log_bf10'])}" if first["log_bf10"] == first["log_bf10"] else ""
    others = f", followed by {listed(list(map(str, top.index[1:])))}" if len(top) > 1 else ""
    return (
        f"The strongest {'supported ' if findings.verdicts['present'] else ''}edge is {listed([str(top.index[0])])}: "
        f"{name} {number(first['mean'])} (90 % interval {interval(first['q5'], first['q95'])}{factor}){others}."
    )


def nodes(findings: Findings) -> str:
    """The node that the others tell most about."""
    table = findings.nodes
    if "accuracy_gain" not in table or findings.is_tied or len(table) < 2:
        return ""
    best = table["log_score_gain"].idxmax()
    row = table.loc[best]
    return (
        f"The variable that the others predict best is {best}: they name its state in {row['accuracy']:.0%} of the "
        f"rows, against {row['accuracy_alone']:.0%} without them."
    )


def trust(findings: Findings) -> str:
    """What the numbers rest on, and whether anything speaks against them."""
    posterior, found = findings.posterior, findings.diagnostics
    target = (
        "These numbers target the exact posterior"
        if posterior.target == "exact"
        else f"These numbers approximate the posterior ({posterior.label})"
    )
    parts = []
    if found.get("r_hat", 0) > 0:
        parts.append(f"largest R-hat {found['r_hat']:.3f}")
    if found.get("ess", 0) > 0:
        parts.append(f"smallest effective sample size {found['ess']:,.0f}")
    if "pareto_k" in found:
        parts.append(f"Pareto k {found['pareto_k']:.2f}")
    if posterior.facts.trust is not None:
        parts.append(posterior.facts.trust.split(" (")[0])
    if posterior.facts.missing is not None:
        parts.append("cells assumed to be missing at random")
    text = target + (f" ({'; '.join(parts)})" if parts else "")
    doubts = len(posterior.warnings)
    return f"{text}; {plural(doubts, 'warning')} below." if doubts else f"{text}; nothing speaks against them."
