r"""Per edge: the posterior, the Bayes factor for its presence, and the probability of its sign (`Posterior.edges`).

Savage and Dickey: given the rest of the graph, :math:`BF_{10} = p(w_j = 0) / p(w_j = 0 \mid X)`. The posterior density
at no interaction is a ratio of two integrals; the upper one, over all other log-odds with this one held at zero, is
estimated with draws from the calibrated posterior *conditioned* on it, weighed by the exact likelihood. The far tail of
a coin enters only through where those draws are centred. Where the exact likelihood is out of reach, or those weights
cannot be trusted, the density is that of the draws near zero (`mrfbayes.results.draw_densities`), or a bound of it; it
is not known where these draws are approximate and their weights were found not to be trusted.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mrfbayes.base.budget import OutOfTime
from mrfbayes.base.checks import interval_ends
from mrfbayes.base.errors import CalibrationError, CostError, InputError, warn_user
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.base.types import Scale
from mrfbayes.calibration.copula import hold
from mrfbayes.calibration.exact_blocks import sees_windows
from mrfbayes.calibration.full import DENSE_PARAMETERS, MOMENT_CELLS, moments_cost
from mrfbayes.calibration.matching import Coins, coin_log_density
from mrfbayes.coins.importance_weights import truncated_weights
from mrfbayes.data.values import in_proportion
from mrfbayes.exact.choice import is_feasible, planar_size, recursion, weighs_by_planar
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.model.field import Model
from mrfbayes.model.scales import edge_strengths, has_tables, scaled
from mrfbayes.results.draw_densities import log_density_at_zero
from mrfbayes.targets.corrected import TRUSTED_K, Proposal, log_mean_weight, make_proposal, pareto_k, weigh
from mrfbayes.targets.evidence import log_prior_at_no_interaction

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior

CORRECTED_LIMIT = 300  # parameters up to which every edge gets draws of its own
FACTOR_DRAWS = 1_000  # per edge
FEWEST_DRAWS = 250  # per edge, below which the density of the draws is as good
FEWEST_PLANAR_DRAWS = 50  # per edge of a planar field, whose weights are even
CALIBRATION_SECONDS = 5e-9  # per table cell of `moments_cost`
HOLD_SECONDS = 4e-11  # per cube of the number of parameters: the copula with one of them held
BASE_DRAWS, BASE_DRAWS_OF_FEW = 10_000, 2_000  # the second where a planar field has few parameters: they are slow
FEW_PARAMETERS = 8
LEAST_DRAWS = 100  # that a density is estimated from
EDGE_SECONDS = 10.0  # on the reference machine, past which draws give the Bayes factors
PLANAR_EDGE_SECONDS = 120.0  # of planar fields, which have thousands of edges
LOG_TEN = math.log(10)  # the Bayes factor at which an edge is called present, its inverse absent


FROM_DRAWS = "density of the draws"
OUT_OF_TIME = f"Bayes factors come from the {FROM_DRAWS}: the time budget ended before exact ones were found."


class EdgeEvidence(NamedTuple):
    """Per edge block: log BF10, its error, the Pareto k of its weights; and where they come from.

    An infinite error marks a lower bound: the factor is at least so large, and the draws cannot tell how much larger.
    """

    log_bf10: np.ndarray
    error: np.ndarray
    pareto_k: np.ndarray
    source: str


def edges_table(
    posterior: Posterior, scale: Scale | None = None, ci_prob: float = 0.9, evidence: EdgeEvidence | None = None
) -> pd.DataFrame:
    """A row per edge block: see `Posterior.edges`. Of a table the norm is shown, in log-odds (`edge_strengths`)."""
    import pandas as pd

    model = posterior.model
    blocks = edge_blocks(model)
    first = model.chart.offset[blocks]
    rows = scaled(model, scale)
    scale = rows.scale
    if scale == "ising" and rows.n_edge_rows != blocks.size:
        raise InputError("scale = 'ising': an edge with several factors has one J; use summary(scale='ising').")
    chosen = first if scale != "ising" else np.arange(blocks.size)
    table = posterior._moments(rows, ci_prob).iloc[chosen].copy()
    table.index = pd.Index([model.blocks[b] for b in blocks], name="edge")
    table["positive"] = (posterior.log_odds[..., first] > 0).mean(axis=(0, 1))
    if (is_table := model.chart.sides[blocks] > 2).any() and has_tables(model) and blocks.size == model.n_edges:
        norms = edge_strengths(model, posterior.log_odds)[..., is_table]
        low, high = np.quantile(norms, interval_ends(ci_prob), axis=(0, 1))
        columns = [name for name in table.columns if name != "positive"]
        table.loc[is_table, columns] = np.stack([norms.mean(axis=(0, 1)), norms.std(axis=(0, 1), ddof=1), low, high]).T
        table.loc[is_table, "positive"] = np.nan
    evidence = posterior._edge_evidence if evidence is None else evidence
    assert evidence is not None
    table["log_bf10"], table["log_bf10_error"], table["pareto_k"] = evidence[:3]
    table["bound"] = np.isinf(evidence.error)
    table["verdict"], table["fragile"] = verdicts(evidence.log_bf10, evidence.error)
    table.attrs |= {"source": evidence.source, "scale": scale}
    return table


def verdicts(log_bf10: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What Bayes factors of 10 and 1/10 say of each edge, and whether two errors could change it.

    "present", "absent", "undecided", or "unknown" where there is no Bayes factor. An infinite error marks a lower
    bound, which no larger factor contradicts once it is above 10.
    """
    at = np.asarray(log_bf10, dtype=float)
    names = np.select([np.isnan(at), at > LOG_TEN, at < -LOG_TEN], ["unknown", "present", "absent"], "undecided")
    margin = np.minimum(np.abs(at - LOG_TEN), np.abs(at + LOG_TEN))
    is_open = np.isinf(error) & (at > LOG_TEN)
    return names.astype(object), np.asarray((margin < 2 * np.asarray(error, dtype=float)) & ~is_open)


