"""The evidence log p(X) of a field, from importance weights on calibrated draws."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError, warn_user
from mrfbayes.base.memory import require_memory
from mrfbayes.base.random_streams import Seed, seed_sequence
from mrfbayes.base.types import DataLike, PriorLike
from mrfbayes.data.border import counted
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import check_options, method_row
from mrfbayes.model.field import Model
from mrfbayes.priors import Exchangeable, Prior
from mrfbayes.targets.corrected import TRUSTED_K, log_mean_weight, make_proposal, pareto_k

EVIDENCE_DRAWS = 20_000


@dataclass(frozen=True)
class Evidence:
    """Log evidence of one model.

    Attributes
    ----------
    log_evidence : natural log of p(X), prior and likelihood normalised; X in the order observed
    standard_error : Monte-Carlo standard error of it
    pareto_k : below 0.7 the standard error can be trusted
    efficiency : effective share of the draws
    data_digest : of the observations
    """

    log_evidence: float
    standard_error: float
    pareto_k: float
    efficiency: float
    data_digest: str

    def log_bayes_factor(self, other: Evidence) -> tuple[float, float]:
        """Log Bayes factor of this model against ``other``, and its standard error."""
        if self.data_digest != other.data_digest:
            raise InputError(
                "the two evidences are of different data: a Bayes factor compares models of the same data."
            )
        return self.log_evidence - other.log_evidence, math.hypot(self.standard_error, other.standard_error)


@one_blas_thread()
def evidence(
    model: Model,
    data: DataLike,
    *,
    prior: PriorLike = "default",
    draws: int = EVIDENCE_DRAWS,
    rng: Seed | None = None,
) -> Evidence:
    """Log evidence of ``model`` given ``data``, with its standard error.

    Parameters
    ----------
    model : a field whose partition function is feasible
    data : `Data`, anything that `Data` reads, or `Statistics`
    prior : see `mrfbayes.priors`; a custom one has no known normaliser and is refused
    draws : calibrated draws that are weighed
    rng : seed
    """
    if model.base is not model:
        raise InputError("model has covariates: the evidence of such fields is not computed; see Posterior.effects.")
    draws = whole("draws", draws, 100)
    own, seed = Prior(model, prior), seed_sequence(rng)
    constant = log_prior_constant(own)
    check_options(method_row("exact"), model, own, {})
    size = 8 * draws * model.n_parameters
    require_memory(size, f"{draws:,} draws of {model.n_parameters:,} parameters", "ask for fewer draws=")
    statistics = counted(model, data)
    problem = Problem(model, statistics, own, seed)
    proposal = make_proposal(problem, method_row("exact").prepare(problem), int(draws))
    log_mean, error = log_mean_weight(proposal.log_weights)
    k = pareto_k(proposal.log_weights)
    if k > TRUSTED_K:
        warn_user(
            f"Pareto k = {k:.2f} of the importance weights is above {TRUSTED_K}: the standard error of the evidence "
            "cannot be trusted; more draws= help slowly.",
        )
    weights = np.exp(proposal.log_weights - proposal.log_weights.max())
    efficiency = float(weights.sum() ** 2 / (weights**2).sum() / weights.size)
    return Evidence(log_mean + constant, error, k, efficiency, statistics.digest)


def log_prior_constant(prior: Prior) -> float:
    """Log of what the kernels' prior density in theta has to be multiplied by to integrate to one."""
    return float(block_constants(prior).sum())


def block_constants(prior: Prior) -> np.ndarray:
    """What `log_prior_constant` sums: one log constant for every block, (B,)."""
    from scipy.special import gammaln

    prior._refuse_custom()
    kinds = {"normal": -0.5 * math.log(2 * math.pi), "cauchy": -math.log(math.pi), "logistic": 0.0}
    out = np.zeros(prior.chart.n_blocks)
    for block, distribution in enumerate(prior.per_block):
        sides = int(prior.chart.sides[block])
        name = type(distribution).__name__.lower()
        values = prior.values[block]
        if name == "exchangeable" and sides > 2:
            precision = Exchangeable(values[2]).precision((int(values[0]), int(values[1])))
            out[block] = (sides - 1) * kinds["normal"] + 0.5 * np.linalg.slogdet(precision)[1]
        elif name in kinds or name == "exchangeable":
            name = "normal" if name == "exchangeable" else name
            out[block] = (sides - 1) * (kinds[name] - math.log(values[1]))
        else:
            out[block] = gammaln(values[:sides].sum()) - gammaln(values[:sides]).sum()
    return out


def log_prior_at_no_interaction(prior: Prior) -> np.ndarray:
    """Log prior density (B,) of each block's log-odds at w = 0, normalised."""
    out = block_constants(prior)
    for block, distribution in enumerate(prior.per_block):
        sides = int(prior.chart.sides[block])
        name = type(distribution).__name__.lower()
        values = prior.values[block]
        z = -values[0] / values[1] if name in ("normal", "cauchy", "logistic") else 0.0
        if name == "normal":
            out[block] -= (sides - 1) * 0.5 * z * z
        elif name == "cauchy":
            out[block] -= (sides - 1) * math.log1p(z * z)
        elif name == "logistic":
            out[block] -= (sides - 1) * (abs(z) + 2 * math.log1p(math.exp(-abs(z))))
        elif name != "exchangeable":
            out[block] -= values[:sides].sum() * math.log(sides)
    return out
