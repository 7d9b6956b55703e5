"""Runs a method that walks by itself (`Prepared.walk`) and makes its `Posterior`.

Like every run it goes in short chunks; between them come progress, checkpoint, Ctrl-C and time budget.
"""

from __future__ import annotations

import time
import warnings as python_warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mrfbayes.base.errors import MRFWarning
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.progress import Progress
from mrfbayes.methods.langevin.coins import coin_draws, walk_coins
from mrfbayes.methods.langevin.langevin import STEPS, WARMUP
from mrfbayes.methods.langevin.moments import WalkMoments, walk_moments
from mrfbayes.methods.langevin.walk import RECORDED, SETTLING, Walk
from mrfbayes.methods.problem import Prepared, Problem
from mrfbayes.methods.registry import Row
from mrfbayes.posterior.posterior import Posterior
from mrfbayes.posterior.settings import DEFAULT_DRAW_BYTES, Plan
from mrfbayes.run.driver import CHECKPOINT_SECONDS, ROUND_SECONDS
from mrfbayes.run.store import Checkpoint

DOUBTFUL = 0.05  # Monte-Carlo error of means (in sds) and sds (relative), root mean square
MARGIN = 2.0  # a bound is twice the standard error
STEP_ERROR = 0.01  # of means and sds: what steps of usual size leave, measured where the posterior is known


def walking_plan(plan: Plan, steps: int | None, warmup: int | None, thin: int | None, draw_bytes: int) -> Plan:
    """``plan`` with the numbers that suit a walk where none were asked for; ``draw_bytes`` is the size of a draw."""
    count = STEPS if steps is None else plan.steps
    fitting = max(1, DEFAULT_DRAW_BYTES // max(draw_bytes, 1))
    return replace(
        plan,
        steps=count,
        warmup=WARMUP if warmup is None else plan.warmup,
        thin=max(2 if count > 1 else 1, -(-count // fitting)) if thin is None else plan.thin,
        proposal="langevin",
        start="mode",
    )


class _Stored:
    """Draws of the log-odds as they come in, on their way to memory and to the checkpoint."""

    def __init__(self, walk: Walk, checkpoint: Checkpoint | None) -> None:
        self._walk, self._checkpoint = walk, checkpoint
        self._draws: list[np.ndarray] = []
        self._written_at = time.monotonic()
        self._unwritten = 0
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
        self._checkpoint.append({}, {**self._walk.arrays(), "draws": new})
        self._unwritten, self._written_at = len(self._draws), time.monotonic()

    def result(self) -> np.ndarray:
        """(replicas, draws, p) log-odds."""
        k, p = self._walk.state["y"].shape
        return np.stack(self._draws, axis=1) if self._draws else np.empty((k, 0, p))


def run_walk(
    walk: Walk, n_steps: int, checkpoint: Checkpoint | None, seconds: float | None, progress: bool
) -> tuple[np.ndarray, str]:
    """Walk to ``n_steps`` steps in all, or as far as interrupt or budget allow: the draws, and what stopped it."""
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
                if seconds is not None and time.perf_counter() - started > seconds:
                    stopped_by = "time budget"
                    break
    finally:
        stored.write()
    return stored.result(), stopped_by if walk.steps < n_steps else ""


def replica_posterior(
    row: Row,
    problem: Problem,
    prepared: Prepared,
    plan: Plan,
    settings: Mapping[str, Any],
    preparation: float,
    run: tuple[Checkpoint | None, float | None],
) -> Posterior:
    """Walk, and make the posterior of it; ``run`` is the checkpoint and the time budget."""
    assert prepared.walk is not None
    walk = prepared.walk(plan.chains, plan.warmup, plan.thin)
    started = time.perf_counter()
    resumed = 0 if run[0] is None or not run[0].segments else 1
    w, stopped_by = run_walk(walk, plan.warmup + plan.steps, *run, problem.progress)
    steps = max(walk.steps - plan.warmup, 0)
    found = [*problem.statistics.warnings, *prepared.warnings]
    if stopped_by:
        found.append(f"stopped by {stopped_by} after {steps} of {plan.steps} steps: the result is partial.")
    p = problem.model.n_parameters
    mean, sd, sd_error = np.full(p, np.nan), np.full(p, np.nan), None
    details: dict[str, Any] = {**prepared.details, "replicas": walk.settings.replicas, "resumed": resumed}
    draws, draw = np.empty(w.shape), None
    if walk.state["counters"][RECORDED] and w.shape[1]:
        moments = walk_moments(walk)
        # Stored draws agree with the moments that are reported.
        draws = problem.model.chart.theta(moments.mean + (w - moments.raw_mean) * (moments.sd / moments.raw_sd))
        mean, sd, sd_error = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1)), moments.sd_error
        draw = coin_draws(walk_coins(moments), walk.metric.factor, problem.model.chart)
        said, doubts = _statement(walk, moments)
        details |= said
        found += doubts
        for text in doubts:
            python_warnings.warn(text, MRFWarning, stacklevel=4)
    for text in prepared.warnings:
        python_warnings.warn(text, MRFWarning, stacklevel=4)
    from mrfbayes.posterior.assemble import versions

    return Posterior(
        model=problem.model,
        draws=draws,
        log_likelihood=np.zeros(draws.shape[:2]),
        mean=mean,
        sd=sd,
        method=row.key,
        label=row.label,
        target=row.target,
        engine="langevin",
        steps=steps,
        warmup=plan.warmup,
        thin=plan.thin,
        acceptance=None,
        seconds={"prepare": preparation, "compile": 0.0, "chain": time.perf_counter() - started},
        settings=settings,
        versions=versions(),
        data_digest=problem.statistics.digest,
        n=problem.statistics.n,
        warnings=tuple(dict.fromkeys(found)),
        partial=bool(stopped_by),
        details=details,
        sd_error=sd_error,
        problem=problem,
        draw=draw,
    )


def _statement(walk: Walk, moments: WalkMoments) -> tuple[dict[str, Any], list[str]]:
    """How far the result can be trusted, in figures and in words, and what gives reason to doubt it."""
    mean_error, sd_error = (float(np.sqrt(np.mean(e**2))) for e in (moments.mean_error, moments.sd_error))
    noise = float(1 - walk.state["spread"].min() ** 2)
    bounds = (float(np.hypot(MARGIN * mean_error, STEP_ERROR)), float(np.hypot(MARGIN * sd_error, STEP_ERROR)))
    said = {
        "mean_error": mean_error,
        "sd_error": sd_error,
        "effective_draws": float(1 / max(mean_error, 1e-12) ** 2),
        "gradient_noise": noise,
        "noisy_directions": int(walk.state["directions"].shape[1]),
        "trust_mean": bounds[0],
        "trust_sd": bounds[1],
        "trust": (
            f"means within {bounds[0]:.1%} of an sd and sds within {bounds[1]:.1%} on average (Monte Carlo "
            f"{mean_error:.1%} and {sd_error:.1%} by the scatter of {walk.settings.replicas} replicas, "
            f"step {STEP_ERROR:.0%})"
        ),
    }
    doubts = []
    if mean_error > DOUBTFUL or sd_error > DOUBTFUL:
        doubts.append(
            f"Monte-Carlo errors are {mean_error:.1%} of an sd in means and {sd_error:.1%} in sds: run longer (steps=)."
        )
    if walk.settings.warmup < 2 * SETTLING + 4:
        doubts.append(
            f"a warm-up of {walk.settings.warmup} steps is too short to measure the noise of the gradients: spreads "
            f"are too wide by what it adds; use at least {4 * SETTLING}."
        )
    return said, doubts
