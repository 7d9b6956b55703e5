"""Traces: of chains, and of an estimate on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.plots.style import COLOURS, axes_or_new, escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.estimation.estimate import Estimate
    from mrfbayes.posterior.posterior import Posterior

LONG = 200  # iterations, from where on the axis is logarithmic


def chains(posterior: Posterior, parameter: int | str | None = None, *, ax: Axes | None = None) -> Axes:
    """Trace of one parameter in every chain; by default the one with the smallest effective sample size."""
    ax = axes_or_new(ax, figsize=(7, 2.6))
    if parameter is None:
        parameter = int(np.argmin(posterior.ess))
    j = posterior.parameters.index(parameter) if isinstance(parameter, str) else int(parameter)
    steps = posterior.thin * np.arange(1, posterior.draws.shape[1] + 1)
    for number, chain in enumerate(posterior.draws[:, :, j]):
        ax.plot(steps, chain, lw=0.5, color=COLOURS[number % len(COLOURS)], label=f"chain {number}")
    ax.set(xlabel="step after warm-up", ylabel=rf"$\theta$ of {escape(posterior.parameters[j])}")
    ax.set_title(f"effective sample size {posterior.ess[j]:.0f}, R-hat {posterior.r_hat[j]:.3f}", fontsize=9)
    return ax


def estimate_trace(estimate: Estimate, *, ax: Axes | None = None) -> Axes:
    """How the estimate came about: log-odds of a few parameters against the iteration, and where they ended.

    Numbers on the right are indices of the parameters. Long runs have a logarithmic axis: most of the way is short.
    """
    ax = axes_or_new(ax, figsize=(7, 2.6))
    trace = estimate.trace
    for k, j in enumerate(trace.tracked):
        colour = COLOURS[k % len(COLOURS)]
        ax.plot(trace.iteration, trace.log_odds[:, k], lw=0.8, color=colour)
        ax.axhline(estimate.log_odds[j], lw=0.6, ls=":", color=colour)
        where = (1.01, estimate.log_odds[j])
        ax.annotate(str(j), where, xycoords=ax.get_yaxis_transform(), color=colour, fontsize=7, va="center")
    if trace.iteration.size and trace.iteration[-1] > LONG:
        ax.set_xscale("log")
    state = "converged" if estimate.converged else "not converged"
    ax.set(xlabel="iteration", ylabel="log-odds")
    ax.set_title(
        f"{estimate.algorithm}: {state}, {estimate.iterations} iterations, {estimate.seconds:.2f} s", fontsize=9
    )
    return ax
