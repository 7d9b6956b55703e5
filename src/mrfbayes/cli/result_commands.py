"""Commands on a saved result: its edges, its report, its pictures, its couplings for other programs, predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.options import Json, Overwrite, ResultFile, ScaleChoice, SeedChoice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLOTS = ("network", "panels", "forest", "nodes", "evidence", "field", "marginals", "chains", "ranks", "pairs", "prior")


def edges(
    result: ResultFile,
    scale: ScaleChoice = None,
    rows: Annotated[int, typer.Option(help="Rows that are printed; 0 prints all.", min=0)] = 40,
    csv: Annotated[Path | None, typer.Option(help="Write all rows here as CSV.")] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Print the edges of a saved result with their verdicts, the best supported first."""
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import quiet_warnings, show_edges
    from mrfbayes.model.wording import natural_scale

    check_files({"--csv": csv}, {"the result": result}, overwrite)
    with quiet_warnings():
        posterior = load_posterior(result)
        table = posterior.edges(scale or natural_scale(posterior.model))
    if csv is not None:
        from mrfbayes.plots.saving import write_table

        write_table(table, csv, overwrite)
    if json:
        typer.echo(table.to_json(orient="index", indent=1))
    else:
        show_edges(posterior.model, table, rows)


def report(
    result: ResultFile,
    out: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
    scale: ScaleChoice = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write the report of a saved result: one self-contained HTML file."""
    import mrfbayes as mb
    from mrfbayes.cli.results import print_findings
    from mrfbayes.cli.show import quiet_warnings
    from mrfbayes.report.findings import Findings

    with quiet_warnings():
        posterior = load_posterior(result)
        path = mb.report(posterior, out, title=title, source=result.name, scale=scale, overwrite=overwrite)
        print_findings(Findings(posterior, scale or "", False), {"report": path}, json)


def plot(
    result: ResultFile,
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(PLOTS)}.")] = "network",
    out: Annotated[Path | None, typer.Option("--out", help="SVG, PDF or PNG file; numbers go beside it.")] = None,
    parameter: Annotated[str | None, typer.Option(help="For chains, ranks and prior: which one.")] = None,
    layout: Annotated[str, typer.Option(help="For network: auto, circle or spring.")] = "auto",
    scale: ScaleChoice = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Draw one picture of a saved result, with its numbers as CSV beside it."""
    import matplotlib as mpl

    mpl.use("Agg")
    import mrfbayes as mb
    from mrfbayes.base.errors import InputError
    from mrfbayes.cli.show import quiet_warnings

    if kind not in PLOTS:
        raise InputError(f"{kind}: choose one of {', '.join(PLOTS)}.")
    with quiet_warnings():
        posterior = load_posterior(result)
        chosen = parameter
        if kind == "prior" and parameter is None:
            chosen = str(posterior.edges()["log_bf10"].idxmax())
        drawings: dict[str, Callable[[], Axes | Figure]] = {
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
            "prior": lambda: mb.plots.prior_posterior(posterior, str(chosen)),
        }
        drawn = drawings[kind]()
    picture, numbers = mb.plots.save(drawn, out or Path(f"{kind}.svg"), overwrite)
    _say(json, {"picture": str(picture), "numbers": str(numbers)})


def export(
    result: ResultFile,
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    form: Annotated[str, typer.Option("--format", help="graphml, uai, dimod (JSON) or edges (CSV).")] = "graphml",
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write the posterior mean couplings of a saved result for other programs."""
    from mrfbayes.base.atomic_files import check_targets, write_text
    from mrfbayes.model.exports import export_text

    check_targets({"--out": out}, inputs={"result": result}, overwrite=overwrite, permission="--overwrite")
    posterior = load_posterior(result)
    write_text(out, export_text(posterior.model, posterior.log_odds.mean(axis=(0, 1)), form), overwrite)
    _say(json, {"written": str(out), "format": form})


def predict(
    result: ResultFile,
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file with the known columns.")],
    given: Annotated[list[str], typer.Option(help="Column, range or pattern that is known; repeatable.")],
    out: Annotated[Path, typer.Option("--out", help="CSV file to write: a row per row, a column per node and state.")],
    draws: Annotated[int, typer.Option(help="Posterior draws that are averaged over.", min=1)] = 100,
    rng: SeedChoice = 0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Predict the other nodes of a saved result from the columns that are known."""
    from mrfbayes.base.atomic_files import check_targets
    from mrfbayes.base.errors import InputError
    from mrfbayes.cli.columns import choose_columns
    from mrfbayes.cli.understood import read_frame
    from mrfbayes.plots.saving import write_table

    check_targets({"--out": out}, inputs={"data": data}, overwrite=overwrite, permission="--overwrite")
    posterior = load_posterior(result)
    frame = read_frame(data)
    if frame is None:
        raise InputError(f"{data}: cannot be read as a CSV or Parquet file.")
    known = choose_columns([name for name in frame.columns if name in posterior.model.nodes], given, (), data.name)
    table = posterior.predict(frame.select(known), known, draws=draws, rng=rng)
    table.columns = [f"P({node} = {state})" for node, state in table.columns]
    write_table(table.rename_axis("row"), out, overwrite)
    _say(json, {"written": str(out), "rows": len(table), "way": table.attrs["way"]})


def _say(as_json: bool, facts: dict[str, object]) -> None:
    import json

    from mrfbayes.cli.text import safe

    typer.echo(json.dumps(facts) if as_json else safe(", ".join(f"{name}: {value}" for name, value in facts.items())))
