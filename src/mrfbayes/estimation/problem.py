"""What is to be learned from what: model, data, prior and seed of a call, and the estimate that it is built on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import InputError

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.model.field import Model
    from mrfbayes.model.result import PointEstimate
    from mrfbayes.priors import Prior


@dataclass(frozen=True)
class Problem:
    """Model, data, prior and seed of a run; the estimate is made when a method first asks for it.

    ``threads`` are those that a method may use before and beside its chains; results do not depend on them.
    """

    model: Model
    statistics: Statistics
    prior: Prior
    seed: np.random.SeedSequence
    given_estimate: object = None
    progress: bool = True
    threads: int = 1

    def __post_init__(self) -> None:
        if not self.model.n_parameters:
            raise InputError(
                f"the field has no parameters ({self.model.n_nodes} nodes, no edges, no node factors), so there is "
                "nothing to learn: add edges, or fields=True (on the command line --fields)."
            )

    @cached_property
    def estimate(self) -> PointEstimate:
        """The maximum likelihood estimate (`mrfbayes.estimation.result.Estimate`), given or made here."""
        from mrfbayes.base.random_streams import child
        from mrfbayes.estimation.estimate import estimate
        from mrfbayes.model.result import as_estimate

        if self.given_estimate is not None:
            return as_estimate(self.model, self.given_estimate)
        with budget().share(0.5):  # the rest is for what the estimate is made for
            return estimate(self.model, self.statistics, rng=child(self.seed, "estimate"), progress=self.progress)

    @property
    def has_estimate(self) -> bool:
        """Whether an estimate is at hand without further work."""
        return self.given_estimate is not None or "estimate" in self.__dict__
