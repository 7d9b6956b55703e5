"""`mrfbayes.select`: the joint posterior of graph and parameters."""

from __future__ import annotations

import os

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.checks import whole
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, DistributionLike, EdgePriorLike, PriorLike
from mrfbayes.data.border import counted
from mrfbayes.data.coding import stored_schema
from mrfbayes.data.holes import MISSING_AT_RANDOM
from mrfbayes.model.field import Model
from mrfbayes.structure.anchors import ANCHOR_PARTICLES, SearchProblem
from mrfbayes.structure.augmented import starting_counts
from mrfbayes.structure.engines import choose_engine
from mrfbayes.structure.factors import edge_factors
from mrfbayes.structure.graph_priors import graph_prior
from mrfbayes.structure.moves import Coordinates, named_nodes, search_prior, slab_distribution
from mrfbayes.structure.running import SearchRequest, run_options, search, search_seed
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
    """Which edges are there: the posterior over graphs and parameters together, from the true likelihood.

    Every sweep draws presence and log-odds of each edge from their exact joint conditional, without a proposal, and
    then the node factors, which are always there.

    Parameters
    ----------
    model : the field with all edges that may be there, untied: couplings "agreement", "both-one", "score" and "table",
        with or without fields; a table is in or out as a whole
    data : `Data`, anything that `Data` reads, or `Statistics`
    slab : prior of an edge's log-odds if it is there: "normal(0, 1)", "cauchy(0, 2.5)", "logistic(0, 1)", ...; scaled
        by the levels of the two variables, and "exchangeable" on tables, as `mrfbayes.priors` says
    edges : prior over graphs: "bernoulli(0.5)", "beta-bernoulli(1, 1)", or one probability per edge
    prior : prior of the node factors, as {"nodes": "normal(0, 5)"}; the default of `mrfbayes.priors` if left out
    engine : "states" (all configurations), "recursion" (strips and narrow grids), "particles"; by default the cheapest
        that is exact, and particles where none is
    particles : samples in each of the two sets that engine "particles" uses; more make it more accurate
    draws : draws per chain that are kept, after warm-up; by default one of two sweeps, from 1,000 to 8,000 of them,
        until all inclusion probabilities have Monte-Carlo errors below 0.01, and 4,000 sweeps with a checkpoint
    warmup : sweeps before, not kept
    chains : independent chains
    thin : sweeps for every draw that is kept; 1 where ``draws`` is given. Probabilities and means use all sweeps
    rng : seed; None draws a fresh one, which ``seed`` of the result has; the same seed gives the same result for any
        number of workers
    workers : processes over which the chains are spread
    checkpoint : file from which a killed run goes on; a finished one is continued by asking for more draws
    seconds : time budget; what is drawn by then is the result, marked partial
    """
    factors = edge_factors(model)
    priors, graphs = search_prior(model, slab, prior), graph_prior(model, edges)
    rest = {"chains": chains, "workers": workers, "progress": progress, "checkpoint": checkpoint, "seconds": seconds}
    options = run_options(model.n_parameters, draws, warmup, thin, **rest)
    whole("particles", particles, 100)
    seed, engine = search_seed(rng, checkpoint), choose_engine(model, engine)
    statistics = counted(model, data)
    settings = {
        "slab": str(slab_distribution(slab)),
        "edges": str(graphs),
        "edge_probabilities": graphs.probability.tolist(),
        "prior": named_nodes(model, priors),
        "schema": stored_schema(statistics.coding),
    }
    if statistics.holes is not None:
        settings["missing"] = MISSING_AT_RANDOM
    coordinates = Coordinates(np.ones((1, 1)), (priors,), (True,))
    problem = SearchProblem(factors, (statistics,), coordinates, graphs)
    request = SearchRequest(engine, particles, options, seed, settings, said=statistics.warnings)
    shared, run, summary = search(problem, request)
    return Selection(
        **vars(shared),
        log_odds=run.draws,
        mean=summary.mean[0],
        sd=summary.sd[0],
        size_probability=summary.sizes,
        counts=starting_counts(statistics),
    )
