r"""The posterior of two or three tied parameters at any size: quadrature over log Z from samples at several places.

.. math:: \log p(w \mid x) = w \cdot s(x) - n A(w) + \log p(w) + \text{const}

Chains at the mode and at places two posterior sds away along its axes give A(w) in between by the multiple-histogram
method (Shirts & Chodera 2008). The density is summed on a grid of whitened coordinates. Its mean and covariance, which
differ from the mode and the curvature there, are the centre and the axes of a second set of chains and of the final
grid. Leaving out one group of chains after another gives the error of the moments.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.calibration.full import MOMENT_CELLS, moments_cost
from mrfbayes.estimation.pseudolikelihood import pseudo_estimate
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.particles.ensembles import Chains, make_chains
from mrfbayes.particles.log_z_curve import log_sum, solve_weights
from mrfbayes.particles.moments import row_statistics

MIN_NODES, MAX_FEW = 100, 3
PLACE_CHAINS, GROUPS = 256, 8  # chains at every place, and groups of them of which one is left out
MODE_MOVES, MODE_MOVE_SWEEPS = 12, 40
PLACE_SDS = 2.0  # distance of the places from the mode
BURN_IN, SNAPSHOTS, SNAPSHOT_SWEEPS = 80, 30, 6  # sweeps at a place, and snapshots with sweeps between them
GRID_SDS, GRID_POINTS = 6.0, {2: 25, 3: 21}  # reach and points per axis of the quadrature
MAX_SAMPLES = {2: 40_000, 3: 12_000}  # that log Z is summed over
PROPOSALS_PER_DRAW = 40  # per draw, of which one is kept by its weight
# Processor seconds: per update of a binary site, of one with more states for each of them, and per sample and point of
# the quadrature. 24x24 and 48x48 grids with two parameters took 1.9 and 4 s, with four states 6 and 20 s.
BIT_UPDATE_SECONDS, STATE_UPDATE_SECONDS, QUADRATURE_SECONDS = 1.6e-9, 2.5e-9, 4.8e-9
MAX_FEW_ERROR = 0.15  # of the means, in posterior sds, past which coins are used instead


@dataclass(frozen=True, eq=False)
class FewParameters:
    """The posterior on a grid of whitened coordinates y, w = centre + factor y.

    Attributes
    ----------
    centre : (p,)
    factor : (p, p)
    y : (k, p) points of the grid
    log_density : (k,) there
    """

    problem: Problem
    centre: np.ndarray
    factor: np.ndarray
    y: np.ndarray
    log_density: np.ndarray

    @cached_property
    def weight(self) -> np.ndarray:
        """(k,) probabilities of the points."""
        density = np.exp(self.log_density - self.log_density.max())
        return np.asarray(density / density.sum())

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and sd of theta."""
        theta = self.problem.model.chart.theta(self.centre + self.y @ self.factor.T)
        mean = self.weight @ theta
        return mean, np.sqrt(self.weight @ (theta - mean) ** 2)

    def moments_w(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean of w, and the Cholesky factor of its covariance."""
        mean = self.weight @ self.y
        covariance = (self.y - mean).T @ (self.weight[:, None] * (self.y - mean))
        return self.centre + self.factor @ mean, self.factor @ np.linalg.cholesky(covariance)

    @cached_property
    def _polynomial(self) -> np.ndarray:
        """Coefficients of a polynomial of fourth order through the log density, where there is any."""
        logs = self.log_density - self.log_density.max()
        near = logs > -12.0
        scale = np.exp(logs[near] / 4)
        return np.asarray(np.linalg.lstsq(_powers(self.y[near]) * scale[:, None], logs[near] * scale, rcond=None)[0])

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) draws of theta: normal proposals kept by their weights."""
        random = generator(seed, "few parameters")
        spread = math.sqrt(1.5)
        y = spread * random.standard_normal((PROPOSALS_PER_DRAW * n, self.centre.size))
        inside = (np.abs(y) < GRID_SDS).all(axis=1)
        logs = _powers(y) @ self._polynomial + 0.5 * ((y / spread) ** 2).sum(axis=1)
        weight = np.where(inside, np.exp(np.minimum(logs - logs[inside].max(), 0.0)), 0.0)
        chosen = random.choice(len(y), n, p=weight / weight.sum())
        return np.asarray(self.problem.model.chart.theta(self.centre + y[chosen] @ self.factor.T))


def _powers(y: np.ndarray) -> np.ndarray:
    """(k, c) all monomials up to the fourth order."""
    exponents = [e for e in itertools.product(range(5), repeat=y.shape[1]) if sum(e) <= 4]
    return np.stack([np.prod(y ** np.array(e), axis=1) for e in exponents], axis=1)


def _has_few_parameters(model: Model) -> bool:
    """Whether a large field has two or three tied parameters, and exact moments are too expensive."""
    few = 2 <= model.n_parameters <= MAX_FEW and model.n_nodes >= MIN_NODES
    return bool(few and (factors_per_block(model) > 1).all() and moments_cost(model) >= MOMENT_CELLS)


def few_parameters_seconds(model: Model) -> float | None:
    """Seconds of `prepare_few_parameters`; None for other fields."""
    if not _has_few_parameters(model):
        return None
    p = model.n_parameters
    places = 2 * (2 * p + 1)
    sweeps = MODE_MOVES * MODE_MOVE_SWEEPS + places * (BURN_IN + SNAPSHOTS * SNAPSHOT_SWEEPS)
    update = BIT_UPDATE_SECONDS if model.is_binary else STATE_UPDATE_SECONDS * float(model.states.max())
    cells = float((GROUPS + 2) * MAX_SAMPLES[p] * GRID_POINTS[p] ** p)
    return sweeps * PLACE_CHAINS * model.n_nodes * update + cells * QUADRATURE_SECONDS


def prepare_few_parameters(problem: Problem) -> Prepared | None:
    """Independent draws by quadrature, where a large field has two or three tied parameters; else None."""
    statistics = problem.statistics
    if statistics.incomplete is not None or not statistics.n_rows or problem.prior.custom is not None:
        return None
    if not _has_few_parameters(problem.model):
        return None
    places, samples, centre, factor = _sample(problem)
    whole = _posterior(problem, places, samples, centre, factor)
    others = [_posterior(problem, places, np.delete(samples, g, axis=1), centre, factor) for g in range(GROUPS)]
    mean, sd = whole.moments()
    moments = np.array([other.moments() for other in others])
    error = math.sqrt(GROUPS - 1) * moments.std(axis=0) / sd
    if not error[0].max() < MAX_FEW_ERROR:
        return None
    text = f"log Z is sampled: means within {error[0].max():.2f} sd, sds within {error[1].max():.1%} (standard errors)"
    return Prepared(
        None,
        draw=whole.draw,
        moments=(mean, sd),
        sd_error=error[1],
        unused=dict.fromkeys(("variance", "particles"), "few parameters are learned by quadrature"),
        details={"moments": "particles", "trust": text, "mean_error": error[0].max(), "sd_error": error[1].max()},
    )


def _sample(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Places (J, p), statistics there (J, groups, k, p) less those of the data, centre (p,) and factor of the grid."""
    model, data, seed = problem.model, problem.statistics, child(problem.seed, "few parameters")
    prior, observed = problem.prior, data.counts / data.n
    chains = make_chains(model, PLACE_CHAINS, kernel_state(seed, "chains"))
    chains.start_at_data(data, generator(seed, "start"))
    w = np.asarray(pseudo_estimate(model, data, prior).w)
    precision = np.eye(model.n_parameters)
    for step in range(MODE_MOVES):
        budget().check("the posterior mode")
        snapshots = []
        for _ in range(4):
            chains.sweep(w, MODE_MOVE_SWEEPS // 4)
            snapshots.append(row_statistics(model, chains.rows()))
        s = np.concatenate(snapshots)
        hessian = prior.hessian_w(w)
        precision = data.n * np.cov(s, rowvar=False) - (np.diag(hessian) if hessian.ndim == 1 else hessian)
        move = np.linalg.solve(precision, data.n * (observed - s.mean(axis=0)) + prior.gradient_w(w))
        length = math.sqrt(float(move @ precision @ move))
        w = w + move * min(1.0, 3.0 / max(length, 1e-12)) * (1.0 if step < MODE_MOVES // 2 else 0.5)
    factor = np.linalg.cholesky(np.linalg.inv((precision + precision.T) / 2))
    places, samples = _at_places(problem, chains, w, factor)
    centre, factor = _posterior(problem, places, samples, w, factor).moments_w()
    return *_at_places(problem, chains, centre, factor), centre, factor


def _at_places(
    problem: Problem, chains: Chains, centre: np.ndarray, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Places (J, p) around the centre, and statistics there (J, groups, k, p) less those of the data."""
    model, data = problem.model, problem.statistics
    axes = PLACE_SDS * np.concatenate([np.zeros((1, centre.size)), np.eye(centre.size), -np.eye(centre.size)])
    places, samples = centre + axes @ factor.T, []
    for place in places:
        budget().check("log Z of the field")
        chains.sweep(place, BURN_IN)
        snapshots = []
        for _ in range(SNAPSHOTS):
            chains.sweep(place, SNAPSHOT_SWEEPS)
            snapshots.append(row_statistics(model, chains.rows()).reshape(GROUPS, -1, centre.size))
        samples.append(np.concatenate(snapshots, axis=1))
    return places, np.stack(samples) - data.counts / data.n


def _posterior(
    problem: Problem, places: np.ndarray, samples: np.ndarray, centre: np.ndarray, factor: np.ndarray
) -> FewParameters:
    """The posterior from samples (J, groups, k, p)."""
    p, n = centre.size, problem.statistics.n
    every = max(1, -(-samples[..., 0].size // MAX_SAMPLES[p]))
    flat = samples.reshape(len(places), -1, p)[:, ::every]
    size = np.full(len(places), float(flat.shape[1]))
    s = flat.reshape(-1, p)
    rows = s @ (places - centre).T  # log weights of each sample at the places, relative to the centre
    log_z = solve_weights(rows, np.ones(len(s)), size, np.zeros(len(places)))
    log_share = -log_sum(rows - log_z + np.log(size))
    axis = np.linspace(-GRID_SDS, GRID_SDS, GRID_POINTS[p])
    y = np.stack(np.meshgrid(*[axis] * p, indexing="ij"), axis=-1).reshape(-1, p)
    moved = y @ factor.T
    logs = np.concatenate([log_sum(part @ s.T + log_share) for part in np.array_split(moved, max(1, len(y) // 200))])
    prior = np.array([problem.prior.log_density_w(centre + each) for each in moved])
    return FewParameters(problem, centre, factor, y, prior - n * logs)
