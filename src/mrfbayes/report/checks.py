"""How far to trust a result: each check with its figure, what it should be, and whether it holds."""

from __future__ import annotations

from typing import NamedTuple

from mrfbayes.report.findings import Findings
from mrfbayes.report.wording import fill

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

    is_narrow = posterior.target != "exact" and posterior.method == "pseudo"
    state = GOOD if posterior.target == "exact" else CARE if is_narrow else INFO
    figure = "too narrow" if is_narrow else posterior.target
    out.append(TrustCheck("Target", state, figure, " ".join(fill("check_target", posterior))))
    if facts.trust is not None:
        worst = max(facts.trust_mean or 0.0, facts.trust_sd or 0.0)
        state = GOOD if worst < 0.1 else CARE if worst < 0.2 else BAD
        add("Approximation", state, f"{worst:.1%}", facts.trust)
    if "r_hat" in found:
        worst = found["r_hat"]
        state = GOOD if worst <= 1.01 else CARE if worst <= 1.05 else BAD
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
