"""``mrfbayes plot``: one picture of a saved result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from mrfbayes.cli.answers import tell
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.options import Common, Overwrite, ResultFile, ScaleChoice
from mrfbayes.cli.settings_file import beside, keep_settings

PLOTS = ("network", "panels", "forest", "nodes", "evidence", "field", "marginals", "chains", "ranks", "pairs", "prior")


@grouped
def plot(
    result: ResultFile,
    common: Common,
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(PLOTS)}.")] = "network",
    out: Annotated[Path | None, typer.Option("--out", help="SVG, PDF or PNG file; numbers go beside it.")] = None,
    parameter: Annotated[str | None, typer.Option(help="For chains, ranks and prior: which one.")] = None,
    layout: Annotated[str, typer.Option(help="For network: auto, circle or spring.")] = "auto",
    scale: ScaleChoice = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw one picture of a saved result, with its numbers as CSV beside it."""
    import matplotlib as mpl

    mpl.use("Agg")
    import mrfbayes as mb
    from mrfbayes.base.errors import InputError
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import quiet_warnings

    if kind not in PLOTS:
        raise InputError(f"{kind}: choose one of {', '.join(PLOTS)}.")
    target = out or Path(f"{kind}.svg")
    check_files({"--out": target, "its settings": beside(target)}, {"the result": result}, overwrite)
    with quiet_warnings():
        posterior = load_posterior(result)
        chosen: Any = parameter
        if kind == "prior" and parameter is None:
            chosen = str(posterior.edges()["log_bf10"].idxmax())
        drawings: dict[str, Callable[[], Any]] = {
            "network": lambda: mb.plots.network(posterior, layout=layout, scale=scale),
            "panels": lambda: mb.plots.network_panels(posterior, layout=layout, scale=scale),
            "forest": lambda: mb.plots.forest(posterior, scale=scale),
            "nodes": lambda: mb.plots.forest(posterior, nodes=True, scale=scale),
            "evidence": lambda: mb.plots.edge_evidence(posterior),
            "field": lambda: mb.plots.field(posterior.model, posterior),
            "marginals": lambda: mb.plots.marginals(posterior),
            "chains": lambda: mb.plots.chains(posterior, chosen),
            "ranks": lambda: mb.plots.ranks(posterior, chosen),
            "pairs": lambda: mb.plots.pairs(posterior),
            "prior": lambda: mb.plots.prior_posterior(posterior, chosen),
        }
        drawn = drawings[kind]()
    picture, numbers = mb.plots.save(drawn, target, overwrite)
    keep_settings(target, overwrite)
    tell(common.json, {"picture": str(picture), "numbers": str(numbers)})
