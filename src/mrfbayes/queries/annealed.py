r"""Log Z by annealed importance sampling (Neal 2001), for fields that no exact recursion reaches.

Particles start from the uniform distribution and are moved by Gibbs sweeps along
:math:`f_\beta(x) = e^{\beta w \cdot s(x)}`, :math:`0 = \beta_0 < \dots < \beta_K = 1`. The weight of a particle is the
product of :math:`f_{\beta_{k+1}} / f_{\beta_k}` at its states, and its mean estimates :math:`Z / \prod_i r_i` without
bias. A short run places the levels where the energy varies most; their number is doubled until log weights vary little
enough for the error bar to be trusted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import CostError, InputError, warn_user
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state, seed_sequence
from mrfbayes.exact.quantities import Convention, convention_of, partition_offset
from mrfbayes.kernels.queries.annealed import RowTables, row_values
from mrfbayes.model.field import Model, require_model
from mrfbayes.particles.ensembles import make_chains
from mrfbayes.results.posterior import Posterior

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mrfbayes.model.ising import Ising

PILOT_PARTICLES, PILOT_LEVELS = 64, 64
TRUSTED_LOG_WEIGHT_SD = 0.7  # above it the weights' mean is ruled by few particles
MOST_UPDATES = 2e11  # of one node of one particle: some minutes bit-sliced on one core


@dataclass(frozen=True)
class AnnealedLogPartition:
    """An estimate of log Z.

    Attributes
    ----------
    log_z : float
        The estimate.
    error : float
        Its Monte-Carlo standard error.
    effective : float
        Effective number of particles.
    particles, levels : int
        Independent particles, and temperatures that each went through.
    log_weight_sd : float
        Standard deviation of the particles' log weights.
    is_trusted : bool
        Whether the log weights vary little enough for the error to be a standard error.
    convention : str
        What the weight of a configuration is: see `mrfbayes.log_partition`.
    """

    log_z: float
    error: float
    effective: float
    particles: int
    levels: int
    log_weight_sd: float
    is_trusted: bool
    convention: str

    def __repr__(self) -> str:
        trust = "" if self.is_trusted else "; error bar NOT to be trusted: more levels are needed"
        return (
            f"<AnnealedLogPartition: {self.log_z:.4f} +- {self.error:.4f} ({self.convention!r} convention), "
            f"{self.effective:.0f} effective of {self.particles} particles, {self.levels} levels{trust}>"
        )


def annealed_log_partition(
    model: Model,
    theta: ArrayLike | Ising,
    *,
    convention: Convention | None = None,
    particles: int = 256,
    levels: int | None = None,
    rng: Seed | None = None,
    progress: bool = True,
) -> AnnealedLogPartition:
    """Log Z with an error bar, by annealed importance sampling, at any size.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like or Ising
        Parameters in the order of ``model.parameters``.
    convention : {"weights", "log-odds", "boltzmann"}, optional
        What the weight of a configuration is, as for `log_partition`.
    particles : int, default 256
        Independent particles: the error falls with their square root.
    levels : int, optional
        Temperatures that each particle goes through; by default as many as make the error bar trustworthy.
    rng : int, SeedSequence or Generator, optional
        Seed of the particles.
    progress : bool, default True
        Show a bar when it takes more than two seconds.

    Returns
    -------
    AnnealedLogPartition
        The estimate, its Monte-Carlo standard error and diagnostics.

    Raises
    ------
    CostError
        Where that many levels would take too long.

    Notes
    -----
    The estimate of Z is unbiased, that of log Z slightly low. Where the field is frozen into many unlike states
    (strong, frustrated couplings) particles do not visit them in proportion, and log Z is too low by more than the
    error bar says.

    See Also
    --------
    log_partition : the exact value, where it can be had.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(6, 6)
    >>> estimate = mb.annealed_log_partition(model, 0.65, progress=False)
    >>> bool(abs(estimate.log_z - mb.log_partition(model, 0.65)) < 4 * estimate.error)
    True
    """
    require_model(model)
    if isinstance(theta, Posterior):
        raise InputError("theta: annealing takes one point, not a Posterior: pass theta=posterior.mean.")
    used = convention_of(theta, convention)
    w = model.chart.log_odds(model.theta(theta))
    offset = partition_offset(model, w, used)
    particles = whole("particles", particles, 8)
    seed = seed_sequence(rng)
    run = anneal(model, w, np.ones(1), particles, None if levels is None else whole("levels", levels), seed, progress)
    log_z, error = run.log_z()
    spread = float(run.log_weights[-1].std(ddof=1))
    trusted = spread <= 2 * TRUSTED_LOG_WEIGHT_SD
    if not trusted:
        warn_user(
            f"annealed_log_partition: log weights have a standard deviation of {spread:.1f} after {run.levels} levels, "
            "so that few particles rule the estimate and its error bar is too small: give more levels=."
        )
    return AnnealedLogPartition(
        float(log_z[-1] + offset), float(error[-1]), run.effective(-1), particles, run.levels, spread, trusted, used
    )


@dataclass(frozen=True)
class AnnealedRun:
    """Particles along a ladder: (stops, n) log weights, relative to the uniform distribution, and w.s of states."""

    log_states: float
    log_weights: np.ndarray
    values: np.ndarray
    levels: int

    def log_z(self) -> tuple[np.ndarray, np.ndarray]:
        """Log of the sum of exp(beta w.s) at every stop, and its standard error."""
        top = self.log_weights.max(axis=1)
        weight = np.exp(self.log_weights - top[:, None])
        mean, n = weight.mean(axis=1), weight.shape[1]
        error = weight.std(axis=1, ddof=1) / (mean * math.sqrt(n))
        return np.asarray(self.log_states + top + np.log(mean)), np.asarray(error)

    def shares(self) -> np.ndarray:
        """(stops, n) normalised weights."""
        weight = np.exp(self.log_weights - self.log_weights.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def effective(self, stop: int) -> float:
        """Effective number of particles at a stop."""
        return float(1.0 / (self.shares()[stop] ** 2).sum())


def anneal(
    model: Model,
    log_odds: np.ndarray,
    stops: np.ndarray,
    particles: int,
    levels: int | None,
    seed: np.random.SeedSequence,
    progress: bool,
) -> AnnealedRun:
    """Particles annealed to every inverse temperature of ``stops`` (ascending, positive)."""
    even = np.linspace(0.0, float(stops[-1]), PILOT_LEVELS + 1)
    _, _, sd = _run(model, log_odds, even, even[1:], PILOT_PARTICLES, child(seed, "pilot"), False)
    length = np.concatenate([[0.0], np.cumsum(np.maximum(sd, 1e-3 * sd.max() + 1e-12) * even[1])])

    def ladder(count: int) -> np.ndarray:
        """Inverse temperatures at which the energy's sd makes equal steps, with all stops among them."""
        steps = np.interp(np.linspace(0.0, length[-1], count + 1), length, even)
        return np.unique(np.concatenate([steps, stops]))

    fixed = levels is not None
    # One step of size d between levels adds about (d sd)^2 to the variance of log weights.
    levels = levels or max(32, math.ceil(2.0 * length[-1] ** 2 / TRUSTED_LOG_WEIGHT_SD**2))
    most = MOST_UPDATES / (particles * model.n_nodes * make_chains(model, 1, kernel_state(seed, "cost")).update_cost)
    while True:
        if levels > most:
            raise CostError(
                f"annealing {particles} particles of {model.n_nodes:,} nodes needs some {levels:,} levels, at most "
                f"{most:,.0f} are feasible: use fewer particles=, or give levels= and look at is_trusted."
            )
        betas = ladder(levels)
        weights, values, _ = _run(model, log_odds, betas, stops, particles, child(seed, "run", levels), progress)
        if fixed or weights[-1].std(ddof=1) <= TRUSTED_LOG_WEIGHT_SD or 2 * levels > most:
            break
        levels *= 2
    return AnnealedRun(float(np.log(model.states).sum()), weights, values, len(betas) - 1)


