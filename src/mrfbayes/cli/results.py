"""A finished fit as files, as sentences, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mrfbayes.cli.show import console
from mrfbayes.cli.structure import Structure
from mrfbayes.cli.text import safe
from mrfbayes.model.edge_strength import edge_strengths
from mrfbayes.model.exports import edge_table
from mrfbayes.report.findings import Findings
from mrfbayes.report.sentences import brief

if TYPE_CHECKING:
    import pandas as pd


NO_STRUCTURE = Structure()


def write_results(
    findings: Findings,
    folder: Path,
    title: str,
    source: str,
    structure: Structure,
) -> dict[str, Path]:
    """Report, tables, matrix, result and settings; the report last, since it needs all that can fail."""
    from mrfbayes.base.atomic_files import write_text
    from mrfbayes.plots.saving import write_table
    from mrfbayes.report.write import render

    posterior = findings.posterior
    paths = {
        name.split(".")[0]: folder / name
        for name in ("posterior.nc", "summary.csv", "edges.csv", "weights.csv", "report.html")
    }
    _ = findings.edges, findings.nodes  # computed before the result is saved, which keeps them
    posterior.save(paths["posterior"], overwrite=True)
    write_table(posterior.summary(scale=findings.scale), paths["summary"], True)
    write_table(findings.edges, paths["edges"], True)
    if len(posterior.model.nodes) <= MATRIX_NODES:
        write_table(weight_matrix(findings), paths["weights"], True)
    else:
        paths.pop("weights")
    paths |= structure.write(folder)
    write_text(paths["report"], render(findings, title, source, structure.sections), True)
    return paths


MATRIX_NODES = 5_000


def weight_matrix(findings: Findings) -> pd.DataFrame:
    """Posterior means of the couplings in log-odds as a symmetric matrix."""
    posterior, model = findings.posterior, findings.posterior.model
    return edge_table(model, edge_strengths(model, posterior.log_odds.mean(axis=(0, 1)))).rename_axis("node")


def print_findings(
    findings: Findings, paths: Mapping[str, Path], as_json: bool, structure: Structure = NO_STRUCTURE
) -> None:
    """The sentences that a person needs, warnings, and where everything is."""
    if as_json:
        typer.echo(json.dumps(as_data(findings, paths, structure), indent=1))
        return
    out = console()
    out.print()
    for sentence in [*brief(findings), *structure.sentences]:
        out.print(safe(sentence), markup=False, soft_wrap=False)
    for text in _warnings(findings, structure):
        out.print(safe(f"warning: {text}"), style="yellow", markup=False)
    out.print()
    out.print(f"report: {safe(str(paths['report'])) if 'report' in paths else ''}", style="bold", markup=False)
    others = [str(path) for name, path in paths.items() if name != "report"]
    if others:
        out.print(safe(f"also written: {', '.join(others)}"), markup=False)


def _warnings(findings: Findings, structure: Structure) -> list[str]:
    return [*findings.data_problems, *findings.doubts, *structure.lacking]


def as_data(findings: Findings, paths: Mapping[str, Path], structure: Structure) -> dict[str, object]:
    """The findings and the paths, for machines."""
    posterior = findings.posterior
    return {
        "sentences": [*brief(findings), *structure.sentences],
        "verdicts": findings.verdicts,
        "diagnostics": findings.diagnostics,
        "method": posterior.method,
        "target": posterior.target,
        "scale": findings.scale,
        "n": posterior.n,
        "parameters": posterior.model.n_parameters,
        "partial": posterior.partial,
        "warnings": _warnings(findings, structure),
        "files": {name: str(path) for name, path in paths.items()},
    }
