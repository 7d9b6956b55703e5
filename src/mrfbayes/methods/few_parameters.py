r"""The posterior of two or three tied parameters at any size: quadrature over log Z from samples at several places.

.. math:: \log p(w \mid x) = w \cdot s(x) - n A(w) + \log p(w) + \text{const}

Chains at the mode and at places two posterior sds away along its axes give A(w) in between by the multiple-histogram
method (Shirts & Chodera 2008). The density is summed on a grid of whitened coordinates. Its mean and covariance, which
differ from the mode and the curvature there, are the centre and the axes of a second set of chains and of the final
grid. Leaving out one group of chains after another gives the error of the moments.

The posterior of a field whose only parameter is one agreement coupling: quadrature over a curve of log Z.

.. math:: \log p(w \mid x) = w S(x) - n A(w) + \log p(w) + \text{const}

A(w) is exact where a recursion is quick; else it is sampled, and its error is stated (`particles.log_z_curve`).
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
from mrfbayes.exact.choice import predicted_seconds
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model, factors_per_block
from mrfbayes.particles.ensembles import Chains, make_chains
from mrfbayes.particles.log_z_curve import (
    LogZCurve,
    Region,
    TiedField,
    log_sum,
    log_z_curve,
    pilot_curve,
    solve_weights,
)
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
QUADRATURE_POINTS = 1001  # over the region of the curve: about 60 for each sd
MOST_AT_ENDS = 1e-2  # density at the ends of the region over the largest: past that, the posterior goes on outside
MAX_COUPLING = 16.0  # coupling past which a field has one colour, and the curve is not looked for
MIN_TAIL_SDS = 4.5  # posterior sds between the mean and the end of a rough curve; else a longer one is made
MAX_SD_RATIO = 1.3  # of the posterior's to that for which the curve was made; else another region is tried
MAX_TRIES = 4
# Processor seconds (`benchmarks/bench_cost.py`). Exact: of 20 to 37 evaluations, by what is predicted for one. Sampled:
# of the least curve and per edge, halfway between ordinary couplings (48x48: 1.0) and critical ones (3.9).
EXACT_EVALUATIONS, CURVE_SECONDS, CURVE_EDGE_SECONDS = 25, 0.3, 2.8e-4
MAX_MEAN_ERROR_SD = 0.15  # by a sampled log Z, in posterior sds, past which coins are used instead


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

    @property
    def goes_on_outside(self) -> bool:
        """Whether there is more of the posterior beyond the grid than may be left out."""
        at_ends = (np.abs(self.y) == GRID_SDS).any(axis=1)
        ends = self.weight[at_ends].max() / self.weight.max()
        return bool(ends >= MOST_AT_ENDS or self.problem.prior.is_heavy_beyond(np.linalg.norm(self.factor, axis=1)))

    @cached_property
    def _polynomial(self) -> np.ndarray:
        """Coefficients of a polynomial of fourth order through the log density, where there is any."""
        logs = self.log_density - self.log_density.max()
        near = logs > -12.0
        scale = np.exp(logs[near] / 4)
        return np.asarray(np.linalg.lstsq(_powers(self.y[near]) * scale[:, None], logs[near] * scale, rcond=None)[0])

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) draws of theta."""
        return self.problem.model.chart.theta(self.draw_log_odds(n, seed))

    def draw_log_odds(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, p) draws of the log-odds: normal proposals kept by their weights."""
        random = generator(seed, "few parameters")
        widening = math.sqrt(1.5)
        y = widening * random.standard_normal((PROPOSALS_PER_DRAW * n, self.centre.size))
        inside = (np.abs(y) < GRID_SDS).all(axis=1)
        logs = _powers(y) @ self._polynomial + 0.5 * ((y / widening) ** 2).sum(axis=1)
        weight = np.where(inside, np.exp(np.minimum(logs - logs[inside].max(), 0.0)), 0.0)
        chosen = random.choice(len(y), n, p=weight / weight.sum())
        return np.asarray(self.centre + y[chosen] @ self.factor.T)


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
    if whole.goes_on_outside or not error[0].max() < MAX_FEW_ERROR:
        return None
    text = f"log Z is sampled: means within {error[0].max():.2f} sd, sds within {error[1].max():.1%} (standard errors)"
    return Prepared(
        None,
        draw=whole.draw,
        draw_log_odds=whole.draw_log_odds,
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


@dataclass(frozen=True, eq=False)
class OneCoupling:
    """The posterior of w on a fine grid.

    Attributes
    ----------
    w : (k,) couplings, equally spaced
    density : (k,) posterior probabilities of the intervals around them
    """

    w: np.ndarray
    density: np.ndarray

    @classmethod
    def of(cls, problem: Problem, curve: LogZCurve) -> OneCoupling:
        """The posterior by a curve of log Z."""
        statistics = problem.statistics
        w = np.linspace(curve.w[0], curve.w[-1], QUADRATURE_POINTS)
        prior = np.array([problem.prior.log_density_w(np.array([v])) for v in w])
        logs = float(statistics.counts[0]) * w - statistics.n * curve(w) + prior
        density = np.exp(logs - logs.max())
        return cls(w, density / density.sum())

    def moments(self, of_w: bool = False) -> tuple[float, float]:
        """Mean and sd of theta, or of w."""
        values = self.w if of_w else 1 / (1 + np.exp(-self.w))
        mean = float(self.density @ values)
        return mean, math.sqrt(float(self.density @ (values - mean) ** 2))

    def quantile(self, probability: float | np.ndarray) -> np.ndarray:
        """Quantiles of the log-odds."""
        ends = np.concatenate([[0.0], np.cumsum(self.density)])
        half = (self.w[1] - self.w[0]) / 2
        w = np.interp(probability, ends, np.concatenate([self.w - half, [self.w[-1] + half]]))
        return np.atleast_1d(w)

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, 1) independent draws of theta."""
        return np.asarray(1 / (1 + np.exp(-self.draw_log_odds(n, seed))))

    def draw_log_odds(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, 1) independent draws of the log-odds."""
        return self.quantile(generator(seed, "one coupling").random(n))[:, None]


def tied_field(model: Model) -> TiedField | None:
    """The field where its one parameter is an agreement coupling of all its edges; else None."""
    if model.n_parameters != 1 or len(model.groups) != 1 or len(set(model.states.tolist())) != 1:
        return None
    (group,) = model.groups
    q = int(model.states[0])
    if group.is_score or group.arity != 2 or not np.array_equal(group.table.reshape(q, q), 1 - np.eye(q)):
        return None
    if len(group.scope) != model.n_edges:
        return None
    if model.grid_shape is not None:
        return TiedField.on_grid(*model.grid_shape, q)
    return TiedField(model)


def one_coupling_seconds(model: Model) -> float | None:
    """Seconds of `prepare_one_coupling`; None where the field has more than one coupling."""
    if (field := tied_field(model)) is None:
        return None
    if field.is_exact:
        return EXACT_EVALUATIONS * predicted_seconds(model, "moments")
    return CURVE_SECONDS + CURVE_EDGE_SECONDS * model.n_edges


def prepare_one_coupling(problem: Problem) -> Prepared | None:
    """Independent draws by quadrature, where the field has one coupling and all its cells are observed; else None."""
    field = tied_field(problem.model)
    if field is None or problem.prior.custom is not None or problem.statistics.incomplete is not None:
        return None
    found = _locate(problem, field)
    if found is None:
        return None
    curve, posterior = found
    mean, sd = posterior.moments()
    details: dict[str, object] = {"moments": "exact", "trust": "log Z is exact"}
    sd_error = None
    if not curve.is_exact:
        others = np.array([OneCoupling.of(problem, each).moments() for each in curve.leave_one_out])
        error = math.sqrt(len(others) - 1) * others.std(axis=0)
        if error[0] > MAX_MEAN_ERROR_SD * sd:
            return None
        sd_error = np.array([error[1] / sd])
        text = f"log Z is sampled: mean within {error[0] / sd:.2f} sd, sd within {error[1] / sd:.1%} (standard errors)"
        details = {"moments": "particles", "trust": text, "mean_error": error[0] / sd, "sd_error": error[1] / sd}
    return Prepared(
        None,
        is_exact=curve.is_exact,
        draw=posterior.draw,
        draw_log_odds=posterior.draw_log_odds,
        moments=(np.array([mean]), np.array([sd])),
        quantile=posterior.quantile,
        sd_error=sd_error,
        unused=dict.fromkeys(("variance", "particles"), "one coupling is learned by quadrature"),
        details=details,
    )


def _locate(problem: Problem, field: TiedField) -> tuple[LogZCurve, OneCoupling] | None:
    """The curve around the posterior; None where it reaches couplings so large that the field has one colour."""
    start = _exact_mode(problem, field) if field.is_exact else _rough_mode(problem, field)
    for _ in range(MAX_TRIES):
        if start is None:
            return None
        region = Region.around(*start, -MAX_COUPLING, MAX_COUPLING)
        rough = OneCoupling.of(problem, log_z_curve(field, region, 0.0))
        mean, sd = start = rough.moments(of_w=True)
        if abs(mean - region.mean) < region.sd and sd < MAX_SD_RATIO * region.sd:
            curve = log_z_curve(field, region, problem.statistics.n)
            found = OneCoupling.of(problem, curve)
            ends = found.density[[0, -1]].max() / found.density.max()
            return (curve, found) if ends < MOST_AT_ENDS and not problem.prior.is_heavy_beyond(np.array([sd])) else None
    return None


def _exact_mode(problem: Problem, field: TiedField) -> tuple[float, float] | None:
    """Mode and sd of w from exact means, by a bracketing root finder."""
    from scipy.optimize import brentq

    statistics = problem.statistics

    def slope(w: float) -> float:
        prior = float(problem.prior.gradient_w(np.array([w]))[0])
        return float(statistics.counts[0]) - statistics.n * field.moments(w)[1] + prior

    low, high = -1.0, 2.0
    while slope(low) < 0.0:
        low *= 2.0
        if low < -MAX_COUPLING:
            return None
    while slope(high) > 0.0:
        high *= 2.0
        if high > MAX_COUPLING:
            return None
    mode = float(brentq(slope, low, high, xtol=1e-4))
    step = 1e-3
    return mode, math.sqrt(2 * step / max(slope(mode - step) - slope(mode + step), 1e-12))


def _rough_mode(problem: Problem, field: TiedField) -> tuple[float, float] | None:
    """Mean and sd of w by the rough curve of a smaller field, on the side of 0 where the data are."""
    share = problem.statistics.counts[0] / (problem.statistics.n * field.model.n_edges)
    reach = 2.0
    while reach <= MAX_COUPLING:
        low, high = (-0.25, reach) if share * field.n_states > 1.0 else (-reach, 0.25)
        curve = pilot_curve(field, low, high)
        mean, sd = OneCoupling.of(problem, curve).moments(of_w=True)
        if abs(mean) + MIN_TAIL_SDS * sd < reach:
            return mean, sd
        reach *= 2.0
    return None
