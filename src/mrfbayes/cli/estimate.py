"""``mrfbayes estimate``: the maximum likelihood estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import print_json, say
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, DataOptions, Overwrite, SeedChoice
from mrfbayes.cli.settings_file import beside, keep_settings


@grouped
def estimate(
    data: DataOptions,
    common: Common,
    algorithm: Annotated[str, typer.Option(help="auto, exact, cd, pcd, fpcd, mcmc-mle, pseudo, ...")] = "auto",
    csv: Annotated[Path | None, typer.Option(help="Write the table here as CSV.")] = None,
    overwrite: Overwrite = False,
    rng: SeedChoice = 0,
) -> None:
    """Maximum likelihood estimates of all parameters."""
    import pandas as pd

    import mrfbayes as mb
    from mrfbayes.cli.field import data_field, read_data
    from mrfbayes.cli.outputs import check_files
    from mrfbayes.cli.show import console, quiet_warnings, show_data, table
    from mrfbayes.plots.saving import write_table

    check_files({"--csv": csv, "its settings": beside(csv)}, {"data": data.data}, overwrite)
    observed = read_data(data)
    with quiet_warnings():
        model = data_field(data, observed)
        show_data(observed, common.json)
        statistics = observed.count(model)
        found = mb.estimate(model, statistics, algorithm=algorithm, rng=rng)
    warnings = [*statistics.warnings, *(text for text in found.warnings if text not in statistics.warnings)]
    rows = list(zip(model.parameters, found.theta.tolist(), found.log_odds.tolist(), strict=True))
    if csv is not None:
        frame = pd.DataFrame(rows, columns=["parameter", "theta", "log_odds"]).set_index("parameter")
        write_table(frame, csv, overwrite)
        keep_settings(csv, overwrite)
    if common.json:
        print_json(
            {
                "algorithm": found.algorithm,
                "converged": found.converged,
                "penalised": found.penalised,
                "boundary": list(found.boundary),
                "warnings": warnings,
                "theta": {name: theta for name, theta, _ in rows},
            }
        )
        return
    say([repr(found)])
    console().print(table(["parameter", "theta", "log-odds"], [[n, f"{t:.4f}", f"{w:+.4f}"] for n, t, w in rows]))
    say(f"warning: {text}" for text in warnings)
