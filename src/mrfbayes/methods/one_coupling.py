r"""The posterior of a field whose only parameter is one agreement coupling: quadrature over a curve of log Z.

.. math:: \log p(w \mid x) = w S(x) - n A(w) + \log p(w) + \text{const}

A(w) is exact where a recursion is quick; else it is sampled, and its error is stated (`particles.log_z_curve`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.random_streams import generator
from mrfbayes.exact.choice import predicted_seconds
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.model.field import Model
from mrfbayes.particles.log_z_curve import LogZCurve, Region, TiedField, log_z_curve, pilot_curve

QUADRATURE_POINTS = 1001  # over the region of the curve: about 60 for each sd
MAX_COUPLING = 16.0  # coupling past which a field has one colour, and the curve is not looked for
MIN_TAIL_SDS = 4.5  # posterior sds between the mean and the end of a rough curve; else a longer one is made
MAX_SD_RATIO = 1.3  # of the posterior's to that for which the curve was made; else another region is tried
MAX_TRIES = 4
# Processor seconds (`benchmarks/bench_cost.py`). Exact: of 20 to 37 evaluations, by what is predicted for one. Sampled:
# of the least curve and per edge, halfway between ordinary couplings (48x48: 1.0) and critical ones (3.9).
EXACT_EVALUATIONS, CURVE_SECONDS, CURVE_EDGE_SECONDS = 25, 0.3, 2.8e-4
MAX_MEAN_ERROR_SD = 0.15  # by a sampled log Z, in posterior sds, past which coins are used instead


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
        """Quantiles of theta."""
        ends = np.concatenate([[0.0], np.cumsum(self.density)])
        half = (self.w[1] - self.w[0]) / 2
        w = np.interp(probability, ends, np.concatenate([self.w - half, [self.w[-1] + half]]))
        return np.asarray(1 / (1 + np.exp(-np.atleast_1d(w))))

    def draw(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(n, 1) independent draws of theta."""
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
        moments=(np.array([mean]), np.array([sd])),
        quantile=posterior.quantile,
        sd_error=sd_error,
        unused=dict.fromkeys(("variance", "particles"), "one coupling is learned by quadrature"),
        details=details,
    )


def _locate(problem: Problem, field: TiedField) -> tuple[LogZCurve, OneCoupling] | None:
    """The curve around the posterior; None where couplings are so large that the field has one colour."""
    start = _exact_mode(problem, field) if field.is_exact else _rough_mode(problem, field)
    for _ in range(MAX_TRIES):
        if start is None:
            return None
        region = Region.around(*start, -MAX_COUPLING, MAX_COUPLING)
        rough = OneCoupling.of(problem, log_z_curve(field, region, 0.0))
        mean, sd = start = rough.moments(of_w=True)
        if abs(mean - region.mean) < region.sd and sd < MAX_SD_RATIO * region.sd:
            curve = log_z_curve(field, region, problem.statistics.n)
            return curve, OneCoupling.of(problem, curve)
    return None


def _exact_mode(problem: Problem, field: TiedField) -> tuple[float, float] | None:
    """Mode and sd of w from exact means, by a bracketing root finder."""
    from scipy.optimize import brentq

    def slope(w: float) -> float:
        return _slope(problem, w, field.moments(w)[1])

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


def _slope(problem: Problem, w: float, mean: float) -> float:
    """Derivative of the log posterior density at w, where S has the ``mean``."""
    statistics = problem.statistics
    prior = float(problem.prior.gradient_w(np.array([w]))[0])
    return float(statistics.counts[0]) - statistics.n * mean + prior
