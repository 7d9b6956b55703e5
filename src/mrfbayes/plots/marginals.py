"""Marginal posteriors: curves of MLE-L's coins, and densities of any method's draws beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.coins.coin import CoinMarginal
from mrfbayes.coins.importance_weights import weighted_quantile, weighted_ranks
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.plots.style import COLOURS, keep_table, label
from mrfbayes.results.posterior import Posterior
from mrfbayes.targets.likelihood import InducedLikelihood

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mrfbayes.model.field import Model

MARGINAL_PANELS = 12  # by default: more would be too small to read
POINTS = 241
EXACT_DRAWS, EXACT_THIN = 2_000, 10


def marginals(
    *results: InducedLikelihood | Posterior,
    parameters: Sequence[int | str] | int | str | None = None,
    exact: bool | Posterior = False,
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
    exact : bool or Posterior, default False
        A posterior to draw as the reference, or True to sample the exact posterior of the data of the first result.
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
    CostError
        If ``exact`` is true and log Z is not feasible.

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
    if not results:
        raise InputError("plots.marginals: give at least one likelihood or posterior.")
    for result in results:
        if not isinstance(result, (InducedLikelihood, Posterior)):
            raise InputError(
                f"plots.marginals: got {type(result).__name__}; give likelihoods from mrfbayes.likelihood('mle', ...) "
                "or posteriors from mrfbayes.sample."
            )
    model: Model = results[0].model
    if any(result.model.fingerprint != model.fingerprint for result in results):
        raise InputError("plots.marginals: the results are of different models.")
    places = _places(model, parameters, 1 if ax is not None else MARGINAL_PANELS, results)
    if ax is not None and len(places) != 1:
        raise InputError(f"plots.marginals: ax= takes one parameter, got {len(places)}; leave ax out for a figure.")
    names = _labels(results, labels)
    reference = _reference(results, exact)
    marks = None if truth is None else model.theta(truth, "truth")
    if ax is not None:
        made_panel = _panel(ax, results, names, reference, marks, places[0])
        keep_table(ax, _numbers(results, names, places))
        return made_panel
    from matplotlib import pyplot

    columns = min(4, len(places))
    rows = math.ceil(len(places) / columns)
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(2.7 * columns + 0.4, 2.1 * rows + 0.5), layout="constrained", squeeze=False
    )
    for panel, j in zip(grid.flat, places, strict=False):
        _panel(panel, results, names, reference, marks, j)
        panel.get_legend().remove()
    for panel in grid.flat[len(places) :]:
        panel.set_visible(False)
    handles, texts = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside upper center", ncols=len(texts), frameon=False, fontsize=9)
    keep_table(figure, _numbers(results, names, places))
    made: Figure = figure
    return made


def _numbers(
    results: Sequence[InducedLikelihood | Posterior], names: Sequence[str], places: Sequence[int]
) -> pd.DataFrame:
    """The curves, one below the other."""
    import pandas as pd

    parts = []
    for result, name in zip(results, names, strict=True):
        for j in places:
            theta, density = _curve(result, j)
            parameter = result.model.parameters[j]
            parts.append(pd.DataFrame({"parameter": parameter, "result": name, "theta": theta, "density": density}))
    return pd.concat(parts).set_index("parameter")


def _places(
    model: Model,
    parameters: int | str | Sequence[int | str] | None,
    limit: int,
    results: Sequence[InducedLikelihood | Posterior],
) -> list[int]:
    p = model.n_parameters
    if parameters is None:
        first = next((result for result in results if isinstance(result, Posterior)), None)
        if p <= limit or first is None:
            return list(range(min(p, limit)))
        edges = int(model.chart.offset[n_edge_blocks(model)]) or p  # of the edges: nodes are mere thresholds
        sure = (np.abs(first.mean - model.no_interaction) / np.maximum(first.sd, 1e-300))[:edges]
        return sorted(int(j) for j in np.argsort(-sure, kind="stable")[:limit])
    given = [parameters] if isinstance(parameters, (int, str, np.integer)) else list(parameters)
    found = []
    for item in given:
        if isinstance(item, str) and item in model.parameters:
            found.append(model.parameters.index(item))
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool) and -p <= item < p:
            found.append(int(item) % p)
        else:
            raise InputError(f"parameters: {item!r} is neither a parameter's name nor a place from 0 to {p - 1}.")
    if not found:
        raise InputError("parameters is empty: name at least one parameter.")
    return found


def _labels(results: Sequence[InducedLikelihood | Posterior], labels: Sequence[str] | None) -> list[str]:
    if labels is None:
        return [_own_label(result) for result in results]
    if isinstance(labels, str) or len(labels) != len(results):
        raise InputError(f"labels: give one per result, {len(results)} in all.")
    return [str(label) for label in labels]


def _own_label(result: InducedLikelihood | Posterior) -> str:
    facts = result.facts
    detail = "" if facts.rho is None else rf" ($\rho$ = {facts.rho:g})"
    form = " gbd" if facts.marginal == "gbd" else ""
    return f"{result.label}{form}{detail}"


def _reference(results: Sequence[InducedLikelihood | Posterior], exact: bool | Posterior) -> Posterior | None:
    if isinstance(exact, Posterior):
        return exact
    if not isinstance(exact, (bool, np.bool_)):
        raise InputError(f"exact = {exact!r}: give True, False or a posterior.")
    if not exact:
        return None
    from mrfbayes.sampling.sample import sample

    first = results[0]
    data = first.statistics if isinstance(first, InducedLikelihood) else getattr(first._problem, "statistics", None)
    if data is None:
        raise InputError("exact=True needs the data: put a likelihood first, or pass the exact posterior itself.")
    return sample(first.model, data, "exact", draws=EXACT_DRAWS, thin=EXACT_THIN, rng=0, progress=False)


def _panel(
    ax: Axes,
    results: Sequence[InducedLikelihood | Posterior],
    names: Sequence[str],
    reference: Posterior | None,
    truth: np.ndarray | None,
    j: int,
) -> Axes:
    from matplotlib.ticker import MaxNLocator

    if reference is not None:
        theta, density = _curve(reference, j)
        ax.fill_between(theta, density, color="0.82", lw=0, label="exact")
        ax.plot(theta, density, color="0.55", lw=0.8)
    for k, (result, name) in enumerate(zip(results, names, strict=True)):
        theta, density = _curve(result, j)
        ax.plot(theta, density, color=COLOURS[k % len(COLOURS)], lw=1.4, ls=("-", "--", "-.", ":")[k % 4], label=name)
    if truth is not None:
        ax.axvline(truth[j], color="0.2", lw=0.8, ls=":", label="truth")
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.spines[["left", "right", "top"]].set_visible(False)
    ax.set_xlabel(rf"$\theta$ of {label(results[0].model.parameters[j], 30)}", fontsize=8)
    ax.tick_params(labelsize=8)
    ax.legend(fontsize=8, frameon=False)
    return ax


def _curve(result: InducedLikelihood | Posterior, j: int) -> tuple[np.ndarray, np.ndarray]:
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


def draw_density(draws: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Density of draws in (0, 1), smoothed in log-odds so that nothing leaks over the ends; ``weights`` add to one."""
    from scipy.stats import gaussian_kde

    inside = np.clip(draws, 1e-12, 1 - 1e-12)
    w = np.log(inside) - np.log1p(-inside)
    if np.ptp(w) < 1e-12:
        raise InputError("a density needs draws that differ: the chain did not move.")
    some = slice(None, None, max(1, w.size // 20_000))
    thinned = w[some]
    shares = np.full(thinned.size, 1.0 / thinned.size) if weights is None else weights[some] / weights[some].sum()
    ranks = weighted_ranks(thinned[:, None], shares)
    low, high = (float(weighted_quantile(*ranks, q)[0]) for q in (0.0005, 0.9995))
    margin = 0.25 * math.sqrt(float(shares @ (thinned - shares @ thinned) ** 2))
    grid = np.linspace(low - margin, high + margin, POINTS)
    theta = 1 / (1 + np.exp(-grid))
    return theta, gaussian_kde(thinned, weights=shares)(grid) / (theta * (1 - theta))
