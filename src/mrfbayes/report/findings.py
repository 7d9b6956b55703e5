"""What a posterior says, gathered once: the tables that sentences, page and command line are made of."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import OutOfTime
from mrfbayes.base.errors import CostError, InputError, MRFWarning
from mrfbayes.base.types import Scale
from mrfbayes.model.scales import n_edge_blocks, scaled
from mrfbayes.model.wording import natural_scale
from mrfbayes.results.bayes_factors import edges_table, no_evidence
from mrfbayes.results.observed import LEAST_ROWS

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.data.statistics import Statistics
    from mrfbayes.results.posterior import Posterior
    from mrfbayes.results.predictive import PredictiveCheck

DIAGNOSED = 3_000  # parameters up to which every one has its effective sample size


@dataclass(eq=False)
class Findings:
    """Everything that is said about a posterior; each part is computed when it is first asked for."""

    posterior: Posterior
    scale: Scale = None  # type: ignore[assignment]  # the natural scale of the model
    check: bool = True
    missing: dict[str, str] = field(default_factory=dict)  # part -> why it is not there
    said: list[str] = field(default_factory=list)  # warnings of what was computed here

    def __post_init__(self) -> None:
        self.scale = self.scale or natural_scale(self.posterior.model)

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
        """What was said about the run."""
        return [text for text in (*self.posterior.warnings, *self.said) if text not in self.data_problems]

    @cached_property
    def edges(self) -> pd.DataFrame:
        """A row per edge with its verdict, in the order of the model's parameters."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", MRFWarning)
                table = self.posterior.edges(scale=self.scale)
            self.said += [str(one.message) for one in caught if issubclass(one.category, MRFWarning)]
            return table
        except InputError as reason:
            self.missing["Bayes factors"] = str(reason)
            return edges_table(self.posterior, self.scale, evidence=no_evidence(self.posterior.model))

    @property
    def is_tied(self) -> bool:
        """Whether edges share their couplings."""
        model = self.posterior.model
        return n_edge_blocks(model) < model.n_edges

    @cached_property
    def verdicts(self) -> dict[str, int]:
        """How many edges have each verdict."""
        found = self.edges["verdict"].value_counts()
        return {name: int(found.get(name, 0)) for name in ("present", "absent", "undecided", "unknown")}

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """A row per node: threshold, predictability and centrality, as far as they can be had."""
        import pandas as pd

        posterior, model = self.posterior, self.posterior.model
        parts = [self._thresholds()]
        if self.is_pooled:
            self.missing["nodes"] = "they share their couplings, and so few observations tell nothing of a single one"
            return parts[0]
        try:
            parts.append(posterior.predictability())
        except InputError as reason:
            self.missing["predictability"] = str(reason)
        try:
            parts.append(posterior.centrality(scale="ising" if self.scale == "ising" else "log-odds"))
        except InputError as reason:
            self.missing["centrality"] = str(reason)
        return pd.concat(parts, axis=1).reindex(list(model.nodes))

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
        try:
            accuracy = float(self.posterior.predictability()["accuracy"].mean())
        except InputError as reason:
            self.missing["predictability"] = str(reason)
            return None
        alone = float(observed.shares.reshape(model.n_nodes, -1).mean(axis=0).max())
        return {"accuracy": accuracy, "accuracy_alone": alone}

    def _thresholds(self) -> pd.DataFrame:
        import pandas as pd

        posterior, model = self.posterior, self.posterior.model
        rows = scaled(model, self.scale)
        spread = posterior._moments(rows)
        names = rows.names[rows.n_edge_rows :]
        table = pd.DataFrame(index=pd.Index(model.nodes, name="node"))
        if names == model.nodes:  # one threshold per node, none tied, no dice
            for column, values in spread.items():
                table[f"threshold_{column}"] = values[rows.n_edge_rows :]
        return table

    @cached_property
    def predictive(self) -> PredictiveCheck | None:
        """The predictive check, where the data are at hand and it takes seconds."""
        from mrfbayes.results.predictive import affordable_replicates, predictive_check

        if not self.check:
            self.missing["predictive check"] = "it was not asked for"
            return None
        observed, statistics = self.posterior._observed, self.statistics
        has_holes = statistics is not None and statistics.holes is not None
        if observed is None and not has_holes:
            self.missing["predictive check"] = "nothing is known of the observations"
            return None
        n = observed.n if observed is not None else statistics.n_all if statistics is not None else 0.0
        replicates = affordable_replicates(self.posterior.model, n)
        if not replicates:
            self.missing["predictive check"] = "it would take minutes; run mrfbayes.predictive_check"
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MRFWarning)
                return predictive_check(self.posterior, replicates=replicates, rng=0)
        except OutOfTime:
            self.missing["predictive check"] = "the time budget ended before it; run mrfbayes.predictive_check"
            return None
        except (InputError, CostError) as reason:
            self.missing["predictive check"] = str(reason)
            return None

    @cached_property
    def diagnostics(self) -> dict[str, float]:
        """Largest R-hat, smallest effective sample size, Pareto k, acceptance: those that this run has."""
        posterior = self.posterior
        found: dict[str, float] = {}
        chains, draws, p = posterior.draws.shape
        if posterior.has_chains and draws >= 8 and p:
            part = posterior if p <= DIAGNOSED else None
            if part is not None:
                if posterior.engine != "langevin":  # many short replicas: their scatter is in the trust statement
                    found["r_hat"] = _worst(np.nanmax, part.r_hat)
                found["ess"] = _worst(np.nanmin, part.ess)
        facts = posterior.facts
        if facts.pareto_k is not None:
            found["pareto_k"] = facts.pareto_k
        if posterior.acceptance is not None:
            found["acceptance"] = float(np.mean(posterior.acceptance))
        if facts.noise is not None:
            found["noise"] = facts.noise
        found["draws"] = float(chains * draws)
        return found

    @property
    def seed(self) -> str:
        """The seed, as it has to be given again."""
        seed: object = self.posterior.settings.get("seed")
        return str(seed[0] if isinstance(seed, (list, tuple)) else seed)


def _worst(pick: Callable[[np.ndarray], float], values: np.ndarray) -> float:
    return float(pick(values)) if np.isfinite(values).any() else math.nan
