r"""The posterior mode of a dense field and the covariance there, from persistent Gibbs chains.

Chord Newton: :math:`w \leftarrow w + S g(w)` with the gradient g from particles (Rao-Blackwellised), and S kept while
it serves. With C the covariance of the statistics from N particles,

.. math:: S = (n a \hat C + \Lambda)^{-1}, \qquad a = N / (N - d_{eff}), \quad d_{eff} = p - \mathrm{tr}(\Lambda S),

where a undoes, to leading order, that the mean of an inverse is not the inverse of the mean, and leaves the prior's
curvature Lambda alone.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from mrfbayes.base.errors import MRFWarning
from mrfbayes.base.failures import calibrating
from mrfbayes.base.random_streams import generator, kernel_state
from mrfbayes.data.statistics import Statistics, count
from mrfbayes.estimation.pseudolikelihood import pseudo_estimate
from mrfbayes.model.natural_form import DenseLayout
from mrfbayes.particles.dense import DenseEnsemble
from mrfbayes.priors import Prior

REPLICAS, CHAINS = 8, 256  # half of the replicas start at the data, the others at random
PARTICLES_PER_PARAMETER = 8
BURN_IN, BETWEEN = 30, 1  # sweeps after the start, and between the snapshots that a covariance is made of
SKIPPED, COUNTED = 10, 20  # sweeps of a gradient
LONGEST_STEP = 0.7  # of a log-odds
RENEW = 0.4  # S is made anew where the Newton decrement has not fallen below this share
MOST_STEPS = 25
WANTED = 0.015  # posterior sds: noise of the mode (root mean square)
MOST_POOLED = 64  # gradients of one step
NARROWER = "give the parameters a narrower prior, or use method='pseudo'"
START_TOLERANCE = 0.05  # posterior sds of the pseudolikelihood
FAR_DENSE = 0.2  # posterior sds: what the mode may move before S is made anew


@dataclass(frozen=True)
class DenseMode:
    """The mode and what was found there.

    Attributes
    ----------
    w : (p,) the mode
    factor : (p, p) L with S = L L^T, the covariance of the Gaussian at the mode
    error : how far w is off, in posterior sds (root mean square), as fresh particles show it
    noise : the Monte-Carlo error of w that is expected, in the same units
    disagreement : difference between particles that started at the data and at random, in standard errors
    particles : N behind S
    steps : Newton steps
    means : (levels,) probabilities of the states 1, 2, ... of every node at the mode
    rows : (k, d) particles at the mode
    """

    w: np.ndarray
    factor: np.ndarray
    error: float
    noise: float
    disagreement: float
    particles: int
    steps: int
    means: np.ndarray
    rows: np.ndarray

    @property
    def sd(self) -> np.ndarray:
        """(p,) spread of the Gaussian at the mode."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.factor, self.factor)))


class DensePosterior:
    """A dense field with its data and prior: gradients from moments, and the metric from covariances."""

    def __init__(self, layout: DenseLayout, statistics: Statistics, prior: Prior) -> None:
        self.layout, self.statistics, self.prior = layout, statistics, prior
        self.n = float(statistics.n)
        self._back = layout.forward.T.tocsr()
        self.is_identity = bool(
            layout.forward.shape[0] == layout.forward.shape[1]
            and layout.forward.nnz == layout.forward.shape[0]
            and (layout.forward.diagonal() == 1.0).all()
        )

    def natural(self, w: np.ndarray) -> np.ndarray:
        """Natural parameters (..., natural) of w (..., p)."""
        return w if self.is_identity else np.asarray((self.layout.forward @ w.T).T)

    def likelihood_gradient(self, moments: np.ndarray) -> np.ndarray:
        """Gradient (..., p) of the log-likelihood from E[T] (..., natural)."""
        flat = moments.reshape(-1, moments.shape[-1])
        expected = self.layout.constant + (flat if self.is_identity else (self._back @ flat.T).T)
        return np.asarray(self.statistics.counts - self.n * expected).reshape(*moments.shape[:-1], -1)

    def factor(self, covariance: np.ndarray, w: np.ndarray, particles: int, d_eff: float) -> np.ndarray:
        """L (p, p) of the metric S = L L^T at w; ``covariance`` of T is overwritten."""
        from scipy.linalg import cholesky
        from scipy.linalg.lapack import dtrtri

        if self.is_identity:
            information = covariance
        else:
            information = np.asarray(self._back @ (self._back @ covariance).T)
        information *= self.n * particles / (particles - min(d_eff, 0.7 * particles))
        hessian = self.prior.hessian_w(w)
        if hessian.ndim == 1:
            information[np.diag_indices_from(information)] += np.maximum(-hessian, 0.0)
        else:
            information -= hessian
        # Symmetric, so its transpose is itself in the order that LAPACK overwrites instead of copying.
        with calibrating("the information at the mode is not positive definite", NARROWER):
            lower = cholesky(information.T, lower=True, overwrite_a=True, check_finite=False)
            inverse, failed = dtrtri(lower, lower=1, overwrite_c=1)
            if failed:
                raise ArithmeticError(f"its factor is zero in row {failed}")
        return np.asarray(inverse.T)

    def effective(self, factor: np.ndarray, w: np.ndarray) -> float:
        """d_eff, the number of parameters that the data rather than the prior determine."""
        hessian = self.prior.hessian_w(w)
        p = len(factor)
        if hessian.ndim == 1:
            return float(p - np.maximum(-hessian, 0.0) @ np.einsum("ij,ij->i", factor, factor))
        return float(p + np.sum((hessian @ factor) * factor))


