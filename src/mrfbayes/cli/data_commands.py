"""Commands on a data file besides fit: what is feasible, the estimate, methods side by side, the evidence."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrfbayes.cli.option_groups import DataOptions, ReadingOptions, grouped
from mrfbayes.cli.options import Json, PriorChoice, SeedChoice

if TYPE_CHECKING:
    from mrfbayes.model.field import Model

WITH_MISSING = {
    "refuse": "Rows with missing cells are refused unless --missing is drop or model.",
    "drop": "Rows with missing cells are left out.",
    "model": "Rows with missing cells are modelled, as missing at random, by exact, calibrated or langevin.",
}


@grouped
def info(given: DataOptions, read: ReadingOptions, json: Json = False) -> None:
    """Say what a file holds, what its model costs by each method, and what is recommended; nothing is computed."""
    import mrfbayes as mb

    model, _, lines = given.understood(read.reading)
    if any(" missing, in " in line for line in lines):
        lines.append(WITH_MISSING.get(read.reading.missing, ""))
    cost = mb.cost(model)
    method, why = recommended(model)
    if json:
        facts: dict[str, object] = {
            "about": lines,
            "treewidth": cost.treewidth,
            "exact_is_feasible": cost.feasible,
            "seconds_of_1000_steps": {name: s if s < float("inf") else None for name, s in cost.methods.items()},
            "bytes": {name: work.n_bytes for name, work in cost.work.items()},
            "recommended": method,
            "because": why,
        }
        typer.echo(json_text.dumps(facts, indent=1))
        return
    _say([*lines, "", str(cost), "", f"Recommended: --method {method} ({why})."])


def recommended(model: Model) -> tuple[str, str]:
    """The method that "auto" stands for here, and why."""
    from mrfbayes.posterior.auto import choose_method

    method, why = choose_method(model)
    return method, why.partition(": ")[2] or why


@grouped
def estimate(
    given: DataOptions,
    read: ReadingOptions,
    algorithm: Annotated[str, typer.Option(help="auto, exact, cd, pcd, fpcd, mcmc-mle, pseudo, ...")] = "auto",
    csv: Annotated[Path | None, typer.Option(help="Write the table here as CSV.")] = None,
    rng: SeedChoice = 0,
    json: Json = False,
) -> None:
    """Maximum likelihood estimates of all parameters."""
    import mrfbayes as mb
    from mrfbayes.cli.show import console, quiet_warnings, table

    statistics, lines = given.counted(read, json)
    model = statistics.model
    with quiet_warnings():
        found = mb.estimate(model, statistics, algorithm=algorithm, rng=rng)
    rows = list(zip(model.parameters, found.theta.tolist(), found.log_odds.tolist(), strict=True))
    if csv is not None:
        import pandas as pd

        from mrfbayes.plots.saving import write_table

        frame = pd.DataFrame(rows, columns=["parameter", "theta", "log_odds"]).set_index("parameter")
        write_table(frame, csv)
    if json:
        facts = {
            "algorithm": found.algorithm,
            "converged": found.converged,
            "penalised": found.penalised,
            "boundary": list(found.boundary),
            "warnings": list(found.warnings),
            "theta": {name: theta for name, theta, _ in rows},
        }
        typer.echo(json_text.dumps(facts, indent=1))
        return
    _say([*lines, repr(found)])
    console().print(table(["parameter", "theta", "log-odds"], [[n, f"{t:.4f}", f"{w:+.4f}"] for n, t, w in rows]))
    _say([f"warning: {text}" for text in found.warnings])


@grouped
def compare(
    given: DataOptions,
    read: ReadingOptions,
    prior: PriorChoice = "uniform",
    method: Annotated[
        list[str] | None, typer.Option(help="Method; repeatable. Default: exact, mle, pseudo, laplace.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps per chain after warm-up.")] = None,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
    rng: SeedChoice = 0,
    json: Json = False,
) -> None:
    """Several methods on the same data, side by side."""
    import mrfbayes as mb
    from mrfbayes.cli.show import console, quiet_warnings, table

    statistics, lines = given.counted(read, json)
    model = statistics.model
    methods = tuple(method or ("exact", "mle", "pseudo", "laplace"))
    with quiet_warnings():
        found = mb.compare(model, statistics, methods, prior=prior, steps=steps, workers=workers, rng=rng)
    if json:
        typer.echo(found.table.to_json(orient="index", indent=1))
        return
    _say(lines)
    shown = [c for c in ("target", "mean_error_sd", "sd_ratio", "ess_min", "chain_s") if c in found.table.columns]
    rows = [
        [str(name), *(value if isinstance(value, str) else f"{value:.4g}" for value in row)]
        for name, row in zip(found.table.index, found.table[shown].itertuples(index=False), strict=True)
    ]
    console().print(table(["method", *(c.replace("_", " ") for c in shown)], rows, texts=2))


@grouped
def evidence(
    given: DataOptions,
    read: ReadingOptions,
    prior: PriorChoice = "uniform",
    rng: SeedChoice = 0,
    json: Json = False,
) -> None:
    """Log evidence of the model, with its standard error: compare models by its differences."""
    import mrfbayes as mb
    from mrfbayes.cli.show import quiet_warnings

    statistics, lines = given.counted(read, json)
    model = statistics.model
    with quiet_warnings():
        found = mb.evidence(model, statistics, prior=prior, rng=rng)
    if json:
        facts = {"log_evidence": found.log_evidence, "standard_error": found.standard_error, "prior": prior}
        typer.echo(json_text.dumps(facts))
        return
    _say([*lines, f"log evidence {found.log_evidence:.3f} (standard error {found.standard_error:.3f})"])


def _say(lines: list[str]) -> None:
    from mrfbayes.cli.show import console
    from mrfbayes.cli.text import safe

    for line in lines:
        console().print("\n".join(safe(part) for part in line.splitlines()), markup=False)
