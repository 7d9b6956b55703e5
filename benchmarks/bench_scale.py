"""From data to the summary of a calibrated posterior, on grids of up to a million nodes.

    python benchmarks/bench_scale.py run 32 64 128 256 512 1000   # adds rows to results/scale.csv
    python benchmarks/bench_scale.py draw                        # results/scale.md and docs/pictures/scale.png

theta is uniform on (.5, .8), n = 1,000. Measured are count (from an array in a file), sample(method="calibrated") and
summary(); kernels are compiled beforehand, on a small grid. Seconds are given by the clock and by the processor (all
threads together): others may work on the machine. Memory is the largest resident size of the process, with the pages
of the data file that it has read. Beside them stands what shows that the answer is right: the share of the true
parameters inside 90 % intervals, and the root mean square of (mean - truth) / sd, which is one for a true posterior
under a flat prior.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from record import made_by

import mrfbayes as mb

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scale.csv"
N, SWEEPS = 1_000, 100
STREAMED = 5
FIELDS = ["side", "parameters", "seconds", "processor_seconds", "megabytes", "count", "mode", "rest", "summary"]
FIELDS += [
    "stream_seconds",
    "particles",
    "distance",
    "mode_error",
    "sd_noise",
    "trust",
    "inside90",
    "z",
    "load",
    "notes",
]


def truth(side):
    """The field's parameters."""
    return np.random.default_rng(side).uniform(0.5, 0.8, 2 * side * (side - 1))


def simulate(side, path):
    """Observations into a file, so that the process that is measured never held them."""
    np.save(path, mb.simulate(mb.grid(side, side), truth(side), N, sampler="gibbs", sweeps=SWEEPS, rng=1))


