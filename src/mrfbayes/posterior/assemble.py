"""From the chains or the independent draws of a run to its `Posterior`, with what its diagnostics say."""

from __future__ import annotations

import math
import platform
import time
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, TypedDict, cast

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.budget import budget
from mrfbayes.base.errors import CostError, SamplingError, warn_user
from mrfbayes.base.random_streams import child
from mrfbayes.data.coding import stored_schema
from mrfbayes.methods.problem import Problem
from mrfbayes.model.field import Model
from mrfbayes.posterior import diagnostics
from mrfbayes.posterior.corrected import TRUSTED_K, pool, weighted_proposals
from mrfbayes.posterior.engines import Engine
from mrfbayes.posterior.facts import RunFacts
from mrfbayes.posterior.posterior import Posterior
from mrfbayes.posterior.settings import Settings
from mrfbayes.run.clusters import are_several
from mrfbayes.run.driver import ChainRun

if TYPE_CHECKING:
    from mrfbayes.kernels.run.independence import IndependenceView

NOISE_LIMIT = 1.0  # nats of noise in a log ratio, above which the target is visibly another one


def record(settings: Settings, how: Engine) -> dict[str, object]:
    """Every setting that plays a part in the draws, as the result and the checkpoint keep it."""
    plan = how.plan
    options = {**settings.row.options, **settings.options}
    kept = {
        "method": settings.row.key,
        "options": {name: value for name, value in options.items() if name not in how.prepared.unused},
        "engine": how.name,
        "prior": str(settings.prior),
        "seed": [str(settings.seed.entropy), list(settings.seed.spawn_key)],
        "chains": plan.chains,
    }
    if how.name != "direct":
        kept |= {"warmup": plan.warmup, "thin": plan.thin, "proposal": plan.proposal}
    if how.name in ("mh", "hmc", "langevin"):
        kept["start"] = plan.start if isinstance(plan.start, str) else "given"
    return kept


def unused_settings(settings: Settings, how: Engine) -> list[str]:
    """A sentence for every setting that was given and plays no part."""
    row = settings.row
    texts = [
        f"{name}= is not used: {reason}."
        for name, reason in how.prepared.unused.items()
        if name in settings.options and settings.options[name] is not None
    ]
    alone = {"direct": f"{row.label} draws independently, without a chain", "independence": "proposals are independent"}
    if how.name in alone and settings.warmup:
        texts.append(f"warmup= is not used: {alone[how.name]}.")
    if how.name == "direct":
        is_walked = RunFacts.of(how.prepared.details).moments == "langevin"  # its threads were used before
        given = {
            "checkpoint": settings.checkpoint is not None,
            "workers": are_several(settings.workers) and not (is_walked and isinstance(settings.workers, int)),
        }
        texts += [f"{name}= is not used: {alone['direct']}." for name, is_given in given.items() if is_given]
    elif how.name == "langevin" and not isinstance(settings.workers, int):
        texts.append("workers= is not used: replicas walk in threads of one process; give their number.")
    elif are_several(settings.workers) and settings.chains == 1 and how.name != "langevin":
        texts.append("workers= is not used: there is only one chain to run.")
    return texts


def collect_warnings(problem: Problem, settings: Settings, how: Engine) -> tuple[list[str], list[str]]:
    """Warnings that were said when they arose, or are only written down; and those that still have to be said."""
    said = [*problem.statistics.warnings, *how.prepared.notes]
    if problem.has_estimate:
        said += problem.estimate.warnings
    texts = [*how.prepared.warnings, *unused_settings(settings, how)]
    if budget().cuts:
        texts.append(f"the time budget of {budget().seconds:g} s was short: {'; '.join(dict.fromkeys(budget().cuts))}.")
    if late := budget().overrun():
        texts.append(late)
    return said, [text for text in dict.fromkeys(texts) if text not in said]


class Origin(TypedDict):
    """Where a posterior comes from: the fields that do not depend on how its draws were made."""

    model: Model
    method: str
    label: str
    target: str
    settings: dict[str, object]
    versions: dict[str, str]
    data_digest: str
    n: float
    warnings: tuple[str, ...]
    problem: Problem


def origin(problem: Problem, settings: Settings, how: Engine, said: list[str]) -> Origin:
    """Model, method, settings, versions and data; ``said`` are the warnings that were said before."""
    row, statistics = settings.row, problem.statistics
    return Origin(
        model=problem.model,
        method=row.key,
        label=row.label,
        target=row.target,
        settings={**record(settings, how), "schema": stored_schema(statistics.coding)},
        versions=versions(),
        data_digest=statistics.digest,
        n=statistics.n_all,
        warnings=tuple(dict.fromkeys(said)),
        problem=problem,
    )


