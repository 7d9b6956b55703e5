"""What a posterior says, gathered once: the tables that sentences, page and command line are made of."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import pandas as pd

from mrfbayes.base.budget import OutOfTime
from mrfbayes.base.errors import CostError, InputError, MRFWarning
from mrfbayes.base.types import Scale
from mrfbayes.data.tally import MISSING_AT_RANDOM
from mrfbayes.model.field import Model
from mrfbayes.model.result import Result
from mrfbayes.model.scales import n_edge_blocks, natural_scale, scaled
from mrfbayes.plots.layouts import is_lattice, positions
from mrfbayes.plots.network import edge_rows, pull
from mrfbayes.results.bayes_factors import edges_table, no_evidence
from mrfbayes.results.centrality import coupling_draws
from mrfbayes.results.posterior import Posterior
from mrfbayes.results.predictive import LEAST_ROWS, PredictiveCheck, affordable_replicates, predictive_check
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.reruns import sensitivity_table, slab_rows
from mrfbayes.structure.result import AVERAGED
from mrfbayes.structure.selection import Selection

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics

T = TypeVar("T")
DRAWN_NODES = 5_000
DIAGNOSED = 3_000  # parameters up to which every one has its effective sample size


@dataclass(eq=False)
class Findings:
    """Everything that is said about one analysis; each part is computed when it is first asked for.

    ``posterior`` is what all numbers are taken from: the average over graphs where there was a search (``selection``),
    else the posterior of the model with all edges. In the first case ``saturated`` is the latter.
    """

    posterior: Posterior
    scale: Scale = None  # type: ignore[assignment]  # the natural scale of the model
    check: bool = True
    selection: Selection | None = None
    groups: GroupComparison | None = None
    codebook: Mapping[str, str] = field(default_factory=dict)  # text of each item
    rows_read: int | None = None
    omitted: tuple[str, ...] = ()  # what a time budget was too short for
    missing: dict[str, str] = field(default_factory=dict)  # part -> why it is not there
    said: list[str] = field(default_factory=list)  # warnings of what was computed here
    saturated: Findings | None = None

    def __post_init__(self) -> None:
        self.scale = self.scale or natural_scale(self.posterior.model)
        if self.selection is not None and not self.selection.steps:
            self.selection = None
        if self.selection is not None and self.posterior.method != AVERAGED:
            self.saturated = Findings(self.posterior, self.scale, check=False)
            self.posterior = self.selection.averaged(self.posterior._problem)
        if self.selection is not None and self.scale == "theta":
            self.scale = "log-odds"  # in which an absent edge is zero

    @classmethod
    def of(cls, result: Result, scale: Scale | None = None, check: bool = True) -> Findings:
        """What a single result says: a posterior, a search over graphs, a comparison of groups, or a fit."""
        chosen = cast("Scale", scale)
        if isinstance(result, Selection):
            return cls(result.averaged(), chosen, check, result)
        if isinstance(result, GroupComparison):
            return cls(result.baseline(), chosen, check=False, groups=result)
        own = getattr(result, "findings", None)  # of a fit
        if isinstance(own, Findings):
            return own
        if not isinstance(result, Posterior):
            kind = type(result).__name__
            raise InputError(f"{kind} has no report: it has no one posterior of its parameters; open it in Python.")
        return cls(result, chosen, check)

    def attempt(self, part: str, compute: Callable[[], T]) -> T | None:
        """What ``compute`` returns; None where it cannot be had, and the reason in ``missing``."""
        try:
            return compute()
        except (InputError, CostError) as reason:
            self.missing[part] = str(reason)
            return None

    @property
    def model(self) -> Model:
        """The field with all edges that may be there."""
        return self.posterior.model

    @property
    def statistics(self) -> Statistics | None:
        """The data, where the posterior knows them."""
        found: Statistics | None = getattr(self.posterior._problem, "statistics", None)
        return found

    @property
    def data_problems(self) -> list[str]:
        """What was said about the data themselves."""
        return [] if self.statistics is None else list(self.statistics.warnings)

    @property
    def doubts(self) -> list[str]:
        """What was said about the runs, each once."""
        parts = [self.posterior.warnings, self.said, self.omitted]
        parts += [] if self.saturated is None else [self.saturated.posterior.warnings, self.saturated.said]
        parts += [] if self.groups is None else [self.groups.warnings]
        known = self.data_problems
        if any(MISSING_AT_RANDOM in text for text in known):  # said once of all rows, not again of each group
            parts = [[text for text in part if MISSING_AT_RANDOM not in text] for part in parts]
        return [text for text in dict.fromkeys(chain(*parts)) if text not in known]

    @cached_property
    def edges(self) -> pd.DataFrame:
        """A row per edge with its verdict, in the order of the model's parameters."""
        if self.selection is not None:
            table = self.selection.edges(scale=self.scale)
            first = self.model.chart.offset[: self.model.n_edges]
            table["positive"] = (self.posterior.log_odds[..., first] > 0).mean(axis=(0, 1))
            return table.assign(log_bf10_error=self.selection.log_bf10_error, bound=False)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", MRFWarning)
            judged = self.attempt("Bayes factors", lambda: self.posterior.edges(scale=self.scale))
        self.said += [str(one.message) for one in caught if issubclass(one.category, MRFWarning)]
        if judged is None:
            return edges_table(self.posterior, self.scale, evidence=no_evidence(self.posterior.model))
        return judged

    @cached_property
    def couplings(self) -> np.ndarray | None:
        """(draws, m) couplings at draws of the answer; None where edges share them."""
        if self.is_tied or not self.model.n_edges:
            return None
        return coupling_draws(self.model, self.posterior.log_odds)

    @cached_property
    def sensitivity(self) -> pd.DataFrame | None:
        """Verdicts under other priors: by short runs of a search, else by weighing the draws of each edge."""
        names = list(self.edges.index)
        if self.selection is not None:
            return self.attempt("sensitivity", self.selection.sensitivity)
        if len(names) < 2 or not self.is_judged:
            return None
        return self.attempt("sensitivity", lambda: sensitivity_table(names, slab_rows(self.posterior, self.edges)))

    @cached_property
    def no_difference(self) -> dict[str, float] | None:
        """The evidence that no edge differs between groups."""
        return None if self.groups is None else self.attempt("evidence of no difference", self.groups.no_difference)

    @cached_property
    def differences(self) -> pd.DataFrame | None:
        """A row per edge: what is known of its difference between groups, the best supported first."""
        if self.groups is None:
            return None
        table = self.groups.summary().iloc[: int(self.model.chart.offset[self.model.n_edges])]
        return table.sort_values("log_bf10", ascending=False, kind="stable")

    @cached_property
    def places(self) -> np.ndarray | None:
        """(d, 2) where the nodes stand in every picture of the report; None where no network is drawn."""
        model = self.model
        if is_lattice(model) or self.is_tied or not model.n_edges or model.n_nodes > DRAWN_NODES:
            return None

        def compute() -> np.ndarray:
            return positions(model, "auto", pull(edge_rows(self.posterior, self.scale, self.edges, False)))

        return self.attempt("network", compute)

    @cached_property
    def node_style(self) -> pd.DataFrame:
        """What the pictures show of every node: community, ring (how well the others predict it), text of the item."""
        nodes, style = self.nodes, pd.DataFrame(index=pd.Index(self.model.nodes, name="node"))
        if "community" in nodes and nodes["community"].max() > 1:
            style["community"] = nodes["community"] - 1
        if "accuracy_gain" in nodes:
            style["ring"] = (nodes["accuracy_gain"] / (1 - nodes["accuracy_alone"]).clip(lower=1e-9)).clip(0, 1)
        if self.codebook:
            style["text"] = [self.codebook.get(name, "") for name in self.model.nodes]
        return style

    @property
    def is_tied(self) -> bool:
        """Whether edges share their couplings."""
        model = self.posterior.model
        return n_edge_blocks(model) < model.n_edges

    @property
    def is_judged(self) -> bool:
        """Whether there is an edge with a Bayes factor."""
        return 0 < len(self.edges) > self.verdicts["unknown"]

    @property
    def neutral(self) -> float:
        """The value of a coupling that means no interaction."""
        return 0.5 if self.scale == "theta" else 0.0

    @cached_property
    def verdicts(self) -> dict[str, int]:
        """How many edges have each verdict."""
        found = self.edges["verdict"].value_counts()
        return {name: int(found.get(name, 0)) for name in ("present", "absent", "undecided", "unknown")}

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """A row per node: threshold, predictability and centrality, as far as they can be had."""
        parts: list[pd.DataFrame | None] = [self._thresholds()]
        if self.is_pooled:
            self.missing["nodes"] = "they share their couplings, and so few observations tell nothing of a single one"
        else:
            parts.append(self.attempt("predictability", self.posterior.predictability))
        if not self.is_tied:
            scale: Scale = "ising" if self.scale == "ising" else "log-odds"
            parts.append(self.attempt("centrality", lambda: self.posterior.centrality(scale=scale)))
        return pd.concat([part for part in parts if part is not None], axis=1).reindex(list(self.model.nodes))

    @property
    def is_pooled(self) -> bool:
        """Whether there are too few observations to speak of single nodes of a tied field, as with one image."""
        return self.is_tied and self.posterior.n < LEAST_ROWS

    @cached_property
    def pooled(self) -> dict[str, float] | None:
        """How well the neighbours predict a node, all nodes of a tied field taken together; None where nodes differ."""
        observed, model = self.posterior._observed, self.posterior.model
        states = set(model.states.tolist())
        if not self.is_pooled or observed is None or not observed.shares.size or len(states) > 1:
            return None
        table = self.attempt("predictability", self.posterior.predictability)
        alone = float(observed.shares.reshape(model.n_nodes, -1).mean(axis=0).max())
        return None if table is None else {"accuracy": float(table["accuracy"].mean()), "accuracy_alone": alone}

    def _thresholds(self) -> pd.DataFrame:
        rows, nodes = scaled(self.model, self.scale), self.model.nodes
        if rows.names[rows.n_edge_rows :] != nodes:  # tied thresholds, or dice
            return pd.DataFrame(index=pd.Index(nodes, name="node"))
        return self.posterior._moments(rows).iloc[rows.n_edge_rows :].add_prefix("threshold_").rename_axis("node")

    @cached_property
    def predictive(self) -> PredictiveCheck | None:
        """The predictive check, where the data are at hand and it takes seconds."""

        def compute() -> PredictiveCheck:
            observed, statistics = self.posterior._observed, self.statistics
            if not self.check:
                raise InputError("it was not asked for")
            if observed is None and (statistics is None or statistics.incomplete is None):
                raise InputError("nothing is known of the observations")
            n = observed.n if observed is not None else statistics.n_all if statistics is not None else 0.0
            replicates = affordable_replicates(self.model, n)
            if not replicates:
                raise InputError("it would take minutes; run mrfbayes.predictive_check")
            try:
                with warnings.catch_warnings(action="ignore", category=MRFWarning):
                    return predictive_check(self.posterior, replicates=replicates, rng=0)
            except OutOfTime:
                raise InputError("the time budget ended before it; run mrfbayes.predictive_check") from None

        return self.attempt("predictive check", compute)

    @cached_property
    def diagnostics(self) -> dict[str, float]:
        """Largest R-hat, smallest effective sample size, Pareto k, acceptance: those that this run has."""
        posterior, facts = self.posterior, self.posterior.facts
        chains, draws, p = posterior.draws.shape
        acceptance = None if posterior.acceptance is None else float(np.mean(posterior.acceptance))
        found = {"pareto_k": facts.pareto_k, "acceptance": acceptance, "noise": facts.noise, "draws": chains * draws}
        if posterior.has_chains and draws >= 8 and 0 < p <= DIAGNOSED:
            if facts.trust is None:  # else many short replicas, whose scatter is in that statement
                found["r_hat"] = _worst(np.nanmax, posterior.r_hat)
                found["r_hat_excess"] = _worst(np.nanmax, posterior._convergence.excess)  # beyond chance
            found["ess"] = _worst(np.nanmin, posterior.ess)
        return {name: float(value) for name, value in found.items() if value is not None}

    @property
    def seed(self) -> str:
        """The seed, as it has to be given again."""
        seed: object = self.posterior.settings.get("seed")
        return str(seed[0] if isinstance(seed, (list, tuple)) else seed)


def _worst(pick: Callable[[np.ndarray], float], values: np.ndarray) -> float:
    return float(pick(values)) if np.isfinite(values).any() else math.nan
