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
    data: Annotated[Path, typer.Argument(help="File with the known columns, of any kind that fit reads.")],
    common: Common,
    given: Annotated[list[str], typer.Option(help="Column, range or pattern that is known; repeatable.")],
    out: Annotated[Path, typer.Option("--out", help="CSV file to write: a row per row, a column per node and state.")],
    draws: Annotated[int, typer.Option(help="Posterior draws that are averaged over.", min=1)] = 100,
    rng: SeedChoice = 0,
    overwrite: Overwrite = False,
) -> None:
    """Predict the other nodes of a saved result from the columns that are known."""
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.data.choosing import choose_columns
    from mrfbayes.data.data import Data
    from mrfbayes.plots.saving import write_table

    new = {"--out": out, "its settings": beside(out)}
    check_files(new, {"data": data, "the result": result}, overwrite)
    posterior = load_posterior(result)
    rows = Data(str(data))
    names = [name for name in rows.column_names if name in posterior.model.nodes]
    known = choose_columns(names, given, None, data.name)
    table = posterior.predict(rows, known, draws=draws, rng=rng)
    table.columns = [f"P({node} = {state})" for node, state in table.columns]
    write_table(table.rename_axis("row"), out, overwrite)
    keep_settings(out, overwrite)
    tell(common.json, {"written": str(out), "rows": len(table), "way": table.attrs["way"]})
