"""Commands on a saved result: summary, edges, report, plot, predict, export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

import mrfbayes as mb
from mrfbayes.base.atomic_files import write_text
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.cli import show
from mrfbayes.cli.files import write_csv, writing
from mrfbayes.cli.options import Common, Overwrite, ResultFile, RowsShown, ScaleChoice, SeedChoice, TableFile, grouped

if TYPE_CHECKING:
    from mrfbayes.model.result import Result
    from mrfbayes.report.findings import Findings

PLOTS = (
    "network, panels, forest, nodes, centrality, evidence, field, marginals or ranks; of a search over graphs also "
    "structures or complexity, of groups differences"
)


def open_result(path: Path, scale: str | None = None) -> tuple[Findings | None, Result]:
    """What a saved result says of its parameters (a posterior, the average over graphs, the middle of groups), and it.

    Any other, as an estimate or a family of fits, has no one posterior to say anything of, and stands for itself.
    """
    from mrfbayes.report.findings import Findings

    found = mb.load(path)
    if not isinstance(found, (mb.Posterior, mb.Selection, mb.GroupComparison, mb.Fit)):
        return None, found
    findings = Findings.of(found, cast("Scale | None", scale))
    return findings, findings.posterior


def findings_of(path: Path, command: str, scale: str | None = None) -> Findings:
    """What a saved result says of its parameters, or an error where it has no posterior of them."""
    findings, found = open_result(path, scale)
    if findings is None:
        raise InputError(
            f"{command}: {type(found).__name__} has no one posterior of its parameters; open it in Python."
        )
    return findings


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
    from mrfbayes.report.sentences import brief
    from mrfbayes.report.write import UNTITLED, render

    with writing({"--out": out}, {"the result": result}, overwrite), show.quiet_warnings():
        findings = findings_of(result, "report", scale)
        write_text(out, render(findings, title or UNTITLED, result.name), overwrite)
        show.findings(findings, brief(findings), (), {"report": out}, common.json)


@grouped
def plot(
    result: ResultFile,
    common: Common,
    kind: Annotated[str | None, typer.Argument(help=f"{PLOTS}.", show_default="network")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="SVG, PDF or PNG file; numbers go beside it.")] = None,
    parameter: Annotated[str | None, typer.Option(help="For ranks: which one.")] = None,
    layout: Annotated[str | None, typer.Option(help="For networks: auto, circle, spring or grid.")] = None,
    width: Annotated[str | None, typer.Option(help="Column of a journal, single (85 mm) or double (178 mm).")] = None,
    scale: ScaleChoice = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw one picture of a saved result, with its numbers as CSV beside it."""
    import matplotlib as mpl
    import numpy as np

    mpl.use("Agg")
    from mrfbayes.base.checks import one_of
    from mrfbayes.plots.of_result import PICTURES, draw

    target = out or Path(f"{kind or 'network'}.svg")
    with writing({"--out": target}, {"the result": result}, overwrite), show.quiet_warnings():
        findings, shown = open_result(result, scale)
        asked = {"layout": layout, "scale": scale, "parameter": parameter}
        options = {name: value for name, value in asked.items() if value is not None}
        if findings is not None:
            kind, shown = kind or "network", findings.groups or findings.selection or shown
            own, further = PICTURES[type(shown).__name__], PICTURES["Posterior"]
            one_of("kind", kind, {**own, **further})
            shown = shown if kind in own else findings.posterior
            options |= {"nodes": "communities"} if own.get(kind) is further["network"] else {}
        made = np.ravel(np.asarray(draw(shown, kind, options), dtype=object))[0]  # one of axes side by side
        picture, numbers = mb.plots.save(made.figure, target, overwrite, width=width)
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
        posterior, rows = findings_of(result, "predict").posterior, Data(str(data))
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
    from mrfbayes.model.formats import export_text

    with writing({"--out": out}, {"result": result}, overwrite):
        _, found = open_result(result)
        if not hasattr(found, "log_odds"):
            raise InputError(f"export: there is no one field in a {type(found).__name__}; export one of its results.")
        log_odds = found.log_odds.reshape(-1, found.model.n_parameters).mean(axis=0)
        write_text(out, export_text(found.model, log_odds, form), overwrite)
        show.facts(common.json, {"written": str(out), "format": form})