def _run(
    model: Model,
    log_odds: np.ndarray,
    betas: np.ndarray,
    stops: np.ndarray,
    particles: int,
    seed: np.random.SeedSequence,
    progress: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log weights and values w.s (stops, n), and the sd of w.s after every level."""
    chains = make_chains(model, particles, kernel_state(seed, "sweeps"))
    chains.start_at_random(generator(seed, "start"))
    values_of = _RowValues(model, log_odds)
    value = values_of(chains.rows())
    weight, sd = np.zeros(particles), np.empty(len(betas) - 1)
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    with Progress("annealing", len(betas) - 1, progress) as bar:
        for k, (before, beta) in enumerate(pairwise(betas)):
            budget().check("annealing")
            weight = weight + (beta - before) * value
            chains.sweep(beta * log_odds, 1)
            value = values_of(chains.rows())
            sd[k] = value.std()
            if beta in stops:
                kept.append((weight, value))
            bar.update(k + 1)
    return np.array([pair[0] for pair in kept]), np.array([pair[1] for pair in kept]), sd


class _RowValues:
    """w.s(x) of rows (n, d), by a kernel: `row_log_weights` takes as long as the sweeps."""

    def __init__(self, model: Model, log_odds: np.ndarray) -> None:
        lowering = model.lowering
        self.constant = float(lowering.constant @ log_odds)
        node, edge = lowering.potentials(log_odds)
        if lowering.binary:  # as tables of states
            node, edge = np.multiply.outer(node, [0.0, 1.0]).ravel(), np.multiply.outer(edge, np.eye(2)).ravel()
        pairs, states, node_offset, edge_offset = (
            np.array(part, dtype=np.int64, order="C")
            for part in (lowering.pairs, lowering.states, lowering.node_offset, lowering.edge_offset)
        )
        self.tables = RowTables(pairs, states, node_offset, edge_offset, np.array(node), np.array(edge))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty(len(rows))
        row_values(self.tables, rows, out)
        return out + self.constant
