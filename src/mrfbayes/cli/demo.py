"""``mrfbayes demo``: the main job on embedded data, and the paper's ten methods side by side."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from mrfbayes.cli.show import console, quiet_warnings, table

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.compare import Comparison
    from mrfbayes.posterior import Posterior

ITEMS = 9  # the items on inattention: a complete graph on them is exactly solvable
COMPARISON_SEED = 20
COMPARISON_STEPS = 100_000
COMPARISON_N = 100


def questionnaire(checkpoint: Path) -> Posterior:
    """The exact posterior of a network of ADHD symptoms, by a chain that is stopped and goes on from its checkpoint."""
    import mrfbayes as mb

    data = mb.datasets.load_adhd()
    names = data.nodes[:ITEMS]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    model = mb.graph(pairs, nodes=names, fields=True, coupling="both-one")
    settings: dict[str, Any] = {
        "method": "exact",
        "engine": "mh",
        "steps": 60_000,
        "prior": "normal(0, 1.5)",
        "checkpoint": checkpoint,
    }
    mb.sample(model, data.x[:, :ITEMS], seconds=0.5, **settings)
    return mb.sample(model, data.x[:, :ITEMS], **settings)


def paper_comparison(steps: int = COMPARISON_STEPS, progress: bool = True) -> Comparison:
    """The paper's ten methods on one of its 4x4 fields: theta uniform on (.5, .8), adapted proposals."""
    import mrfbayes as mb
    from mrfbayes.compare import PAPER_METHODS

    model = mb.grid(4, 4)
    theta = np.random.default_rng(COMPARISON_SEED).uniform(0.5, 0.8, model.n_parameters)
    x = mb.simulate(model, theta, COMPARISON_N, sampler="exact", rng=COMPARISON_SEED)
    return mb.compare(
        model,
        x,
        PAPER_METHODS,
        engine="mh",
        steps=steps,
        warmup=steps // 4,
        chains=1,
        rng=COMPARISON_SEED,
        progress=progress,
    )


def comparison_rows(frame: pd.DataFrame) -> list[list[str]]:
    """The comparison's table as text, for the terminal and the README."""
    return [
        [
            str(name),
            str(row["target"]),
            f"{row['mean_error_sd']:.3f} ± {row['mean_error_mcse']:.3f}",
            f"{row['sd_ratio']:.3f} ± {row['sd_ratio_mcse']:.3f}",
            f"{row['acceptance']:.0%}",
            f"{row['ess_min']:.0f}",
            f"{row['ess_per_second']:.3g}",
            f"{row['chain_s']:.2f}",
        ]
        for name, row in frame.iterrows()
    ]


COMPARISON_COLUMNS = (
    "method",
    "target",
    "mean error, sds",
    "sd / exact sd",
    "accepted",
    "smallest ESS",
    "ESS per second",
    "seconds",
)


def run_demo() -> None:
    """Print both parts."""
    out = console()
    started = time.perf_counter()
    out.print(Text("1. Which symptoms go together? 355 children, 9 yes/no items, every pair a coupling", style="bold"))
    with tempfile.TemporaryDirectory() as folder, quiet_warnings():
        posterior = questionnaire(Path(folder) / "run.checkpoint")
        posterior.save(Path(folder) / "adhd.nc")
    frame = posterior.summary()
    log_odds = posterior.log_odds.reshape(-1, len(frame))
    sure = np.maximum((log_odds > 0).mean(axis=0), (log_odds < 0).mean(axis=0))
    edges = len(posterior.model.edges)
    strongest = np.argsort(-np.abs(log_odds.mean(axis=0) / log_odds.std(axis=0))[:edges])[:10]
    rows = [
        [
            posterior.parameters[j],
            *(f"{v:+.2f}" for v in np.quantile(log_odds[:, j], (0.05, 0.5, 0.95))),
            f"{sure[j]:.3f}",
        ]
        for j in strongest
    ]
    out.print(table(["coupling (log-odds)", "5 %", "median", "95 %", "P(sign)"], rows))
    out.print(
        f"   {posterior.label}, {posterior.target} target; stopped after {posterior.details['resumed_steps']} steps "
        f"and continued from its checkpoint; largest R-hat {posterior.r_hat.max():.3f}; "
        f"{sum(posterior.seconds.values()):.1f} s for the second part"
    )
    out.print()
    out.print(Text(f"2. The ten methods of the paper on a 4x4 field, n = {COMPARISON_N}", style="bold"))
    with quiet_warnings():
        comparison = paper_comparison()
    out.print(table(COMPARISON_COLUMNS, comparison_rows(comparison.table)))
    out.print(
        f"   {COMPARISON_STEPS:,} steps each after warm-up, errors against exact; "
        f"both parts in {time.perf_counter() - started:.0f} s"
    )
