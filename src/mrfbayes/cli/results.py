"""A finished fit as sentences and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mrfbayes.cli.show import console
from mrfbayes.cli.text import safe

if TYPE_CHECKING:
    from mrfbayes.report.findings import Findings


def print_findings(
    findings: Findings,
    sentences: Sequence[str],
    warnings: Sequence[str],
    paths: Mapping[str, Path],
    as_json: bool,
) -> None:
    """The sentences that a person needs, warnings, and where everything is."""
    told = list(dict.fromkeys((*warnings, *findings.data_problems, *findings.doubts)))
    if as_json:
        posterior = findings.posterior
        facts = {
            "sentences": list(sentences),
            "verdicts": findings.verdicts,
            "diagnostics": findings.diagnostics,
            "method": posterior.method,
            "target": posterior.target,
            "scale": findings.scale,
            "n": posterior.n,
            "parameters": posterior.model.n_parameters,
            "partial": posterior.partial,
            "warnings": told,
            "files": {name: str(path) for name, path in paths.items()},
        }
        typer.echo(json.dumps(facts, indent=1))
        return
    out = console()
    out.print()
    for sentence in sentences:
        out.print(safe(sentence), markup=False, soft_wrap=False)
    for text in told:
        out.print(safe(f"warning: {text}"), style="yellow", markup=False)
    out.print()
    out.print(f"report: {safe(str(paths['report'])) if 'report' in paths else ''}", style="bold", markup=False)
    others = [str(path) for name, path in paths.items() if name != "report"]
    if others:
        out.print(safe(f"also written: {', '.join(others)}"), markup=False)
