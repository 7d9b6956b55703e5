"""The result of a search over graphs: which edges are there, how sure that is, and how strong they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.scales import scaled
from mrfbayes.priors import Prior, parse
from mrfbayes.structure.graph_priors import PER_EDGE, GraphPrior, graph_prior
from mrfbayes.structure.moves import log_density_at_zero
from mrfbayes.structure.rescoring import all_statistics, can_rescore, log_evidence
from mrfbayes.structure.result import SearchResult

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class Selection(SearchResult):
    """Posterior over graphs and parameters, made by `mrfbayes.select`.

    Attributes
    ----------
    log_odds : (chains, draws, p) kept draws; the log-odds of an edge that is not there is exactly zero
    mean, sd : (p,) of the log-odds over all graphs, from all sweeps; an absent edge counts as zero
    size_probability : (m + 1,) posterior probabilities of the numbers of edges
    n, counts : observations, and their sufficient statistics (p,)

    The other attributes are those of `SearchResult`.
    """

    log_odds: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    size_probability: np.ndarray
    n: float
    counts: np.ndarray

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the p parameters: edges, then nodes."""
        return self.model.parameters

    @cached_property
    def draws(self) -> np.ndarray:
        """The kept draws (chains, draws, p) as theta; 1/2 where an edge is not there."""
        return self.model.chart.theta(self.log_odds)

    @property
    def included(self) -> np.ndarray:
        """(chains, draws, m) which edges are there in each draw."""
        return np.asarray(self.log_odds[..., : self.model.n_edges] != 0.0)

    def edges(self, scale: str = "log-odds") -> pd.DataFrame:
        """A row per edge, in the order of ``model.parameters``.

        Columns: ``inclusion``, the posterior probability that the edge is there, and ``inclusion_error``, its
        Monte-Carlo standard error; ``log_bf10``, the natural log of the Bayes factor (posterior odds over marginal
        prior odds, so averaged over the rest of the graph); ``verdict`` at Bayes factors of 10 and 1/10, and
        ``fragile`` where two errors could change it; ``mean``, ``sd``, ``q5``, ``q95`` of the edge's strength over all
        graphs, absence counted as no interaction.

        Parameters
        ----------
        scale : "log-odds", "theta" or "ising" (J), for the last four columns
        """
        rows, m = scaled(self.model, scale), self.model.n_edges
        values = rows.values(self.draws)[..., :m] if scale != "log-odds" else self.log_odds[..., :m]
        from_all = scale == "log-odds"
        low, high = np.quantile(values, [0.05, 0.95], axis=(0, 1)) if values.size else np.full((2, m), np.nan)
        table = self.evidence_table()
        table["mean"] = self.mean[:m] if from_all else values.mean(axis=(0, 1))
        table["sd"] = self.sd[:m] if from_all else values.std(axis=(0, 1))
        table["q5"], table["q95"] = low, high
        table.attrs |= {"scale": scale, "target": self.target}
        return table

    def graphs(self, top: int = 10) -> pd.DataFrame:
        """The ``top`` most frequent graphs among the kept draws, the most probable first.

        Columns: ``probability``; ``share``, how often the graph was among the draws; ``number`` of edges; ``edges``,
        the names of those that are there. On fields of up to twelve binary nodes the evidence of each of these graphs
        is computed to one loop, and ``probability`` divides the share of all of them by that; elsewhere, and where
        cells are missing, it is the share.
        """
        import pandas as pd

        m = self.model.n_edges
        drawn = self.included.reshape(-1, m)
        found, count = np.unique(np.packbits(drawn, axis=1), axis=0, return_counts=True)
        order = np.argsort(-count, kind="stable")[:top]
        present = np.unpackbits(found[order], axis=1, count=m).astype(bool)
        share = count[order] / max(len(drawn), 1)
        can_score = can_rescore(self.model) and "missing" not in self.settings  # the evidence needs complete counts
        probability = share.sum() * self._relative_evidence(present) if can_score else share
        names = np.array(self.model.blocks[:m], dtype=object)
        table = pd.DataFrame(
            {
                "probability": probability,
                "share": share,
                "number": present.sum(axis=1),
                "edges": [tuple(names[row]) for row in present],
            }
        ).sort_values("probability", ascending=False, kind="stable")
        return table.set_index(pd.RangeIndex(1, len(order) + 1, name="rank"))

    def _relative_evidence(self, present: np.ndarray) -> np.ndarray:
        """Prior times evidence of the graphs (k, m), which sum to one."""
        model, m = self.model, self.model.n_edges
        slab = parse(str(self.settings["slab"]))
        nodes = self.settings["prior"]
        prior = Prior(model, {"edges": slab, **(nodes if isinstance(nodes, Mapping) else {})})
        statistics = all_statistics(model)
        at_zero = log_density_at_zero(slab)
        scores = self.graph_prior.log_probability(present)
        for k, row in enumerate(present):
            chosen = np.concatenate([np.flatnonzero(row), np.arange(m, model.n_parameters)])
            scores[k] += log_evidence(statistics, self.counts, self.n, prior, chosen) + row.sum() * at_zero
        weight = np.exp(scores - scores.max())
        return np.asarray(weight / weight.sum())

    @property
    def graph_prior(self) -> GraphPrior:
        """The prior over graphs."""
        is_named = self.settings["edges"] != PER_EDGE
        return graph_prior(self.model, self.settings["edges"] if is_named else list(self.prior_inclusion))

    @property
    def median_graph(self) -> tuple[str, ...]:
        """Names of the edges of the median-probability graph: those with a posterior probability above one half."""
        return tuple(name for name, p in zip(self.model.blocks, self.inclusion, strict=False) if p > 0.5)

    def number_of_edges(self) -> pd.Series:
        """Posterior probability of each number of edges that has one, from all sweeps."""
        import pandas as pd

        sizes = np.flatnonzero(self.size_probability)
        return pd.Series(self.size_probability[sizes], index=pd.Index(sizes, name="edges"), name="probability")

    def to_networkx(self, threshold: float = 0.5) -> nx.Graph:
        """All nodes, and the edges with an inclusion probability above ``threshold``, as a networkx graph.

        Edges carry ``inclusion``, ``log_bf10`` and ``weight``, the model-averaged mean of the log-odds.
        """
        import networkx as nx

        if not 0 <= threshold <= 1:
            raise InputError(f"threshold = {threshold!r}: give a probability from 0 to 1.")
        graph = nx.Graph()
        graph.add_nodes_from(self.model.nodes)
        factor = self.log_bf10
        for edge, (u, v) in enumerate(self.model.edges.tolist()):
            if self.inclusion[edge] > threshold:
                graph.add_edge(
                    self.model.nodes[u],
                    self.model.nodes[v],
                    inclusion=float(self.inclusion[edge]),
                    log_bf10=float(factor[edge]),
                    weight=float(self.mean[edge]),
                )
        return graph

    def __repr__(self) -> str:
        chains, draws, _ = self.log_odds.shape
        expected = float(np.arange(self.size_probability.size) @ self.size_probability)
        return (
            f"<Selection ({self.target} target, engine {self.engine}): {expected:.1f} of {self.model.n_edges} edges "
            f"expected, {self.told(chains, draws)}>"
        )
