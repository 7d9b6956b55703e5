"""``mrfbayes report``: the page of a saved result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.options import Common, Overwrite, ResultFile, ScaleChoice
from mrfbayes.cli.settings_file import beside, keep_settings


@grouped
def report(
    result: ResultFile,
    common: Common,
    out: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "",
    scale: ScaleChoice = None,
    overwrite: Overwrite = False,
) -> None:
    """Write the report of a saved result: one self-contained HTML file."""
    from mrfbayes.base.atomic_files import write_text
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.results import print_findings
    from mrfbayes.cli.show import quiet_warnings
    from mrfbayes.report.findings import Findings
    from mrfbayes.report.sentences import brief
    from mrfbayes.report.write import UNTITLED, render

    check_files({"--out": out, "its settings": beside(out)}, {"the result": result}, overwrite)
    with quiet_warnings():
        findings = Findings(load_posterior(result), scale or "")
        write_text(out, render(findings, title or UNTITLED, result.name, []), overwrite)
        keep_settings(out, overwrite)
        print_findings(findings, list(brief(findings)), (), {"report": out}, common.json)
