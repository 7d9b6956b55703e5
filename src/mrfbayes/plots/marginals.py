"""Marginal posteriors: curves of MLE-L's coins, and densities of any method's draws beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.coins.coin import CoinMarginal
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.plots.style import keep_table, label, nth_colour, panels_or_new, place_of
from mrfbayes.results.posterior import Posterior
from mrfbayes.targets.likelihood import InducedLikelihood

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.model.field import Model

MARGINAL_PANELS = 12  # by default: more would be too small to read
POINTS = 241
DENSITY_DRAWS = 20_000  # that a density is smoothed from


def marginals(
    *results: InducedLikelihood | Posterior,
    parameters: Sequence[int | str] | int | str | None = None,
    exact: Posterior | None = None,
    truth: Sequence[float] | np.ndarray | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Figure | Axes:
    """Draw marginal densities of theta, several methods in one panel per parameter.

    Parameters
    ----------
    *results : Likelihood or Posterior
        Likelihoods from `mrfbayes.likelihood` with method "mle", drawn as curves, and posteriors from
        `mrfbayes.sample`, drawn as densities of their draws; all of the same model.
    parameters : int, str or sequence of them, optional
        Names or positions; by default the twelve edges furthest from "no interaction" in posterior sds.
    exact : Posterior, optional
        A posterior to draw as the reference.
    truth : (p,) array_like, optional
        Theta to mark.
    labels : sequence of str, optional
        One label per result.
    ax : Axes, optional
        Axes for a single parameter; by default a figure with one panel per parameter.

    Returns
    -------
    Axes or Figure
        The axes if ``ax`` was given, else the figure.

    Raises
    ------
    InputError
        If a parameter or result cannot be drawn, or labels and results differ in number.

    See Also
    --------
    forest : Means and intervals.

    References
    ----------
    Jie Liu and Hao Zheng, MLE-induced Likelihood for Markov Random Fields.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> len(mb.plots.marginals(posterior).axes)
    2
    """
    import pandas as pd

    for result in (*results, *([] if exact is None else [exact])):
        if not isinstance(result, (InducedLikelihood, Posterior)):
            raise InputError(f"plots.marginals: got {type(result).__name__}; give likelihoods or posteriors.")
    if not results or any(result.model.fingerprint != results[0].model.fingerprint for result in results):
        wrong = "the results are of different models" if results else "give at least one likelihood or posterior"
        raise InputError(f"plots.marginals: {wrong}.")
    model = results[0].model
    places = _places(model, parameters, results)
    if ax is not None and len(places) != 1:
        raise InputError(f"plots.marginals: ax= takes one parameter, got {len(places)}; leave ax out for a figure.")
    names = [_own_label(result) for result in results] if labels is None else list(map(str, labels))
    if len(names) != len(results):
        raise InputError(f"labels: give one per result, {len(results)} in all.")
    marks = None if truth is None else model.theta(truth, "truth")
    columns = min(4, len(places))
    rows = -(-len(places) // columns)
    size = (2.7 * columns + 0.4, 2.1 * rows + 0.5)
    panels = panels_or_new(None if ax is None else [ax], rows, columns, figsize=size).ravel()
    parts = []
    for panel, j in zip(panels, places, strict=False):
        curves = {name: _curve(result, j) for name, result in zip(names, results, strict=True)}
        _panel(panel, curves, None if exact is None else _curve(exact, j), None if marks is None else marks[j])
        panel.set_xlabel(rf"$\theta$ of {label(model.parameters[j], 30)}", fontsize=8)
        for name, (theta, density) in curves.items():
            frame = pd.DataFrame({"result": name, "theta": theta, "density": density})
            parts.append(frame.assign(parameter=model.parameters[j]).set_index("parameter"))
    for panel in panels[len(places) :]:
        panel.set_visible(False)
    figure: Figure = panels[0].figure
    keep_table(figure if ax is None else ax, pd.concat(parts))
    handles, texts = panels[0].get_legend_handles_labels()
    if ax is not None:
        ax.legend(fontsize=8, frameon=False)
        return ax
    figure.legend(handles, texts, loc="outside upper center", ncols=len(texts), frameon=False, fontsize=9)
    return figure


def _places(
    model: Model, parameters: int | str | Sequence[int | str] | None, results: Sequence[InducedLikelihood | Posterior]
) -> list[int]:
    """The parameters that are drawn: by default those furthest from "no interaction" in posterior sds."""
    if parameters is None:
        first = next((result for result in results if isinstance(result, Posterior)), None)
        if model.n_parameters <= MARGINAL_PANELS or first is None:
            return list(range(min(model.n_parameters, MARGINAL_PANELS)))
        edges = int(model.chart.offset[n_edge_blocks(model)]) or model.n_parameters  # nodes are mere thresholds
        sure = (np.abs(first.mean - model.no_interaction) / np.maximum(first.sd, 1e-300))[:edges]
        return sorted(int(j) for j in np.argsort(-sure, kind="stable")[:MARGINAL_PANELS])
    given = [parameters] if isinstance(parameters, (int, str)) else list(parameters)
    if not given:
        raise InputError("parameters is empty: name at least one parameter.")
    return [place_of(model, item) for item in given]


def _own_label(result: InducedLikelihood | Posterior) -> str:
    facts = result.facts
    detail = "" if facts.rho is None else rf" ($\rho$ = {facts.rho:g})"
    form = " gbd" if facts.marginal == "gbd" else ""
    return f"{result.label}{form}{detail}"


Curve = tuple[np.ndarray, np.ndarray]  # theta, and the density there


def _panel(ax: Axes, curves: dict[str, Curve], reference: Curve | None, truth: float | None) -> None:
    from matplotlib.ticker import MaxNLocator

    if reference is not None:
        ax.fill_between(*reference, color="0.82", lw=0, label="exact")
        ax.plot(*reference, color="0.55", lw=0.8)
    for k, (name, curve) in enumerate(curves.items()):
        ax.plot(*curve, color=nth_colour(k), lw=1.4, ls=("-", "--", "-.", ":")[k % 4], label=name)
    if truth is not None:
        ax.axvline(truth, color="0.2", lw=0.8, ls=":", label="truth")
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.spines[["left", "right", "top"]].set_visible(False)
    ax.tick_params(labelsize=8)


def _curve(result: InducedLikelihood | Posterior, j: int) -> Curve:
    if isinstance(result, Posterior):
        if result._weighted is not None:  # a chain of independent proposals stays where a weight is large: a lump
            return draw_density(result._weighted.theta[:, j], result._weighted.weights)
        return draw_density(result.draws[..., j].ravel())
    marginal = result.marginal(j)
    if isinstance(marginal, CoinMarginal):
        theta = np.asarray(marginal.from_normal(np.linspace(-3.9, 3.9, POINTS)))
        return theta, np.asarray(marginal.pdf(theta))
    # One weight of a die has no closed marginal: its exact draws stand for it.
    first = int(result.model.chart.offset[result.model.chart.block_of[j]])
    return draw_density(marginal.rvs(20_000, rng=0)[:, j - first])


def draw_density(draws: np.ndarray, weights: np.ndarray | None = None) -> Curve:
    """Density of draws in (0, 1), smoothed in log-odds so that nothing leaks over the ends."""
    from scipy.stats import gaussian_kde

    inside = np.clip(draws, 1e-12, 1 - 1e-12)[:: max(1, draws.size // DENSITY_DRAWS)]
    w = np.log(inside) - np.log1p(-inside)
    if np.ptp(w) < 1e-12:
        raise InputError("a density needs draws that differ: the chain did not move.")
    shares = np.ones(w.size) if weights is None else weights[:: max(1, draws.size // DENSITY_DRAWS)]
    mean, sd = np.average(w, weights=shares), np.sqrt(np.cov(w, aweights=shares))
    grid = np.linspace(max(w.min(), mean - 5 * sd) - sd / 4, min(w.max(), mean + 5 * sd) + sd / 4, POINTS)
    theta = 1 / (1 + np.exp(-grid))
    return theta, gaussian_kde(w, weights=shares)(grid) / (theta * (1 - theta))