def level_means(layout: DenseLayout, statistics: Statistics) -> np.ndarray:
    """(levels,) frequencies of the states 1, 2, ... of every node, shrunk so that none is 0 or 1; even if not known."""
    sizes = layout.states - 1
    node = np.repeat(np.arange(sizes.size), sizes)
    state = np.arange(node.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    if not len(statistics.rows):
        return np.asarray(1.0 / layout.states[node])
    rows = statistics.rows
    seen = np.array([(rows[:, i] == a).sum() for i, a in zip(node.tolist(), state.tolist(), strict=True)])
    return np.asarray((seen + 0.5) / (len(rows) + 0.5 * layout.states[node]))


def dense_mode(posterior: DensePosterior, seed: np.random.SeedSequence, chains: int = CHAINS) -> DenseMode:
    """Find the mode by ``chains`` chains of each of `REPLICAS` groups; see the module's docstring."""
    layout, prior, statistics = posterior.layout, posterior.prior, posterior.statistics
    means = level_means(layout, statistics)
    ensemble = DenseEnsemble(layout, means, REPLICAS, chains, kernel_state(seed, "mode"))
    ensemble.start(_two_starts(posterior, ensemble.n_chains, generator(seed, "start")))
    w = _start(statistics, prior)
    p = w.size
    samples = max(1, -(-PARTICLES_PER_PARAMETER * p // ensemble.n_chains))
    particles = samples * ensemble.n_chains

    def metric(at: np.ndarray, d_eff: float) -> np.ndarray:
        _, covariance = ensemble.products(samples, BETWEEN)
        return posterior.factor(covariance, at, particles, d_eff)

    ensemble.set_parameters(posterior.natural(w))
    ensemble.sweep(BURN_IN)
    factor = metric(w, 0.8 * p)
    last, moved, pooled, steps = np.inf, 0.0, 1, 0
    while steps < MOST_STEPS:
        steps += 1
        step, decrement, noise = _newton(posterior, ensemble, factor, w, pooled)
        signal = float(np.sqrt(max(decrement**2 - noise**2, 0.0)))
        if signal > max(RENEW * last, 3.0 * noise):
            factor = metric(w, posterior.effective(factor, w))
            step, decrement, noise = _newton(posterior, ensemble, factor, w, pooled)
            last, moved = np.inf, 0.0
        else:
            last = signal
        moved += decrement
        w = w + step * min(1.0, LONGEST_STEP / float(np.abs(step).max(initial=1e-9)))
        ensemble.set_parameters(posterior.natural(w))
        if noise < WANTED and signal < 2.0 * WANTED:  # what is left of it after this step is noise
            break
        if signal < 3.0 * noise:  # as many gradients as bring the noise of the next step below what is wanted
            pooled = int(np.clip(np.ceil(pooled * (noise / (0.95 * WANTED)) ** 2), 1, MOST_POOLED))
    if moved > FAR_DENSE:
        factor = metric(w, posterior.effective(factor, w))
    mean = ensemble.moments(SKIPPED, COUNTED * pooled)
    _, error, fresh = _step(posterior, factor, w, mean)
    return DenseMode(
        w,
        factor,
        float(np.sqrt(max(error**2 - fresh**2, 0.0))),
        noise,
        _disagreement(mean),
        particles,
        steps,
        np.asarray(mean.mean(axis=(0, 1))[len(layout.pairs) :]),
        ensemble.rows(),
    )


def _start(statistics: Statistics, prior: Prior) -> np.ndarray:
    """Log-odds (p,) near the mode: the maximum of the pseudolikelihood, or no interaction where no rows are known."""
    model, rows = statistics.model, statistics.rows
    if not len(rows):
        return np.zeros(model.n_parameters)
    if statistics.n != len(rows):  # a sample of many rows, each worth as many as it stands for
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MRFWarning)  # what there is to say of the data has been said of all rows
            statistics = count(model, rows, weights=np.full(len(rows), statistics.n / len(rows)))
    return pseudo_estimate(model, statistics, prior, tolerance=START_TOLERANCE).w


def _two_starts(posterior: DensePosterior, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, d): the first half at the data (where rows are known), the second at states all alike."""
    rows, states = posterior.statistics.rows, posterior.layout.states
    x = rng.integers(states, size=(n, states.size), dtype=np.int64).astype(np.uint8)
    if len(rows):
        x[: n // 2] = rows[rng.integers(len(rows), size=n // 2)]
    return x


def _newton(
    posterior: DensePosterior, ensemble: DenseEnsemble, factor: np.ndarray, w: np.ndarray, pooled: int
) -> tuple[np.ndarray, float, float]:
    """The Newton step at w, its length and its noise in posterior sds per parameter."""
    return _step(posterior, factor, w, ensemble.moments(SKIPPED, COUNTED * pooled))


def _step(
    posterior: DensePosterior, factor: np.ndarray, w: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, float, float]:
    parts = mean.reshape(-1, mean.shape[-1])
    whitened = posterior.likelihood_gradient(parts) @ factor
    direction = whitened.mean(axis=0) + posterior.prior.gradient_w(w) @ factor
    noise = whitened.var(axis=0, ddof=1) / len(parts)
    return factor @ direction, float(np.sqrt(np.mean(direction**2))), float(np.sqrt(np.mean(noise)))


def _disagreement(mean: np.ndarray) -> float:
    """How far replicas that started at the data differ from those that started at random, in standard errors."""
    first, second = np.array_split(mean.reshape(-1, mean.shape[-1]), 2)
    spread = first.var(axis=0, ddof=1) / len(first) + second.var(axis=0, ddof=1) / len(second)
    return float(np.sqrt(np.mean((first.mean(axis=0) - second.mean(axis=0)) ** 2) / max(np.mean(spread), 1e-300)))
