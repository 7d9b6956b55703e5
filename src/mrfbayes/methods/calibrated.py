r"""`calibrated`: the paper's coin with its three numbers calibrated to the posterior's location, variance and skewness.

.. math:: \lambda_j \sim \mathrm{Beta}(a_j, b_j), \qquad \mathrm{logit}\,\theta_j = \mathrm{logit}\,\lambda_j -
          \mathrm{logit}\,\eta_j, \qquad \Phi^{-1}(F_j(\theta_j)) \sim N(0, R)

The numbers come from the mode of the posterior in log-odds and the derivatives there (`calibration.expansion`); R is
the correlation of the log-odds. A die with K outcomes has a coin for each of its K - 1 log-odds against the last
outcome: for a die alone with a Dirichlet posterior these marginals are exact, and only their copula is approximate.

Differs from the paper: that is the point. Eq. (5) takes eta from the maximum likelihood estimate, which may not exist,
and keeps the conditional variance; here all three follow from the posterior. It is not a likelihood: the prior is
inside.
"""

from __future__ import annotations

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import describe_bytes
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.progress import Progress
from mrfbayes.calibration.exact_blocks import sees_windows
from mrfbayes.calibration.full import (
    DENSE_PARAMETERS,
    LEAST_EXTRA,
    MOMENT_CELLS,
    calibrate,
    check_options,
    moments_cost,
)
from mrfbayes.calibration.local import LocalJoint, calibrate_locally
from mrfbayes.calibration.matching import Calibration, Joint
from mrfbayes.estimation.dense_mode import is_dense
from mrfbayes.methods.few_parameters import prepare_few_parameters, prepare_one_coupling
from mrfbayes.methods.langevin.langevin import STEPS, WARMUP
from mrfbayes.methods.langevin.langevin import prepare as prepare_walk
from mrfbayes.methods.langevin.moments import WalkJoint, doubts, walk_coins, walk_moments, walk_trust
from mrfbayes.methods.langevin.walk import RECORDED_COUNTER
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.priors import Prior

LEAST_LOCAL_PARTICLES = 128  # two words of bits: blocks have fewer parameters than that
WORD = 64  # particles of a binary field that share a word of bits
MOST_NEIGHBOURS = 8  # of a node: blocks of denser graphs are too large
DENSE_NEIGHBOURS = 24  # on average: one step away from an edge lie more nodes than a block's tables can hold
WALKING_CHAINS = 4  # groups of replicas where moments come from a walk
ONE_SIDED = (
    "an outcome of factors that share a parameter never occurs, and the prior alone bounds that parameter: its mean "
    "may be off by an sd, its sd by a factor of two; method='exact' or more varied data help."
)
PARTICLE_LIMIT = 600  # parameters up to which a full covariance comes from particles: more need too many of them


def check(model: Model, prior: Prior, *, variance: str, moments: str, particles: int | None) -> None:
    """Refuse options that cannot be, and fields of too many parameters."""
    check_options(variance, moments, particles, least=1)
    is_blockwise = not _walks(model, moments) and is_local(model, moments)
    least = LEAST_LOCAL_PARTICLES if is_blockwise or _walks(model, moments) else model.n_parameters + LEAST_EXTRA
    check_options(variance, moments, particles, least)
    if is_blockwise:
        _refuse_many(model)
        if moments == "exact" and not sees_windows(model):
            raise CostError(
                f"moments = 'exact' with {model.n_parameters:,} parameters (limit {DENSE_PARAMETERS:,} for a full "
                "covariance) needs a planar field of agreement coins, one for each edge: use moments='particles'."
            )
        if particles is not None and particles % WORD:
            raise InputError(
                f"particles = {particles}: on so large a field they are packed {WORD} to the word; give a multiple of "
                f"{WORD}, such as {-(-particles // WORD) * WORD}."
            )


def _walks(model: Model, moments: str) -> bool:
    """Whether the moments come from the replicas of `langevin`."""
    return moments == "auto" and is_dense(model) and moments_cost(model) >= MOMENT_CELLS


