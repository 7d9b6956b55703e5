"""``mrfbayes demo``: the main job on embedded data, and the paper's ten methods side by side."""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.text import Text

from mrfbayes.cli.show import quiet_warnings, table
from mrfbayes.run.workers import begin_worker, process_pool

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from mrfbayes.results.posterior import Posterior
    from mrfbayes.sampling.compare import Comparison

DEMO_ROWS = 10
ITEMS = 9  # the items on inattention: a complete graph on them is exactly solvable
COMPARISON_SEED = 20
BEGUN_STEPS = 1_000
COMPARISON_STEPS = 100_000
COMPARISON_N = 100
REPORT = Path("mrfbayes-demo") / "report.html"


class Questionnaire(NamedTuple):
    """A posterior and its table of edges."""

    posterior: Posterior
    edges: pd.DataFrame


def questionnaire() -> Questionnaire:
    """The exact posterior of a network of ADHD symptoms: begun, stopped, and continued from its checkpoint."""
    import mrfbayes as mb

    data = mb.datasets.load_adhd()
    names = data.nodes[:ITEMS]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    model = mb.graph(pairs, nodes=names, fields=True, coupling="both-one")
    with tempfile.TemporaryDirectory() as folder, quiet_warnings():
        place = Path(folder) / "run.checkpoint"
        settings: dict[str, Any] = {"prior": "normal(0, 1.5)", "checkpoint": place, "thin": 2}
        mb.sample(model, data.x[:, :ITEMS], steps=BEGUN_STEPS, **settings)
        posterior = mb.sample(model, data.x[:, :ITEMS], **settings)
    return Questionnaire(posterior, posterior.edges())


def paper_comparison(steps: int = COMPARISON_STEPS, workers: int = 1, progress: bool = True) -> Comparison:
    """The paper's ten methods on one of its 4x4 fields: theta uniform on (.5, .8), adapted proposals."""
    import mrfbayes as mb
    from mrfbayes.sampling.compare import PAPER_METHODS

    model = mb.grid(4, 4)
    theta = np.random.default_rng(COMPARISON_SEED).uniform(0.5, 0.8, model.n_parameters)
    x = mb.simulate(model, theta, COMPARISON_N, sampler="exact", rng=COMPARISON_SEED)
    settings: dict[str, Any] = {"engine": "mh", "steps": steps, "warmup": steps // 4, "chains": 1}
    with quiet_warnings():
        return mb.compare(model, x, PAPER_METHODS, rng=COMPARISON_SEED, workers=workers, progress=progress, **settings)


def comparison_rows(frame: pd.DataFrame) -> list[list[str]]:
    """The comparison's table as text, for the terminal and the README."""
    return [
        [
            str(name),
            {"exact": "exact", "approximate": "approx."}[row["target"]],
            f"{row['mean_error_sd']:.3f} ± {row['mean_error_mcse']:.3f}",
            f"{row['sd_ratio']:.3f} ± {row['sd_ratio_mcse']:.3f}",
            f"{row['acceptance']:.0%}",
            f"{row['ess_min']:.0f}",
            f"{row['ess_per_second']:,.0f}",
            f"{row['chain_s']:.2f}",
        ]
        for name, row in frame.iterrows()
    ]


COMPARISON_COLUMNS = ("method", "target", "mean error", "sd ratio", "acc.", "ESS", "ESS/s", "s")


def _log_factor(log_bf10: float, error: float) -> str:
    return f"above {log_bf10:.1f}" if error == math.inf else f"{log_bf10:.1f} ± {error:.1f}"


def show_questionnaire(found: Questionnaire, out: Console) -> None:
    """The couplings that are surest, and what the run says of itself."""
    posterior, edges = found.posterior, found.edges
    log_odds = posterior.log_odds.reshape(-1, len(posterior.parameters))
    order = np.argsort(-edges["log_bf10"].to_numpy())[:DEMO_ROWS]
    rows = [
        [
            str(edges.index[j]),
            *(f"{v:+.2f}" for v in np.quantile(log_odds[:, j], (0.05, 0.5, 0.95))),
            f"{max(edges['positive'].iloc[j], 1 - edges['positive'].iloc[j]):.3f}",
            _log_factor(*edges[["log_bf10", "log_bf10_error"]].iloc[j]),
        ]
        for j in order
    ]
    out.print(table(["coupling (log-odds)", "5%", "median", "95%", "P(sign)", "log Bayes factor"], rows))
    out.print(
        f"   {posterior.label}, {posterior.target} target; stopped after {posterior.facts.resumed_steps} draws "
        f"and continued from its checkpoint; smallest ESS {posterior.ess.min():,.0f}, largest R-hat "
        f"{posterior.r_hat.max():.3f}, Pareto k {posterior.facts.pareto_k:.2f}; "
        f"{posterior.seconds['chain']:.1f} s of sampling"
    )


def run_demo(out: Console) -> Path:
    """Print both parts; both are computed at once, since most of a first run is compiling."""
    started = time.perf_counter()
    with process_pool(2, begin_worker) as pool, out.status("two jobs are running; the first run compiles for a minute"):
        first, second = pool.submit(questionnaire), pool.submit(paper_comparison, workers=2, progress=False)
        try:
            out.print(Text("1. Which symptoms go together? 355 children, 9 yes/no items, all pairs coupled", "bold"))
            show_questionnaire(first.result(), out)
            out.print()
            out.print(Text(f"2. The ten methods of the paper on a 4x4 field, n = {COMPARISON_N}", "bold"))
            out.print(table(COMPARISON_COLUMNS, comparison_rows(second.result().table)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    out.print(
        f"   {COMPARISON_STEPS:,} steps each after warm-up; errors against exact, in posterior sds; "
        f"both parts in {time.perf_counter() - started:.0f} s"
    )
    out.print()
    with quiet_warnings(), out.status("writing the report"):
        path = write_report(first.result(), second.result(), REPORT)
    out.print(Text("3. All of it as one page", "bold"))
    out.print(f"   report: {path.resolve()}", soft_wrap=True, markup=False)
    return path


def write_report(found: Questionnaire, comparison: Comparison, path: Path) -> Path:
    """The report of the questionnaire, with the comparison of methods on the grid as a section of its own."""
    import mrfbayes as mb

    path.parent.mkdir(exist_ok=True)
    title = "Attention and hyperactivity in 355 children"
    return mb.report(
        found.posterior, path, title=title, source="embedded data: adhd", comparison=comparison, overwrite=True
    )
