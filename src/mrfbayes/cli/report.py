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
    import mrfbayes as mb
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.results import print_findings
    from mrfbayes.cli.show import quiet_warnings
    from mrfbayes.report.findings import Findings

    check_files({"--out": out, "its settings": beside(out)}, {"the result": result}, overwrite)
    with quiet_warnings():
        posterior = load_posterior(result)
        path = mb.report(posterior, out, title=title, source=result.name, scale=scale, overwrite=overwrite)
        keep_settings(out, overwrite)
        print_findings(Findings(posterior, scale or "", False), {"report": path}, common.json)
