r"""The posterior mode of a dense field and the covariance there, from persistent Gibbs chains.

Chord Newton: :math:`w \leftarrow w + S g(w)` with the gradient g from particles (Rao-Blackwellised), and S kept while
it serves. With C the covariance of the statistics from N particles,

.. math:: S = (n a \hat C + \Lambda)^{-1}, \qquad a = N / (N - d_{eff}), \quad d_{eff} = p - \mathrm{tr}(\Lambda S),

where a undoes, to leading order, that the mean of an inverse is not the inverse of the mean, and leaves the prior's
curvature Lambda alone.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import CalibrationError, InputError, MRFWarning, calibrating
from mrfbayes.base.random_streams import child, generator, kernel_state
from mrfbayes.data.statistics import Statistics, count_states
from mrfbayes.estimation.pseudolikelihood import pseudo_estimate
from mrfbayes.estimation.result import Outcome, Recorder, Task
from mrfbayes.model.field import Model
from mrfbayes.model.natural_form import MOST_DENSE_PARAMETERS, DenseLayout, node_levels
from mrfbayes.particles.completions import Completions, make_completions, typical_rows
from mrfbayes.particles.dense import ChainEnsemble, Layout, cell_layout, make_ensemble
from mrfbayes.priors import Prior

REPLICAS, CHAINS = 8, 256  # half of the replicas start at the data, the others at random
LEAST_IN_ALL = 8_192
FIRST_PER_PARAMETER, MOST_PER_PARAMETER = 4, 64  # per parameter
MORE_PARTICLES = 4  # times as many as the last metric had: from 16 per parameter on, steps shrink by a third at least
BURN_IN_SWEEPS, GAP_SWEEPS = 30, 1  # sweeps after the start, and between the snapshots that a covariance is made of
SKIPPED_SWEEPS, COUNTED_SWEEPS = 10, 20  # sweeps of a gradient
MOST_COMPLETED = 100  # sweeps of missing cells for a gradient, where these are sampled
LONGEST_STEP = 0.7  # of a log-odds
RENEW = 0.4  # S is made anew where the Newton decrement has not fallen below this share
MOST_STEPS = 25
WANTED = 0.015  # posterior sds: noise of the mode (root mean square)
MOST_POOLED = 64  # gradients of one step
FEW_NEIGHBOURS = 8  # coins of sparser fields are calibrated block by block
NEAR_MODE_SD = 0.3  # posterior sds: from here on S has to be good
SEEN_AT_LEAST = 0.05  # information of a statistic that no particle shows, where no prior gives any
NARROWER = "give the parameters a narrower prior, or use method='pseudo'"
START_TOLERANCE = 0.05  # posterior sds of the pseudolikelihood
FAR_DENSE = 0.2  # posterior sds: what the mode may move before S is made anew
FINE_PARAMETERS, FINE_TOLERANCE = 400, 0.0065  # up to so many parameters a finer tolerance costs little
MAX_START_ERRORS, MAX_START_SD = 5.0, 0.1  # standard errors between chains from two starts; posterior sds


@dataclass(frozen=True)
class DenseMode:
    """The mode and what was found there.

    Attributes
    ----------
    w : (p,) the mode
    factor : (p, p) L with S = L L^T, the covariance of the Gaussian at the mode
    converged : whether the steps had become as small as their noise when they ended
    error : how far w is off, in posterior sds (root mean square), as fresh particles show it
    noise : the Monte-Carlo error of w that is expected, in the same units
    residual : the largest whitened gradient that fresh particles show, in standard errors
    largest_noise : the largest Monte-Carlo error of a whitened gradient there, in posterior sds
    standard_error : (p,) Monte-Carlo standard errors of w
    disagreement : difference between particles that started at the data and at random, in standard errors
    particles : N behind S
    steps : Newton steps
    means : (levels,) probabilities of the states 1, 2, ... of every node at the mode
    rows : (k, d) particles at the mode
    complete_sd : (p,) the sds that complete data would leave, where cells are missing
    slope : (p,) gradient of the log-likelihood at the mode, by fresh particles
    """

    w: np.ndarray
    factor: np.ndarray
    particles: int
    steps: int
    converged: bool = True
    error: float = 0.0
    noise: float = 0.0
    residual: float = 0.0
    largest_noise: float = 0.0
    disagreement: float = 0.0
    standard_error: np.ndarray | None = None
    means: np.ndarray = field(default_factory=lambda: np.zeros(0))
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0))
    complete_sd: np.ndarray | None = None
    slope: np.ndarray | None = None

    @property
    def sd(self) -> np.ndarray:
        """(p,) sds of the Gaussian at the mode."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.factor, self.factor)))


