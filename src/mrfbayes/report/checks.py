"""How far to trust a result: each check with its figure, what it should be, and whether it holds."""

from __future__ import annotations

from typing import NamedTuple

from mrfbayes.report.findings import Findings
from mrfbayes.report.wording import listed
from mrfbayes.structure.averaged import AVERAGED

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
    facts = posterior.facts
    out = [_target(posterior.target, posterior.method, posterior.label, facts.spread_ratio)]
    if facts.trust is not None:
        worst = max(facts.trust_mean or 0.0, facts.trust_sd or 0.0)
        state = GOOD if worst < 0.1 else CARE if worst < 0.2 else BAD
        out.append(TrustCheck("Approximation", state, f"{worst:.1%}", f"Measured in this run: {facts.trust}."))
    if "r_hat" in found:
        worst = found["r_hat"]
        state = GOOD if worst <= 1.01 else CARE if worst <= 1.05 else BAD
        out.append(
            TrustCheck("R-hat", state, f"{worst:.3f}", "Chains agree where this is at most 1.01 for every parameter.")
        )
    if "ess" in found:
        least, wanted = found["ess"], 100 * min(len(posterior.draws), 4)
        state = GOOD if least >= wanted else CARE if least >= wanted / 4 else BAD
        text = f"Independent draws that the worst parameter's draws are worth; {wanted:,} or more are wanted."
        out.append(TrustCheck("Effective sample size", state, f"{least:,.0f}", text))
    if not posterior.has_chains:
        text = "Draws are independent: there is no chain that could have failed to converge."
        out.append(TrustCheck("Draws", GOOD, f"{found['draws']:,.0f}", text))
    if "pareto_k" in found:
        k = found["pareto_k"]
        state = GOOD if k < 0.7 else CARE if k < 1 else BAD
        text = "Tail of the importance weights: below 0.7 means that weighted means can be trusted."
        out.append(TrustCheck("Pareto k", state, f"{k:.2f}", text))
    if "noise" in found:
        state = GOOD if found["noise"] < 1 else BAD
        text = "Noise of the estimated log-likelihood ratios in nats; above 1 the draws are visibly too wide."
        out.append(TrustCheck("Noise", state, f"{found['noise']:.2g}", text))
    if posterior.facts.missing is not None:
        text = f"{posterior.facts.missing}."
        out.append(TrustCheck("Missing cells", INFO, "at random", text))
    out.append(_predictive(findings))
    if posterior.partial:
        out.append(
            TrustCheck("Run", CARE, "partial", f"The run was stopped after {posterior.steps:,} steps per chain.")
        )
    return out


def _target(target: str, method: str, label: str, spread_ratio: float | None) -> TrustCheck:
    if target == "exact":
        return TrustCheck("Target", GOOD, target, "Given enough draws, the draws are those of the exact posterior.")
    if method == "pseudo":
        share = "by a fifth on the paper's fields"
        if spread_ratio is not None:
            share = f"about {spread_ratio:.2f} of those that its estimates have here"
        text = (
            "The pseudolikelihood counts every edge from both of its ends: means are near, spreads are too small "
            f"({share}) and Bayes factors too sure."
        )
        return TrustCheck("Target", CARE, "too narrow", text)
    if method == AVERAGED:
        text = (
            "The partition function of graphs is out of reach, so weighted samples stand for it; how far two "
            "independent sets of them differ is told in the section on the search."
        )
        return TrustCheck("Target", INFO, target, text)
    if method == "langevin":
        text = (
            "The likelihood is the true one; its gradients come from simulated data, and finite steps are taken. How "
            "far that leads away is measured in this run."
        )
        return TrustCheck("Target", INFO, target, text)
    text = f"{label} replaces the likelihood by one that can be computed; more draws do not mend that."
    return TrustCheck("Target", INFO, target, text)


def _predictive(findings: Findings) -> TrustCheck:
    check = findings.predictive
    if check is None:
        return TrustCheck("Predictive check", INFO, "not made", f"Left out: {findings.missing['predictive check']}.")
    table = check.table
    # Apart: thousands of statistics that the model was fitted to, and so reproduces, would hide the few others.
    fitted, others = (table.loc[table["fitted"] == kind, "p_value"] for kind in (True, False))
    of_fitted, of_others = (int((p < SURPRISING).sum()) for p in (fitted, others))
    found, by_chance = of_fitted + of_others, SURPRISING * len(others)
    allowed = float(len(table) > FEW_STATISTICS)
    is_good = of_others <= max(allowed, 3 * by_chance) and of_fitted <= max(allowed, SURPRISING * len(fitted))
    state = GOOD if is_good else CARE
    text = (
        f"Observed statistics that data simulated from the posterior do not reproduce (p < {SURPRISING:g}): "
        f"{of_fitted} of {len(fitted)} that the model was fitted to, where hardly any are expected"
    )
    if len(others):
        text += f", and {of_others} of {len(others)} others, where about {by_chance:.1f} are expected by chance"
    text += "."
    if state == CARE:
        worst = table.nsmallest(3, "p_value")
        text += f" Least like the data: {listed([str(name) for name in worst.index])}."
    return TrustCheck("Predictive check", state, f"{found:,} of {len(table):,}", text)
