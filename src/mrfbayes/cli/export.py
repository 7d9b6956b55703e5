"""``mrfbayes export``: the couplings of a saved result for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import tell
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.options import Common, Overwrite, ResultFile
from mrfbayes.cli.settings_file import beside, keep_settings


@grouped
def export(
    result: ResultFile,
    common: Common,
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    form: Annotated[str, typer.Option("--format", help="graphml, uai, dimod (JSON) or edges (CSV).")] = "graphml",
    overwrite: Overwrite = False,
) -> None:
    """Write the posterior mean couplings of a saved result for other programs."""
    from mrfbayes.base.atomic_files import write_text
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.model.exports import export_text

    check_files({"--out": out, "its settings": beside(out)}, {"result": result}, overwrite)
    posterior = load_posterior(result)
    write_text(out, export_text(posterior.model, posterior.log_odds.mean(axis=(0, 1)), form), overwrite)
    keep_settings(out, overwrite)
    tell(common.json, {"written": str(out), "format": form})
