r"""Likelihoods of fields with covariates: every group of rows has a field of its own, w_g = M_g w + o_g.

.. math:: \log L(w) = \sum_g \big( s_g \cdot w_g - n_g A(w_g) \big)

"exact" sums over all configurations of a small field at once, or by the recursion group after group. "pseudo" is a
logistic regression of every node on its neighbours and the covariates. Its curvature is that of dependent terms, so its
log-likelihood is turned and stretched around its maximum until its curvature is Godambe's information
:math:`G = H J^{-1} H` (Ribatet, Cooley & Davison 2012):

.. math:: \ell_G(w) = \ell\big(\hat w + C (w - \hat w)\big), \qquad C^T H C = G .

Differs from the paper: it has no covariates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import CostError, InputError
from mrfbayes.base.random_streams import child
from mrfbayes.data.border import CovariateStatistics
from mrfbayes.estimation.optimise import Curved, less_hessian, newton
from mrfbayes.estimation.pseudolikelihood import NodeFeatures
from mrfbayes.exact.choice import recursion
from mrfbayes.exact.clamped import observed
from mrfbayes.exact.quantities import moments_w
from mrfbayes.methods.problem import Prepared, Problem, Smooth
from mrfbayes.model.covariates import CovariateModel
from mrfbayes.model.field import Model
from mrfbayes.particles.moments import RowChains, row_statistics
from mrfbayes.priors import Prior

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_SUMMED_CONFIGURATIONS = 4_096  # configurations of a field that are summed over at once
MAX_TABLE_NUMBERS = 2**24  # of all groups' tables
TYPICAL_GRADIENTS = 20_000  # gradients of a run: 4 chains of 1,200 trajectories
MAX_SECONDS = 3_600.0  # predicted, past which 'exact' is refused
FLOP_SECONDS = 2e-10  # of a product of matrices
DIFFERENCE_STEP = 1e-4  # of differences that make the curvature
ROWS_PER_PARAMETER = 5  # observed rows from which their scores give J; else rows are simulated
SIMULATED_PER_PARAMETER = 20
SIMULATED_SWEEPS = 60  # of simulated rows, each from an observed one
RIDGE = 0.01  # precision of the weak prior under which the maximum of the pseudolikelihood exists


def _configurations(base: Model) -> float:
    """Number of configurations of a field, infinite where it is past counting."""
    logs = float(np.log(base.states).sum())
    return float(np.exp(logs)) if logs < 700 else float("inf")


class ExactRows:
    """The log-likelihood of all groups and its gradient; a function from w (P,) that travels to other processes."""

    def __init__(self, statistics: CovariateStatistics) -> None:
        model, self.design = statistics.model, statistics.design
        assert isinstance(model, CovariateModel)
        self.base, groups = model.base, self.design.n_fields
        self.n = np.bincount(statistics.group, weights=statistics.weight, minlength=groups)
        complete = (statistics.states != 255).all(axis=1)
        self.observed = None if complete.all() else [observed(part) for part in statistics.of_groups()]
        rows = row_statistics(self.base, statistics.states[complete])
        self.counts = np.zeros((groups, self.base.n_parameters))
        np.add.at(self.counts, statistics.group[complete], rows * statistics.weight[complete, None])
        size = _configurations(self.base)
        self.table: np.ndarray | None = None
        if size <= MAX_SUMMED_CONFIGURATIONS and size * groups <= MAX_TABLE_NUMBERS:
            every = np.indices(self.base.states.tolist()).reshape(self.base.n_nodes, -1).T.astype(np.uint8)
            self.table = row_statistics(self.base, every)

    @staticmethod
    def seconds(model: CovariateModel) -> float:
        """Predicted time of one gradient."""
        size, groups, p = _configurations(model.base), model.n_designs, model.base.n_parameters
        if size <= MAX_SUMMED_CONFIGURATIONS and size * groups <= MAX_TABLE_NUMBERS:
            return size * groups * (4 * p * FLOP_SECONDS + 1e-8)
        return groups * (recursion(model.base).seconds("moments") + 5e-5)

    def _moments(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A (G,) and E[s] (G, p0) at w (G, p0)."""
        if self.table is None:
            found = [moments_w(self.base, each) for each in w]
            return np.array([value for value, _ in found]), np.stack([mean for _, mean in found])
        logs = w @ self.table.T
        top = logs.max(axis=1, keepdims=True)
        np.exp(logs - top, out=logs)
        total = logs.sum(axis=1, keepdims=True)
        return (top + np.log(total))[:, 0], (logs @ self.table) / total

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        each = self.design.at(w)
        log_z, mean = self._moments(each)
        if self.observed is None:
            value, slope = float((self.counts * each).sum() - self.n @ log_z), self.counts - self.n[:, None] * mean
        else:
            parts = [o.value_gradient(*args) for o, *args in zip(self.observed, each, log_z, mean, strict=True)]
            value, slope = sum(part[0] for part in parts), np.stack([part[1] for part in parts])
        return value, self.design.back(slope)

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Minus the second derivatives (P, P), by differences of the gradient."""
        matrix = np.empty((w.size, w.size))
        for j in range(w.size):
            budget().check("the curvature at the mode")
            step = np.zeros(w.size)
            step[j] = DIFFERENCE_STEP
            matrix[j] = (self(w - step)[1] - self(w + step)[1]) / (2 * DIFFERENCE_STEP)
        return np.asarray((matrix + matrix.T) / 2)


@dataclass(frozen=True, eq=False)
class PseudoRows:
    """The log pseudolikelihood as a regression: log-odds ``matrix @ w + offset`` of every state but the first.

    Attributes
    ----------
    matrix : (M, P) an entry for every row, node and state 1, 2, ... of it
    offset : (M,)
    seen : (M,) whether the node is in this state
    first : (N,) where the entries of each row and node start
    weight : (N,) weights of the rows
    row : (N,) the row
    """

    matrix: csr_array
    offset: np.ndarray
    seen: np.ndarray
    first: np.ndarray
    weight: np.ndarray
    row: np.ndarray

    @classmethod
    def of(
        cls, statistics: CovariateStatistics, states: np.ndarray, group: np.ndarray, weight: np.ndarray
    ) -> PseudoRows:
        """The regression for rows (n, d) of the groups (n,)."""
        from scipy.sparse import coo_array

        base, design = statistics.model.base, statistics.design
        features, p0, n = NodeFeatures(base), base.n_parameters, len(states)
        offset, neighbour, _ = base.adjacency
        rows, columns, values, seen = [], [], [], []
        at = 0
        for i in range(base.n_nodes):
            own, slopes = features.of(i, states[:, neighbour[offset[i] : offset[i + 1]]])
            r = int(base.states[i]) - 1
            place = at + np.arange(n * r).reshape(n, r, 1)
            rows.append(np.broadcast_to(place, slopes.shape).ravel())
            columns.append(np.broadcast_to((group[:, None] * p0 + own)[:, None, :], slopes.shape).ravel())
            values.append(slopes.ravel())
            seen.append((states[:, i, None] == np.arange(1, r + 1)).ravel())
            at += n * r
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        by_field = coo_array(entries, shape=(at, design.offset.size)).tocsr()
        by_field.eliminate_zeros()
        first = np.concatenate([[0], np.cumsum(np.repeat(base.states - 1, n))[:-1]])
        row = np.tile(np.arange(n), base.n_nodes)
        shift = np.asarray(by_field @ design.offset.ravel())
        return cls((by_field @ design.matrix).tocsr(), shift, np.concatenate(seen), first, weight[row], row)

    @classmethod
    def of_data(cls, statistics: CovariateStatistics) -> PseudoRows:
        """The observed rows."""
        return cls.of(statistics, statistics.states, statistics.group, statistics.weight)

    @cached_property
    def back(self) -> csr_array:
        """The transpose of the matrix."""
        return self.matrix.T.tocsr()

    @cached_property
    def size(self) -> np.ndarray:
        """(N,) entries of each row and node."""
        return np.diff(np.append(self.first, self.offset.size))

    def _shares(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-odds (M,), log normalisers (N,), probabilities (M,)."""
        logs = self.matrix @ w + self.offset
        if self.first.size == logs.size:  # binary
            log_z = np.logaddexp(0.0, logs)
            return logs, log_z, np.exp(logs - log_z)
        top = np.maximum(np.maximum.reduceat(logs, self.first), 0.0)
        total = np.add.reduceat(np.exp(logs - np.repeat(top, self.size)), self.first) + np.exp(-top)
        log_z = top + np.log(total)
        return logs, log_z, np.exp(logs - np.repeat(log_z, self.size))

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        logs, log_z, share = self._shares(w)
        each = np.repeat(self.weight, self.size)
        value = float((each * self.seen) @ logs - self.weight @ log_z)
        return value, np.asarray(self.back @ (each * (self.seen - share)))

    def _segments(self, values: np.ndarray, by_row: bool) -> csr_array:
        """(N, P), or (n, P): sums of ``values`` times the matrix over the entries of each row and node, or row."""
        from scipy.sparse import csr_array

        row = np.repeat(self.row if by_row else np.arange(self.first.size), self.size)
        shape = (int(row.max()) + 1, self.offset.size)
        sums: csr_array = csr_array((values, (row, np.arange(row.size))), shape=shape) @ self.matrix
        return sums

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Minus the second derivatives (P, P)."""
        from scipy.sparse import diags_array

        share = self._shares(w)[2]
        each = np.repeat(self.weight, self.size)
        mean = self._segments(share, by_row=False)
        square = self.back @ diags_array(each * share) @ self.matrix - mean.T @ diags_array(self.weight) @ mean
        return np.asarray(square.toarray())

    def scores(self, w: np.ndarray) -> np.ndarray:
        """(n, P) derivatives of each row's log pseudolikelihood, for a weight of one."""
        return np.asarray(self._segments(self.seen - self._shares(w)[2], by_row=True).toarray())


