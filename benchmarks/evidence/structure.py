"""Inclusion probabilities by the true likelihood, with both kinds of engine, and by the pseudolikelihood.

    python benchmarks/evidence/structure.py

Complete graphs of 12 (n = 500 and 2,000) and 16 binary variables (n = 500), a fifth of the edges there with normal(0,
0.8) log-odds. The truth is the exact engine with 16,000 sweeps; its own noise is the first row of each field: the same
engine with another seed and the length of the others. The pseudolikelihood has the same slab, the same prior over
graphs and the same kind of sampler: exact one-dimensional conditionals, Rao-Blackwellised. Rows are appended to
results/structure.csv, every edge to results/structure_edges.csv; a field that is there is not made again.
"""

from __future__ import annotations

import csv
import itertools
import time
import warnings
from pathlib import Path

import numpy as np

import mrfbayes as mb

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, PICTURE = DOCS / "evidence_structure.md", DOCS / "pictures" / "evidence_structure.png"
TEXT = (Path(__file__).parent / "structure_page.md").read_text(encoding="utf-8")
FIELDS = ((12, 500), (12, 2000), (16, 500))
SWEEPS, WARMUP = 600, 100  # of the pseudolikelihood
GRID = np.sinh(np.linspace(-3.2, 3.2, 41))  # in sds around the mode of a conditional


def field(d: int, n: int) -> tuple[mb.Model, np.ndarray]:
    """A complete graph and data of a field in which a fifth of the edges are there."""
    model = mb.graph(list(itertools.combinations(range(d), 2)), fields=True, coupling="both-one")
    rng = np.random.default_rng(d)
    m = model.n_edges
    w = np.concatenate([rng.normal(0, 0.8, m) * (rng.random(m) < 0.2), rng.normal(-0.5, 0.5, d)])
    return model, mb.simulate(model, model.chart.theta(w), n, sampler="exact", rng=d + n)


