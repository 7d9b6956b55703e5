r"""`langevin` for fields with covariates: persistent chains for every distinct value of them.

.. math:: \hat g(w) = \sum_g M_g^T \big( s_g - n_g \hat E_{w_g}[s] \big) + \nabla \log \text{prior}(w)

The walk is that of dense fields (`mrfbayes.methods.langevin.walk`). Its metric is the sandwich covariance of the
pseudolikelihood, and it starts at the mode that a few steps from the pseudolikelihood's lead to. A group of n_g rows
has at least as many chains, so many that the whitened noise of the gradient stays below `MAX_NOISE`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import require_memory
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import child
from mrfbayes.data.border import CovariateStatistics
from mrfbayes.estimation.dense_mode import DenseMode
from mrfbayes.estimation.optimise import less_hessian
from mrfbayes.methods.covariates import ExactRows, PseudoRows, statistics_of, stretched
from mrfbayes.methods.langevin.walk import LARGEST_NOISE, Walk, WalkSettings
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model
from mrfbayes.particles.completions import HALVES, Completions
from mrfbayes.particles.moments import RowChains
from mrfbayes.priors import Prior

ASCENT_STEPS, MODE_SWEEPS = 40, 10  # of the ascent from the pseudolikelihood's maximum
PILOT = 12  # gradients at the mode, whose differences show the noise
UPDATE_SECONDS = 4e-9  # of one neighbour of one node in one sweep
TYPICAL_STEPS = 1_000
MAX_SECONDS = 3_600.0  # predicted, past which a walk is refused
MAX_CHAINS_PER_ROW = 64


@dataclass(frozen=True, eq=False)
class RowsPosterior:
    """A field with covariates, its data and its prior, as a walk takes it."""

    statistics: CovariateStatistics
    prior: Prior
    counts: np.ndarray  # (G, p0)
    n: np.ndarray  # (G,)

    def natural(self, w: np.ndarray) -> np.ndarray:
        """(k, G, p0) log-odds of all fields."""
        return self.statistics.design.at(w)

    def likelihood_gradient(self, moments: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """(..., P) from E[s] (..., G, p0) and the data's counts (G, p0)."""
        return self.statistics.design.back(counts - self.n[:, None] * moments)

    def prior_gradient(self, w: np.ndarray) -> np.ndarray:
        """Of the log prior, (..., P)."""
        return self.prior.gradient_w(w)

    def ensemble(
        self, mode: DenseMode | None, replicas: int, chains: int, threads: int, seed: np.random.SeedSequence
    ) -> RowChains:
        """Chains of all replicas in two halves, ``chains`` of a half for every row."""
        return RowChains(
            self.statistics, np.tile(np.arange(len(self.statistics.states)), chains), replicas, HALVES, seed
        )

    def completions(self, replicas: int, seed: np.random.SeedSequence) -> KnownCounts:
        """The counts: nothing is missing."""
        return KnownCounts(self.counts)


class KnownCounts(Completions):
    """The counts (G, p0) of complete data."""

    def __init__(self, known: np.ndarray) -> None:
        self._known = known

    def counts(self, w: np.ndarray, sweeps: int) -> np.ndarray:
        """(G, p0)."""
        return self._known


