"""A methods paragraph that can be pasted into a paper, and what to cite with it."""

from __future__ import annotations

from mrfbayes.model.wording import coupling_of
from mrfbayes.report.findings import Findings
from mrfbayes.report.wording import plural

REFERENCES = {
    "field": "Liu, Y., & Zheng, Z. MLE-induced Likelihood for Markov Random Fields.",
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
    "savage_dickey": (
        "Dickey, J. M. (1971). The weighted likelihood ratio, linear hypotheses on normal location parameters. Annals "
        "of Mathematical Statistics, 42(1), 204\u2013223."
    ),
}
_WAYS = {
    "exact": "the exact likelihood, whose partition function was computed by dynamic programming",
    "calibrated": "calibrated coins, whose location, spread and skewness match those of the posterior",
    "mle": "the MLE-induced likelihood",
    "pseudo": "the pseudolikelihood",
    "laplace": "a quadratic approximation of the log-likelihood at its maximum",
}


def methods_paragraph(findings: Findings) -> str:
    """What was done, in the past tense."""
    posterior, model = findings.posterior, findings.posterior.model
    prior = str(posterior.settings.get("prior", "uniform"))
    chains, draws, _ = posterior.draws.shape
    kind = {
        "agreement": "couplings on the agreement of neighbours",
        "both-one": "couplings on both variables being present (the Ising model in 0/1 coding)",
        "score": "couplings on the product of ordinal levels",
        "table": "general pairwise tables",
    }.get(coupling_of(model), "pairwise couplings")
    fields = " and a threshold per variable" if any(group.arity == 1 for group in model.groups) else ""
    shape = (
        f"a {model.grid_shape[0]} x {model.grid_shape[1]} grid" if model.grid_shape else f"{model.n_nodes} variables"
    )
    way = _WAYS.get(posterior.method, f"the method {posterior.label}")
    if posterior.engine == "direct":
        run = f"{plural(chains * draws, 'independent draw')} were made"
    elif posterior.engine == "independence":
        run = f"{chains} chains of {posterior.steps:,} steps with calibrated independent proposals were run"
    else:
        run = f"{chains} chains of {posterior.steps:,} steps after {posterior.warmup:,} steps of warm-up were run"
    checks = []
    if "r_hat" in findings.diagnostics:
        checks.append(f"the largest R-hat was {findings.diagnostics['r_hat']:.3f}")
        checks.append(f"the smallest bulk effective sample size {findings.diagnostics['ess']:,.0f}")
    if "pareto_k" in findings.diagnostics:
        checks.append(f"the Pareto k of the importance weights {findings.diagnostics['pareto_k']:.2f}")
    checked = f" ({', '.join(checks)})" if checks else ""
    said = findings.verdicts
    edges = ""
    if len(findings.edges) and said["unknown"] < len(findings.edges):
        edges = (
            " Edges were judged by Bayes factors for their presence given the rest of the network (Savage-Dickey "
            f"ratio): {said['present']} of {len(findings.edges)} were supported (above 10), {said['absent']} ruled out "
            f"(below 1/10), and {said['undecided']} undecided."
        )
    return (
        f"We estimated a pairwise Markov random field on {shape} with {kind}{fields} from n = {posterior.n:,.0f} "
        f"observations in mrfbayes {posterior.versions.get('mrfbayes', '')}. Priors were {prior} "
        f"({_prior_scale(prior)}). "
        f"The posterior was based on {way}; {run}{checked}.{edges} "
        f"The random seed was {findings.seed}."
    )


def _prior_scale(prior: str) -> str:
    return (
        "on the log-odds of each parameter"
        if any(k in prior for k in ("normal", "cauchy", "logistic"))
        else ("on the weight theta of each factor")
    )


def citations(findings: Findings) -> list[str]:
    """What this result rests on."""
    posterior = findings.posterior
    keys = ["field"]
    if "r_hat" in findings.diagnostics:
        keys.append("r_hat")
    if "pareto_k" in findings.diagnostics:
        keys.append("pareto_k")
    if posterior.method == "pseudo":
        keys.append("pseudo")
    if posterior.method.startswith("exchange"):
        keys.append("exchange")
    if len(findings.edges):
        keys.append("savage_dickey")
    return [REFERENCES[key] for key in keys]