@dataclass(frozen=True, eq=False)
class Turned:
    """``log_likelihood`` at centre + stretch (w - centre): the same maximum, with the curvature of Godambe."""

    log_likelihood: PseudoRows
    centre: np.ndarray
    stretch: np.ndarray

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = self.log_likelihood(self._at(w))
        return value, slope @ self.stretch

    def _at(self, w: np.ndarray) -> np.ndarray:
        return np.asarray(self.centre + self.stretch @ (w - self.centre))

    def curvature(self, w: np.ndarray) -> np.ndarray:
        """Minus the second derivatives (P, P)."""
        return np.asarray(self.stretch.T @ self.log_likelihood.curvature(self._at(w)) @ self.stretch)

    @property
    def information(self) -> np.ndarray:
        """The curvature (P, P) at the centre, with that of the weak prior."""
        return np.asarray(self.curvature(self.centre) + RIDGE * self.stretch.T @ self.stretch)


@dataclass(frozen=True, eq=False)
class WithPrior:
    """A log-likelihood plus a log prior."""

    log_likelihood: ExactRows | PseudoRows | Turned
    prior: Prior

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = self.log_likelihood(w)
        return value + self.prior.log_density_w(w), slope + self.prior.gradient_w(w)

    def curvature(self, w: np.ndarray) -> np.ndarray:
        return less_hessian(self.log_likelihood.curvature(w), self.prior.hessian_w(w))