def prepare_rows(problem: Problem, replicas: int, particles: int | None, step: float, sweeps: int) -> Prepared:
    """Mode, metric and number of chains; `sample` then walks."""
    statistics = statistics_of(problem)
    if (statistics.states == 255).any():
        raise InputError("'langevin' with covariates takes complete rows: use method='exact', or missing='drop'.")
    exact = ExactRows(statistics)
    posterior = RowsPosterior(statistics, problem.prior, exact.counts, exact.n)
    pseudo, _ = stretched(problem, PseudoRows.of_data(statistics), problem.model)
    centre = pseudo.centre
    information = less_hessian(pseudo.information, problem.prior.hessian_w(centre))
    covariance = np.linalg.inv((information + information.T) / 2)
    factor = np.linalg.cholesky(covariance[::-1, ::-1])[::-1, ::-1]  # upper triangular
    seed = child(problem.seed, "langevin")
    each = 1 if particles is None else int(particles)
    while True:
        w, noise = _ascend(posterior, centre, factor, each, sweeps, child(seed, "mode", each))
        limit = LARGEST_NOISE * (2 - step) / step
        _refuse_cost(statistics, each, 4 * replicas, sweeps)
        if noise <= limit or particles is not None or each >= MAX_CHAINS_PER_ROW:
            break
        centre, each = w, min(max(2 * each, int(np.ceil(each * noise / limit))), MAX_CHAINS_PER_ROW)
    mode = DenseMode(w, factor, each * len(statistics.states), ASCENT_STEPS)

    def walk(n_chains: int, warmup: int, thin: int) -> Walk:
        settings = WalkSettings(n_chains * replicas, each, step, sweeps, warmup, thin, problem.threads)
        return Walk(posterior, mode, settings, child(seed, "walk"))

    details = {"chains_per_row": HALVES * each, "whitened_noise": noise, "fields": statistics.design.n_fields}
    return Prepared(None, walk=walk, details=details)


def _ascend(
    posterior: RowsPosterior, w: np.ndarray, factor: np.ndarray, each: int, sweeps: int, seed: np.random.SeedSequence
) -> tuple[np.ndarray, float]:
    """The mode by steps of the metric, averaged over their second half; and the whitened noise of a gradient there."""
    chains = posterior.ensemble(None, 1, each, 1, seed)
    total, noise = np.zeros(w.size), []
    for number in range(ASCENT_STEPS):
        budget().check("the posterior mode")
        chains.set_parameters(posterior.natural(w[None]))
        halves = posterior.likelihood_gradient(chains.moments(1, MODE_SWEEPS), posterior.counts)[0]
        slope = factor.T @ (halves.mean(axis=0) + posterior.prior_gradient(w))
        length = float(np.sqrt(np.mean(slope**2)))
        w = w + factor @ slope * min(1.0, 3.0 / max(length, 1e-9)) * (1.0 if number < ASCENT_STEPS // 2 else 0.3)
        if number >= ASCENT_STEPS // 2:
            total += w
    w = total / (ASCENT_STEPS - ASCENT_STEPS // 2)
    chains.set_parameters(posterior.natural(w[None]))
    for _ in range(PILOT):
        halves = posterior.likelihood_gradient(chains.moments(1, max(sweeps - 1, 1)), posterior.counts)[0]
        noise.append(factor.T @ (0.5 * (halves[0] - halves[1])))
    values = np.linalg.svd(np.array(noise) / np.sqrt(PILOT), compute_uv=False)
    # The largest variance of PILOT samples in so many directions overstates by the Marchenko-Pastur edge.
    edge = (1 + np.sqrt(w.size / PILOT)) ** 2
    return w, float(max(values[0] ** 2 / edge, np.mean(np.square(noise))))


def walk_seconds(base: Model, rows: int, replicas: int = 16, sweeps: int = 3) -> float:
    """Predicted time of a walk with two chains for each of ``rows``."""
    updates = float(replicas * HALVES * rows * sweeps) * (2 * base.n_edges + base.n_nodes)
    return TYPICAL_STEPS * updates * UPDATE_SECONDS * (1 if base.is_binary else int(base.states.max()))


def _refuse_cost(statistics: CovariateStatistics, each: int, replicas: int, sweeps: int) -> None:
    base = statistics.model.base
    seconds = walk_seconds(base, each * len(statistics.states), replicas, sweeps)
    if seconds > MAX_SECONDS:
        raise CostError(
            f"'langevin' would take about {seconds / 3600:.1f} hours here: {len(statistics.states):,} rows have "
            f"{HALVES * each} chains each in {replicas} replicas; use method='pseudo', or fewer replicas=."
        )
    size = 8 * 2 * replicas * HALVES * statistics.design.n_fields * base.lowering.n_rows
    require_memory(size, f"'langevin' with {statistics.design.n_fields:,} distinct covariates", "use method='pseudo'")
