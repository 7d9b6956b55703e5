"""The evidence log p(X) of a field, from importance weights on calibrated draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.checks import require_memory, whole
from mrfbayes.base.errors import InputError, warn_user
from mrfbayes.base.random_streams import Seed, seed_sequence
from mrfbayes.base.types import DataLike, PriorLike
from mrfbayes.coins.importance_weights import effective_size
from mrfbayes.data.border import counted
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import check_options, method_row
from mrfbayes.model.field import Model, require_model
from mrfbayes.priors import Exchangeable, Prior
from mrfbayes.targets.corrected import TRUSTED_K, log_mean_weight, make_proposal, pareto_k

EVIDENCE_DRAWS = 20_000


@dataclass(frozen=True)
class Evidence:
    """Log evidence of one model.

    Attributes
    ----------
    log_evidence : float
        Natural logarithm of p(X) for the rows in the observed order; prior and likelihood are normalised.
    standard_error : float
        Monte-Carlo standard error of ``log_evidence``.
    pareto_k : float
        Shape of the tail of the importance weights; the standard error is reliable below 0.7.
    efficiency : float
        Effective share of the draws.
    data_digest : str
        Digest of the observations.

    See Also
    --------
    evidence : Returns it.
    select : Probabilities of graphs.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> found = mb.evidence(model, mb.simulate(model, 0.7, 200, rng=1), rng=1)
    >>> bool(found.standard_error < 0.1)
    True
    """

    log_evidence: float
    standard_error: float
    pareto_k: float
    efficiency: float
    data_digest: str

    def log_bayes_factor(self, other: Evidence) -> tuple[float, float]:
        """Return the log Bayes factor of this model against another one.

        Parameters
        ----------
        other : Evidence
            Evidence of the other model for the same data.

        Returns
        -------
        tuple of float
            Log Bayes factor and its standard error.

        Raises
        ------
        InputError
            If the two evidences are of different data.
        """
        if self.data_digest != other.data_digest:
            raise InputError(
                "the two evidences are of different data: a Bayes factor compares models of the same data."
            )
        return self.log_evidence - other.log_evidence, math.hypot(self.standard_error, other.standard_error)


@one_blas_thread()
def evidence(
    model: Model, data: DataLike, *, prior: PriorLike = "default", draws: int = EVIDENCE_DRAWS, rng: Seed | None = None
) -> Evidence:
    """Estimate the log evidence of a model with its standard error.

    Parameters
    ----------
    model : Model
        A field whose partition function is feasible.
    data : DataLike
        `Data`, anything that `Data` reads, or `Statistics`.
    prior : PriorLike, default "default"
        See `mrfbayes.priors`. A custom prior has no known normaliser and is refused.
    draws : int, optional
        Number of calibrated draws that are weighted.
    rng : int, SeedSequence or Generator, optional
        Seed.

    Returns
    -------
    Evidence
        Log evidence, standard error and diagnostics of the weights.

    Raises
    ------
    InputError
        If the model has covariates.
    CostError
        If the partition function is not feasible.

    See Also
    --------
    select : Posterior probabilities of all graphs at once.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> data = mb.simulate(mb.grid(2, 2), 0.8, 200, rng=1)
    >>> tied, free = [mb.evidence(mb.grid(2, 2, tied=tied), data, rng=1) for tied in (True, False)]
    >>> round(tied.log_bayes_factor(free)[0])
    4
    """
    require_model(model)
    if model.base is not model:
        raise InputError("model has covariates: the evidence of such fields is not computed; see Posterior.effects.")
    draws = whole("draws", draws, 100)
    own, seed = Prior(model, prior), seed_sequence(rng)
    constant = float(block_constants(own).sum())
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
            "cannot be trusted; more draws= help slowly."
        )
    efficiency = effective_size(proposal.log_weights) / draws
    return Evidence(log_mean + constant, error, k, efficiency, statistics.digest)


def block_constants(prior: Prior) -> np.ndarray:
    """Log constants (B,) that the prior density of each block lacks to be normalised."""
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
    fall: dict[str, Callable[[float], float]] = {  # of the log density of one log-odds, from its top to z scales away
        "normal": lambda z: 0.5 * z * z,
        "cauchy": lambda z: math.log1p(z * z),
        "logistic": lambda z: abs(z) + 2 * math.log1p(math.exp(-abs(z))),
    }
    out = block_constants(prior)
    for block, distribution in enumerate(prior.per_block):
        sides, values = int(prior.chart.sides[block]), prior.values[block]
        name = type(distribution).__name__.lower()
        if name in fall:
            out[block] -= (sides - 1) * fall[name](-values[0] / values[1])
        elif name != "exchangeable":
            out[block] -= values[:sides].sum() * math.log(sides)
    return out