def edge_blocks(model: Model) -> np.ndarray:
    """Blocks that belong to edges, in order."""
    found = [group.block for group in model.field.groups if group.arity == 2]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def edge_evidence(posterior: Posterior, problem: Problem | None) -> EdgeEvidence:
    """Bayes factors from the exact likelihood where that is feasible and its weights can be trusted, else from draws.

    The same numbers before and after a result is saved: an estimate that happens to be at hand is not used.
    """
    if problem is None:
        raise InputError(
            "the Bayes factors of this loaded result cannot be computed: its prior is a custom function, or they need "
            "the observations, and a result file has neither. Call edges() before save(): what was computed is saved."
        )
    problem = replace(problem, given_estimate=None)
    blocks = edge_blocks(posterior.model)
    found = None
    if is_correctable(posterior.model) and problem.prior.custom is None:
        try:
            proposal = make_proposal(problem, method_row("exact").prepare(problem), base_draws(posterior.model))
            is_coin = bool((posterior.model.chart.sides[blocks] == 2).all())  # dice have no other way
            if posterior.target != "exact" or not is_coin or proposal.is_trusted:
                found = _corrected(proposal, problem, blocks)
                found = _without_untrusted(found, posterior, proposal, problem, blocks)
        except (CostError, InputError, CalibrationError):
            pass
        except OutOfTime:
            warn_user(OUT_OF_TIME)
    if found is None:
        found = EdgeEvidence(*from_draws(posterior.log_odds, problem, blocks), FROM_DRAWS)
    _warn_of_unknown(found, problem, blocks)
    return found


def needs_rows(model: Model) -> bool:
    """Whether `edge_evidence` looks at more of the data than their counts (particles start from observations)."""
    return is_correctable(model) and moments_cost(model) >= MOMENT_CELLS and not sees_windows(model)


def is_correctable(model: Model) -> bool:
    """Whether the exact likelihood can be asked often enough, by what that takes on the reference machine."""
    return factor_draws(model) > 0


def factor_draws(model: Model) -> int:
    """Draws for every edge's Bayes factor that the time allows; none where the exact likelihood is out of reach."""
    if model.base is not model:  # covariates: there is no one likelihood
        return 0
    n_edges, p = edge_blocks(model).size, model.n_parameters
    if weighs_by_planar(model):
        size = planar_size(model)
        assert size is not None
        each, limit, fewest = size.seconds("log_z"), PLANAR_EDGE_SECONDS, FEWEST_PLANAR_DRAWS
        before, is_small = n_edges * HOLD_SECONDS * p**3, p <= DENSE_PARAMETERS
    else:
        is_small = p <= CORRECTED_LIMIT and is_feasible(model)
        if not is_small:
            return 0
        each, limit, fewest = recursion(model).seconds("log_z"), EDGE_SECONDS, FEWEST_DRAWS
        before = CALIBRATION_SECONDS * min(moments_cost(model), MOMENT_CELLS)
    most = (limit - before - base_draws(model) * each) / max(n_edges * each, 1e-12)
    return 0 if not is_small or most < fewest else int(min(most, FACTOR_DRAWS))


def base_draws(model: Model) -> int:
    """Draws for the evidence that all edges share."""
    return BASE_DRAWS_OF_FEW if model.n_parameters <= FEW_PARAMETERS and weighs_by_planar(model) else BASE_DRAWS


def no_evidence(model: Model) -> EdgeEvidence:
    """For results whose Bayes factors cannot be computed: all unknown."""
    lacking = np.full(edge_blocks(model).size, np.nan)
    return EdgeEvidence(lacking, lacking, lacking, "not computed")


def without_evidence(posterior: Posterior) -> Posterior:
    """The same posterior, which was derived from that of a larger model: its draws follow no prior of their own."""
    posterior.__dict__["_edge_evidence"] = no_evidence(posterior.model)
    return posterior


