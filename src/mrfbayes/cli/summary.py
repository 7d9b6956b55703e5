"""``mrfbayes summary``: the parameters of a saved result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import print_json
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.options import Common, Overwrite, ResultFile, ScaleChoice
from mrfbayes.cli.settings_file import beside, keep_settings


@grouped
def summary(
    result: ResultFile,
    common: Common,
    csv: Annotated[Path | None, typer.Option(help="Write the table here as CSV, all rows and digits.")] = None,
    scale: ScaleChoice = None,
    rows: Annotated[int, typer.Option(help="Rows that are printed; 0 prints all.", min=0)] = 40,
    overwrite: Overwrite = False,
) -> None:
    """Print the summary of a saved result: edges by how sure they are, then nodes."""
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import show_posterior, show_schema
    from mrfbayes.model.wording import natural_scale
    from mrfbayes.plots.saving import write_table

    check_files({"--csv": csv, "its settings": beside(csv)}, {"the result": result}, overwrite)
    posterior = load_posterior(result)
    scale = scale or natural_scale(posterior.model)
    if common.json:
        table = posterior.summary(scale=scale)
        print_json({"scale": scale, "parameters": table.to_dict(orient="index")})
    else:
        show_schema(posterior.schema)
        show_posterior(posterior, scale, rows)
    if csv is not None:
        write_table(posterior.summary(scale=scale), csv, overwrite)
        keep_settings(csv, overwrite)
        typer.echo(f"written to {csv}", err=common.json)
