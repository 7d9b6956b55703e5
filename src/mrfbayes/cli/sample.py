"""``mrfbayes sample``: draws from the posterior of a field that is told in full."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import print_json
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, DataOptions, Overwrite, SamplingOptions
from mrfbayes.cli.settings_file import beside, keep_settings


@grouped
def sample(
    data: DataOptions,
    run: SamplingOptions,
    common: Common,
    out: Annotated[Path | None, typer.Option("--out", help="Result file (netCDF).")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw from the posterior of every parameter and print a summary."""
    from mrfbayes.cli.field import data_field, read_data
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import quiet_warnings, show_data, show_posterior

    inputs = {"the data": data.data, "--graph": data.graph, "--mask": data.mask}
    new = {"--out": out, "its settings": beside(out)}
    check_files(new, inputs, overwrite, continued={"--checkpoint": run.checkpoint})
    observed = read_data(data)
    with quiet_warnings():  # they are in the result and printed with it
        model = data_field(data, observed)
        run.check(model)
        show_data(observed, common.json)
        statistics = observed.count(model)
        posterior, kept = run.sample(statistics, out, overwrite)
    if not kept.status:
        keep_settings(out, overwrite)
    if common.json:
        facts = {"method": posterior.method, "target": posterior.target, "partial": posterior.partial}
        table = posterior.summary().to_dict(orient="index")
        print_json({**facts, "warnings": list(posterior.warnings), "out": out and str(out), "parameters": table})
    else:
        show_posterior(posterior)
    if kept.text:
        typer.echo(kept.text, err=bool(kept.status) or common.json)
    if posterior.facts.stopped_by == "Ctrl-C":
        raise typer.Exit(130)
    if kept.status:
        raise typer.Exit(kept.status)
