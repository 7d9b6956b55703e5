"""``mrfbayes demo``: the main job on embedded data, and the paper's ten methods side by side."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import mrfbayes as mb
from mrfbayes.cli import show
from mrfbayes.run.pools import begin_worker, process_pool

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.results.posterior import Posterior
    from mrfbayes.sampling.compare import Comparison

DEMO_ROWS = 10
ITEMS = 9  # the items on inattention: a complete graph on them is exactly solvable
COMPARISON_SEED = 20
BEGUN_DRAWS = 500
COMPARISON_DRAWS, COMPARISON_THIN = 2_000, 50
COMPARISON_N = 100
REPORT = Path("mrfbayes-demo") / "report.html"


def questionnaire() -> Posterior:
    """The exact posterior of a network of ADHD symptoms: begun, stopped, and continued from its checkpoint."""
    data = mb.datasets.load_adhd()
    names = data.nodes[:ITEMS]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    model = mb.graph(pairs, nodes=names, fields=True, coupling="both-one")
    with tempfile.TemporaryDirectory() as folder, show.quiet_warnings():
        place = Path(folder) / "run.checkpoint"
        settings: dict[str, Any] = {"prior": "normal(0, 1.5)", "checkpoint": place, "thin": 2, "rng": 0}
        mb.sample(model, data.x[:, :ITEMS], draws=BEGUN_DRAWS, **settings)
        posterior = mb.sample(model, data.x[:, :ITEMS], **settings)
    posterior.edges()  # computed here, in a process of its own; the posterior keeps the evidence
    return posterior


def paper_comparison(draws: int = COMPARISON_DRAWS, workers: int = 1, progress: bool = True) -> Comparison:
    """The paper's ten methods on one of its 4x4 fields: theta uniform on (.5, .8), adapted proposals."""
    from mrfbayes.sampling.compare import PAPER_METHODS

    model = mb.grid(4, 4)
    theta = np.random.default_rng(COMPARISON_SEED).uniform(0.5, 0.8, model.n_parameters)
    x = mb.simulate(model, theta, COMPARISON_N, sampler="exact", rng=COMPARISON_SEED)
    settings: dict[str, Any] = {"engine": "mh", "draws": draws, "thin": COMPARISON_THIN, "chains": 1}
    settings["warmup"] = draws * COMPARISON_THIN // 4
    with show.quiet_warnings():
        return mb.compare(
            model, x, methods=PAPER_METHODS, rng=COMPARISON_SEED, workers=workers, progress=progress, **settings
        )


def comparison_rows(frame: pd.DataFrame) -> list[list[str]]:
    """The comparison's table as text, for the terminal and the README."""
    texts = (
        "{mean_error_sd:.3f} ± {mean_error_mcse:.3f}",
        "{sd_ratio:.3f} ± {sd_ratio_mcse:.3f}",
        *("{acceptance:.0%}", "{ess_min:.0f}", "{ess_per_second:,.0f}", "{chain_s:.2f}"),
    )
    target = {"exact": "exact", "approximate": "approx."}
    rows = frame.to_dict("index").items()
    return [[str(name), target[row["target"]], *(text.format(**row) for text in texts)] for name, row in rows]


COMPARISON_COLUMNS = ("method", "target", "mean error", "sd ratio", "acc.", "ESS", "ESS/s", "s")


def show_questionnaire(posterior: Posterior, to_stderr: bool) -> None:
    """The couplings with the most evidence, and the diagnostics of the run."""
    from mrfbayes.report.findings import Findings

    show.edges(Findings(posterior, "log-odds"), DEMO_ROWS, to_stderr)
    facts = posterior.facts
    text = (
        f"   {posterior.label}, {posterior.target} target; stopped after {facts.resumed_steps} steps and continued "
        f"from its checkpoint; smallest ESS {posterior.ess.min():,.0f}, largest R-hat {posterior.r_hat.max():.3f}, "
        f"Pareto k {facts.pareto_k:.2f}; {posterior.timings['run']:.1f} s of sampling"
    )
    show.lines([text, ""], to_stderr)


def run_demo(to_stderr: bool) -> Path:
    """Print both parts; both are computed at once, since most of a first run is compiling."""
    started, out = time.perf_counter(), show.console(to_stderr)
    with process_pool(2, begin_worker) as pool, out.status("two jobs are running; the first run compiles for a minute"):
        first, second = pool.submit(questionnaire), pool.submit(paper_comparison, workers=2, progress=False)
        try:
            out.print("1. Which symptoms go together? 355 children, 9 yes/no items, all pairs coupled", style="bold")
            show_questionnaire(first.result(), to_stderr)
            out.print(f"2. The ten methods of the paper on a 4x4 field, n = {COMPARISON_N}", style="bold")
            show.table(COMPARISON_COLUMNS, comparison_rows(second.result().table), to_stderr=to_stderr)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    out.print(
        f"   {COMPARISON_DRAWS * COMPARISON_THIN:,} steps each after warm-up; errors against exact, in posterior sds; "
        f"both parts in {time.perf_counter() - started:.0f} s\n"
    )
    REPORT.parent.mkdir(exist_ok=True)
    title, source = "Attention and hyperactivity in 355 children", "embedded data: adhd"
    with show.quiet_warnings(), out.status("writing the report"):
        path = mb.report(first.result(), REPORT, title=title, source=source, comparison=second.result(), overwrite=True)
    out.print("3. All of it as one page", style="bold")
    out.print(f"   report: {path.resolve()}", soft_wrap=True)
    return path