def measure(side, path):
    """One row, on standard output as well as in the file."""
    warm = mb.grid(50, 50)
    mb.sample(warm, np.random.default_rng(0).integers(0, 2, (200, 2500), dtype=np.uint8), "calibrated", progress=False)
    theta, x = truth(side), np.load(path, mmap_mode="r")
    marks = [(time.perf_counter(), time.process_time())]

    def mark():
        marks.append((time.perf_counter(), time.process_time()))
        return marks[-1][0] - marks[-2][0]

    model = mb.grid(side, side)
    statistics = mb.Data(x).count(model)
    del x  # its pages would count as memory of this process
    row = {"side": side, "parameters": model.n_parameters, "count": mark()}
    posterior = mb.sample(model, statistics, "calibrated", progress=False)
    sampling = mark()
    table = posterior.summary(ci_prob=0.9)
    row["summary"] = mark()
    row |= {"mode": posterior.details.get("mode_seconds", float("nan"))}
    row["rest"] = sampling - row["mode"]
    row["seconds"] = marks[-1][0] - marks[0][0]
    row["processor_seconds"] = marks[-1][1] - marks[0][1]
    row["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    for _ in posterior.stream(STREAMED):
        pass
    row["stream_seconds"] = mark() / STREAMED
    inside = (table["q5"] < theta) & (theta < table["q95"])
    row |= {"inside90": inside.mean(), "z": np.sqrt(np.mean(((posterior.mean - theta) / posterior.sd) ** 2))}
    row |= {
        name: posterior.details.get(name, "") for name in ("particles", "distance", "mode_error", "sd_noise", "trust")
    }
    row |= {"load": os.getloadavg()[0], "notes": "; ".join(posterior.warnings)[:200]}
    fresh = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        writer.writerow({k: f"{v:.4g}" if isinstance(v, float) and v < 1e6 else v for k, v in row.items()})
    print({k: v for k, v in row.items() if k != "trust"}, flush=True)


def draw():
    """The table, and the picture with its slope."""
    import pandas as pd
    from matplotlib import pyplot

    table = pd.read_csv(RESULTS).sort_values("side", kind="stable").drop_duplicates("side", keep="last")
    fits = {}
    figure, ax = pyplot.subplots(figsize=(5.5, 4), layout="constrained")
    for name, label, colour in (
        ("seconds", "by the clock", "#0072B2"),
        ("processor_seconds", "of the processor, all threads", "#D55E00"),
    ):
        slope, level = np.polyfit(np.log(table["parameters"]), np.log(table[name]), 1)
        fits[name] = slope
        ax.plot(table["parameters"], table[name], "o", color=colour, label=f"{label}: exponent {slope:.2f}")
        ax.plot(table["parameters"], np.exp(level) * table["parameters"] ** slope, color=colour, linewidth=0.8)
    ax.axhline(600, color="black", linestyle="--", linewidth=0.8)
    ax.text(table["parameters"].min(), 640, "ten minutes", fontsize=8)
    ax.set(xscale="log", yscale="log", xlabel="parameters", ylabel="seconds, count to summary")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    figure.savefig(HERE.parent / "docs" / "pictures" / "scale.png", dpi=130)
    last = table.iloc[-1]
    growth = np.diff(np.log(table["processor_seconds"])) / np.diff(np.log(table["parameters"]))
    sides = table["side"].tolist()
    between = ", ".join(f"{a} to {b}: {g:.2f}" for a, b, g in zip(sides[:-1], sides[1:], growth, strict=True))
    lines = [
        "# Count to summary of a calibrated posterior",
        "",
        *(f"    {line}" for line in made_by().strip().splitlines()),
        "",
        f"Grids with theta uniform on (.5, .8), n = {N:,}, moments from particles and local blocks, two threads.",
        "The columns are explained in `benchmarks/bench_scale.py`; the raw rows are in `scale.csv`.",
        "",
        "| grid | parameters | seconds | processor seconds | MB | a streamed joint draw, s | particles | distance "
        "| mode error, sd | sd noise | inside 90 % | rms z | load |",
        "|---|" + "---:|" * 12,
    ]
    for _, r in table.iterrows():
        lines.append(
            f"| {r['side']}x{r['side']} | {r['parameters']:,} | {r['seconds']:.0f} | {r['processor_seconds']:.0f} | "
            f"{r['megabytes']:.0f} | {r['stream_seconds']:.3f} | {r['particles']:,} | {r['distance']} | "
            f"{r['mode_error']:.3f} | {100 * r['sd_noise']:.2f} % | {100 * r['inside90']:.1f} % | {r['z']:.3f} | "
            f"{r['load']:.1f} |"
        )
    lines += [
        "",
        f"Exponent of growth in the number of parameters, all sizes: {fits['seconds']:.2f} by the clock, "
        f"{fits['processor_seconds']:.2f} by the processor. Between neighbouring sizes, by the processor: {between}.",
        "",
        f"This is not the growth of one fixed computation: particles fall from {table['particles'].max():,} to",
        f"{table['particles'].min():,} and the steps of the estimate are capped on the largest fields; the noise of",
        "mode and sds grows for it, as the columns show. Look at the steps between sizes with equal particles.",
        "",
        f"Bars for {last['side']}x{last['side']} (two busy threads alone make a load of 2):",
        "",
        f"- 600 s by the clock on two cores: {'met' if last['seconds'] <= 600 else 'missed'}",
        f"  ({last['seconds']:.0f} s, of which the estimate of the mode takes {last['mode']:.0f} s);",
        f"- 4 GB: {'met' if last['megabytes'] <= 4096 else 'missed'} ({last['megabytes']:,.0f} MB).",
        "",
        "Where `scale.csv` has a size twice, the table has the later run.",
        "",
        f"On {last['side']}x{last['side']} the run says of itself: {last['trust']}.",
    ]
    (HERE / "results" / "scale.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def main():
    """Each size in two processes of its own: one that makes the data, one that is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "draw", "simulate", "measure"))
    parser.add_argument("sides", nargs="*", type=int)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    if options.what == "draw":
        draw()
    elif options.what == "run":
        for side in options.sides:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "x.npy"
                for step in ("simulate", "measure"):
                    subprocess.run([sys.executable, __file__, step, str(side), "--data", str(path)], check=True)
    else:
        {"simulate": simulate, "measure": measure}[options.what](options.sides[0], options.data)


if __name__ == "__main__":
    main()