def conditional(w: float, bases: list[np.ndarray], count: float, prior_sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Log pseudolikelihood times prior on a grid of values of one parameter, less that at zero: (values, heights).

    ``bases``: per node that it touches the rest of the node's log-odds, in the rows in which the parameter matters to
    it; ``count`` says in how many of these the node is one, for all nodes together.
    """
    at = w
    for _ in range(6):
        gradient, information = count - at / prior_sd**2, 1 / prior_sd**2
        for base in bases:
            p = 1 / (1 + np.exp(-base - at))
            gradient -= p.sum()
            information += p @ (1 - p)
        at += np.clip(gradient / information, -1, 1)
    values = np.append(at + GRID / np.sqrt(information), 0.0)
    heights = values * count - 0.5 * (values / prior_sd) ** 2
    for base in bases:
        heights -= np.log1p(np.exp(base + values[:, None])).sum(axis=1)
    return values[:-1], heights[:-1] - heights[-1]


def pseudo_inclusion(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """P(edge) under the pseudolikelihood: slab normal(0, 1), bernoulli(0.5), node factors normal(0, 2)."""
    _, d = x.shape
    x, ones = x.astype(float), [np.flatnonzero(column) for column in x.T]
    ends = list(itertools.combinations(range(d), 2))
    coupling, own = np.zeros((d, d)), np.zeros(d)
    found = np.zeros(len(ends))
    steps = np.gradient(GRID)
    for sweep in range(SWEEPS + WARMUP):
        drive = own + x @ coupling  # (n, d) log-odds of every node given the others
        for e, (u, v) in enumerate(ends):
            w = coupling[u, v]
            bases = [drive[ones[v], u] - w, drive[ones[u], v] - w]
            values, heights = conditional(w, bases, 2 * x[:, u] @ x[:, v], 1.0)
            top = heights.max()
            mass = np.exp(heights - top) * steps * (values[1] - values[0]) / (GRID[1] - GRID[0])
            log_bf = top + np.log(mass.sum()) - 0.5 * np.log(2 * np.pi)
            p = 1 / (1 + np.exp(-log_bf))
            new = rng.choice(values, p=mass / mass.sum()) if rng.random() < p else 0.0
            coupling[u, v] = coupling[v, u] = new
            drive[ones[v], u] += new - w
            drive[ones[u], v] += new - w
            if sweep >= WARMUP:
                found[e] += p / SWEEPS
        for i in range(d):
            values, heights = conditional(own[i], [drive[:, i] - own[i]], x[:, i].sum(), 2.0)
            mass = np.exp(heights - heights.max()) * steps
            new = rng.choice(values, p=mass / mass.sum())
            drive[:, i] += new - own[i]
            own[i] = new
    return found


def compare(d: int, n: int) -> tuple[list[list[object]], list[list[object]]]:
    """Rows of both files for one field."""
    model, x = field(d, n)
    prior = {"nodes": "normal(0, 2)"}
    quiet = {"prior": prior, "progress": False}
    seconds, inclusion = {}, {}
    makers = {
        "truth": lambda: mb.select(model, x, draws=2_000, thin=2, rng=1, **quiet).inclusion,
        "exact engine, another seed": lambda: mb.select(model, x, draws=1_500, chains=2, rng=2, **quiet).inclusion,
        "weighted samples": lambda: (
            mb.select(model, x, engine="particles", draws=1_500, chains=2, rng=3, **quiet).inclusion
        ),
        "pseudolikelihood": lambda: pseudo_inclusion(x, np.random.default_rng(4)),
    }
    for name, make in makers.items():
        started = time.process_time()
        inclusion[name] = make()
        seconds[name] = time.process_time() - started
    rows: list[list[object]] = []
    for name in list(makers)[1:]:
        gap = np.abs(inclusion[name] - inclusion["truth"])
        wrong = int(((inclusion[name] > 0.5) != (inclusion["truth"] > 0.5)).sum())
        rows.append([d, n, name, f"{gap.mean():.4f}", f"{gap.max():.4f}", wrong, gap.size, f"{seconds[name]:.1f}"])
    edges = [
        [d, n, *model.blocks[e].split("--"), *(f"{inclusion[name][e]:.4f}" for name in makers)]
        for e in range(model.n_edges)
    ]
    return rows, edges


def append(path: Path, head: list[str], rows: list[list[object]]) -> None:
    """Add rows to a CSV file, which gets a header first."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows(([head] if is_new else []) + rows)


def draw(path: Path) -> None:
    """Every edge: what the pseudolikelihood and weighted samples say against the truth."""
    import matplotlib as mpl

    mpl.use("Agg")
    import pandas as pd
    from matplotlib import pyplot

    table = pd.read_csv(path)
    figure, panels = pyplot.subplots(1, 2, figsize=(8.6, 4.2), layout="constrained", sharey=True)
    for ax, column, colour in zip(
        panels, ("weighted samples", "pseudolikelihood"), ("#0072B2", "#D55E00"), strict=True
    ):
        gap = (table[column] - table["truth"]).abs()
        ax.plot([0, 1], [0, 1], color="#6b7280", lw=0.8)
        ax.plot(table["truth"], table[column], "o", ms=3, alpha=0.6, color=colour, mew=0)
        ax.set_title(f"{column}: mean error {gap.mean():.3f}, largest {gap.max():.2f}", fontsize=10, loc="left")
        ax.set_xlabel("Inclusion probability, true likelihood")
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("Inclusion probability as computed")
    figure.savefig(PICTURE, dpi=90, metadata={"Software": None})


def page() -> str:
    """The page of the documentation, from the results."""
    import pandas as pd

    rows, edges = pd.read_csv(RESULTS / "structure.csv"), pd.read_csv(RESULTS / "structure_edges.csv")
    lines = ["| variables | n | computed by | mean error | largest | other side | processor seconds |"]
    lines.append("|---:|---:|---|---:|---:|---:|---:|")
    for row in rows.itertuples():
        side = f"{row.other_side} of {row.edges}"
        lines.append(
            f"| {row.d} | {row.n:,} | {row.method} | {row.mean:.4f} | {row.largest:.3f} | {side} | {row.seconds:.0f} |"
        )
    gaps = {name: edges[name] - edges["truth"] for name in ("weighted samples", "pseudolikelihood")}
    ours, theirs = (gap.abs() for gap in gaps.values())
    moved = gaps["pseudolikelihood"][theirs > 0.1]
    return TEXT.format(
        table="\n".join(lines),
        n_edges=len(edges),
        ours=ours.mean(),
        ours_max=ours.max(),
        theirs=theirs.mean(),
        theirs_max=theirs.max(),
        up=(moved > 0).mean(),
    )


def main() -> None:
    """All fields that are not done yet, then picture and page."""
    path, by_edge = RESULTS / "structure.csv", RESULTS / "structure_edges.csv"
    done = set()
    if path.exists():
        with path.open(encoding="utf-8") as file:
            done = {(int(row["d"]), int(row["n"])) for row in csv.DictReader(file)}
    warnings.simplefilter("ignore", mb.MRFWarning)
    for d, n in FIELDS:
        if (d, n) not in done:
            rows, edges = compare(d, n)
            append(path, ["d", "n", "method", "mean", "largest", "other_side", "edges", "seconds"], rows)
            head = ["d", "n", "from", "to", "truth", "another seed", "weighted samples", "pseudolikelihood"]
            append(by_edge, head, edges)
            for row in rows:
                print(*row, flush=True)
    draw(by_edge)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
