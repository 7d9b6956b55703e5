r"""Thermodynamics of a field: log Z, energy, entropy and heat capacity over temperatures.

The energy of a configuration is :math:`E(x) = -w \cdot s(x)`, for a binary field without the part that does not depend
on x, so that :math:`E = -\sum J \sigma \sigma - \sum h \sigma` for spins :math:`\sigma = \pm 1`. At temperature T the
weight of a configuration is :math:`e^{-E/T}`; T = 1 is the field itself. Then

.. math:: U = \langle E \rangle, \quad S = \log Z + U / T, \quad C = \mathrm{Var}(E) / T^2 .

Annealed importance sampling (Neal 2001) is for fields that no exact recursion reaches.
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
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import one_of, whole
from mrfbayes.base.errors import CostError, InputError, warn_user
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, generator, kernel_state, seed_sequence
from mrfbayes.exact.quantities import Convention, convention_of, cumulants_along, moments_w, partition_offset
from mrfbayes.exact.recursions import refused
from mrfbayes.kernels.queries.annealed import RowTables, row_values
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.ising import Ising
from mrfbayes.particles.ensembles import make_chains
from mrfbayes.queries.points import QUERY_DRAWS, Answer, ThetaLike, points
from mrfbayes.results.posterior import Posterior

PILOT_PARTICLES, PILOT_LEVELS = 64, 64
TRUSTED_LOG_WEIGHT_SD = 0.7  # above it the weights' mean is ruled by few particles
MOST_UPDATES = 2e11  # of one node of one particle: some minutes bit-sliced on one core
QUANTITIES = ("log_z", "energy", "entropy", "heat_capacity")


@dataclass(frozen=True, eq=False, repr=False)
class Thermodynamics(Answer):
    """Thermodynamic quantities over temperatures; see `mrfbayes.thermodynamics`.

    Attributes
    ----------
    table : pandas.DataFrame
        Index (quantity, temperature), column ``value``; for a posterior also ``sd`` and the ends of the interval. For
        ``method="annealed"`` at one theta ``error`` has the Monte-Carlo standard error of log Z.
    peak : (k,) numpy.ndarray
        Temperature of the largest heat capacity among those asked for, at each draw.
    """

    peak: np.ndarray


def thermodynamics(
    model: Model,
    theta: ThetaLike,
    *,
    temperatures: ArrayLike = 1.0,
    method: Literal["exact", "annealed"] = "exact",
    particles: int = 256,
    draws: int = QUERY_DRAWS,
    ci_prob: float = 0.9,
    rng: Seed | None = None,
    progress: bool = True,
) -> Thermodynamics:
    """Log Z, energy, entropy and heat capacity of the field at one or more temperatures.

    Parameters
    ----------
    model : Model
        The field.
    theta : (p,) array_like, Ising or Posterior
        Parameters in the order of ``model.parameters``; of a posterior, every quantity has an interval.
    temperatures : float or array_like, default 1
        Temperatures T > 0; all log-odds are divided by T.
    method : {"exact", "annealed"}
        "annealed": by annealed importance sampling, for fields past the reach of exact sums.
    particles : int, default 256
        For ``method="annealed"``.
    draws : int, default 200
        Draws of a posterior that are used.
    ci_prob : float, default 0.9
        Probability of the intervals of a posterior.
    rng : int, SeedSequence or Generator, optional
        For ``method="annealed"``.
    progress : bool, default True
        Show a bar when annealing takes more than two seconds.

    Returns
    -------
    Thermodynamics
        Log Z follows the Boltzmann convention for binary fields and "log-odds" for others: see `log_partition`.
        Entropy is in nats, heat capacity in units of Boltzmann's constant.

    Raises
    ------
    CostError
        Where exact sums do not fit into memory.

    See Also
    --------
    plots.temperature_scan : the picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> pair = mb.graph([("a", "b")])
    >>> scan = mb.thermodynamics(pair, mb.Ising(1.0), temperatures=[1.0, 100.0])
    >>> scan.table.loc["entropy", "value"].round(3).tolist()  # from frozen to log 4
    [1.058, 1.386]
    """
    at = points(model, theta, draws, ci_prob)
    one_of("method", method, ("exact", "annealed"))
    scale = _temperatures(temperatures)
    seed, n = seed_sequence(rng), whole("particles", particles, 8)
    values = np.empty((len(at.log_odds), len(QUANTITIES), scale.size))
    error = np.zeros(scale.size)
    with refused("use method='annealed', which has an error bar"):
        for k, w in enumerate(at.log_odds):
            budget().check("thermodynamics")
            # The constant part of -w.s(x), left out of the energy of spins.
            zero = partition_offset(model, w, "boltzmann" if model.is_binary else "log-odds")
            if method == "exact":
                log_z, mean, variance = np.array([_exact(model, w, t) for t in scale]).T
                values[k] = _quantities(log_z, mean, variance, scale, zero)
            else:
                run = anneal(_RowValues(model, w), 1.0 / scale[::-1], n, None, child(seed, "draw", k), progress)
                mean = (run.shares * run.values).sum(axis=1)
                variance = (run.shares * (run.values - mean[:, None]) ** 2).sum(axis=1)
                values[k] = _quantities(run.log_z[::-1], mean[::-1], variance[::-1], scale, zero)
                error = run.error[::-1]
    index = pd.MultiIndex.from_product([QUANTITIES, scale], names=["quantity", "temperature"])
    columns = at.columns(values.reshape(len(values), -1), "value")
    if method == "annealed" and not at.is_posterior:
        columns["error"] = np.concatenate([error, np.full(3 * scale.size, np.nan)])
    way, is_exact = ("exact sums", True) if method == "exact" else ("annealed importance sampling", False)
    peak = scale[values[:, QUANTITIES.index("heat_capacity")].argmax(axis=1)]
    return Thermodynamics(pd.DataFrame(columns, index=index), way, is_exact, (), peak)


def _temperatures(temperatures: ArrayLike) -> np.ndarray:
    try:
        scale = np.atleast_1d(np.array(temperatures, dtype=float))
    except (TypeError, ValueError):
        raise InputError(f"temperatures = {temperatures!r}: give positive numbers.") from None
    if scale.ndim != 1 or not scale.size or not (np.isfinite(scale) & (scale > 0)).all():
        raise InputError(f"temperatures = {temperatures!r}: give positive numbers.")
    return np.unique(scale)


def _exact(model: Model, w: np.ndarray, temperature: float) -> tuple[float, float, float]:
    """A(w / T), and mean and variance of w.s(x)."""
    log_z, mean = moments_w(model, w / temperature)
    return log_z, float(w @ mean), float(next(cumulants_along(model, w / temperature, [w], 1))[0] @ w)


def _quantities(
    log_z: np.ndarray, mean: np.ndarray, variance: np.ndarray, temperature: np.ndarray, zero: float
) -> np.ndarray:
    """From A(w / T), and mean and variance of w.s(x): the rows of the table."""
    entropy = log_z - mean / temperature
    return np.stack([log_z + zero / temperature, -(mean + zero), entropy, variance / temperature**2])


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
    InputError
        If theta is a posterior and not one point.
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
    particles, levels = whole("particles", particles, 8), None if levels is None else whole("levels", levels)
    run = anneal(_RowValues(model, w), np.ones(1), particles, levels, seed_sequence(rng), progress)
    sd = run.log_weight_sd
    if not (is_trusted := sd <= 2 * TRUSTED_LOG_WEIGHT_SD):
        warn_user(
            f"annealed_log_partition: log weights have a standard deviation of {sd:.1f} after {run.levels} levels, so "
            "that few particles rule the estimate and its error bar is too small: give more levels=."
        )
    log_z, error, effective = run.log_z[-1] + offset, run.error[-1], 1.0 / (run.shares[-1] ** 2).sum()
    numbers = float(log_z), float(error), float(effective)
    return AnnealedLogPartition(*numbers, particles, run.levels, sd, is_trusted, used)


class AnnealedRun(NamedTuple):
    """Of every stop on a ladder: log of the sum of exp(beta w.s), its error, weights (stops, n), w.s of particles."""

    log_z: np.ndarray
    error: np.ndarray
    shares: np.ndarray
    values: np.ndarray
    log_weight_sd: float
    levels: int


def anneal(
    field: _RowValues,
    stops: np.ndarray,
    particles: int,
    levels: int | None,
    seed: np.random.SeedSequence,
    progress: bool,
) -> AnnealedRun:
    """Particles annealed to every inverse temperature of ``stops`` (ascending, positive)."""
    model = field.model
    even = np.linspace(0.0, float(stops[-1]), PILOT_LEVELS + 1)
    _, _, sd = _run(field, even, even[1:], PILOT_PARTICLES, child(seed, "pilot"), False)
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
        weights, values, _ = _run(field, betas, stops, particles, child(seed, "run", levels), progress)
        if fixed or weights[-1].std(ddof=1) <= TRUSTED_LOG_WEIGHT_SD or 2 * levels > most:
            break
        levels *= 2
    top = weights.max(axis=1, keepdims=True)
    relative = np.exp(weights - top)  # to the uniform distribution, from which particles start
    mean, total = relative.mean(axis=1), relative.sum(axis=1, keepdims=True)
    log_z = float(np.log(model.states).sum()) + top[:, 0] + np.log(mean)
    error = relative.std(axis=1, ddof=1) / (mean * math.sqrt(particles))
    return AnnealedRun(log_z, error, relative / total, values, float(weights[-1].std(ddof=1)), len(betas) - 1)


def _run(
    field: _RowValues,
    betas: np.ndarray,
    stops: np.ndarray,
    particles: int,
    seed: np.random.SeedSequence,
    progress: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log weights and values w.s (stops, n), and the sd of w.s after every level."""
    chains = make_chains(field.model, particles, kernel_state(seed, "sweeps"))
    chains.start_at_random(generator(seed, "start"))
    value = field(chains.rows())
    weight, sd = np.zeros(particles), np.empty(len(betas) - 1)
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    with Progress("annealing", len(betas) - 1, progress) as bar:
        for k, (before, beta) in enumerate(pairwise(betas)):
            budget().check("annealing")
            weight = weight + (beta - before) * value
            chains.sweep(beta * field.log_odds, 1)
            value = field(chains.rows())
            sd[k] = value.std()
            if beta in stops:
                kept.append((weight, value))
            bar.update(k + 1)
    return np.array([pair[0] for pair in kept]), np.array([pair[1] for pair in kept]), sd


class _RowValues:
    """A field at some log-odds w, called for w.s(x) of rows (n, d); `row_log_weights` takes as long as sweeps."""

    def __init__(self, model: Model, log_odds: np.ndarray) -> None:
        self.model, self.log_odds, lowering = model, log_odds, model.lowering
        self.constant = float(lowering.constant @ log_odds)
        node, edge = lowering.potentials(log_odds)
        if lowering.binary:  # as tables of states
            node, edge = np.multiply.outer(node, [0.0, 1.0]).ravel(), np.multiply.outer(edge, np.eye(2)).ravel()
        parts = (lowering.pairs, lowering.states, lowering.node_offset, lowering.edge_offset)
        arrays = (np.array(part, dtype=np.int64, order="C") for part in parts)
        self.tables = RowTables._make([*arrays, np.array(node), np.array(edge)])

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty(len(rows))
        row_values(self.tables, rows, out)
        return out + self.constant
