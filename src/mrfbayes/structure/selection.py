"""`mrfbayes.select`: the joint posterior of graph and parameters, and its result."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.checks import whole
from mrfbayes.base.errors import InputError
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, DistributionLike, EdgePriorLike, PriorLike, Scale
from mrfbayes.data.border import counted
from mrfbayes.model.field import Model
from mrfbayes.model.scales import edge_strengths, has_tables, natural_scale, scaled
from mrfbayes.results.diagnostics import moment_columns
from mrfbayes.structure.anchors import ANCHOR_PARTICLES, SearchProblem
from mrfbayes.structure.moves import Coordinates, named_nodes, search_prior, slab_distribution
from mrfbayes.structure.problem import PER_EDGE, GraphPrior, edge_factors, graph_prior
from mrfbayes.structure.reruns import sensitivity_rows, sensitivity_table
from mrfbayes.structure.result import SearchResult
from mrfbayes.structure.running import SearchArguments, search
from mrfbayes.structure.search import starting_counts

if TYPE_CHECKING:
    import networkx as nx
    import xarray as xr

    from mrfbayes.methods.problem import Problem
    from mrfbayes.results.posterior import Posterior


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Selection(SearchResult):
    """Posterior over graphs and parameters, from `mrfbayes.select`.

    ``inclusion``, ``absence``, ``inclusion_error`` and ``prior_inclusion`` (m,) are the posterior probability of each
    edge, its complement, the Monte-Carlo error of both, and the prior probability.

    Attributes
    ----------
    log_odds : ndarray
        Shape (chains, draws, p). Kept draws; the log-odds of an absent edge is exactly zero.
    mean : (p,) ndarray
        Means of the log-odds over all graphs, from all sweeps; an absent edge counts as zero.
    sd : (p,) ndarray
        Standard deviations over the same sweeps.
    size_probability : (m + 1,) ndarray
        Posterior probabilities of the numbers of edges.
    counts : (p,) ndarray
        Sufficient statistics of the observations.

    See Also
    --------
    select : Returns it.
    plots.edge_evidence : The picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.complete(["a", "b", "c"], coupling="both-one")
    >>> data = mb.simulate(model, [0.9, 0.5, 0.5], 300, rng=1)
    >>> selection = mb.select(model, data, draws=500, warmup=100, chains=2, rng=1, progress=False)
    >>> selection.edges()["inclusion"].shape
    (3,)
    """

    _arrays: ClassVar = {
        **SearchResult._arrays,
        "log_odds": ("posterior", "log_odds", ("chain", "draw", "parameter")),
        "mean": ("moments", "mean", ("parameter",)),
        "sd": ("moments", "sd", ("parameter",)),
        "size_probability": ("sizes", "probability", ("size",)),
        "counts": ("observed_data", "counts", ("parameter",)),
    }

    log_odds: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    size_probability: np.ndarray
    counts: np.ndarray

    def _arviz_groups(self) -> dict[str, xr.Dataset]:
        import xarray as xr

        return {"posterior": xr.Dataset({"included": (("chain", "draw", "edge"), self.included.astype(int))})}

    @cached_property
    def draws(self) -> np.ndarray:
        """The kept draws (chains, draws, p) as theta; 1/2 where an edge is not there."""
        return self.model.chart.theta(self.log_odds)

    @property
    def included(self) -> np.ndarray:
        """(chains, draws, m) which edges are there in each draw."""
        return np.asarray(self.log_odds[..., self.model.chart.offset[: self.model.n_edges]] != 0.0)

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per edge, in the order of ``model.blocks``.

        Parameters
        ----------
        scale : {"log-odds", "theta", "ising"}, optional
            Scale of the strength; by default the usual one for the model.
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            ``inclusion``, the posterior probability of the edge, with its Monte-Carlo standard error
            (``inclusion_error``), effective sample size and R-hat; ``log_bf10``, the natural log of the Bayes factor
            (posterior odds over marginal prior odds, averaged over the rest of the graph), and ``log_bf10_error``;
            ``verdict`` at Bayes factors of 10 and 1/10, and ``fragile`` if two errors could change it; mean, sd,
            interval and diagnostics of the strength over all graphs, an absent edge counted as no interaction. The
            strength of a table coupling is its norm, the absolute log odds ratio of two binary variables of the same
            strength; its cells are in `summary`.

        Raises
        ------
        InputError
            If `scale` is not "log-odds" and couplings are tables.
        """
        chart, m = self.model.chart, self.model.n_edges
        scale = scale or natural_scale(self.model)
        if scale == "log-odds":
            values = edge_strengths(self.model, self.log_odds)
        elif has_tables(self.model):
            raise InputError(f"scale = {scale!r}: table couplings have a norm in log-odds alone; use scale='log-odds'.")
        else:
            values = scaled(self.model, scale).of_log_odds(self.log_odds)[..., :m]
        columns = moment_columns(values, ci_prob)
        if scale == "log-odds":  # of a coupling with one parameter all sweeps say the moments, not the draws alone
            for name, all_sweeps in (("mean", self.mean), ("sd", self.sd)):
                columns[name] = np.where(chart.sides[:m] == 2, all_sweeps[chart.offset[:m]], columns[name])
        evidence = self._evidence_table()
        table = pd.concat([evidence, pd.DataFrame(columns, index=evidence.index)], axis=1)
        table.attrs |= {"scale": scale, "target": self.target}
        return table

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per parameter, with moments over all graphs; an absent edge counts as zero.

        Parameters
        ----------
        scale : {"log-odds", "theta", "ising"}, optional
            By default the usual scale of the model.
        ci_prob : float, default 0.9
            Probability of the interval.

        Returns
        -------
        DataFrame
            ``inclusion`` of the edge (NaN for nodes), mean, sd, interval, Monte-Carlo error, effective sizes and R-hat;
            cells of tables by their labels.
        """
        rows = scaled(self.model, scale)
        columns = moment_columns(rows.of_log_odds(self.log_odds), ci_prob)
        if rows.scale == "log-odds":
            columns |= {"mean": self.mean, "sd": self.sd}
        table = pd.DataFrame(columns, index=pd.Index(rows.names, name="parameter"))
        block = self.model.chart.block_of if rows.scale != "ising" else np.arange(len(rows.names))
        inclusion = np.append(self.inclusion, np.nan)
        table.insert(0, "inclusion", inclusion[np.minimum(block, self.model.n_edges)])
        table.attrs |= {"scale": rows.scale, "target": self.target}
        return table

    def averaged(self, problem: Problem | None = None) -> Posterior:
        """Return the draws over all graphs as a posterior, for centrality, predictability and predictions.

        Parameters
        ----------
        problem : Problem, optional
            Problem of a posterior of the same data, for methods that need the observations.

        Returns
        -------
        Posterior
            The average over graphs.
        """
        return self._as_posterior(self.log_odds, self.n, "average over graphs", problem)

    def graphs(self, top: int = 10) -> pd.DataFrame:
        """Return the most frequent graphs among the kept draws, the most probable first.

        Parameters
        ----------
        top : int, default 10
            Number of graphs.

        Returns
        -------
        DataFrame
            ``probability``, the share of the draws with this graph, and ``probability_error``, its Monte-Carlo standard
            error; ``number`` of edges; ``edges``, their names.

        Examples
        --------
        >>> import mrfbayes as mb
        >>> model = mb.complete(["a", "b", "c"], coupling="both-one")
        >>> data = mb.simulate(model, [0.9, 0.5, 0.5], 300, rng=1)
        >>> mb.select(model, data, draws=500, warmup=100, chains=2, rng=1, progress=False).graphs(1)["number"].tolist()
        [1]
        """
        m, top = self.model.n_edges, whole("top", top)
        packed = np.packbits(self.included, axis=2)
        found, kind, count = np.unique(
            packed.reshape(-1, packed.shape[2]), axis=0, return_inverse=True, return_counts=True
        )
        order = np.argsort(-count, kind="stable")[:top]
        present = np.unpackbits(found[order], axis=1, count=m).astype(bool)
        drawn = (kind.reshape(packed.shape[:2])[..., None] == order).astype(float)
        columns = moment_columns(drawn, 0.9)
        names = np.array(self.model.blocks[:m], dtype=object)
        return pd.DataFrame(
            {
                "probability": columns["mean"],
                "probability_error": columns["mcse_mean"],
                "number": present.sum(axis=1),
                "edges": [tuple(names[row]) for row in present],
            },
            index=pd.RangeIndex(1, len(order) + 1, name="rank"),
        )

    def sensitivity(self, progress: bool = True) -> pd.DataFrame:
        """Verdicts under four slabs and three priors over graphs, from short runs that go on from this one.

        Parameters
        ----------
        progress : bool
            Whether a line is shown while the runs are made.

        Returns
        -------
        DataFrame
            A row per prior, this one first: ``slab``, ``graphs``, the numbers of edges ``present``, ``undecided`` and
            ``absent``, how many verdicts are ``fragile``, and how many ``changed``. ``attrs["verdicts"]`` has a row
            per edge, ``attrs["robust"]`` says which edges keep their verdict throughout. Computed once, and saved with
            the result.
        """
        if "sensitivity" not in self.computed:
            self.computed["sensitivity"] = sensitivity_rows(self, progress)
        return sensitivity_table(self.model.blocks[: self.model.n_edges], self.computed["sensitivity"])

    @property
    def _graph_prior(self) -> GraphPrior:
        """The prior over graphs."""
        is_named = self.settings["edges"] != PER_EDGE
        return graph_prior(self.model, self.settings["edges"] if is_named else list(self.prior_inclusion))

    @property
    def median_graph(self) -> tuple[str, ...]:
        """Names of the edges with a posterior probability above one half, the median-probability graph."""
        return tuple(name for name, p in zip(self.model.blocks, self.inclusion, strict=False) if p > 0.5)

    def number_of_edges(self) -> pd.Series:
        """Return the posterior probability of each number of edges, from all sweeps.

        Returns
        -------
        Series
            Probabilities by number of edges.
        """
        sizes = np.flatnonzero(self.size_probability)
        return pd.Series(self.size_probability[sizes], index=pd.Index(sizes, name="edges"), name="probability")

    def to_networkx(self, threshold: float = 0.5) -> nx.Graph:
        """Return the nodes and the probable edges as a networkx graph.

        Parameters
        ----------
        threshold : float, default 0.5
            Edges with a larger inclusion probability are included.

        Returns
        -------
        networkx.Graph
            Edges have ``inclusion``, ``log_bf10`` and ``weight``, the model-averaged mean of the log-odds.

        Raises
        ------
        InputError
            If `threshold` is not a probability.
        """
        import networkx as nx

        if not 0 <= threshold <= 1:
            raise InputError(f"threshold = {threshold!r}: give a probability from 0 to 1.")
        graph = nx.Graph()
        graph.add_nodes_from(self.model.nodes)
        factor, strength = self.log_bf10, self.edges(scale="log-odds")["mean"].to_numpy()
        for edge, (u, v) in enumerate(self.model.edges.tolist()):
            if self.inclusion[edge] > threshold:
                graph.add_edge(
                    self.model.nodes[u],
                    self.model.nodes[v],
                    inclusion=float(self.inclusion[edge]),
                    log_bf10=float(factor[edge]),
                    weight=float(strength[edge]),
                )
        return graph


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
        "states" sums over all configurations, "recursion" along a grid or graph of small treewidth, "particles" over
        weighted samples; by default an exact one where it is quick.
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
