"""The joint density of two parameters under MLE-L, with exact draws beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.coins.coin import CoinMarginal
from mrfbayes.plots.style import COLOURS, axes_or_new, escape
from mrfbayes.results.posterior import Posterior
from mrfbayes.targets.likelihood import InducedLikelihood

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COPULA_POINTS = 161
LEVELS = (0.9, 0.5)  # contents of the contours
SHOWN_DRAWS = 2_000


def copula(
    likelihood: InducedLikelihood,
    first: int | str = 0,
    second: int | str = 1,
    *,
    exact: Posterior | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Joint density of two coins: contours that hold 50% and 90%.

    Parameters
    ----------
    likelihood : from ``mrfbayes.likelihood("mle", ..., rho=...)``
    first, second : names or places of two parameters on coins
    exact : a posterior whose draws are shown beside it, with contours of their own
    """
    if not isinstance(likelihood, InducedLikelihood):
        raise InputError(
            f"plots.copula: got {type(likelihood).__name__}; give a likelihood from mrfbayes.likelihood('mle', ...)."
        )
    if exact is not None and not isinstance(exact, Posterior):
        raise InputError(f"exact: got {type(exact).__name__}; give a posterior from mrfbayes.sample.")
    i, j = likelihood.place(first), likelihood.place(second)
    if i == j:
        raise InputError(f"plots.copula: first and second are both {likelihood.model.parameters[i]!r}; give two.")
    coins = [likelihood.marginal(k) for k in (i, j)]
    if not all(isinstance(coin, CoinMarginal) for coin in coins):
        raise InputError("plots.copula: a die's weights have no joint density in closed form; use likelihood.draw.")
    correlation = likelihood.induced.correlation
    rho = correlation.rho if correlation.matrix is None else float(correlation.matrix[i, j])
    ax = axes_or_new(ax, figsize=(4.4, 4.2))
    z = np.linspace(-3.6, 3.6, COPULA_POINTS)
    across, up = (np.asarray(coin.from_normal(z)) for coin in coins)
    # The copula's density times both marginals; in the scale of the scores it is the bivariate normal itself.
    zx, zy = np.meshgrid(z, z)
    log_normal = -0.5 * (zx**2 - 2 * rho * zx * zy + zy**2) / (1 - rho**2) - 0.5 * math.log(1 - rho**2)
    margins = np.asarray(coins[1].logpdf(up))[:, None] + np.asarray(coins[0].logpdf(across))[None, :]
    density = np.exp(log_normal + 0.5 * zx**2 + 0.5 * zy**2 + margins)
    area = np.gradient(up)[:, None] * np.gradient(across)[None, :]
    if exact is not None:
        draws = exact.draws.reshape(-1, exact.draws.shape[-1])[:, [i, j]]
        shown = draws[:: max(1, len(draws) // SHOWN_DRAWS)]
        ax.plot(shown[:, 0], shown[:, 1], ".", ms=2, color="0.75", zorder=0)
        _contours_of_draws(ax, draws)
    ax.contour(across, up, density, levels=_levels(density, area), colors=COLOURS[0], linewidths=(1.0, 1.6))
    ax.plot([], [], color=COLOURS[0], label=rf"MLE-L ($\rho$ = {rho:g})")
    names = likelihood.model.parameters
    ax.set(xlabel=rf"$\theta$ of {escape(names[i])}", ylabel=rf"$\theta$ of {escape(names[j])}")
    ax.legend(fontsize=8, frameon=False, loc="upper left")
    ax.set_title("contours hold 50% and 90%", fontsize=9)
    return ax


def _levels(density: np.ndarray, area: np.ndarray) -> list[float]:
    """Heights above which the density holds each of `LEVELS`, lowest first."""
    order = np.argsort(density.ravel())[::-1]
    mass = np.cumsum((density * area).ravel()[order])
    mass /= mass[-1]
    return [float(density.ravel()[order[np.searchsorted(mass, level)]]) for level in LEVELS]


def _contours_of_draws(ax: Axes, draws: np.ndarray) -> None:
    from scipy.stats import gaussian_kde

    used = draws[:: max(1, len(draws) // 10_000)]
    if (np.ptp(used, axis=0) < 1e-12).any():
        raise InputError("exact: its draws do not differ; the chain did not move.")
    low, high = used.min(axis=0), used.max(axis=0)
    across, up = (np.linspace(low[k], high[k], 81) for k in (0, 1))
    density = gaussian_kde(used.T)(np.stack([g.ravel() for g in np.meshgrid(across, up)])).reshape(81, 81)
    levels = _levels(density, np.ones_like(density))
    ax.contour(across, up, density, levels=levels, colors="0.35", linewidths=(0.8, 1.2), linestyles="dashed")
    ax.plot([], [], color="0.35", ls="--", label="exact")