class DensePosterior:
    """A dense field with its data and prior (None: likelihood alone): gradients from moments, and the metric."""

    def __init__(self, layout: Layout, statistics: Statistics, prior: Prior | None) -> None:
        self.layout, self.statistics, self.prior = layout, statistics, prior
        self.n = float(statistics.n_all)
        self._back = layout.forward.T.tocsr()
        self.is_identity = bool(
            layout.forward.shape[0] == layout.forward.shape[1]
            and layout.forward.nnz == layout.forward.shape[0]
            and (layout.forward.diagonal() == 1.0).all()
        )

    def ensemble(
        self, mode: DenseMode, replicas: int, chains: int, threads: int, seed: np.random.SeedSequence
    ) -> ChainEnsemble:
        """Chains of all replicas, at particles of the mode."""
        random = kernel_state(seed, "chains")
        made = make_ensemble(self.layout, mode.means, replicas, chains, random, threads)
        chosen = generator(seed, "start").integers(len(mode.rows), size=made.n_chains)
        made.start(mode.rows[chosen])
        return made

    def completions(self, replicas: int, seed: np.random.SeedSequence) -> Completions:
        """What the data are expected to have in full."""
        return make_completions(self.layout, self.statistics, replicas, seed)

    def natural(self, w: np.ndarray) -> np.ndarray:
        """Natural parameters (..., natural) of w (..., p)."""
        return w if self.is_identity else np.asarray((self.layout.forward @ w.T).T)

    def likelihood_gradient(self, moments: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Gradient (..., p) of the log-likelihood from E[T] (..., natural) and the data's ``counts`` (..., p).

        Where cells are missing these are what the data are expected to have in full, given what is seen of them.
        """
        flat = moments.reshape(-1, moments.shape[-1])
        expected = self.layout.constant + (flat if self.is_identity else (self._back @ flat.T).T)
        expected = self.n * expected.reshape(*moments.shape[:-1], -1)
        return np.asarray(counts - expected)

    def prior_gradient(self, w: np.ndarray) -> np.ndarray:
        """Gradient (..., p) of the log prior; nothing without one."""
        return np.zeros_like(w) if self.prior is None else self.prior.gradient_w(w)

    def prior_hessian(self, w: np.ndarray) -> np.ndarray:
        """Second derivatives (p, p) or (p,) of the log prior; without one, a little that keeps S positive definite."""
        return np.full(w.size, -SEEN_AT_LEAST) if self.prior is None else self.prior.hessian_w(w)

    def factor(
        self, covariance: np.ndarray, w: np.ndarray, particles: int, d_eff: float, clamped: np.ndarray | None = None
    ) -> np.ndarray:
        """L (p, p) of the metric S = L L^T at w; ``covariance`` of T is overwritten.

        ``clamped`` (p, p) is what missing cells take from the information; it is noisy where it was sampled, and as
        much of it is left out as keeps the rest positive definite.
        """
        information = self._information(covariance, w, particles, d_eff)
        if clamped is not None:
            for share in (1.0, 0.8, 0.5):
                try:
                    return _inverse_factor(information - share * clamped)
                except CalibrationError:
                    continue
        return _inverse_factor(information)

    def _information(self, covariance: np.ndarray, w: np.ndarray, particles: int, d_eff: float) -> np.ndarray:
        information = covariance if self.is_identity else np.asarray(self._back @ (self._back @ covariance).T)
        information *= self.n * particles / (particles - min(d_eff, 0.7 * particles))
        hessian = self.prior_hessian(w)
        if hessian.ndim == 1:
            information[np.diag_indices_from(information)] += np.maximum(-hessian, 0.0)
        else:
            information -= hessian
        return information

    def effective(self, factor: np.ndarray, w: np.ndarray) -> float:
        """d_eff, the number of parameters that the data rather than the prior determine."""
        hessian = self.prior_hessian(w)
        p = len(factor)
        if hessian.ndim == 1:
            return float(p - np.maximum(-hessian, 0.0) @ np.einsum("ij,ij->i", factor, factor))
        return float(p + np.sum((hessian @ factor) * factor))


def _inverse_factor(information: np.ndarray) -> np.ndarray:
    """L with L L^T the inverse of ``information``, which is overwritten."""
    from scipy.linalg import cholesky
    from scipy.linalg.lapack import dtrtri

    # Symmetric, so its transpose is itself in the order that LAPACK overwrites instead of copying.
    with calibrating("the information at the mode is not positive definite", NARROWER):
        lower = cholesky(information.T, lower=True, overwrite_a=True, check_finite=False)
        inverse, failed = dtrtri(lower, lower=1, overwrite_c=1)
        if failed:
            raise ArithmeticError(f"its factor is zero in row {failed}")
    return np.asarray(inverse.T)


def can_be_dense(model: Model) -> bool:
    """Whether a full covariance of the field's parameters is within reach."""
    return 0 < model.n_parameters <= MOST_DENSE_PARAMETERS


def is_dense(model: Model) -> bool:
    """Whether a full covariance is within reach and no cheaper way is known: most pairs interact, or hubs have many."""
    is_sparse = 4 * model.n_edges < model.n_nodes * (model.n_nodes - 1)  # less than half of all pairs
    if is_sparse and np.diff(model.adjacency.offset).max(initial=0) <= FEW_NEIGHBOURS:
        return False
    return can_be_dense(model)


def level_means(layout: Layout, statistics: Statistics) -> np.ndarray:
    """(levels,) frequencies of the states 1, 2, ... of every node, shrunk so that none is 0 or 1; even if not known."""
    node, state = node_levels(layout.states)
    if not len(statistics.rows):
        return np.asarray(1.0 / layout.states[node])
    rows, weights = statistics.rows, statistics.row_weights
    seen = np.array([weights @ (rows[:, i] == a) for i, a in zip(node.tolist(), state.tolist(), strict=True)])
    return np.asarray((seen + 0.5) / (weights.sum() + 0.5 * layout.states[node]))


class Newton(NamedTuple):
    """A Newton step and what it was made of, whitened (p,): its direction, and the variance of its noise."""

    step: np.ndarray
    direction: np.ndarray
    variance: np.ndarray

    @property
    def decrement(self) -> float:
        """Length in posterior sds per parameter."""
        return float(np.sqrt(np.mean(self.direction**2)))

    @property
    def noise(self) -> float:
        """That of its noise."""
        return float(np.sqrt(np.mean(self.variance)))


def dense_mode(
    posterior: DensePosterior,
    seed: np.random.SeedSequence,
    chains: int = CHAINS,
    threads: int = 1,
    wanted: float = WANTED,
) -> DenseMode:
    """Find the mode by ``chains`` chains of each of `REPLICAS` groups; see the module's docstring.

    ``wanted`` is the noise of the mode at which to stop, in posterior sds.
    """
    layout, prior, statistics = posterior.layout, posterior.prior, posterior.statistics
    completions = make_completions(layout, statistics, REPLICAS, child(seed, "completions"))
    if statistics.incomplete is not None:
        # Rows to start from, with missing cells filled from the frequencies of each variable.
        rows = typical_rows(statistics, generator(seed, "fill"))
        n = statistics.n_all
        statistics = replace(statistics, rows=rows, row_weights=np.full(len(rows), n / len(rows)), n=n, incomplete=None)
    means = level_means(layout, statistics)
    ensemble = make_ensemble(layout, means, REPLICAS, chains, kernel_state(seed, "mode"), threads)
    ensemble.start(_two_starts(statistics.rows, layout.states, ensemble.n_chains, generator(seed, "start")))
    w = _start(statistics, prior)
    p = w.size
    particles = max(FIRST_PER_PARAMETER * p, LEAST_IN_ALL) // MORE_PARTICLES

    def metric(at: np.ndarray, d_eff: float) -> np.ndarray:
        # More than before: steps that do not come nearer are those of a metric with too much noise.
        nonlocal particles
        samples = -(-min(MORE_PARTICLES * particles, max(MOST_PER_PARAMETER * p, LEAST_IN_ALL)) // ensemble.n_chains)
        particles = samples * ensemble.n_chains
        _, covariance = ensemble.products(samples, GAP_SWEEPS)
        return posterior.factor(covariance, at, particles, d_eff, completions.covariance(at))

    def step_at(pooled: int) -> Newton:
        counts = completions.at(w, min(COUNTED_SWEEPS * pooled, MOST_COMPLETED))
        return _newton(posterior, factor, w, ensemble.moments(SKIPPED_SWEEPS, COUNTED_SWEEPS * pooled), counts)

    ensemble.set_parameters(posterior.natural(w))
    ensemble.sweep(BURN_IN_SWEEPS)
    factor = metric(w, 0.8 * p)
    last, moved, pooled, steps, is_first, converged = np.inf, np.zeros(p), 1, 0, True, False
    while steps < MOST_STEPS and not converged:
        steps += 1
        newton = step_at(pooled)
        signal = float(np.sqrt(max(newton.decrement**2 - newton.noise**2, 0.0)))
        if signal > max(RENEW * last, 3.0 * newton.noise):
            factor = metric(w, posterior.effective(factor, w))
            newton = step_at(pooled)
            last, moved, is_first = np.inf, np.zeros(p), False
        else:
            last = signal
        noise = newton.noise
        share = min(1.0, LONGEST_STEP / float(np.abs(newton.step).max(initial=1e-9)))
        w, moved = w + share * newton.step, moved + share * newton.direction
        ensemble.set_parameters(posterior.natural(w))
        if is_first and signal < NEAR_MODE_SD:  # after the step, so that S is that of a place which is near
            factor = metric(w, posterior.effective(factor, w))
            last, moved, is_first = np.inf, np.zeros(p), False
        if budget().is_out:
            budget().cut(f"the search for the mode stopped after {steps} steps")
            break
        # What is left of it after this step is noise, and no more can be done about that.
        converged = signal < 2.0 * max(wanted, noise) and (noise < wanted or pooled == MOST_POOLED)
        if signal < 3.0 * noise and not converged:
            # As many gradients as bring the noise of the next step below what is wanted.
            pooled = int(np.clip(np.ceil(pooled * (noise / (0.95 * wanted)) ** 2), 1, MOST_POOLED))
    if np.sqrt(np.mean(moved**2)) > FAR_DENSE:
        factor = metric(w, posterior.effective(factor, w))
    mean = ensemble.moments(SKIPPED_SWEEPS, COUNTED_SWEEPS * pooled)
    counts = completions.at(w, min(COUNTED_SWEEPS * pooled, MOST_COMPLETED))
    fresh = _newton(posterior, factor, w, mean, counts)
    complete = None
    if posterior.statistics.incomplete is not None:
        _, covariance = ensemble.products(particles // ensemble.n_chains, GAP_SWEEPS)
        complete = posterior.factor(covariance, w, particles, posterior.effective(factor, w))
    variance = np.concatenate([factor[k : k + 512] ** 2 @ newton.variance for k in range(0, p, 512)])
    means = np.asarray(mean.mean(axis=(0, 1))[len(layout.pairs) :]) if isinstance(layout, DenseLayout) else means
    return DenseMode(
        w,
        factor,
        particles,
        steps,
        converged,
        error=float(np.sqrt(max(fresh.decrement**2 - fresh.noise**2, 0.0))),
        noise=noise,
        residual=float(np.abs(fresh.direction / np.sqrt(np.maximum(fresh.variance, 1e-300))).max(initial=0.0)),
        largest_noise=float(np.sqrt(fresh.variance.max(initial=0.0))),
        disagreement=_disagreement(mean),
        standard_error=np.sqrt(variance),
        means=means,
        rows=ensemble.rows(),
        complete_sd=None if complete is None else np.asarray(np.sqrt(np.einsum("ij,ij->i", complete, complete))),
        slope=posterior.likelihood_gradient(mean.reshape(-1, mean.shape[-1]), counts).mean(axis=0),
    )


def _start(statistics: Statistics, prior: Prior | None) -> np.ndarray:
    """Log-odds (p,) near the mode: the maximum of the pseudolikelihood, or no interaction where no rows are known."""
    model, rows = statistics.model, statistics.rows
    if not len(rows):
        return np.zeros(model.n_parameters)
    if statistics.n_kept != statistics.n or statistics.n_rows != len(rows):  # each row is worth what it stands for
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MRFWarning)  # what there is to say of the data has been said of all rows
            statistics = count_states(model, rows, statistics.row_weights)
    prior = Prior(model) if prior is None else prior  # so that it is finite
    return pseudo_estimate(model, statistics, prior, tolerance=START_TOLERANCE).w


def _two_starts(rows: np.ndarray, states: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, d): the first half at the data (where rows are known), the second at states all alike."""
    x = rng.integers(states, size=(n, states.size), dtype=np.int64).astype(np.uint8)
    if len(rows):
        x[: n // 2] = rows[rng.integers(len(rows), size=n // 2)]
    return x


def _newton(
    posterior: DensePosterior, factor: np.ndarray, w: np.ndarray, mean: np.ndarray, counts: np.ndarray
) -> Newton:
    """The Newton step at w with the moments ``mean`` (replicas, 2, natural) and the data's ``counts``."""
    parts = mean.reshape(-1, mean.shape[-1])
    whitened = posterior.likelihood_gradient(parts, counts) @ factor
    direction = whitened.mean(axis=0) + posterior.prior_gradient(w) @ factor
    noise = whitened.var(axis=0, ddof=1) / len(parts)
    return Newton(factor @ direction, direction, noise)


def _disagreement(mean: np.ndarray) -> float:
    """How far replicas that started at the data differ from those that started at random, in standard errors."""
    first, second = np.array_split(mean.reshape(-1, mean.shape[-1]), 2)
    noise = first.var(axis=0, ddof=1) / len(first) + second.var(axis=0, ddof=1) / len(second)
    return float(np.sqrt(np.mean((first.mean(axis=0) - second.mean(axis=0)) ** 2) / max(np.mean(noise), 1e-300)))


def refuse(model: Model) -> None:
    """Refuse a field whose covariance is out of reach."""
    if not can_be_dense(model):
        raise InputError(
            f"algorithm = 'chord' is for 1 to {MOST_DENSE_PARAMETERS:,} parameters, and {model!r} has "
            f"{model.n_parameters:,}: use 'pcd' or 'auto'."
        )


def run(task: Task, *, particles: int | None = None, tolerance: float | None = None) -> Outcome:
    """Newton steps with a covariance that is kept while it serves, from the maximum of the pseudolikelihood.

    Parameters
    ----------
    particles : Gibbs chains of each of eight groups; default 256
    tolerance : rms noise of the estimate, in posterior sds, at which to stop; default 0.0065, with more than 400
        parameters 0.015
    """
    if tolerance is None:
        tolerance = FINE_TOLERANCE if task.model.n_parameters <= FINE_PARAMETERS else WANTED
    layout = cell_layout(task.model)
    trace = Recorder(task)
    posterior = DensePosterior(layout, task.stats, task.prior)
    chains = CHAINS if particles is None else particles
    found = dense_mode(posterior, task.seed, chains, task.threads, tolerance)
    trace.add(0, found.error, found.w)
    warnings = []
    if found.disagreement > MAX_START_ERRORS:
        warnings.append(
            f"Gibbs chains that started at the data and at random still differ, by {found.disagreement:.1f} standard "
            "errors: the field is ordered and its chains do not mix, so the estimate cannot be trusted"
        )
    return Outcome(
        found.w,
        found.converged and found.error < MAX_START_SD and found.disagreement <= MAX_START_ERRORS,
        found.residual,
        found.steps,
        trace,
        found.largest_noise,
        found.standard_error,
        warnings,
        {"error": found.error, "noise": found.noise, "start_disagreement": found.disagreement},
    )
