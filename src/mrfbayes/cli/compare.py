"""``mrfbayes compare``: several methods on the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import say
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, DataOptions, Many, Overwrite, PriorOptions, SeedChoice
from mrfbayes.cli.settings_file import beside, keep_settings

SHOWN = ("target", "mean_error_sd", "sd_ratio", "ess_min", "chain_s")


@grouped
def compare(
    data: DataOptions,
    priors: PriorOptions,
    common: Common,
    method: Annotated[Many, typer.Option(help="Method; repeatable. Default: exact, mle, pseudo, laplace.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps per chain after warm-up.")] = None,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
    csv: Annotated[Path | None, typer.Option(help="Write the table here as CSV.")] = None,
    overwrite: Overwrite = False,
    rng: SeedChoice = 0,
) -> None:
    """Run several methods on the same data and set them side by side."""
    import mrfbayes as mb
    from mrfbayes.cli.field import data_field, read_data
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import console, quiet_warnings, show_data, table
    from mrfbayes.plots.saving import write_table

    check_files({"--csv": csv, "its settings": beside(csv)}, {"data": data.data}, overwrite)
    observed = read_data(data)
    methods = tuple(method or ("exact", "mle", "pseudo", "laplace"))
    with quiet_warnings():
        model = data_field(data, observed)
        show_data(observed, common.json)
        statistics = observed.count(model)
        prior = priors.chosen_prior
        found = mb.compare(model, statistics, methods, prior=prior, steps=steps, workers=workers, rng=rng)
    if csv is not None:
        write_table(found.table, csv, overwrite)
        keep_settings(csv, overwrite)
    said = [f"warning: {text}" for text in statistics.warnings]
    if common.json:
        say(said, to_stderr=True)
        typer.echo(found.table.to_json(orient="index", indent=1))
        return
    shown = [column for column in SHOWN if column in found.table.columns]
    rows = [
        [str(name), *(value if isinstance(value, str) else f"{value:.4g}" for value in row)]
        for name, row in zip(found.table.index, found.table[shown].itertuples(index=False), strict=True)
    ]
    console().print(table(["method", *(c.replace("_", " ") for c in shown)], rows, texts=2))
    say(said)
