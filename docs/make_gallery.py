"""Draws every picture of the gallery from embedded and simulated data, and writes docs/gallery.md.

python docs/make_gallery.py                          # or: make gallery
python docs/make_gallery.py structures complexity    # only these pictures
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import mrfbayes as mb
from mrfbayes.base.errors import MRFWarning
from mrfbayes.report.figures import edge_order
from mrfbayes.report.findings import Findings

mpl.use("Agg")
PAGE = Path(__file__).parent / "gallery.md"
FOLDER = Path(__file__).parent / "pictures" / "gallery"
HEAD = """# Gallery

Every picture is a function of `mb.plots` with `ax=` (a whole figure where it has several panels). `mb.plots.save(picture,
"name.svg")` writes vectors (SVG, PDF) or PNG with the numbers as CSV beside them; `mb.plots.data(picture)` gives the
numbers. Colours are those of Okabe and Ito, and whatever colour says is also said by dashes, markers or hatching. Made by
`make gallery`; `post` is the posterior of nine symptoms in 355 children under the prior normal(0, 1).
"""


@cache
def symptoms() -> tuple[Any, Any, np.ndarray]:
    """Model, posterior and data of nine yes/no items."""
    data = mb.datasets.load_adhd()
    names, x = data.nodes[:9], data.x[:, :9]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    model = mb.graph(pairs, nodes=names, fields=True, coupling="both-one")
    return model, mb.sample(model, x, prior="normal(0, 1)", progress=False), x


@cache
def grid() -> tuple[Any, Any]:
    """An 8x8 field and its posterior."""
    model = mb.grid(8, 8)
    theta = np.random.default_rng(1).uniform(0.3, 0.85, model.n_parameters)
    return model, mb.sample(model, mb.simulate(model, theta, 300, rng=2), "mle", progress=False)


@cache
def image() -> tuple[Any, Any]:
    """One image of 40 x 40 pixels whose neighbours share two couplings."""
    model = mb.grid(40, 40, tied="direction")
    x = mb.simulate(model, [0.6, 0.68], 1, sampler="gibbs", rng=2)
    return model, mb.sample(model, x, "pseudo", draws=2_000, progress=False)


@cache
def noisy() -> Any:
    """Three grey levels with noise on 32 x 32 pixels, whose labels are not observed."""
    labels = mb.simulate(mb.grid(32, 32, states=3, tied=True), 0.73, 1, rng=5, progress=False).reshape(32, 32)
    image = labels + np.random.default_rng(7).normal(0, 0.5, labels.shape)
    return mb.segment(image, states=3, rng=1, progress=False)


def heated() -> Any:
    """The nine items at temperatures around that of the data, 1."""
    model, post, _ = symptoms()
    return mb.thermodynamics(model, post, temperatures=np.geomspace(0.3, 4, 40), progress=False)


@cache
def compared() -> Any:
    """Four methods on one data set."""
    x = mb.simulate(mb.grid(4, 4), 0.65, 100, rng=3)
    return mb.compare(mb.grid(4, 4), x, methods=["exact", "mle", "pseudo", "laplace"], progress=False)


@cache
def searched() -> Any:
    """The posterior over graphs of the nine items."""
    model, _, x = symptoms()
    return mb.select(model, x, progress=False)


@cache
def two_groups() -> Any:
    """The nine items in children with and without a diagnosis."""
    data = mb.datasets.load_adhd()
    model, _, x = symptoms()
    return mb.compare_groups(model, {"none": x[data.group == 0], "diagnosis": x[data.group == 1]}, progress=False)


def pictures() -> list[tuple[str, str, str, Callable[[], Any]]]:
    """Name, call, what it shows, and how it is drawn."""
    plots = mb.plots
    return [
        (
            "network",
            "network(post)",
            "Width is the posterior mean, colour and dash the sign, opacity how sure the sign is.",
            lambda: plots.network(symptoms()[1]),
        ),
        (
            "network_spring",
            'network(post, layout="spring")',
            "The same by springs; the layout is the same in every panel and run.",
            lambda: plots.network(symptoms()[1], layout="spring"),
        ),
        (
            "network_panels",
            "network_panels(post)",
            "Edges supported, ruled out and undecided: what is not drawn on the left is not shown to be absent.",
            lambda: plots.network_panels(symptoms()[1]),
        ),
        (
            "forest",
            "forest(post)",
            "Means and intervals, the surest 40 where there are more; the CSV holds all.",
            lambda: plots.forest(symptoms()[1]),
        ),
        (
            "forest_nodes",
            "forest(post, nodes=True)",
            "The thresholds of the nodes.",
            lambda: plots.forest(symptoms()[1], nodes=True),
        ),
        (
            "edge_evidence",
            "edge_evidence(post)",
            "Bayes factors for each edge, with both boundaries and two Monte-Carlo errors.",
            lambda: plots.edge_evidence(symptoms()[1]),
        ),
        (
            "centrality",
            'centrality(post, "strength")',
            "How strongly each node is connected, with its interval; expected influence and predictability likewise.",
            lambda: plots.centrality(symptoms()[1]),
        ),
        (
            "sensitivity",
            "sensitivity(mb.prior_sensitivity(model, x))",
            "Verdicts as the prior on the couplings grows wider.",
            lambda: plots.sensitivity(mb.prior_sensitivity(symptoms()[0], symptoms()[2], progress=False)),
        ),
        (
            "marginals",
            "marginals(post)",
            "Densities of the twelve surest edges; several methods and the truth can be laid over each other.",
            lambda: plots.marginals(symptoms()[1]),
        ),
        (
            "ranks",
            "ranks(post)",
            "Ranks by chain: flat where chains explore the same distribution.",
            lambda: plots.ranks(symptoms()[1]),
        ),
        (
            "predictive",
            "predictive(mb.predictive_check(post, x))",
            "Observed statistics against simulated ones.",
            lambda: plots.predictive(mb.predictive_check(symptoms()[1], symptoms()[2], progress=False)),
        ),
        (
            "correlations",
            "correlations(mb.correlations(model, post, x))",
            "Third-order correlations, which the couplings are not fitted to, against those of the data.",
            lambda: plots.correlations(mb.correlations(*symptoms())),
        ),
        (
            "population_counts",
            "population_counts(mb.population_counts(model, post, x))",
            "How many symptoms are present at once, predicted and observed.",
            lambda: plots.population_counts(mb.population_counts(*symptoms())),
        ),
        (
            "temperature_scan",
            "temperature_scan(mb.thermodynamics(model, post, temperatures=[...]))",
            "The heat capacity over temperature, with the posterior interval.",
            lambda: plots.temperature_scan(heated()),
        ),
        (
            "comparison",
            "comparison(mb.compare(model, x, [...]))",
            "Methods against the exact posterior, a dot per parameter.",
            lambda: plots.comparison(compared()),
        ),
        (
            "field",
            "field(model, post)",
            "A grid: colour and width are the couplings, dashed where zero is in the interval.",
            lambda: plots.field(*grid()),
        ),
        (
            "edge_evidence_search",
            "edge_evidence(mb.select(model, x))",
            "The same averaged over all graphs: what the data say of each edge, whichever others are there.",
            lambda: plots.edge_evidence(searched()),
        ),
        (
            "structures",
            "structures(mb.select(model, x))",
            "The most probable graphs.",
            lambda: plots.structures(searched()),
        ),
        (
            "complexity",
            "complexity(mb.select(model, x))",
            "How many edges there are, beside the prior.",
            lambda: plots.complexity(searched()),
        ),
        (
            "group_differences",
            "group_differences(mb.compare_groups(model, {...}))",
            "Differences between two groups, with the probability that there is one.",
            lambda: plots.group_differences(two_groups()),
        ),
        (
            "group_networks",
            "group_networks(mb.compare_groups(model, {...}))",
            "A network for each group and one of their differences, with the nodes in the same places.",
            lambda: plots.group_networks(two_groups()),
        ),
        (
            "order",
            "order(table)",
            "Tests of differences: the probability that the edge of the row is stronger than that of the column.",
            lambda: plots.order(edge_order(Findings(symptoms()[1]))),
        ),
        ("field_image", "field(model, post)", "A tied field from a single image.", lambda: plots.field(*image())),
        (
            "segmentation",
            "segmentation(mb.segment(image))",
            "A noisy image, its most probable labels and their uncertainty.",
            lambda: plots.segmentation(noisy())[0],
        ),
        (
            "contact_map",
            "contact_map(mb.pair_tables(alignment))",
            "Scores of all pairs of positions of an alignment, with circles at the strongest.",
            lambda: plots.contact_map(alignment_tables(), top=12, min_distance=3),
        ),
    ]


def alignment_tables() -> mb.PairTables:
    """Tables of a small simulated alignment: twelve positions copy another one, with errors."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 8, (1500, 24))
    for k in range(12):
        same = rng.random(1500) < 0.6
        x[same, 23 - k] = x[same, k]
    return mb.pair_tables(x, progress=False)


def main() -> None:
    """Draw and write everything."""
    from matplotlib import pyplot

    FOLDER.mkdir(exist_ok=True, parents=True)
    lines, chosen = [HEAD], sys.argv[1:]
    for name, call, says, draw in pictures():
        lines.append(f"## `plots.{call}`\n\n{says}\n\n![{says}](pictures/gallery/{name}.png)\n")
        if chosen and name not in chosen:
            continue
        picture = draw()
        figure = picture if hasattr(picture, "savefig") else picture.figure
        figure.savefig(
            FOLDER / f"{name}.png", dpi=90, bbox_inches="tight", pad_inches=0.08, metadata={"Software": None}
        )
        pyplot.close(figure)
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)
        main()
