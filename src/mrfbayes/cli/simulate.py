"""``mrfbayes simulate``: observations of a field with known parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import tell
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, FieldOptions, Overwrite, SeedChoice
from mrfbayes.cli.settings_file import beside, keep_settings


@grouped
def simulate(
    theta: Annotated[str, typer.Argument(help="A weight for all parameters, a CSV of them (name, value), or 'ising'.")],
    n: Annotated[int, typer.Argument(help="Number of observations.")],
    out: Annotated[Path, typer.Option("--out", help="CSV file to write.")],
    field: FieldOptions,
    common: Common,
    j: Annotated[str, typer.Option("--J", help="With ising: a coupling J for all edges, or a CSV (edge, J).")] = "",
    h: Annotated[str, typer.Option("--h", help="With ising: a field h for all nodes, or a CSV (node, h).")] = "0",
    temperature: Annotated[float, typer.Option("--temperature", help="With ising: T.")] = 1.0,
    sampler: Annotated[str, typer.Option(help="auto, exact, cftp, gibbs or swendsen-wang.")] = "auto",
    overwrite: Overwrite = False,
    rng: SeedChoice = 0,
) -> None:
    """Simulate observations of a field with weights theta, or with couplings J and h at a temperature."""
    import mrfbayes as mb
    from mrfbayes.cli.field import build_field
    from mrfbayes.cli.outputs import check_files, write_rows
    from mrfbayes.cli.theta import read_theta

    check_files({"--out": out, "its settings": beside(out)}, {"--graph": field.graph}, overwrite)
    model = build_field(field)
    at = read_theta(model, theta, j, h, temperature)
    write_rows(model.nodes, mb.simulate(model, at, n, sampler=sampler, rng=rng).tolist(), out, overwrite)
    keep_settings(out, overwrite)
    tell(common.json, {"observations": n, "nodes": model.n_nodes, "written": str(out)})