def _warn_of_unknown(found: EdgeEvidence, problem: Problem, blocks: np.ndarray) -> None:
    unknown = np.flatnonzero(np.isnan(found.log_bf10))
    if not unknown.size:
        return
    model = problem.model
    reason = "there are too few draws, or their densities at no interaction could not be computed"
    if problem.prior.custom is not None:
        reason = "a custom prior has no known density at no interaction"
    elif (model.chart.sides[blocks[unknown]] > 2).all():
        reason = "draws alone give none for edges with more than two outcomes"
    elif (found.pareto_k[unknown] > TRUSTED_K).any():
        reason = "the draws are approximate, and their importance weights cannot be trusted; use method='exact'"
    warn_user(
        f"{unknown.size} of {blocks.size} edges have no Bayes factor (log_bf10 is NaN), "
        f"{model.blocks[blocks[unknown[0]]]} among them: {reason}.",
    )


def _corrected(proposal: Proposal, problem: Problem, blocks: np.ndarray) -> EdgeEvidence:
    """Log BF10, standard error and Pareto k of every block, from importance weights."""
    coins, correlation = proposal.calibration.coins, proposal.calibration.joint.correlation
    offset, p = problem.model.chart.offset, len(correlation)
    log_evidence, evidence_error = log_mean_weight(proposal.log_weights)
    prior_density = log_prior_at_no_interaction(problem.prior)
    score, draws = normal_scores(coins, np.zeros(p)), factor_draws(problem.model)
    out = np.empty((3, blocks.size))
    with Progress("Bayes factors of edges", blocks.size, problem.progress) as bar:
        for row, block in enumerate(blocks.tolist()):
            held = np.arange(offset[block], offset[block + 1])
            copula = hold(proposal.view.copula, correlation, held, score[held], np.zeros(held.size))
            state = kernel_state(problem.seed, "edge", block)
            _, log_weights = weigh(proposal.view._replace(copula=copula), problem, draws, state)
            log_joint, error = log_mean_weight(log_weights)
            out[:, row] = prior_density[block] - (log_joint - log_evidence), error, pareto_k(log_weights)
            bar.update(row + 1)
    error = np.hypot(out[1], evidence_error)
    return EdgeEvidence(out[0], error, np.maximum(out[2], proposal.pareto_k), "importance weights")


def _without_untrusted(
    found: EdgeEvidence, posterior: Posterior, proposal: Proposal, problem: Problem, blocks: np.ndarray
) -> EdgeEvidence:
    """The same, with factors from draws in place of those whose weights have too heavy a tail.

    Approximate draws that no weights correct give none: how far off they are is not known.
    """
    bad = (found.pareto_k > TRUSTED_K) & (problem.model.chart.sides[blocks] == 2)
    if not bad.any():
        return found
    draws = posterior.log_odds
    if posterior.target != "exact":
        if not proposal.is_trusted:
            unknown = np.where(bad, np.nan, found[:2])
            return found._replace(log_bf10=unknown[0], error=unknown[1])
        # The weighted draws are nearer to the exact posterior.
        rng, n = generator(problem.seed, "edges"), len(proposal.theta)
        chosen = in_proportion(truncated_weights(proposal.log_weights), n, rng)
        draws = problem.model.chart.log_odds(proposal.theta[chosen])[None]
    log_bf10, error, k = np.where(bad, from_draws(draws, problem, blocks), found[:3])
    return EdgeEvidence(log_bf10, error, k, FROM_DRAWS if bad.all() else found.source)


def normal_scores(coins: Coins, w: np.ndarray) -> np.ndarray:
    """Phi^-1(F_j(w_j)) of each coin at w (p,), finite however far out."""
    from scipy.special import betainc, ndtri_exp

    logit = w + coins.log_odds_eta
    upper = logit > np.log(coins.a / coins.b)
    shape, other = np.where(upper, coins.b, coins.a), np.where(upper, coins.a, coins.b)
    log_small = -np.logaddexp(0, np.where(upper, logit, -logit))
    with np.errstate(divide="ignore"):
        log_tail = np.log(betainc(shape, other, np.exp(log_small)))
    # Where that underflows: the tail is the density over its slope, to leading order.
    slope = np.maximum(shape - (shape + other) * np.exp(log_small), 1e-3 * shape)
    log_tail = np.where(log_tail > -600, log_tail, coin_log_density(coins, w) - np.log(slope))
    score = ndtri_exp(log_tail)
    return np.where(upper, -score, score)


def from_draws(log_odds: np.ndarray, problem: Problem, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log BF10, error and no Pareto k (NaN) of every block, from draws (chains, n, p) alone; see `EdgeEvidence`."""
    chart, unknown = problem.model.chart, np.full(blocks.size, np.nan)
    if problem.prior.custom is not None or log_odds.shape[0] * log_odds.shape[1] < LEAST_DRAWS:
        return unknown, unknown, unknown
    found = log_density_at_zero(log_odds[:, :, chart.offset[blocks]])
    is_coin = chart.sides[blocks] == 2
    log_bf10 = np.where(is_coin, log_prior_at_no_interaction(problem.prior)[blocks] - found.log_density, np.nan)
    return log_bf10, np.where(is_coin, np.where(found.is_bound, np.inf, found.error), np.nan), unknown
