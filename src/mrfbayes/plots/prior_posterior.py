"""Prior and posterior of one coupling, and their heights at "no interaction": the Bayes factor as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.scales import n_edge_blocks
from mrfbayes.model.wording import coupling_of
from mrfbayes.plots.style import INK, MUTED, POSITIVE, axes_or_new, keep_table, label, place_of, quiet, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.results.posterior import Posterior

CURVE_POINTS = 401


def prior_posterior(posterior: Posterior, parameter: int | str, *, ax: Axes | None = None) -> Axes:
    """Draw prior and posterior density of the log-odds of one coupling.

    The ratio of the prior to the posterior density at 0 is the Bayes factor for the presence of the edge.

    Parameters
    ----------
    posterior : Posterior
        Result of `mrfbayes.sample`.
    parameter : int or str
        Position or name of a parameter of a block with two outcomes.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The axes.

    See Also
    --------
    marginals : Posteriors only.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> len(mb.plots.prior_posterior(posterior, "a--b").lines) >= 2
    True
    """
    import pandas as pd
    from scipy.stats import gaussian_kde

    model = posterior.model
    j = place_of(model, parameter)
    if model.chart.sides[model.chart.block_of[j]] != 2:
        raise InputError(f"parameter = {parameter!r} is a weight of a die: prior_posterior draws coins.")
    w = posterior.log_odds[..., j].ravel()
    if np.ptp(w) < 1e-12:
        raise InputError(f"parameter = {parameter!r}: its draws do not differ; the chain did not move.")
    w = w[:: max(1, w.size // 20_000)]
    reach = max(3.0, float(np.abs(w).max()) + float(w.std()))
    grid = np.linspace(-reach, reach, CURVE_POINTS)
    density = gaussian_kde(w)(grid)
    prior = prior_density(posterior, j, grid)
    ax = axes_or_new(ax, figsize=(5.6, 3.2))
    ax.fill_between(grid, density, color=POSITIVE, alpha=0.18, lw=0)
    ax.plot(grid, density, color=POSITIVE, lw=1.8, label="posterior")
    ax.plot(
        grid, prior, color=MUTED, lw=1.6, ls=(0, (5, 2)), label=f"prior: {posterior.settings.get('prior', 'uniform')}"
    )
    ax.axvline(0, color=INK, lw=0.7)
    at = CURVE_POINTS // 2
    ax.plot([0, 0], [prior[at], density[at]], "o", ms=5.5, mfc="white", mec=INK, zorder=4)
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    name = label(model.parameters[j])
    is_edge = model.chart.block_of[j] < n_edge_blocks(model)
    what = "log odds ratio" if coupling_of(model) == "both-one" and is_edge else "log-odds"
    ax.set_xlabel(f"{what} (0: no interaction)")
    title(ax, f"{name}{_factor(posterior, j)}")
    ax.legend(fontsize=8, frameon=False, loc="upper left")
    quiet(ax, "bottom")
    frame = pd.DataFrame({"posterior": density, "prior": prior}, index=pd.Index(grid, name="log_odds"))
    keep_table(ax, frame)
    return ax


def prior_density(posterior: Posterior, j: int, log_odds: np.ndarray) -> np.ndarray:
    """Density of the prior of parameter ``j`` in log-odds, each of ``log_odds`` (k,) in turn."""
    from mrfbayes.priors import Prior
    from mrfbayes.targets.evidence import log_prior_at_no_interaction

    model = posterior.model
    problem = posterior._problem
    prior = problem.prior if problem is not None else Prior(model, str(posterior.settings.get("prior", "uniform")))
    at_zero = float(log_prior_at_no_interaction(prior)[model.chart.block_of[j]])
    base = np.zeros(model.n_parameters)
    level = prior.log_density_w(base)
    out = np.empty(log_odds.size)
    for k, value in enumerate(log_odds.tolist()):
        base[j] = value  # only this parameter moves, so that the difference is its own
        out[k] = prior.log_density_w(base) - level + at_zero
    return np.asarray(np.exp(out))


def _factor(posterior: Posterior, j: int) -> str:
    """ ", Bayes factor 14" where it is known."""
    model = posterior.model
    block = int(model.chart.block_of[j])
    if block >= n_edge_blocks(model):
        return ""
    value, error = (float(column[block]) for column in posterior._edge_evidence[:2])
    if not np.isfinite(value):
        return ""
    factor = np.exp(np.clip(value, -700, 700))
    above = "above " if np.isinf(error) else ""
    return f": Bayes factor {above}{factor:.3g}" if factor >= 1 else f": Bayes factor {above}1/{1 / factor:.3g}"
