"""Draws of a search as a `Posterior`, so that all that is computed from draws is there for them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mrfbayes.results.posterior import Posterior

if TYPE_CHECKING:
    from mrfbayes.methods.problem import Problem
    from mrfbayes.structure.result import SearchResult

AVERAGED = "graphs"  # the method and the engine of such a posterior


def as_posterior(
    result: SearchResult, log_odds: np.ndarray, n: float, label: str, problem: Problem | None = None
) -> Posterior:
    """The draws ``log_odds`` (chains, draws, p) of ``result``; ``problem`` has the data, where they are at hand."""
    draws = result.model.chart.theta(log_odds)
    settings = {**result.settings, "prior": f"{result.settings['slab']} if there"}
    details = {"missing": result.settings["missing"]} if "missing" in result.settings else {}
    return Posterior(
        model=result.model,
        draws=draws,
        log_likelihood=result.log_likelihood,
        mean=draws.mean(axis=(0, 1)),
        sd=draws.std(axis=(0, 1)),
        method=AVERAGED,
        label=label,
        target=result.target,
        engine=AVERAGED,
        steps=result.steps,
        warmup=result.warmup,
        thin=result.thin,
        acceptance=None,
        timings=result.timings,
        settings=settings,
        versions=result.versions,
        data_digest=result.data_digest,
        n=n,
        warnings=result.warnings,
        partial=result.partial,
        details=details,
        w=log_odds,
        _problem=problem,
    )
