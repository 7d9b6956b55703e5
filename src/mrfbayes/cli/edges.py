"""``mrfbayes edges``: the edges of a saved result with their verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.options import Common, Overwrite, ResultFile, ScaleChoice
from mrfbayes.cli.settings_file import beside, keep_settings


@grouped
def edges(
    result: ResultFile,
    common: Common,
    scale: ScaleChoice = None,
    rows: Annotated[int, typer.Option(help="Rows that are printed; 0 prints all.", min=0)] = 40,
    csv: Annotated[Path | None, typer.Option(help="Write all rows here as CSV.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Print the edges of a saved result with their verdicts, the best supported first."""
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import quiet_warnings, show_edges
    from mrfbayes.model.wording import natural_scale
    from mrfbayes.plots.saving import write_table

    check_files({"--csv": csv, "its settings": beside(csv)}, {"the result": result}, overwrite)
    with quiet_warnings():
        posterior = load_posterior(result)
        table = posterior.edges(scale or natural_scale(posterior.model))
    if csv is not None:
        write_table(table, csv, overwrite)
        keep_settings(csv, overwrite)
    if common.json:
        typer.echo(table.to_json(orient="index", indent=1))
    else:
        show_edges(posterior.model, table, rows)
