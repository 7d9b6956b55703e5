"""``mrfbayes predict``: the other nodes from the columns that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import tell
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.loading import load_posterior
from mrfbayes.cli.options import Common, Overwrite, ResultFile, SeedChoice
from mrfbayes.cli.settings_file import beside, keep_settings


@grouped
def predict(
    result: ResultFile,
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file with the known columns.")],
    common: Common,
    given: Annotated[list[str], typer.Option(help="Column, range or pattern that is known; repeatable.")],
    out: Annotated[Path, typer.Option("--out", help="CSV file to write: a row per row, a column per node and state.")],
    draws: Annotated[int, typer.Option(help="Posterior draws that are averaged over.", min=1)] = 100,
    rng: SeedChoice = 0,
    overwrite: Overwrite = False,
) -> None:
    """Predict the other nodes of a saved result from the columns that are known."""
    from mrfbayes.base.errors import InputError
    from mrfbayes.cli.columns import choose_columns
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.understood import read_frame
    from mrfbayes.plots.saving import write_table

    new = {"--out": out, "its settings": beside(out)}
    check_files(new, {"data": data, "the result": result}, overwrite)
    posterior = load_posterior(result)
    if not data.is_file():
        raise InputError(f"{data}: no such file.")
    frame = read_frame(data)
    if frame is None:
        raise InputError(f"{data}: cannot be read as a CSV or Parquet file.")
    known = choose_columns([name for name in frame.columns if name in posterior.model.nodes], given, (), data.name)
    table = posterior.predict(frame.select(known), known, draws=draws, rng=rng)
    table.columns = [f"P({node} = {state})" for node, state in table.columns]
    write_table(table.rename_axis("row"), out, overwrite)
    keep_settings(out, overwrite)
    tell(common.json, {"written": str(out), "rows": len(table), "way": table.attrs["way"]})