def chain_posterior(problem: Problem, settings: Settings, how: Engine, run: ChainRun, preparation: float) -> Posterior:
    """The result of chains; an error where they were stopped before their first draw."""
    from mrfbayes.kernels.run import chain

    prepared, plan = how.prepared, how.plan
    counters, means, squares = run.gather("counters"), run.gather("mean"), run.gather("square")
    kept_steps = np.maximum(counters[:, chain.STEP] - run.n_warmup, 0)
    steps, planned = int(kept_steps[0]), run.n_steps - run.n_warmup
    if not run.draws.shape[1]:
        refuse_nothing(run.stopped_by, settings)
    for theta, count, done, chain_mean, square in zip(
        run.gather("theta"), counters[:, chain.STAYED], kept_steps, means, squares, strict=True
    ):
        chain.add_stay(theta, count, done, chain_mean, square)
    mean = means.mean(axis=0)
    total = squares.sum(axis=0) + steps * ((means - mean) ** 2).sum(axis=0)
    sd = np.sqrt(total / max(len(means) * steps - 1, 1))
    if run.n_warmup < plan.warmup:
        budget().cut(f"warm-up ended after {run.n_warmup} of {plan.warmup} steps")
    said, texts = collect_warnings(problem, settings, how)
    if run.stopped_by:
        texts.append(f"stopped by {run.stopped_by} after {steps} of {planned} steps: the result is partial.")
    if run.checkpoint_problem:
        texts.append(f"the checkpoint lacks the last steps, which are in this result: {run.checkpoint_problem}")
    facts = RunFacts(
        resumed_steps=run.resumed_steps,
        stopped_by=run.stopped_by,
        noise=_noise(run) or None,
        gradients_per_step=_gradients_per_step(run),
    )
    posterior = Posterior(
        **origin(problem, settings, how, said),
        draws=run.draws,
        log_likelihood=run.log_likelihood,
        mean=mean,
        sd=sd,
        engine=how.name,
        steps=steps,
        warmup=run.n_warmup,
        thin=plan.thin,
        acceptance=counters[:, chain.ACCEPTED] / np.maximum(kept_steps, 1),
        seconds={"prepare": preparation, "compile": run.compile_seconds, "chain": run.chain_seconds},
        partial=bool(run.stopped_by or budget().cuts),
        details={
            **prepared.details,
            "outside": (counters[:, chain.OUTSIDE] / np.maximum(counters[:, chain.STEP], 1)).tolist(),
            **facts.details,
        },
    )
    pareto_k = 0.0
    if plan.proposal == "independent":
        pooled = pool(run.states)
        pareto_k = pooled.pareto_k
        details = {**posterior.details, **pooled.facts.details}
        weighted = weighted_proposals(problem, cast("IndependenceView", prepared.view), run.states)
        posterior = replace(
            posterior,
            mean=pooled.mean,
            sd=pooled.sd,
            details=details,
            weighted=weighted,
            quantile=weighted.quantile,
        )
    doubts = [*_ratio_doubts(_noise(run)), *_weight_doubts(pareto_k), *_doubts(posterior, steps > plan.steps)]
    return speak(posterior, [*texts, *doubts])


def refuse_nothing(stopped_by: str, settings: Settings) -> None:
    """Where nothing was drawn: a partial result would have nothing in it."""
    kept = "" if settings.checkpoint is None else f" The steps so far are in the checkpoint {settings.checkpoint}."
    if stopped_by == "Ctrl-C":
        raise KeyboardInterrupt(f"stopped before the first draw was kept.{kept}")
    raise CostError(
        f"the time budget of {settings.seconds:g} s ended before the first draw was kept: allow more seconds=, or use "
        f"method='mle', 'pseudo' or 'calibrated'.{kept}{' ' + budget().overrun()}".rstrip()
    )


def _noise(run: ChainRun) -> float:
    """Root mean square of sd(n log r), as the particles of each step showed it; 0 where ratios are exact."""
    from mrfbayes.kernels.run import chain

    total = float(run.gather("numbers")[:, chain.NOISE_SUM].sum())
    count = int(run.gather("counters")[:, chain.NOISE_COUNT].sum())
    return math.sqrt(total / count) if total > 0 else 0.0


