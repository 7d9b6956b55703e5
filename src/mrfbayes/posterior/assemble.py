"""From the chains or the independent draws of a run to its `Posterior`, with what its diagnostics say."""

from __future__ import annotations

import math
import platform
import time
import warnings as python_warnings
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.errors import MRFWarning
from mrfbayes.base.random_streams import child
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.registry import Row
from mrfbayes.posterior.corrected import TRUSTED_K, pool, summary_details
from mrfbayes.posterior.posterior import Posterior
from mrfbayes.posterior.settings import Plan
from mrfbayes.run.driver import ChainRun

NOISE_LIMIT = 1.0  # nats of noise in a log ratio, above which the target is visibly another one


def chain_posterior(
    row: Row,
    problem: Problem,
    prepared: Prepared,
    plan: Plan,
    settings: Mapping[str, Any],
    run: ChainRun,
    preparation: float,
) -> Posterior:
    from mrfbayes.kernels.run import chain

    counters, means, squares = run.gather("counters"), run.gather("mean"), run.gather("square")
    kept_steps = np.maximum(counters[:, chain.STEP] - plan.warmup, 0)
    steps = int(kept_steps[0])
    for theta, count, done, chain_mean, square in zip(
        run.gather("theta"), counters[:, chain.STAYED], kept_steps, means, squares, strict=True
    ):
        chain.add_stay(theta, count, done, chain_mean, square)
    mean = means.mean(axis=0)
    total = squares.sum(axis=0) + steps * ((means - mean) ** 2).sum(axis=0)
    sd = np.sqrt(total / max(len(means) * steps - 1, 1))
    acceptance = counters[:, chain.ACCEPTED] / np.maximum(kept_steps, 1)
    found = [*problem.statistics.warnings, *prepared.warnings]
    if problem.has_estimate:
        found += list(getattr(problem.estimate, "warnings", ()))
    if run.stopped_by:
        found.append(f"stopped by {run.stopped_by} after {steps} of {plan.steps} steps: the result is partial.")
    draws_made = run.draws.shape[1] > 0
    posterior = Posterior(
        model=problem.model,
        draws=run.draws,
        log_likelihood=run.log_likelihood,
        mean=mean if draws_made else np.full(mean.size, np.nan),
        sd=sd if draws_made else np.full(mean.size, np.nan),
        method=row.key,
        label=row.label,
        target=row.target,
        engine=str(settings["engine"]),
        steps=steps,
        warmup=plan.warmup,
        thin=plan.thin,
        acceptance=acceptance,
        seconds={"prepare": preparation, "compile": run.compile_seconds, "chain": run.chain_seconds},
        settings=settings,
        versions=versions(),
        data_digest=problem.statistics.digest,
        n=problem.statistics.n,
        warnings=tuple(dict.fromkeys(found)),
        partial=bool(run.stopped_by),
        details={
            **prepared.details,
            "outside": (counters[:, chain.OUTSIDE] / np.maximum(counters[:, chain.STEP], 1)).tolist(),
            "resumed_steps": run.resumed_steps,
            "stopped_by": run.stopped_by,
            **_noise(run),
        },
        problem=problem,
    )
    if plan.proposal == "independent" and steps:
        weighted = pool(run.states)
        details = {**posterior.details, **summary_details(weighted)}
        posterior = replace(posterior, mean=weighted.mean, sd=weighted.sd, details=details)
    return _with_doubts(posterior)


def _noise(run: ChainRun) -> dict[str, float]:
    """Root mean square of sd(n log r), as the particles of each step showed it; nothing where ratios are exact."""
    from mrfbayes.kernels.run import chain

    total = float(run.gather("numbers")[:, chain.NOISE_SUM].sum())
    count = int(run.gather("counters")[:, chain.NOISE_COUNT].sum())
    return {"noise": math.sqrt(total / count)} if total > 0 else {}


def direct_posterior(
    row: Row,
    problem: Problem,
    prepared: Prepared,
    plan: Plan,
    settings: Mapping[str, Any],
    preparation: float,
) -> Posterior:
    """Independent draws: no chain, no warm-up, and nothing to thin."""
    assert prepared.draw is not None
    started = time.perf_counter()
    size = max(plan.steps // plan.thin, 1)
    drawn = prepared.draw(plan.chains * size, child(problem.seed, "direct"))
    draws = drawn.reshape(plan.chains, size, -1)
    mean, sd = prepared.moments or (draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1))
    found = [*problem.statistics.warnings, *prepared.warnings]
    if problem.has_estimate:
        found += list(getattr(problem.estimate, "warnings", ()))
    return Posterior(
        model=problem.model,
        draws=draws,
        log_likelihood=np.zeros(draws.shape[:2]),
        mean=mean,
        sd=sd,
        method=row.key,
        label=row.label,
        target=row.target,
        engine="direct",
        steps=size,
        warmup=0,
        thin=1,
        acceptance=None,
        seconds={"prepare": preparation, "compile": 0.0, "chain": time.perf_counter() - started},
        settings=settings,
        versions=versions(),
        data_digest=problem.statistics.digest,
        n=problem.statistics.n,
        warnings=tuple(dict.fromkeys(found)),
        details=dict(prepared.details),
        sd_error=prepared.sd_error,
        problem=problem,
        draw=prepared.draw,
        quantile=prepared.quantile,
    )


def _with_doubts(posterior: Posterior) -> Posterior:
    """The same posterior with what its diagnostics say added to its warnings, and said aloud."""
    doubts = []
    noise = float(posterior.details.get("noise", 0.0))
    if noise > NOISE_LIMIT:
        doubts.append(
            f"the estimated likelihood ratios are noisy, sd(n log r) = {noise:.2g}: the chain sticks and its target is "
            "wider than the posterior; use more particles=, or method='exact', 'exchange-exact' or 'calibrated'."
        )
    if posterior.acceptance is not None and posterior.steps:
        rate = float(posterior.acceptance.mean())
        if rate < 0.01 or (rate > 0.99 and posterior.engine != "independence"):
            doubts.append(
                f"{rate:.2%} of the proposals were accepted: below 1 % the chain hardly moves, above 99 % its steps "
                "are too small; use proposal='adapted' or a longer warm-up."
            )
    k = float(posterior.details.get("pareto_k", 0.0))
    if k > TRUSTED_K and posterior.engine != "mh":  # the chain does not use the weights
        doubts.append(
            f"Pareto k of the importance weights is {k:.2f}, above {TRUSTED_K}: mean and sd may be off; use "
            "engine='mh'."
        )
    if posterior.draws.shape[1] >= 8 and posterior.model.n_parameters:
        worst = float(np.nanmax(posterior.r_hat)) if np.isfinite(posterior.r_hat).any() else math.inf
        smallest = float(np.nanmin(posterior.ess)) if np.isfinite(posterior.ess).any() else 0.0
        kept = posterior.draws.shape[0] * posterior.draws.shape[1]
        if worst > 1.01 or smallest < 100 * len(posterior.draws):
            doubts.append(
                f"largest R-hat {worst:.3f}, smallest effective sample size {smallest:.0f} of {kept} draws: run longer "
                "(steps=) before quoting quantiles."
            )
    for text in doubts:
        python_warnings.warn(text, MRFWarning, stacklevel=4)
    return replace(posterior, warnings=(*posterior.warnings, *doubts))


def versions() -> dict[str, str]:
    """Versions of everything that a result depends on."""
    return {
        "mrfbayes": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numba", "numpy")},
    }
