"""A methods paragraph that can be pasted into a paper, and what to cite with it."""

from __future__ import annotations

from mrfbayes.model.field import Model
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.model.wording import coupling_of
from mrfbayes.priors import Prior
from mrfbayes.report.findings import Findings
from mrfbayes.report.wording import grid_of, number, or_none, plural

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
}
_WAYS = {
    "exact": "the exact likelihood, whose partition function was computed by dynamic programming",
    "calibrated": "calibrated coins, whose location, spread and skewness match those of the posterior",
    "mle": "the MLE-induced likelihood",
    "pseudo": "the pseudolikelihood",
    "laplace": "a quadratic approximation of the log-likelihood at its maximum",
    "langevin": "the true likelihood, whose gradients came from persistent Gibbs chains",
}


def methods_paragraph(findings: Findings) -> str:
    """What was done, in the past tense, ready to paste."""
    posterior = findings.posterior
    n = f"n = {posterior.n:,.0f} {'observation' if round(posterior.n) == 1 else 'observations'}"
    version = posterior.versions.get("mrfbayes", "")
    return " ".join(
        part
        for part in (
            f"We estimated {_field(findings)} from {n} with mrfbayes {version}.".replace("  ", " "),
            f"The prior {_prior(str(posterior.settings.get('prior', 'uniform')), posterior.model)}.",
            f"The posterior was based on {_WAYS.get(posterior.method, f'the method {posterior.label}')}; "
            f"{_run(findings)}{_checked(findings)}.",
            f"We report posterior means and equal-tailed 90% intervals of {_quantity(findings)}.",
            _verdicts(findings),
            f"The random seed was {findings.seed}.",
        )
        if part
    )


def _field(findings: Findings) -> str:
    model = findings.posterior.model
    shape = grid_of(model.grid_shape) if model.grid_shape else plural(model.n_nodes, "variable")
    has_thresholds = any(group.arity == 1 for group in model.groups)
    if not model.n_edges:
        return f"independent distributions of {shape}"
    kind = {
        "agreement": "couplings on the agreement of neighbours",
        "both-one": "couplings on both variables being present (the Ising model in 0/1 coding)",
        "score": "couplings on the product of ordinal levels",
        "table": "general pairwise tables",
    }.get(coupling_of(model), "pairwise couplings")
    tied = findings.is_tied
    shared = (
        ", shared by all neighbours" if tied and len(findings.edges) == 1 else ", shared by direction" if tied else ""
    )
    comma = "," if shared else ""
    each = "per variable" if model.is_binary else "per state past the first of each variable"
    fields = f"{comma} and a threshold {'for all variables' if tied else each}" if has_thresholds else comma
    return f"a pairwise Markov random field on {shape} with {kind}{shared}{fields}"


def _prior(prior: str, model: Model) -> str:
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


def _run(findings: Findings) -> str:
    posterior = findings.posterior
    chains, draws, _ = posterior.draws.shape
    if not posterior.has_chains:
        return f"{plural(chains * draws, 'independent draw')} were made"
    if posterior.engine == "independence":
        return f"{chains} chains of {posterior.steps:,} steps with calibrated independent proposals were run"
    kind = {"hmc": " of Hamiltonian Monte Carlo", "langevin": " of Langevin dynamics"}.get(posterior.engine, "")
    name = "replicas" if posterior.engine == "langevin" else "chains"
    return f"{chains} {name} of {posterior.steps:,} steps{kind} after {posterior.warmup:,} steps of warm-up were run"


def _checked(findings: Findings) -> str:
    checks, found = [], findings.diagnostics
    if "r_hat" in found:
        checks.append(f"the largest R-hat was {found['r_hat']:.3f}")
    if "ess" in found:
        checks.append(f"the smallest bulk effective sample size {'' if checks else 'was '}{found['ess']:,.0f}")
    if "pareto_k" in found:
        checks.append(f"the Pareto k of the importance weights {number(found['pareto_k'])}")
    return f" ({', '.join(checks)})" if checks else ""


def _quantity(findings: Findings) -> str:
    if findings.scale == "theta":
        return "theta"
    if findings.scale == "ising":
        return "couplings J and fields h"
    both = coupling_of(findings.posterior.model) == "both-one"
    return "log odds ratios" if both else "the parameters in log-odds"


def _verdicts(findings: Findings) -> str:
    said, total = findings.verdicts, len(findings.edges)
    if not total or said["unknown"] == total:
        return ""
    return (
        "Edges were judged by Bayes factors for their presence given the rest of the network (Savage-Dickey ratio): "
        f"{or_none(said['present'])} of {total:,} {'was' if said['present'] < 2 else 'were'} supported (above 10), "
        f"{or_none(said['absent'])} ruled out (below 1/10), and {or_none(said['undecided'])} undecided."
    )


def citations(findings: Findings) -> list[str]:
    """What this result rests on."""
    posterior = findings.posterior
    keys = ["field"]
    if "r_hat" in findings.diagnostics:
        keys.append("r_hat")
    if "pareto_k" in findings.diagnostics:
        keys.append("pareto_k")
    keys += [key for key in ("hmc", "langevin") if posterior.engine == key]
    if posterior.method == "pseudo":
        keys.append("pseudo")
    if posterior.method.startswith("exchange"):
        keys.append("exchange")
    if len(findings.edges):
        keys.append("savage_dickey")
    return [REFERENCES[key] for key in keys]
