"""`mrfbayes.select`: the joint posterior of graph and parameters."""

from __future__ import annotations

import os

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, DistributionLike, EdgePriorLike, PriorLike
from mrfbayes.data.border import counted
from mrfbayes.model.field import Model
from mrfbayes.structure.anchors import ANCHOR_PARTICLES, SearchProblem
from mrfbayes.structure.augmented import starting_counts
from mrfbayes.structure.moves import Coordinates, named_nodes, search_prior, slab_distribution
from mrfbayes.structure.problem import edge_factors, graph_prior
from mrfbayes.structure.running import SearchArguments, search
from mrfbayes.structure.selection import Selection


@one_blas_thread()
def select(
    model: Model,
    data: DataLike,
    *,
    slab: DistributionLike = "normal(0, 1)",
    edges: EdgePriorLike = "bernoulli(0.5)",
    prior: PriorLike | None = None,
    engine: str | None = None,
    particles: int = ANCHOR_PARTICLES,
    draws: int | None = None,
    warmup: int | None = None,
    chains: int = 4,
    thin: int | None = None,
    rng: Seed | None = None,
    workers: int = 1,
    progress: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
) -> Selection:
    """Draw from the joint posterior of graphs and parameters under the exact likelihood.

    Every sweep draws presence and log-odds of each edge from their exact joint conditional distribution, and then the
    node factors, which are always present.

    Parameters
    ----------
    model : Model
        The field with all possible edges, untied: couplings "agreement", "both-one", "score" and "table", with or
        without fields. A table is present or absent as a whole.
    data : DataLike
        `Data`, anything that `Data` reads, or `Statistics`.
    slab : PriorLike, default "normal(0, 1)"
        Prior of the log-odds of a present edge, such as "cauchy(0, 2.5)"; scaled by the levels of the two variables,
        and "exchangeable" on tables, as in `mrfbayes.priors`.
    edges : str or (m,) array_like, default "bernoulli(0.5)"
        Prior over graphs: "bernoulli(0.5)", "beta-bernoulli(1, 1)", or one probability per edge.
    prior : mapping, optional
        Prior of the node factors, as {"nodes": "normal(0, 5)"}; by default that of `mrfbayes.priors`.
    engine : {"states", "recursion", "particles"}, optional
        "states" sums over all configurations, "recursion" is for strips and narrow grids; by default the cheapest exact
        engine, and "particles" if none is feasible.
    particles : int, optional
        Samples in each of the two sets of engine "particles"; more samples make it more accurate.
    draws : int, optional
        Kept draws per chain, after warm-up. By default every second sweep is kept, 512 to 4,096 draws, until all
        inclusion probabilities have Monte-Carlo errors below 0.01.
    warmup : int, optional
        Sweeps before the first kept draw.
    chains : int, default 4
        Number of independent chains.
    thin : int, optional
        Sweeps per kept draw; 1 where ``draws`` is given. Probabilities and means use all sweeps.
    rng : int, SeedSequence or Generator, optional
        Seed. None draws a new one, which the result has as ``seed``. The same seed gives the same result for any number
        of workers.
    workers : int, default 1
        Number of processes that run the chains.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    checkpoint : str or path, optional
        File from which an interrupted run continues. A finished run continues if more draws are asked for.
    seconds : float, optional
        Time budget. The result has the draws made in this time and is marked partial.

    Returns
    -------
    Selection
        Inclusion probabilities, Bayes factors and draws of graphs and parameters.

    See Also
    --------
    sample : The posterior of one graph.
    compare_groups : Edges that differ between groups.
    select_effects : Edges that are moderated by covariates.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.complete(["a", "b", "c"], fields=True, coupling="both-one")
    >>> data = mb.simulate(model, [0.9, 0.5, 0.5, 0.5, 0.5, 0.5], 300, rng=1)
    >>> found = mb.select(model, data, draws=500, warmup=100, chains=2, rng=1, progress=False)
    >>> bool(found.inclusion[0] > 0.99)
    True
    """
    factors = edge_factors(model)
    priors, graphs = search_prior(model, slab, prior), graph_prior(model, edges)
    options = SearchArguments(
        engine, particles, draws, warmup, chains, thin, rng, progress, seconds, workers, checkpoint
    )
    statistics = counted(model, data)
    settings = {
        "slab": str(slab_distribution(slab)),
        "edges": str(graphs),
        "edge_probabilities": graphs.probability.tolist(),
        "prior": named_nodes(model, priors),
    }
    coordinates = Coordinates(np.ones((1, 1)), (priors,), (True,))
    problem = SearchProblem(factors, (statistics,), coordinates, graphs)
    fields, run, summary = search(problem, "select", options, {"": statistics}, settings)
    return Selection(
        **fields,
        log_odds=run.draws,
        mean=summary.mean[0],
        sd=summary.sd[0],
        size_probability=summary.sizes,
        counts=starting_counts(statistics),
    )
