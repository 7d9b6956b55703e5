"""Commands on a saved result: summary, edges, report, plot, predict, export."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.cli import show
from mrfbayes.cli.files import write_csv, writing
from mrfbayes.cli.options import Common, Overwrite, ResultFile, RowsShown, ScaleChoice, SeedChoice, TableFile, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mrfbayes.model.result import Result
    from mrfbayes.report.findings import Findings

PLOTS = ("network", "panels", "forest", "nodes", "evidence", "field", "marginals", "ranks")


def open_result(path: Path, scale: str | None = None) -> tuple[Findings | None, Result]:
    """What a saved result says of its parameters (a posterior, the average over graphs, the middle of groups), and it.

    An estimate, a segmentation or a family of fits has no one posterior to say anything of, and stands for itself.
    """
    import mrfbayes as mb
    from mrfbayes.report.findings import Findings

    found = mb.load(path)
    if isinstance(found, (mb.Estimate, mb.Segmentation, mb.Fits)):
        return None, found
    findings = Findings.of(found, cast("Scale | None", scale))
    return findings, findings.posterior


def load_findings(path: Path, scale: str | None = None) -> Findings:
    """What a saved result says of its parameters, or an error where it has no posterior of them."""
    import mrfbayes as mb
    from mrfbayes.report.findings import Findings

    return Findings.of(mb.load(path), cast("Scale | None", scale))


@grouped
def summary(
    result: ResultFile,
    common: Common,
    csv: TableFile = None,
    scale: ScaleChoice = None,
    rows: RowsShown = 40,
    overwrite: Overwrite = False,
) -> None:
    """Print the summary of a saved result: edges by how sure they are, then nodes."""
    with writing({"--csv": csv}, {"the result": result}, overwrite):
        findings, shown = open_result(result, scale)
        scale = scale if findings is None else findings.scale
        frame = shown.summary(scale=scale)
        if common.json:
            show.as_json({"scale": scale, "parameters": frame.to_dict(orient="index")})
        elif findings is None:
            show.frame(shown, frame, rows)
        else:
            show.schema(shown.schema)
            show.posterior(findings.posterior, scale, rows)
        write_csv(frame, csv, overwrite)
        if csv is not None:
            typer.echo(f"written to {csv}", err=common.json)


@grouped
def edges(
    result: ResultFile,
    common: Common,
    scale: ScaleChoice = None,
    rows: RowsShown = 40,
    csv: TableFile = None,
    overwrite: Overwrite = False,
) -> None:
    """Print the edges of a saved result with their verdicts, the best supported first."""
    with writing({"--csv": csv}, {"the result": result}, overwrite), show.quiet_warnings():
        findings, shown = open_result(result, scale)
        if findings is None:
            frame = shown.edges(scale=scale)
        else:
            frame = findings.edges if findings.differences is None else findings.differences
        write_csv(frame, csv, overwrite)
        if common.json:
            typer.echo(frame.to_json(orient="index", indent=1))
        elif findings is None:
            show.frame(shown, frame, rows)
        else:
            show.edges(findings, rows)


@grouped
def report(
    result: ResultFile,
    common: Common,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
    scale: ScaleChoice = None,
    overwrite: Overwrite = False,
) -> None:
    """Write the report of a saved result: one self-contained HTML file."""
    from mrfbayes.base.atomic_files import write_text
    from mrfbayes.report.sentences import brief
    from mrfbayes.report.write import UNTITLED, render

    with writing({"--out": out}, {"the result": result}, overwrite), show.quiet_warnings():
        findings = load_findings(result, scale)
        write_text(out, render(findings, title or UNTITLED, result.name), overwrite)
        show.findings(findings, brief(findings), (), {"report": out}, common.json)


@grouped
def plot(
    result: ResultFile,
    common: Common,
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(PLOTS)}.")] = "network",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="SVG, PDF or PNG file; numbers go beside it.")] = None,
    parameter: Annotated[str | None, typer.Option(help="For ranks: which one.")] = None,
    layout: Annotated[str, typer.Option(help="For network: auto, circle or spring.")] = "auto",
    width: Annotated[str | None, typer.Option(help="Column of a journal, single (85 mm) or double (178 mm).")] = None,
    scale: ScaleChoice = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw one picture of a saved result, with its numbers as CSV beside it."""
    import matplotlib as mpl
    import numpy as np

    mpl.use("Agg")
    import mrfbayes as mb
    from mrfbayes.plots.of_result import PICTURES

    if kind not in PLOTS:
        raise mb.InputError(f"{kind}: choose one of {', '.join(PLOTS)}.")
    target = out or Path(f"{kind}.svg")
    with writing({"--out": target}, {"the result": result}, overwrite), show.quiet_warnings():
        findings, shown = open_result(result, scale)
        if findings is None:
            made = np.ravel(np.asarray(shown.plot(), dtype=object))[0].figure  # of axes side by side
        else:
            shown = findings.groups or findings.selection or shown
            own = PICTURES[type(shown).__name__]
            draw, drawn = (own[kind], shown) if kind in own else (PICTURES["Posterior"][kind], findings.posterior)
            asked = {"layout": layout, "scale": scale, "parameter": parameter}
            asked |= {"nodes": "communities"} if kind == "network" else {}
            known = signature(draw).parameters
            made = cast("Axes", draw(drawn, **{name: value for name, value in asked.items() if name in known}))
        picture, numbers = mb.plots.save(made, target, overwrite, width=width)
        show.facts(common.json, {"picture": str(picture), "numbers": str(numbers)})


@grouped
def predict(
    result: ResultFile,
    data: Annotated[Path, typer.Argument(help="File with the known columns, of any kind that fit reads.")],
    common: Common,
    given: Annotated[list[str], typer.Option(help="Column, range or pattern that is known; repeatable.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="CSV file to write: a row per row, a column per node and state.")
    ],
    draws: Annotated[int, typer.Option(help="Posterior draws that are averaged over.", min=1)] = 100,
    rng: SeedChoice = None,
    overwrite: Overwrite = False,
) -> None:
    """Predict the other nodes of a saved result from the columns that are known."""
    from mrfbayes.data.data import Data
    from mrfbayes.data.reading import choose_columns

    with writing({"--out": out}, {"data": data, "the result": result}, overwrite):
        posterior, rows = load_findings(result).posterior, Data(str(data))
        names = [name for name in rows.column_names if name in posterior.model.nodes]
        frame = posterior.predict(rows, choose_columns(names, given, None, data.name), draws=draws, rng=rng)
        frame.columns = [f"P({node} = {state})" for node, state in frame.columns]
        write_csv(frame.rename_axis("row"), out, overwrite)
        show.facts(common.json, {"written": str(out), "rows": len(frame), "algorithm": frame.attrs["algorithm"]})


@grouped
def export(
    result: ResultFile,
    common: Common,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")],
    form: Annotated[str, typer.Option("--format", help="graphml, uai, dimod (JSON) or edges (CSV).")] = "graphml",
    overwrite: Overwrite = False,
) -> None:
    """Write the posterior mean couplings of a saved result for other programs."""
    from mrfbayes.base.atomic_files import write_text
    from mrfbayes.model.formats import export_text

    with writing({"--out": out}, {"result": result}, overwrite):
        _, found = open_result(result)
        if not hasattr(found, "log_odds"):
            raise InputError(f"export: there is no one field in a {type(found).__name__}; export one of its results.")
        log_odds = found.log_odds.reshape(-1, found.model.n_parameters).mean(axis=0)
        write_text(out, export_text(found.model, log_odds, form), overwrite)
        show.facts(common.json, {"written": str(out), "format": form})