def statistics_of(problem: Problem) -> CovariateStatistics:
    """The data of a problem with covariates."""
    found = problem.statistics
    assert isinstance(found, CovariateStatistics)
    if problem.prior.custom is not None:
        raise InputError("prior: fields with covariates take named priors, which have derivatives.")
    return found


def find_mode(objective: Curved, start: np.ndarray) -> np.ndarray:
    """The maximum: by quasi-Newton steps, then Newton's."""
    from scipy.optimize import minimize

    def minus(w: np.ndarray) -> tuple[float, np.ndarray]:
        budget().check("the posterior mode")
        value, slope = objective.value_gradient(w)
        return -value, -slope

    found = minimize(minus, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "maxcor": 30})
    return newton(objective, found.x, max_iterations=5, tolerance=1e-4).w


def _prepared(
    problem: Problem, target: ExactRows | Turned, details: dict[str, object], notes: tuple[str, ...]
) -> Prepared:
    def smooth() -> Smooth:
        objective = WithPrior(target, problem.prior)
        start = target.centre if isinstance(target, Turned) else np.zeros(problem.model.n_parameters)
        mode = find_mode(objective, start)
        return Smooth(target, mode, objective.curvature(mode))

    return Prepared(None, gradient=target, smooth=smooth, details=details, notes=notes)


