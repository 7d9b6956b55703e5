"""Hamiltonian Monte Carlo beside the random walk: effective draws a processor second, set-up apart.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bench_hmc.py

All fields are complete graphs of simulated data with the uniform prior: binary variables with fields and "both one"
couplings, n = 1,000, couplings normal(0, 1/sqrt(d)); ordered items of five levels, n = 350, from a one-factor model
with correlations of about .35. Effective draws are those of the parameter with the fewest and of the middle one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from record import recorded

import mrfbayes as mb
from mrfbayes.kernels.run.chain import STEP
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.run.hmc import HmcTask, make_metric
from mrfbayes.run.workers import ChainTask
from mrfbayes.targets.corrected import make_proposal

BARS = {"binary 10": 1_000, "binary 20": 600, "binary 64": 40, "binary 100": 10, "ordered 17": 100}
STEPS = {"binary 10": 1_000, "binary 20": 1_000, "binary 64": 600, "binary 100": 500, "ordered 17": 1_000}
WALK = {"binary 10": 20_000, "binary 20": 0, "binary 64": 0, "binary 100": 0, "ordered 17": 0}  # steps


class Clock:
    """Processor seconds of a task's chunks, before and after warm-up."""

    def __init__(self, task):
        self.warm = self.drawing = 0.0
        self._task, self._advance = task, task.advance

    def __enter__(self):
        clock, advance = self, self._advance

        def timed(task, state, n_steps):
            started = time.process_time()
            chunk = advance(task, state, n_steps)
            spent = time.process_time() - started
            if chunk.state["counters"][STEP] <= task.settings.n_warmup:
                clock.warm += spent
            else:
                clock.drawing += spent
            return chunk

        self._task.advance = timed
        return self

    def __exit__(self, *_):
        self._task.advance = self._advance


def binary(d, seed=0, n=1_000):
    rng = np.random.default_rng(seed)
    edges = list(itertools.combinations(range(d), 2))
    model = mb.graph(edges, fields=True, coupling="both-one")
    w = np.concatenate([rng.normal(0, 1 / np.sqrt(d), len(edges)), rng.normal(-0.3, 0.5, d)])
    return model, mb.simulate(model, model.chart.theta(w), n, sampler="gibbs", sweeps=200, rng=seed)


def ordered(d, seed=1, n=350):
    rng = np.random.default_rng(seed)
    model = mb.graph(list(itertools.combinations(range(d), 2)), fields=True, coupling="score", states=5)
    score = np.sqrt(0.35) * rng.standard_normal((n, 1)) + np.sqrt(0.65) * rng.standard_normal((n, d))
    return model, np.digitize(score, [-1.2, -0.4, 0.4, 1.2]).astype(np.uint8)


def setup_seconds(model, x):
    """Processor seconds until the first trajectory of pseudolikelihood: patterns, mode, information, its factor."""
    statistics = mb.Data(x).count(model)
    started = time.process_time()
    problem = Problem(model, statistics, Prior(model), np.random.SeedSequence(1))
    smooth = method_row("pseudo").prepare(problem).smooth()
    make_metric(smooth.mode, smooth.information)
    return time.process_time() - started


def measure(model, x, method, engine, steps, **settings):
    """Posterior and clock of one run; a short one before it compiles."""
    run = {"method": method, "engine": engine, "chains": 2, "progress": False, **settings}
    mb.sample(model, x, draws=2, **{**run, "warmup": 1})
    with Clock(HmcTask if engine == "hmc" else ChainTask) as clock:
        return mb.sample(model, x, draws=steps, **run), clock


def rates(posterior, clock):
    return posterior.ess.min() / clock.drawing, np.median(posterior.ess) / clock.drawing


def pseudolikelihood(sizes):
    """The table of pseudolikelihood posteriors."""
    print(
        "| field | p | bar | hmc, fewest | hmc, middle | set-up, s | warm-up, s | accepted | gradients | random walk |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in sizes:
        kind, d = name.split()
        model, x = binary(int(d)) if kind == "binary" else ordered(int(d))
        posterior, clock = measure(model, x, "pseudo", "hmc", STEPS[name])
        least, middle = rates(posterior, clock)
        walk = ""
        if WALK[name]:
            walk = f"{rates(*measure(model, x, 'pseudo', 'mh', WALK[name], warmup=WALK[name]))[0]:.2g}"
        print(
            f"| {name} | {model.n_parameters} | {BARS[name]:,} | {least:.0f} | {middle:.0f} | "
            f"{setup_seconds(model, x):.2f} | {clock.warm:.2f} | {posterior.acceptance.mean():.0%} | "
            f"{posterior.details['gradients_per_step']:.1f} | {walk} |",
            flush=True,
        )
        print(
            f"  {name}: spread {posterior.details['spread_ratio']:.2f} of the estimates'", file=sys.stderr, flush=True
        )


def exact():
    """Fields whose calibrated proposals fit badly."""
    print("\n| field | p | Pareto k | hmc, fewest | hmc, middle | accepted | gradients | random walk, fewest |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for side, low, high, n in ((6, 0.8, 0.97, 60), (8, 0.75, 0.95, 100)):
        model = mb.grid(side, side)
        theta = np.random.default_rng(side).uniform(low, high, model.n_parameters)
        x = mb.simulate(model, theta, n, rng=side)
        problem = Problem(model, mb.Data(x).count(model), Prior(model), np.random.SeedSequence(1))
        k = make_proposal(problem, method_row("exact").prepare(problem)).pareto_k
        posterior, clock = measure(model, x, "exact", "hmc", 1_000)
        walk, walk_clock = measure(model, x, "exact", "mh", 100_000)
        least, middle = rates(posterior, clock)
        print(
            f"| {side}x{side}, theta in ({low}, {high}), n = {n} | {model.n_parameters} | {k:.2f} | "
            f"{least:.0f} | {middle:.0f} | {posterior.acceptance.mean():.0%} | "
            f"{posterior.details['gradients_per_step']:.1f} | {rates(walk, walk_clock)[0]:.2g} |",
            flush=True,
        )


def main() -> None:
    """Print the tables, or write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", default=[*STEPS, "exact"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    with recorded(arguments.out):
        pseudolikelihood([name for name in arguments.only if name != "exact"])
        if "exact" in arguments.only:
            exact()


if __name__ == "__main__":
    main()
