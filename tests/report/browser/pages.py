"""Writes the pages that the browser tests open: a small network with hostile names, a grid, one image, a search over
graphs with groups and a comparison of methods, and 20,000 parameters.

python tests/report/browser/pages.py FOLDER
"""

import sys
import warnings
from pathlib import Path

import numpy as np

import mrfbayes as mb

HOSTILE = (
    "</script><script>window.bad=1</script>",
    "<img src=x onerror=window.bad=1>",
    "sleeps badly, worries in the night and wakes up tired",
    "javascript:alert(1)",
    "\x1b[31mred",
    *(f"item {k}" for k in range(1, 8)),
)


def network(folder: Path) -> None:
    """Twelve items, some of them hostile."""
    pairs = [(u, v) for i, u in enumerate(HOSTILE) for v in HOSTILE[i + 1 :]]
    model = mb.graph(pairs, nodes=HOSTILE, fields=True, coupling="both-one")
    rng = np.random.default_rng(4)
    couplings = np.where(rng.random(len(pairs)) < 0.25, rng.normal(0.8, 0.9, len(pairs)), 0.0)
    x = mb.simulate(model, model.chart.theta(np.concatenate([couplings, np.full(12, -0.4)])), 500, rng=5)
    posterior = mb.sample(model, x, "calibrated", prior="normal(0, 1)", progress=False)
    mb.report(posterior, folder / "network.html", title="Hostile names", overwrite=True)


def grid(folder: Path) -> None:
    """An 8x8 grid."""
    model = mb.grid(8, 8)
    theta = np.random.default_rng(1).uniform(0.3, 0.85, model.n_parameters)
    x = mb.simulate(model, theta, 300, rng=2)
    mb.report(mb.sample(model, x, "mle", progress=False), folder / "grid.html", overwrite=True)


def image(folder: Path) -> None:
    """One image, whose neighbours share a coupling in each direction."""
    model = mb.grid(16, 16, tied="direction")
    x = mb.simulate(model, [0.6, 0.68], 1, sampler="gibbs", rng=2)
    mb.report(mb.sample(model, x, "pseudo", draws=2_000, progress=False), folder / "image.html", overwrite=True)


def structure(folder: Path) -> None:
    """Four items with all the sections that can be asked for."""
    model = mb.complete(["sleep", "worry", "mood", "energy"], fields=True, coupling="both-one")
    rng = np.random.default_rng(3)
    x = (rng.normal(size=(300, 4)) + rng.normal(size=(300, 1)) > 0.3).astype(int)
    run = {"draws": 500, "chains": 2, "progress": False}
    mb.report(
        mb.sample(model, x, progress=False),
        folder / "structure.html",
        comparison=mb.compare(model, x, methods=["exact", "pseudo"], progress=False),
        selection=mb.select(model, x, **run),
        groups=mb.compare_groups(model, {"here": x[:150], "there": x[150:]}, **run),
        overwrite=True,
    )


def sixty(folder: Path) -> None:
    """Sixty items in five communities, with a search and two groups."""
    names = [f"item {k}" for k in range(1, 61)]
    model = mb.complete(names, fields=True, coupling="both-one")
    rng = np.random.default_rng(6)
    x = (rng.normal(size=(500, 60)) + np.repeat(rng.normal(size=(500, 5)), 12, axis=1) > 0.3).astype(int)
    texts = {name: f"How often did you have the problem of {name} in the last two weeks?" for name in names}
    run = {"chains": 2, "progress": False}
    mb.report(
        mb.sample(model, x, "pseudo", draws=200, **run),
        folder / "sixty.html",
        codebook=texts,
        selection=mb.select(model, x, draws=20, warmup=10, **run),
        groups=mb.compare_groups(model, {"clinic": x[:250], "community": x[250:]}, draws=20, warmup=10, **run),
        overwrite=True,
    )


def large(folder: Path) -> None:
    """A grid of 20,000 couplings, from counts alone."""
    model = mb.grid(100, 101)
    counts = np.random.default_rng(2).binomial(200, 0.6, model.n_parameters).astype(float)
    statistics = mb.Statistics.from_counts(model, counts, 200)
    posterior = mb.sample(model, statistics, "mle", estimate=counts / 200, draws=50, thin=1, progress=False)
    mb.report(posterior, folder / "large.html", overwrite=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    for make in (network, grid, image, structure, sixty, large):
        make(place)
