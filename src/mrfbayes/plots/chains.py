"""Traces: of chains, and of an estimate on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.plots.style import COLOURS, FAINT, MUTED, axes_or_new, finish, label, place_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.estimation.estimate import Estimate
    from mrfbayes.results.posterior import Posterior

RANK_BINS = 20
LONG = 200  # iterations, from where on the axis is logarithmic


def chains(posterior: Posterior, parameter: int | str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the trace of one parameter in every chain.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    parameter : int or str, optional
        Position or name; by default the parameter with the smallest effective sample size.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    ranks : Rank histograms of the chains.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> len(mb.plots.chains(posterior).lines)
    4
    """
    import pandas as pd

    ax = axes_or_new(ax, figsize=(7, 2.6))
    j = int(np.argmin(posterior.ess)) if parameter is None else place_of(posterior.model, parameter)
    steps = posterior.thin * np.arange(1, posterior.draws.shape[1] + 1)
    for number, chain in enumerate(posterior.draws[:, :, j]):
        ax.plot(steps, chain, lw=0.5, color=COLOURS[number % len(COLOURS)], label=f"chain {number}", rasterized=True)
    ax.set_xlim(0, steps[-1] if steps.size else 1)
    frame = pd.DataFrame(posterior.draws[:, :, j].T, index=pd.Index(steps, name="step")).rename(
        columns="chain {}".format
    )
    text = f"effective sample size {posterior.ess[j]:,.0f}, R-hat {posterior.r_hat[j]:.3f}"
    return finish(ax, frame, f"{label(posterior.parameters[j])}: {text}", x="step after warm-up", y=r"$\theta$")


def ranks(posterior: Posterior, parameter: int | str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw rank histograms of one parameter, one row of bars per chain.

    The bars have equal heights if all chains explore the same distribution.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    parameter : int or str, optional
        Position or name; by default the parameter with the largest R-hat.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    chains : Draws in their order.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> mb.plots.ranks(posterior).get_xlabel() != ""
    True
    """
    import pandas as pd

    j = int(np.nanargmax(posterior.r_hat)) if parameter is None else place_of(posterior.model, parameter)
    draws = posterior.draws[:, :, j]
    # Equal draws, such as the zeros of an absent edge, are ranked at random: in the order of chains they would differ.
    tie = np.random.default_rng(0).random(draws.size)
    rank = np.argsort(np.lexsort((tie, draws.ravel()))).reshape(draws.shape)
    edges = np.linspace(0, draws.size, RANK_BINS + 1)
    counts = np.stack([np.histogram(chain, edges)[0] for chain in rank])
    expected = draws.shape[1] / RANK_BINS
    ax = axes_or_new(ax, figsize=(7, 0.9 + 0.5 * len(counts)))
    # Where chains agree a bar is binomial; the band holds 99% of such bars.
    band = 2.576 * np.sqrt(expected * (1 - 1 / RANK_BINS)) / expected
    centre = (edges[:-1] + edges[1:]) / 2 / draws.size
    for k, row in enumerate(counts):
        base = len(counts) - 1 - k
        ax.axhspan(base + 0.4 * (1 - band), base + 0.4 * (1 + band), color=FAINT, lw=0, zorder=0)
        ax.bar(centre, 0.4 * row / expected, 0.85 / RANK_BINS, bottom=base, color=COLOURS[k % len(COLOURS)], alpha=0.75)
        ax.axhline(base + 0.4, color=MUTED, lw=0.7)
    ax.set_yticks(np.arange(len(counts))[::-1] + 0.4, [f"chain {k}" for k in range(len(counts))])
    ax.set(xlim=(0, 1), ylim=(-0.05, len(counts) + 0.05))
    ax.tick_params(axis="y", length=0)
    frame = pd.DataFrame(counts.T, index=pd.Index(centre, name="rank")).rename(columns="chain {}".format)
    text = f"{label(posterior.parameters[j])}: ranks, R-hat {posterior.r_hat[j]:.3f}"
    return finish(ax, frame, text, x="rank among the draws of all chains (grey: 99% of bars)", spines=["bottom"])


def estimate_trace(estimate: Estimate, *, ax: Axes | None = None) -> Axes:
    """Draw the log-odds of a few parameters against the iteration of an estimate, with their final values.

    Numbers on the right are indices of the parameters. Long runs have a logarithmic axis.

    Parameters
    ----------
    estimate : Estimate
        Result of `mrfbayes.estimate`.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    mrfbayes.estimate : Makes the estimate.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> estimate = mb.estimate(model, mb.simulate(model, 0.7, 200, rng=1), algorithm="exact")
    >>> len(mb.plots.estimate_trace(estimate).lines) > 0
    True
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
        f"{estimate.method}: {state}, {estimate.iterations} iterations, {estimate.timings['run']:.2f} s", fontsize=9
    )
    return ax
