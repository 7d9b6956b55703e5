"""Draws every picture of the gallery from embedded and simulated data, and writes docs/gallery.md.

python docs/make_gallery.py            # or: make gallery
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import mrfbayes as mb
from mrfbayes.base.errors import MRFWarning

mpl.use("Agg")
PAGE = Path(__file__).parent / "gallery.md"
FOLDER = Path(__file__).parent / "pictures" / "gallery"
HEAD = """# Gallery

Every picture is a function of `mb.plots` with `ax=` (a whole figure where it has several panels). `mb.plots.save(picture,
"name.svg")` writes vectors (SVG, PDF) or PNG with the numbers as CSV beside them; `mb.plots.data(picture)` gives the
numbers. Colours are those of Okabe and Ito, and whatever colour says is also said by dashes, markers or hatching. Made by
`make gallery`; `post` is the posterior of nine symptoms in 355 children under the prior normal(0, 1).
"""


def symptoms() -> tuple[Any, Any, np.ndarray]:
    """Model, posterior and data of nine yes/no items."""
    data = mb.datasets.load_adhd()
    names, x = data.nodes[:9], data.x[:, :9]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    model = mb.graph(pairs, nodes=names, fields=True, coupling="both-one")
    return model, mb.sample(model, x, prior="normal(0, 1)", progress=False), x


def grid() -> tuple[Any, Any]:
    """An 8x8 field and its posterior."""
    model = mb.grid(8, 8)
    theta = np.random.default_rng(1).uniform(0.3, 0.85, model.n_parameters)
    return model, mb.sample(model, mb.simulate(model, theta, 300, rng=2), "mle", progress=False)


def image() -> tuple[Any, Any]:
    """One image of 40 x 40 pixels whose neighbours share two couplings."""
    model = mb.grid(40, 40, tied="direction")
    x = mb.simulate(model, [0.6, 0.68], 1, sampler="gibbs", rng=2)
    return model, mb.sample(model, x, "pseudo", steps=2_000, progress=False)


def pictures() -> list[tuple[str, str, str, Callable[[], Any]]]:
    """Name, call, what it shows, and how it is drawn."""
    model, post, x = symptoms()
    field, of_field = grid()
    tied, of_image = image()
    compared = mb.compare(
        mb.grid(4, 4),
        mb.simulate(mb.grid(4, 4), 0.65, 100, rng=3),
        ["exact", "mle", "pseudo", "laplace"],
        progress=False,
    )
    table = mb.prior_sensitivity(model, x, progress=False)
    check = mb.predictive_check(post, x, progress=False)
    plots = mb.plots
    return [
        (
            "network",
            "network(post)",
            "Width is the posterior mean, colour and dash the sign, opacity how sure the sign is.",
            lambda: plots.network(post),
        ),
        (
            "network_spring",
            'network(post, layout="spring")',
            "The same by springs; the layout is the same in every panel and run.",
            lambda: plots.network(post, layout="spring"),
        ),
        (
            "network_panels",
            "network_panels(post)",
            "Edges supported, ruled out and undecided: what is not drawn on the left is not shown to be absent.",
            lambda: plots.network_panels(post),
        ),
        (
            "forest",
            "forest(post)",
            "Means and intervals, the surest 40 where there are more; the CSV holds all.",
            lambda: plots.forest(post),
        ),
        (
            "forest_nodes",
            "forest(post, nodes=True)",
            "The thresholds of the nodes.",
            lambda: plots.forest(post, nodes=True),
        ),
        (
            "edge_evidence",
            "edge_evidence(post)",
            "Bayes factors for each edge, with both boundaries and two Monte-Carlo errors.",
            lambda: plots.edge_evidence(post),
        ),
        (
            "prior_posterior",
            'prior_posterior(post, "avoid--distract")',
            "The ratio of both heights at zero is the Bayes factor.",
            lambda: plots.prior_posterior(post, "avoid--distract"),
        ),
        (
            "sensitivity",
            "sensitivity(mb.prior_sensitivity(model, x))",
            "Verdicts as the prior on the couplings grows wider.",
            lambda: plots.sensitivity(table),
        ),
        (
            "marginals",
            "marginals(post)",
            "Densities of the twelve surest edges; several methods and the truth can be laid over each other.",
            lambda: plots.marginals(post),
        ),
        ("pairs", "pairs(post)", "The parameters with the largest correlations.", lambda: plots.pairs(post)),
        (
            "chains",
            "chains(post)",
            "Trace of the parameter with the smallest effective sample size.",
            lambda: plots.chains(post),
        ),
        (
            "ranks",
            "ranks(post)",
            "Ranks by chain: flat where chains explore the same distribution.",
            lambda: plots.ranks(post),
        ),
        (
            "predictive",
            "predictive(mb.predictive_check(post, x))",
            "Observed statistics against simulated ones.",
            lambda: plots.predictive(check),
        ),
        (
            "comparison",
            "comparison(mb.compare(model, x, [...]))",
            "Methods against the exact posterior, a dot per parameter.",
            lambda: plots.comparison(compared),
        ),
        (
            "field",
            "field(model, post)",
            "A grid: colour and width are the couplings, dashed where zero is in the interval.",
            lambda: plots.field(field, of_field),
        ),
        ("field_image", "field(model, post)", "A tied field from a single image.", lambda: plots.field(tied, of_image)),
    ]


def main() -> None:
    """Draw and write everything."""
    from matplotlib import pyplot

    FOLDER.mkdir(exist_ok=True, parents=True)
    lines = [HEAD]
    for name, call, says, draw in pictures():
        picture = draw()
        figure = picture if hasattr(picture, "savefig") else picture.figure
        figure.savefig(
            FOLDER / f"{name}.png", dpi=90, bbox_inches="tight", pad_inches=0.08, metadata={"Software": None}
        )
        pyplot.close(figure)
        lines.append(f"## `plots.{call}`\n\n{says}\n\n![{says}](pictures/gallery/{name}.png)\n")
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)
        main()
