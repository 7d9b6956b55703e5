"""The sentences that a person needs: what is derived for the templates in `sentences.j2`, and how they are filled."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.model.lattice import pixels_of
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.model.wording import coupling_of, quantity
from mrfbayes.priors import Prior
from mrfbayes.report import wording
from mrfbayes.report.checks import BAD, CARE, checks
from mrfbayes.report.findings import Findings
from mrfbayes.report.wording import bayes_factor, decimals, interval, listed, number, plural

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Template

WORTH_SHOWING = 0.01  # probability of a single graph, below which graphs are not listed
_WAYS = {
    "exact": "the exact likelihood, whose partition function was computed by dynamic programming",
    "calibrated": "calibrated coins, whose location, spread and skewness match those of the posterior",
    "mle": "the MLE-induced likelihood",
    "pseudo": "the pseudolikelihood",
    "laplace": "a quadratic approximation of the log-likelihood at its maximum",
    "langevin": "the true likelihood, whose gradients came from persistent Gibbs chains",
}


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.filters |= {
        "plural": plural,
        "listed": listed,
        "number": number,
        "bf": bayes_factor,
        "support": wording.support,
        "fragility": wording.fragility,
        "or_none": wording.or_none,
        "grid_of": wording.grid_of,
        "percent": lambda value, digits=0: f"{value:.{digits}%}",
        "capitalise": lambda text: text[0].upper() + text[1:],
    }
    text = resources.files("mrfbayes.report").joinpath("sentences.j2").read_text(encoding="utf-8")
    return environment.from_string(text)


def sentences(findings: Findings, part: str) -> list[str]:
    """The sentences of one part: brief, methods, or the section on groups, structure, sensitivity or saturated."""
    module = _template().module
    lines = str(getattr(module, part)(findings, derived(findings))).splitlines()
    return [" ".join(line.split()) for line in lines if line.strip()]


def brief(findings: Findings) -> list[str]:
    """The findings in a few sentences."""
    return sentences(findings, "brief")


def methods_paragraph(findings: Findings) -> str:
    """What was done, in the past tense, ready to paste."""
    return " ".join(sentences(findings, "methods"))


def derived(f: Findings) -> dict[str, object]:
    """What the templates need beside the findings."""
    posterior, model, n_edges = f.posterior, f.model, len(f.edges)
    known = bool(n_edges) and f.verdicts["unknown"] < n_edges
    seen = checks(f)
    return {
        "most_states": int(model.states.max()),
        "coupling": coupling_of(model),
        "has_thresholds": any(group.arity == 1 for group in model.groups),
        "one_threshold": model.chart.n_blocks - n_edge_blocks(model) == 1 and model.n_nodes > 1,
        "observations": _observations(posterior.n),
        "one": "variable" if pixels_of(model.nodes) is None else "pixel",
        "n_edges": n_edges,
        "verdicts": f.verdicts if known else None,
        "fragile": int(f.edges["fragile"].sum()) if known else 0,
        "more": "draws" if f.selection is None else "sweeps",
        "strongest": _strongest(f),
        "best": _best(f),
        "central": _central(f),
        "robust": _robust(f),
        "groups": _groups(f),
        "search": _search(f),
        "worth_showing": WORTH_SHOWING,
        "moved": 0 if f.saturated is None else int((f.saturated.edges["verdict"] != f.edges["verdict"]).sum()),
        "target_text": "These numbers target the exact posterior"
        if posterior.target == "exact"
        else "These numbers approximate the posterior",
        "rests_on": _rests_on(f),
        "bad": [_called(check.name) for check in seen if check.state == BAD],
        "care": [_called(check.name) for check in seen if check.state == CARE and check.name != "Target"],
        "versions": _versions(f),
        "missing_text": _missing(f),
        "node_prior": _node_prior(f),
        "prior": _prior(str(posterior.settings.get("prior", "uniform")), f),
        "way": _WAYS.get(posterior.method, f"the method {posterior.label}"),
        "run": _run(f),
        "checked": _checked(f),
        "quantity": _quantity(f),
    }


def _observations(n: float) -> str:
    return plural(round(n), "observation") if abs(n - round(n)) < 1e-9 else f"Observations of total weight {n:,.1f}"


def _strongest(f: Findings) -> str:
    """The edges that stand out."""
    edges, model = f.edges, f.model
    if not len(edges) or (model.chart.sides[: n_edge_blocks(model)] > 2).any():  # tables have no one strength
        return ""
    name = quantity(model, f.scale)
    if len(edges) <= 3:
        named = not (f.is_tied and len(edges) == 1)
        parts = [f"{f'{edge} ' if named else ''}{_estimate(row)}" for edge, row in edges.iterrows()]
        return f"Posterior mean of {'theta' if name == 'theta' else f'the {name}'}: {listed(parts)}."
    size = (edges["mean"] - (0.5 if f.scale == "theta" else 0.0)).abs()
    supported = f.verdicts["present"] > 0
    chosen = edges[edges["verdict"] == "present"] if supported else edges
    top = chosen.loc[size[chosen.index].sort_values(ascending=False).index[:3]]
    first = top.iloc[0]
    has_factor = first["log_bf10"] == first["log_bf10"]
    factor = f", Bayes factor {bayes_factor(first['log_bf10'], first['bound'])}" if has_factor else ""
    others = f", followed by {listed(list(map(str, top.index[1:])))}" if len(top) > 1 else ""
    unsure = "" if supported or f.verdicts["unknown"] == len(edges) else ", though the data do not decide on it"
    return (
        f"The strongest {'supported ' if supported else ''}edge is {listed([str(top.index[0])])}: "
        f"{name} {_estimate(first, factor)}{others}{unsure}."
    )


def _estimate(row: pd.Series, more: str = "") -> str:
    digits = decimals(row["sd"])
    return f"{number(row['mean'], digits)} (90% interval {interval(row['q5'], row['q95'], digits)}{more})"


def _best(f: Findings) -> dict[str, object] | None:
    """The node that the others predict best."""
    table = f.nodes
    if "accuracy_gain" not in table or f.is_tied or len(table) < 2 or not f.model.n_edges:
        return None
    best = table["log_score_gain"].idxmax()
    row = table.loc[best]
    return {"name": best, "gain": row["log_score_gain"], "accuracy": row["accuracy"], "alone": row["accuracy_alone"]}


def _central(f: Findings) -> dict[str, object] | None:
    table = f.nodes
    if "strength_first" not in table or len(table) < 4:
        return None
    best = table["strength"].idxmax()
    return {"name": best, "first": table.loc[best, "strength_first"]}


def _robust(f: Findings) -> dict[str, int] | None:
    """Which verdicts stay under all priors."""
    table = f.sensitivity
    if table is None:
        return None
    by_edge, kept = table.attrs["verdicts"], table.attrs["robust"]
    return {
        "slabs": table["slab"].nunique(),
        "graphs": table["graphs"].nunique(),
        "kept": int(kept.sum()),
        "present": int((kept & (by_edge[0] == "present")).sum()),
        "absent": int((kept & (by_edge[0] == "absent")).sum()),
        **{
            f"{end}_{name}": int(getattr(table[name], how)())
            for end, how in (("least", "min"), ("most", "max"))
            for name in ("present", "absent")
        },
    }


def _groups(f: Findings) -> dict[str, object] | None:
    found, table = f.groups, f.differences
    if found is None or table is None:
        return None
    edges = found._evidence_table()
    said = edges["verdict"].value_counts()
    which = edges[edges["verdict"] == "present"].sort_values("log_bf10", ascending=False).index
    strength = found.global_strength()
    rows = strength.iloc[: len(found.groups)]
    change = strength.iloc[-1]
    return {
        "names": list(found.groups),
        "sizes": [f"{name} (n = {n:g})" for name, n in zip(found.groups, found.group_n, strict=True)],
        "total": len(edges),
        **{name: int(said.get(name, 0)) for name in ("present", "absent", "undecided")},
        "which": list(map(str, which)),
        "none": f.no_difference,
        "expected": float(found.inclusion.sum()),
        "prior_expected": float(found.prior_inclusion.sum()),
        "strengths": [f"{name} {_strength(row)}" for name, row in rows.iterrows()],
        "strength_change": f"The difference is {_strength(change)}; it is positive with probability "
        f"{change['positive']:.2f}."
        if len(found.groups) == 2
        else "",
        "error": float(np.nan_to_num(found.inclusion_error).max()),
    }


def _strength(row: pd.Series) -> str:
    ends = interval(row["global_strength_q5"], row["global_strength_q95"])
    return f"{number(row['global_strength'])} (90% interval {ends})"


def _search(f: Findings) -> dict[str, float] | None:
    """What is said of the posterior over graphs."""
    found = f.selection
    if found is None:
        return None
    total = np.cumsum(found.size_probability)
    top = found.graphs(1)
    return {
        "low": int(np.searchsorted(total, 0.05)),
        "high": int(np.searchsorted(total, 0.95)),
        "median": len(found.median_graph),
        "top": float(top["probability"].iloc[0]) if len(top) else 0.0,
        "error": float(np.nan_to_num(found.inclusion_error).max()),
    }


def _rests_on(f: Findings) -> list[str]:
    """What the numbers rest on, in a few words each."""
    posterior, found = f.posterior, f.diagnostics
    parts = [] if posterior.target == "exact" else [posterior.label]
    if posterior.method == "pseudo":
        parts[0] += ", whose spreads are too small"
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
    return parts


def _called(check: str) -> str:
    """A check within a sentence: names of quantities stay as they are."""
    return check if check in ("R-hat", "Pareto k") else f"the {check.lower()}"


def _versions(f: Findings) -> str:
    known = dict(f.posterior.versions)
    own, others = known.pop("mrfbayes", ""), [f"{name.capitalize()} {text}" for name, text in known.items()]
    return f"{own} ({', '.join(others)})" if others else own


def _missing(f: Findings) -> str:
    holes = None if f.statistics is None else f.statistics.holes
    if holes is not None:
        rows = plural(holes.n_rows, "row")
        return f"{rows} had missing cells, which were assumed to be missing at random and averaged over."
    return "" if f.posterior.facts.missing is None else "Missing cells were assumed to be missing at random."


def _node_prior(f: Findings) -> str:
    given = f.posterior.settings.get("prior") if f.selection is None else f.selection.settings.get("prior")
    return ", ".join(dict.fromkeys(map(str, given.values()))) if isinstance(given, dict) else str(given)


def _prior(prior: str, f: Findings) -> str:
    model = f.model
    if prior == "uniform" and not model.chart.all_coins:
        return "of the weights of each factor was uniform"
    if prior == "uniform":
        return "of each parameter was uniform on its weight theta, that is, standard logistic on its log-odds"
    on = "log-odds" if any(k in prior for k in ("normal", "cauchy", "logistic")) else "weight theta"
    default, first = Prior(model, "default"), n_edge_blocks(model)
    if prior == str(default) and 0 < first < model.chart.n_blocks:
        edges, nodes = (
            ", ".join(dict.fromkeys(map(str, d))) for d in (default.per_block[:first], default.per_block[first:])
        )
        return (
            f"of the couplings was {edges}, scaled by the levels of the variables, and that of the thresholds {nodes}"
        )
    if ", " in prior.replace("(0, ", "("):
        return f"of the parameters was {prior}"
    return f"of each parameter was {prior} on its {on}"


def _run(f: Findings) -> str:
    posterior = f.posterior
    chains, draws, _ = posterior.draws.shape
    if f.selection is not None:
        return f"{chains} chains of {posterior.steps:,} sweeps after {posterior.warmup:,} sweeps of warm-up"
    if posterior.engine == "direct":
        return f"{plural(chains * draws, 'independent draw')} were made"
    if posterior.engine == "independence":
        return f"{chains} chains of {posterior.steps:,} steps with calibrated independent proposals were run"
    kind = {"hmc": " of Hamiltonian Monte Carlo", "langevin": " of Langevin dynamics"}.get(posterior.engine, "")
    name = "replicas" if posterior.engine == "langevin" else "chains"
    return f"{chains} {name} of {posterior.steps:,} steps{kind} after {posterior.warmup:,} steps of warm-up were run"


def _checked(f: Findings) -> str:
    found, parts = f.diagnostics, []
    if "r_hat" in found:
        parts.append(f"the largest R-hat was {found['r_hat']:.3f}")
    if "ess" in found:
        parts.append(f"the smallest bulk effective sample size {'' if parts else 'was '}{found['ess']:,.0f}")
    if "pareto_k" in found:
        parts.append(f"the Pareto k of the importance weights {number(found['pareto_k'])}")
    return f" ({', '.join(parts)})" if parts else ""


def _quantity(f: Findings) -> str:
    if f.scale in ("theta", "ising"):
        return {"theta": "theta", "ising": "couplings J and fields h"}[f.scale]
    return "log odds ratios" if coupling_of(f.model) == "both-one" else "the parameters in log-odds"


REFERENCES = {
    "field": "Liu, J., & Zheng, H. MLE-induced Likelihood for Markov Random Fields.",
    "r_hat": (
        "Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., & B\u00fcrkner, P.-C. (2021). Rank-normalization, "
        "folding, and localization: An improved R-hat for assessing convergence of MCMC. Bayesian Analysis, 16(2), "
        "667\u2013718."
    ),
    "pareto_k": (
        "Vehtari, A., Simpson, D., Gelman, A., Yao, Y., & Gabry, J. (2024). Pareto smoothed importance sampling. "
        "Journal of Machine Learning Research, 25(72), 1\u201358."
    ),
    "pseudo": "Besag, J. (1975). Statistical analysis of non-lattice data. The Statistician, 24(3), 179\u2013195.",
    "exchange": (
        "Murray, I., Ghahramani, Z., & MacKay, D. (2006). MCMC for doubly-intractable distributions. Proc. UAI."
    ),
    "hmc": (
        "Neal, R. M. (2011). MCMC using Hamiltonian dynamics. In S. Brooks, A. Gelman, G. L. Jones, & X.-L. Meng "
        "(Eds.), Handbook of Markov Chain Monte Carlo (pp. 113\u2013162). CRC Press."
    ),
    "langevin": (
        "Leimkuhler, B., & Matthews, C. (2013). Rational construction of stochastic numerical methods for molecular "
        "sampling. Applied Mathematics Research eXpress, 2013(1), 34\u201356."
    ),
    "savage_dickey": (
        "Dickey, J. M. (1971). The weighted likelihood ratio, linear hypotheses on normal location parameters. Annals "
        "of Mathematical Statistics, 42(1), 204\u2013223."
    ),
    "communities": (
        "Blondel, V. D., Guillaume, J.-L., Lambiotte, R., & Lefebvre, E. (2008). Fast unfolding of communities in "
        "large networks. Journal of Statistical Mechanics, P10008."
    ),
}


def citations(f: Findings) -> list[str]:
    """What this result rests on."""
    posterior = f.posterior
    is_used = {
        "field": True,
        "r_hat": "r_hat" in f.diagnostics,
        "pareto_k": "pareto_k" in f.diagnostics,
        "hmc": posterior.engine == "hmc",
        "langevin": posterior.engine == "langevin",
        "pseudo": posterior.method == "pseudo",
        "exchange": posterior.method.startswith("exchange"),
        "savage_dickey": bool(len(f.edges)) and f.selection is None,
        "communities": "community" in f.nodes,
    }
    return [REFERENCES[key] for key, used in is_used.items() if used]
