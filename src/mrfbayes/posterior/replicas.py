"""Runs a method that walks by itself (`Prepared.walk`) and makes its `Posterior`.

Like every run it goes in short chunks; between them come progress, checkpoint, Ctrl-C and time budget.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from mrfbayes.base.budget import budget
from mrfbayes.base.errors import OutputError
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.progress import Progress
from mrfbayes.methods.langevin.coins import WalkJoint, walk_coins
from mrfbayes.methods.langevin.moments import walk_moments
from mrfbayes.methods.langevin.trust import doubts, walk_trust
from mrfbayes.methods.langevin.walk import RECORDED, Walk
from mrfbayes.methods.problem import Problem
from mrfbayes.posterior import diagnostics
from mrfbayes.posterior.assemble import collect_warnings, origin, refuse_nothing, speak
from mrfbayes.posterior.chains import checkpoint_of
from mrfbayes.posterior.engines import Engine
from mrfbayes.posterior.facts import RunFacts
from mrfbayes.posterior.posterior import Posterior
from mrfbayes.posterior.settings import Settings
from mrfbayes.run.driver import CHECKPOINT_SECONDS, ROUND_SECONDS
from mrfbayes.run.store import Checkpoint

MOST_WATCHED = 100  # parameters whose R-hat is found before a result is returned


class _Stored:
    """Draws of the log-odds as they come in, on their way to memory and to the checkpoint."""

    def __init__(self, walk: Walk, checkpoint: Checkpoint | None) -> None:
        self._walk, self._checkpoint = walk, checkpoint
        self._draws: list[np.ndarray] = []
        self._written_at = time.monotonic()
        self._unwritten = 0
        self.problem = ""
        if checkpoint is not None and checkpoint.segments:
            self._draws = [w for _, arrays in checkpoint.segments for w in arrays["draws"]]
            self._unwritten = len(self._draws)
            walk.restore(checkpoint.segments[-1][1])

    def take(self) -> None:
        """Take what the walk has drawn, and write it down every few seconds."""
        self._draws += self._walk.drawn
        self._walk.drawn = []
        if time.monotonic() - self._written_at > CHECKPOINT_SECONDS:
            self.write()

    def write(self) -> None:
        """Append what is new to the checkpoint."""
        if self._checkpoint is None:
            return
        shape = (0, *self._walk.state["y"].shape)
        new = np.stack(self._draws[self._unwritten :]) if len(self._draws) > self._unwritten else np.zeros(shape)
        self._written_at = time.monotonic()
        try:
            self._checkpoint.append({}, {**self._walk.arrays(), "draws": new})
        except OutputError as error:  # the draws are in memory: go on, and try again later
            self.problem = str(error)
            return
        self.problem = ""
        self._unwritten = len(self._draws)

    def result(self) -> np.ndarray:
        """(replicas, draws, p) log-odds."""
        k, p = self._walk.state["y"].shape
        return np.stack(self._draws, axis=1) if self._draws else np.empty((k, 0, p))


def run_walk(
    walk: Walk, n_steps: int, checkpoint: Checkpoint | None, seconds: float | None, progress: bool, may_cut_warmup: bool
) -> tuple[np.ndarray, str, str]:
    """Walk to ``n_steps`` steps in all, or as far as interrupt or budget allow.

    Returns the draws, what stopped it, and what was wrong with the checkpoint at the end.
    """
    stored = _Stored(walk, checkpoint)
    started = time.perf_counter()
    stopped_by, chunk = "", 1
    try:
        with InterruptFlag() as interrupt, Progress("langevin", n_steps, progress) as bar:
            while walk.steps < n_steps:
                round_started = time.perf_counter()
                walk.advance(min(chunk, n_steps - walk.steps))
                stored.take()
                bar.update(walk.steps, "warm-up" if walk.steps < walk.settings.warmup else "")
                elapsed = time.perf_counter() - round_started
                chunk = max(1, int(chunk * min(2.0, ROUND_SECONDS / max(elapsed, 1e-9))))
                if interrupt.raised:
                    stopped_by = "Ctrl-C"
                    break
                spent = time.perf_counter() - started
                if seconds is not None and spent > seconds:
                    stopped_by = "time budget"
                    break
                warmup = walk.settings.warmup
                if seconds is not None and may_cut_warmup and walk.steps < warmup and spent > seconds / 2:
                    walk.end_warmup()  # so that half of the time is left for draws
                    n_steps -= warmup - walk.steps
                    budget().cut(f"warm-up ended after {walk.steps} of {warmup} steps")
    finally:
        stored.write()
    return stored.result(), stopped_by if walk.steps < n_steps else "", stored.problem


def replica_posterior(problem: Problem, settings: Settings, how: Engine, preparation: float) -> Posterior:
    """Walk, and make the posterior of it; an error where it was stopped before its first draw."""
    prepared, plan = how.prepared, how.plan
    assert prepared.walk is not None
    walk = prepared.walk(plan.chains, plan.warmup, plan.thin)
    started = time.perf_counter()
    seconds = None if settings.seconds is None else budget().left
    with checkpoint_of(problem, settings, how) as store:
        resumed = 0 if store is None or not store.segments else 1
        w, stopped_by, problem_kept = run_walk(
            walk, plan.warmup + plan.steps, store, seconds, problem.progress, store is None and settings.warmup is None
        )
    steps = max(walk.steps - walk.settings.warmup, 0)
    if not (walk.state["counters"][RECORDED] and w.shape[1]):
        refuse_nothing(stopped_by, settings)
    said, texts = collect_warnings(problem, settings, how)
    if stopped_by:
        texts.append(f"stopped by {stopped_by} after {steps} of {plan.steps} steps: the result is partial.")
    if problem_kept:
        texts.append(f"the checkpoint lacks the last steps, which are in this result: {problem_kept}")
    moments = walk_moments(walk)
    # Stored draws agree with the moments that are reported.
    draws = problem.model.chart.theta(moments.mean + (w - moments.raw_mean) * (moments.sd / moments.raw_sd))
    trust = walk_trust(walk, moments)
    posterior = Posterior(
        **origin(problem, settings, how, said),
        draws=draws,
        log_likelihood=np.zeros(draws.shape[:2]),
        mean=draws.mean(axis=(0, 1)),
        sd=draws.std(axis=(0, 1)),
        engine="langevin",
        steps=steps,
        warmup=walk.settings.warmup,
        thin=plan.thin,
        acceptance=None,
        seconds={"prepare": preparation, "compile": 0.0, "chain": time.perf_counter() - started},
        partial=bool(stopped_by or budget().cuts),
        details={
            **prepared.details,
            "replicas": walk.settings.replicas,
            "resumed": resumed,
            "effective_draws": float(1 / max(trust.mean_error, 1e-12) ** 2),
            "gradient_noise": float(1 - walk.state["spread"].min() ** 2),
            "noisy_directions": int(walk.state["directions"].shape[1]),
            **trust.details(),
            **RunFacts(stopped_by=stopped_by).details,
        },
        sd_error=moments.sd_error,
        draw=WalkJoint(problem.model.chart, walk_coins(moments), walk.metric.factor).draw,
    )
    posterior = replace(posterior, warnings=(*posterior.warnings, *agreement(draws)))
    return speak(posterior, [*texts, *doubts(walk, trust)])


def agreement(draws: np.ndarray) -> list[str]:
    """Why R-hat is above its limit, where it is.

    Means of halves of k replicas scatter by about 2 k / ESS of the variance, so that R-hat is about 1 + k / ESS. Looked
    at are the parameters whose replicas differ most: all of them would take a tenth of the time of the walk.
    """
    k = len(draws)
    apart = draws.mean(axis=1).var(axis=0) / np.maximum(draws.var(axis=(0, 1)), 1e-300)
    found = diagnostics.convergence(draws[:, :, np.argsort(-apart)[:MOST_WATCHED]])
    worst, least = float(np.nanmax(found.r_hat, initial=1.0)), float(np.nanmin(found.ess_bulk, initial=np.inf))
    if worst <= diagnostics.MOST_R_HAT:
        return []
    return [
        f"largest R-hat {worst:.3f}, smallest effective sample size {least:.0f} in {k} replicas: for {k} of them to "
        f"agree to {diagnostics.MOST_R_HAT}, {100 * k:,} or more are needed; run longer (steps=) before quoting "
        "quantiles."
    ]