def _gradients_per_step(run: ChainRun) -> float | None:
    """How many gradients a trajectory of Hamiltonian Monte Carlo took on average; None for other engines."""
    from mrfbayes.kernels.run import chain

    counters = run.gather("counters")
    if counters.shape[1] == chain.N_COUNTERS:
        return None
    from mrfbayes.kernels.run.hmc import GRADIENTS

    return float(counters[:, GRADIENTS].sum() / max(counters[:, chain.STEP].sum(), 1))


def direct_posterior(problem: Problem, settings: Settings, how: Engine, preparation: float) -> Posterior:
    """Independent draws: no chain, no warm-up, and nothing to thin."""
    row, prepared, plan = settings.row, how.prepared, how.plan
    assert prepared.draw is not None
    started = time.perf_counter()
    size = max(plan.steps // plan.thin, 1)
    drawn = prepared.draw(plan.chains * size, child(problem.seed, "direct"))
    if not np.isfinite(drawn).all():
        raise SamplingError(f"{row.label}: some of the independent draws are not numbers; use engine='mh'.")
    draws = drawn.reshape(plan.chains, size, -1)
    mean, sd = prepared.moments or (draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1))
    said, texts = collect_warnings(problem, settings, how)
    posterior = Posterior(
        **origin(problem, settings, how, said),
        draws=draws,
        log_likelihood=np.zeros(draws.shape[:2]),
        mean=mean,
        sd=sd,
        engine="direct",
        steps=size,
        warmup=0,
        thin=1,
        acceptance=None,
        seconds={"prepare": preparation, "compile": 0.0, "chain": time.perf_counter() - started},
        partial=bool(budget().cuts),
        details=dict(prepared.details),
        sd_error=prepared.sd_error,
        draw=prepared.draw,
        quantile=prepared.quantile,
    )
    return speak(posterior, texts)


def speak(posterior: Posterior, texts: list[str]) -> Posterior:
    """The posterior with ``texts`` among its warnings, each of them said aloud."""
    for text in texts:
        warn_user(text)
    return replace(posterior, warnings=tuple(dict.fromkeys((*posterior.warnings, *texts))))


def _ratio_doubts(noise: float) -> list[str]:
    """Whether ratios are so noisy that the target is another one."""
    if noise <= NOISE_LIMIT:
        return []
    return [
        f"the estimated likelihood ratios are noisy, sd(n log r) = {noise:.2g}: the chain sticks and its target is "
        "wider than the posterior; use more particles=, or method='exact', 'exchange-exact' or 'calibrated'."
    ]


def _weight_doubts(pareto_k: float) -> list[str]:
    """Whether weights are so uneven that moments from them may be off."""
    if pareto_k <= TRUSTED_K:
        return []
    return [
        f"Pareto k of the importance weights is {pareto_k:.2f}, above {TRUSTED_K}: mean and sd may be off; use "
        "engine='hmc'."
    ]


def _doubts(posterior: Posterior, was_lengthened: bool) -> list[str]:
    """What the diagnostics of chains give reason to doubt."""
    doubts = []
    if posterior.acceptance is not None and posterior.steps:
        rate = float(posterior.acceptance.mean())
        if rate < 0.01 or (rate > 0.99 and posterior.engine == "mh"):
            doubts.append(
                f"{rate:.2%} of the proposals were accepted: below 1 % the chain hardly moves, above 99 % its steps "
                "are too small; use proposal='adapted' or a longer warm-up."
            )
    if posterior.draws.shape[1] >= 8 and posterior.model.n_parameters:
        worst = float(np.nanmax(posterior.r_hat)) if np.isfinite(posterior.r_hat).any() else math.inf
        smallest = float(np.nanmin(posterior.ess)) if np.isfinite(posterior.ess).any() else 0.0
        kept = posterior.draws.shape[0] * posterior.draws.shape[1]
        if worst > diagnostics.MOST_R_HAT or smallest < 100 * len(posterior.draws):
            grown = f", though the chains were lengthened to {posterior.steps} steps each" if was_lengthened else ""
            doubts.append(
                f"largest R-hat {worst:.3f}, smallest effective sample size {smallest:.0f} of {kept} draws{grown}: run "
                "longer (steps=) before quoting quantiles."
            )
    return doubts


def versions() -> dict[str, str]:
    """Versions of everything that a result depends on."""
    return {
        "mrfbayes": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numba", "numpy")},
    }