def prepare(
    problem: Problem, *, variance: str = "relative", moments: str = "auto", particles: int | None = None
) -> Prepared:
    """Independent draws of the calibrated posterior; there is no chain to run. Options: see `calibrate`.

    A field whose only parameter is one agreement coupling, or a large one with two or three tied parameters, needs no
    coins: its posterior is known by quadrature.
    """
    is_default = (variance, moments, particles) == ("relative", "auto", None)
    if is_default and (known := prepare_one_coupling(problem)):
        return known
    is_one_sided = _is_one_sided(problem)
    if is_default and not is_one_sided and (known := prepare_few_parameters(problem)):
        return known
    found: Calibration[Joint]
    if _walks(problem.model, moments):
        found = calibrate_by_walking(problem, particles)
    elif is_local(problem.model, moments) and problem.statistics.incomplete is None:
        found = calibrate_locally(problem, moments, particles)
    else:
        found = calibrate(problem, variance, moments, particles)
    unused = {} if found.accuracy else {"particles": "moments are exact here"}
    if isinstance(found.joint, WalkJoint):
        unused = {"variance": "coins have the moments that replicas found"}
    by_order = "coins are matched to leading order"
    if found.accuracy and isinstance(found.joint, LocalJoint):
        unused = {"variance": f"{by_order}, block by block"}
    if found.source == "windows":
        unused = {"variance": f"{by_order} on so large a field", "particles": "moments are exact here"}
    theta_moments = found.joint.moments()
    return Prepared(
        None,
        draw=found.joint.draw,
        draw_log_odds=found.joint.draw_log_odds,
        moments=theta_moments,
        quantile=None if theta_moments is None else found.joint.quantile,
        sd_error=found.sd_error,
        accuracy=found.accuracy,
        uses_threads=isinstance(found.joint, WalkJoint),
        unused=unused,
        details=found.details,
        warnings=(*found.warnings, ONE_SIDED) if is_one_sided else found.warnings,
    )


def _is_one_sided(problem: Problem) -> bool:
    """Whether an outcome of factors that share a parameter never occurs, as in images of one colour.

    The posterior falls steeply on one side and is the prior on the other. With one threshold on 10x10 and 14x14 grids
    its mean was off by up to 1.1 sds and its sd by a factor of two; one pixel that differs leaves .3 sds and 1.4.
    Quadrature over sampled log Z was off by .8 sds, and stated an error of .02.
    """
    statistics = problem.statistics
    if statistics.incomplete is not None or not statistics.n:
        return False
    return bool((statistics.lacks_outcome & (factors_per_block(problem.model) > 1)).any())


def calibrate_by_walking(problem: Problem, particles: int | None) -> Calibration[WalkJoint]:
    """Dense fields: location, variance and skewness as the replicas of `langevin` find them, not from particles.

    Third-order sums over particles drown in noise there: with 8,192 particles on 40 variables the shift of the mean
    differs between seeds by 0.17 of an sd.
    """
    prepared = prepare_walk(problem, particles=particles)
    assert prepared.walk is not None
    walk = prepared.walk(WALKING_CHAINS, WARMUP, 2)
    with Progress("calibrated", WARMUP + STEPS, problem.progress) as bar:
        share = budget().left / 2
        while walk.steps < walk.settings.warmup + STEPS:
            walk.advance(1 if np.isfinite(share) else 5)
            walk.drawn.clear()
            bar.update(walk.steps)
            if walk.steps < walk.settings.warmup and np.isfinite(share) and budget().left <= share:
                budget().cut(f"warm-up ended after {walk.steps} of {WARMUP} steps")
                walk.end_warmup()
            elif budget().is_out and walk.state["counters"][RECORDED_COUNTER]:
                budget().cut(f"replicas walked {walk.steps - walk.settings.warmup} of {STEPS} steps")
                break
    found = walk_moments(walk)
    coins = walk_coins(found)
    trust = walk_trust(walk, found)
    details = {**prepared.details, "moments": "langevin", "clipped": coins.clipped, **trust.details()}
    joint = WalkJoint(problem.model.chart, coins, walk.metric.factor)
    return Calibration(coins, joint, found.sd_error, None, details, (*prepared.warnings, *doubts(walk, trust)))


def is_local(model: Model, moments: str) -> bool:
    """Whether parameters are calibrated block by block: past the limits, if the field allows it."""
    if not PARTICLE_LIMIT < model.n_parameters <= DENSE_PARAMETERS:
        return model.n_parameters > DENSE_PARAMETERS
    untied = model.chart.all_coins and not (model.chart.tosses > 1).any()
    exactly = moments == "exact" or (moments == "auto" and (moments_cost(model) < MOMENT_CELLS or sees_windows(model)))
    return bool(untied and not exactly and np.diff(model.adjacency.offset).max(initial=0) <= MOST_NEIGHBOURS)


def _refuse_many(model: Model) -> None:
    """Refuse very many parameters of which no blocks can be made."""
    has = "dice" if not model.chart.all_coins else "tied factors or scores" if (model.chart.tosses > 1).any() else ""
    if has:
        raise CostError(
            f"{model.n_parameters} parameters (limit {DENSE_PARAMETERS} for a full covariance): only fields of untied "
            f"coins can be calibrated block by block, and this one has {has}: use method='mle' or 'pseudo', or fewer "
            "parameters."
        )
    degree = 2 * model.n_edges / model.n_nodes
    if degree > DENSE_NEIGHBOURS:
        raise CostError(
            f"{model.n_parameters:,} parameters on a graph whose nodes have {degree:,.0f} neighbours on average: a "
            f"full covariance would take {describe_bytes(8 * model.n_parameters**2)} (limit {DENSE_PARAMETERS:,} "
            f"parameters), and blocks of neighbours are too large past {DENSE_NEIGHBOURS}: choose fewer columns, a "
            "sparser graph, or tied=True."
        )
