"""Fits of R packages beside ours on the same data; what has the same target must agree.

    python benchmarks/r_packages/compare.py

Needs R with IsingFit, IsingSampler, bgms, mgm, NetworkComparisonTest and bayesImageS. Written to
benchmarks/results/r_packages.md. NetworkComparisonTest imports networktools for bridge centralities only, which are not
used here.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import pandas as pd
from record import made_by

import mrfbayes as mb

SCRIPT = Path(__file__).parent / "packages.R"
RESULT = Path(__file__).parent.parent / "results" / "r_packages.md"
PRIOR = {"edges": "normal(0, 1)", "nodes": "normal(0, 2)"}  # bgms: normal_prior(0.5) of half the log odds ratio
COUPLING = 0.7  # of the image


def in_r(folder: Path) -> dict[str, tuple[str, float]]:
    """Versions and seconds by package; their estimates are files in the folder."""
    done = subprocess.run(["Rscript", str(SCRIPT)], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    names = ("IsingFit", "IsingSampler", "bgms", "mgm", "NetworkComparisonTest", "bayesImageS")
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(tuple(f"{name} " for name in names))]
    return {name: (version, float(seconds)) for name, version, seconds in lines}


def main() -> None:
    """Run both sides and write the tables."""
    adhd = mb.datasets.load_adhd()
    answers = pd.DataFrame(adhd.x[:, :5], columns=adhd.nodes[:5])
    labels = mb.simulate(mb.grid(24, 24, tied=True), 1 / (1 + np.exp(-COUPLING)), 1, rng=1, progress=False)
    image = labels.reshape(24, 24) + np.random.default_rng(1).normal(0, 0.4, (24, 24))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answers.to_csv(folder / "answers.csv", index=False)
        np.savetxt(folder / "image.txt", image)
        versions = in_r(folder)
        theirs = {path.stem: np.loadtxt(path) for path in folder.glob("*.txt") if path.stem != "image"}

    data = mb.Data(answers)
    model = mb.Model.from_data(data)
    upper = np.triu_indices(5, 1)
    clock, seconds = time.process_time, {}
    draws = {}
    for method in ("pseudo", "exact"):
        begun = clock()
        draws[method] = mb.sample(model, data, method, prior=PRIOR, rng=1, progress=False).log_odds[..., :10]
        seconds[method] = clock() - begun
    estimate = mb.estimate(model, data, algorithm="pseudo", progress=False).log_odds[:10]
    half = len(answers) // 2
    begun = clock()
    groups = mb.compare_groups(model, {"a": answers[:half], "b": answers[half:]}, rng=1, progress=False)
    seconds["groups"] = clock() - begun
    begun = clock()
    hidden = mb.segment(image, states=2, rng=1, progress=False).summary()
    seconds["segment"] = clock() - begun

    pseudo, exact = ((draw.mean(axis=(0, 1)), draw.std(axis=(0, 1))) for draw in (draws["pseudo"], draws["exact"]))
    bgms_mean, bgms_sd = 2 * theirs["bgms"]
    fit, uni, mgm = (theirs[name][upper] for name in ("IsingFit", "IsingSampler", "mgm"))
    table = pd.DataFrame(
        {
            "bgms": [f"{m:.2f} ({s:.2f})" for m, s in zip(bgms_mean, bgms_sd, strict=True)],
            "pseudo": [f"{m:.2f} ({s:.2f})" for m, s in zip(*pseudo, strict=True)],
            "exact": [f"{m:.2f} ({s:.2f})" for m, s in zip(*exact, strict=True)],
            "IsingSampler, no penalty": [f"{v:.2f}" for v in uni],
            "estimate, pseudo": [f"{v:.2f}" for v in estimate],
            "IsingFit": [f"{v:.2f}" for v in fit],
            "mgm": [f"{v:.2f}" for v in mgm],
            "NCT: p-value": [f"{v:.2f}" for v in theirs["NCT"]],
            "probability of a difference": [f"{v:.2f}" for v in groups.inclusion],
        },
        index=list(model.parameters[:10]),
    )
    rows = [f"| {edge} | {' | '.join(line)} |" for edge, line in zip(table.index, table.to_numpy(), strict=True)]
    off = np.abs(bgms_mean - pseudo[0]) / pseudo[1]
    lines = [f"- {name} {version}: {took:.1f} s" for name, (version, took) in versions.items()]
    parts = ("coupling", "mean[0]", "mean[1]")
    their_image = " | ".join(f"{m:.3f} ({s:.3f})" for m, s in theirs["bayesImageS"].T)
    our_image = " | ".join(f"{hidden.loc[part, 'mean']:.3f} ({hidden.loc[part, 'sd']:.3f})" for part in parts)
    ranks = [pd.Series(np.abs(values)).corr(pd.Series(exact[0]), method="spearman") for values in (fit, mgm)]
    spent = ", ".join(f"`{name}` {value:.1f}" for name, value in seconds.items())
    ratio = bgms_sd / pseudo[1]
    text = f"""# R packages beside this one

```text
python benchmarks/r_packages/compare.py
{made_by().splitlines()[1]}
```

Five symptoms of 355 children (adhd); couplings are log odds ratios, posterior means with sds in parentheses. bgms has
the prior normal(0, 0.5) on half the log odds ratio, as here. NetworkComparisonTest and `compare_groups` compare the
first half of the rows with the second.

| edge | {" | ".join(table.columns)} |
|---|{"---:|" * len(table.columns)}
{chr(10).join(rows)}

bgms and `pseudo` have the same target: their means differ by at most {off.max():.2f} posterior sds, ratios of sds are
{ratio.min():.2f} to {ratio.max():.2f}. sds of `exact` are {(exact[1] / bgms_sd).mean():.2f} times those of bgms on
average. IsingSampler averages two unpenalised regressions per pair; `estimate` maximises their product under one
coupling per pair: they differ by at most {np.abs(uni - estimate).max():.2f}. Rank correlations with the means of
`exact`: IsingFit {ranks[0]:.2f}, mgm {ranks[1]:.2f}.

A grey image of 24 x 24 pixels with two labels and a coupling of {COUPLING}:

| | coupling | mean of label 0 | mean of label 1 |
|---|---:|---:|---:|
| bayesImageS, exchange algorithm | {their_image} |
| `segment` | {our_image} |

Seconds of the processor here: {spent}. In R:

{chr(10).join(lines)}
"""
    print(text)
    RESULT.write_text(text, encoding="utf-8")
    if off.max() > 0.15:  # Monte-Carlo errors of both are near 0.02 sds
        sys.exit(f"bgms and 'pseudo' differ by {off.max():.2f} posterior sds")


if __name__ == "__main__":
    main()
