"""MLE-L: one evaluation, a million MH steps, direct draws, and how exact the latter are.

    python benchmarks/bench_mle.py --out benchmarks/results/mle.txt      # about three minutes on a quiet machine
    python benchmarks/bench_mle.py --steps 100000 --repeats 2

Times are processor seconds (all of it runs on one core), the best of several repetitions after a first call, so
compilation is not in them. The chain's acceptance stands beside its time. The paper's Table 1 has 12.5 s (rho = 0) and
69 s (rho = 0.05) for a million steps on 4x4.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from record import recorded

import mrfbayes as mb
from mrfbayes.base.random_streams import seed_sequence
from mrfbayes.coins.induced import Induced
from mrfbayes.data.statistics import Statistics
from mrfbayes.kernels.coins.coin import quantile
from mrfbayes.kernels.methods.evaluate import log_likelihoods
from mrfbayes.methods.mle.mle import make_view

N = 1_000


class Estimate:
    """Stands for an estimate."""

    boundary, penalised, warnings = (), False, ()

    def __init__(self, theta):
        self.theta, self.log_odds = theta, np.log(theta / (1 - theta))


def problem(rows, columns, n=N):
    """The paper's kind of field, with counts near what it would give."""
    model = mb.grid(rows, columns)
    theta = np.random.default_rng(0).uniform(0.5, 0.8, model.n_parameters)
    return model, Statistics.from_counts(model, np.round(n * (theta + 0.05)), n), theta


def best(call, repeats):
    """Seconds of the fastest of ``repeats`` calls."""
    call()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times)


def copulas(p):
    return {"rho = 0": 0.0, "rho = 0.05": 0.05, "rho = 0.1": 0.1, "matrix": np.full((p, p), 0.05) + 0.95 * np.eye(p)}


def evaluations(repeats):
    print("one evaluation of the log-likelihood, ns")
    for shape in ((4, 4), (8, 8)):
        _, statistics, theta = problem(*shape)
        thetas = np.clip(theta + 0.02 * np.random.default_rng(1).normal(size=(2_000, theta.size)), 0.01, 0.99)
        out = np.empty(len(thetas))
        for name, rho in copulas(theta.size).items():
            view = make_view(Induced.make(statistics, theta, rho, "printed"))
            seconds = best(lambda view=view, thetas=thetas, out=out: log_likelihoods(view, thetas, out), 5 * repeats)
            print(f"  {shape[0]}x{shape[1]} (p = {theta.size:3}) {name:11} {seconds / len(thetas) * 1e9:8.0f}")


def chains(steps, repeats):
    print(f"{steps:,} MH steps and 20,000 of warm-up, seconds (acceptance)")
    for shape in ((4, 4), (8, 8)):
        model, statistics, theta = problem(*shape)
        settings = {
            "draws": steps // 50,
            "thin": 50,
            "warmup": 20_000,
            "chains": 1,
            "start": "mle",
            "rng": 1,
            "progress": False,
        }
        for name, rho in copulas(theta.size).items():
            found = []

            def run(model=model, statistics=statistics, theta=theta, rho=rho, settings=settings, found=found):
                found.append(
                    mb.sample(model, statistics, "mle", engine="mh", estimate=Estimate(theta), rho=rho, **settings)
                )

            seconds = best(run, repeats)
            print(f"  {shape[0]}x{shape[1]} {name:11} {seconds:6.2f}  ({found[0].acceptance[0]:.0%})")


def draws(repeats):
    print("direct draws, million parameters a second")
    for shape in ((4, 4), (8, 8)):
        for n in (10, 100, 1_000):
            _, statistics, theta = problem(*shape, n)
            for rho in (0.0, 0.05):
                induced = Induced.make(statistics, theta, rho, "printed")
                size = 4_000_000 // theta.size
                seconds = best(lambda i=induced, s=size: i.draw(s, seed_sequence(1)), 3 * repeats)
                print(f"  {shape[0]}x{shape[1]} n = {n:5} rho = {rho:<5} {size * theta.size / seconds / 1e6:6.0f}")


def errors():
    print("largest error of a drawn theta against the exact quantile, and of the table of scores")
    for n in (1, 10, 100, 1_000, 10**6, 10**9):
        _, statistics, theta = problem(4, 4, n)
        induced = Induced.make(statistics, theta, 0.0, "printed")
        from mrfbayes.kernels.coins.scores import DRAWS, SCORES, all_tables, thetas_of_normals

        cells, rows, _ = all_tables(induced.coins, DRAWS)
        z = np.random.default_rng(2).normal(size=(400, theta.size))
        found = z.copy()
        thetas_of_normals(induced.coins, cells, rows, found)
        exact = [
            [1 / (1 + np.exp(-quantile(coin, v))) for coin, v in zip(induced.coins, row, strict=True)] for row in z
        ]
        scores = all_tables(induced.coins, SCORES)[2]
        print(f"  n = {n:10}  theta {np.abs(found - exact).max():.1e}   score {scores:.1e}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a file for what is printed")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", mb.MRFWarning)
    with recorded(arguments.out):
        evaluations(arguments.repeats)
        chains(arguments.steps, arguments.repeats)
        draws(arguments.repeats)
        errors()
