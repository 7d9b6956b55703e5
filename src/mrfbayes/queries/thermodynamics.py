r"""Thermodynamics of a field: log Z, energy, entropy and heat capacity over temperatures.

The energy of a configuration is :math:`E(x) = -w \cdot s(x)`, for a binary field without the part that does not depend
on x, so that :math:`E = -\sum J \sigma \sigma - \sum h \sigma` for spins :math:`\sigma = \pm 1`. At temperature T the
weight of a configuration is :math:`e^{-E/T}`; T = 1 is the field itself. Then

.. math:: U = \langle E \rangle, \quad S = \log Z + U / T, \quad C = \mathrm{Var}(E) / T^2 .
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.exact.contract import refused
from mrfbayes.exact.quantities import cumulants_along, moments_w, partition_offset
from mrfbayes.model.field import Model
from mrfbayes.queries.annealed import anneal
from mrfbayes.queries.points import QUERY_DRAWS, Answer, points

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from mrfbayes.queries.points import ThetaLike

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
    import pandas as pd

    at = points(model, theta, draws, ci_prob)
    if method not in ("exact", "annealed"):
        raise InputError(f"method = {method!r}: choose 'exact' or 'annealed'.")
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
                values[k] = np.stack([_exact(model, w, t, zero) for t in scale], axis=1)
            else:
                values[k], error = _annealed(model, w, scale, zero, n, child(seed, "draw", k), progress)
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


def _exact(model: Model, w: np.ndarray, temperature: float, zero: float) -> np.ndarray:
    log_z, mean = moments_w(model, w / temperature)
    value = float(w @ mean)
    variance = float(next(cumulants_along(model, w / temperature, [w], 1))[0] @ w)
    return _quantities(log_z, value, variance, temperature, zero)


def _quantities(log_z: float, value: float, variance: float, temperature: float, zero: float) -> np.ndarray:
    """From A(w / T), and mean and variance of w.s(x): the rows of the table."""
    entropy = log_z - value / temperature
    return np.array([log_z + zero / temperature, -(value + zero), entropy, variance / temperature**2])


def _annealed(
    model: Model,
    w: np.ndarray,
    temperatures: np.ndarray,
    zero: float,
    particles: int,
    seed: np.random.SeedSequence,
    progress: bool,
) -> tuple[np.ndarray, np.ndarray]:
    run = anneal(model, w, 1.0 / temperatures[::-1], particles, None, seed, progress)
    log_z, error = run.log_z()
    share = run.shares()
    mean = (share * run.values).sum(axis=1)
    variance = (share * (run.values - mean[:, None]) ** 2).sum(axis=1)
    rows = zip(log_z[::-1], mean[::-1], variance[::-1], temperatures, strict=True)
    return np.stack([_quantities(*row, zero) for row in rows], axis=1), error[::-1]