def prepare_exact(problem: Problem) -> Prepared:
    """The likelihood of a field with covariates."""
    statistics = statistics_of(problem)
    target = ExactRows(statistics)
    groups = statistics.design.n_fields
    return _prepared(problem, target, {"fields": groups, "enumerated": target.table is not None}, ())


def check_exact(model: CovariateModel) -> None:
    """Refuse a run that would take too long."""
    seconds = TYPICAL_GRADIENTS * ExactRows.seconds(model)
    if seconds > MAX_SECONDS:
        raise CostError(
            f"'exact' would take about {seconds / 3600:.1f} hours here: {model.n_designs} distinct values of the "
            "covariates have a partition function each; use method='langevin' or 'pseudo', or round the covariates."
        )


def prepare_pseudo(problem: Problem) -> Prepared:
    """The pseudolikelihood with the curvature of Godambe's information."""
    target, source = stretched(problem, PseudoRows.of_data(statistics_of(problem)), problem.model)
    note = (
        "the pseudolikelihood was stretched to the curvature of Godambe's information (its sandwich covariance), "
        f"from {source}."
    )
    return _prepared(problem, target, {"sandwich": source}, (note,))


def stretched(problem: Problem, rows: PseudoRows, model: Model) -> tuple[Turned, str]:
    """The stretched pseudolikelihood of ``model`` around its maximum, and what its sandwich covariance is made of."""
    ridge = Prior(model, f"normal(0, {RIDGE**-0.5:g})")
    centre = find_mode(WithPrior(rows, ridge), np.zeros(model.n_parameters))
    stretch, source = sandwich(problem, rows, centre)
    return Turned(rows, centre, stretch), source


def sandwich(problem: Problem, rows: PseudoRows, w: np.ndarray) -> tuple[np.ndarray, str]:
    """C with C'HC = H J^-1 H at w, and where J came from: the rows' scores, or those of simulated rows."""
    statistics = statistics_of(problem)
    n, p = len(statistics.states), w.size
    hessian = rows.curvature(w)
    if n >= ROWS_PER_PARAMETER * p:
        scores, weight, source = rows.scores(w), statistics.weight, f"the scores of {n} rows"
        scores = scores - weight @ scores / weight.sum()
    else:
        copies = max(2, -(-SIMULATED_PER_PARAMETER * p // n), -(-200 // n))
        chains = RowChains(statistics, np.repeat(np.arange(n), copies), 1, 1, child(problem.seed, "sandwich"))
        chains.set_parameters(statistics.design.at(w)[None])
        chains.moments(SIMULATED_SWEEPS, 0)
        of = np.repeat(np.arange(n), copies)
        weight = statistics.weight[of] / copies
        simulated = PseudoRows.of(statistics, chains.x[0, 0], statistics.group[of], weight)
        scores, source = simulated.scores(w), f"the scores of {of.size} simulated rows"
    # A direction in which no score varies keeps the curvature that it has.
    variance = (scores * weight[:, None]).T @ scores + 1e-6 * hessian + 1e-9 * np.eye(p)
    hessian = hessian + RIDGE * np.eye(p)
    information = hessian @ np.linalg.solve(variance + RIDGE * np.eye(p), hessian)
    lower, other = np.linalg.cholesky(hessian), np.linalg.cholesky((information + information.T) / 2)
    return np.linalg.solve(lower.T, other.T), source
