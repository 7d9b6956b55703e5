"""Commands on data: fit, info, sample, estimate, compare, evidence."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import mrfbayes as mb
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.cli import options, show
from mrfbayes.cli.files import keep, keep_settings, write_csv, writing
from mrfbayes.cli.options import Common, DataOptions, Overwrite, SamplingOptions, SeedChoice, TableFile, grouped

if TYPE_CHECKING:
    from mrfbayes.data.statistics import Statistics
    from mrfbayes.results.posterior import Posterior

SHOWN = ("target", "mean_error_sd", "sd_ratio", "ess_min", "chain_s")
INFEASIBLE = "No method is within reach: choose fewer columns (--drop), a sparser graph (--graph), or --tied yes."


def _count(source: DataOptions, to_stderr: bool, run: SamplingOptions | None = None) -> Statistics:
    """Read the data, show what they are, and count them for the field of the options."""
    from mrfbayes.cli.field import data_field, read_data

    data = read_data(source)
    model = data_field(source, data)
    if run is not None:
        run.check(model)
    show.data(data, to_stderr)
    return data.count(model)


@grouped
def fit(
    files: DataOptions,
    run: SamplingOptions,
    search: options.SearchOptions,
    common: Common,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for report and tables.")] = Path("fit"),
    scale: options.ScaleChoice = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    codebook: Annotated[Path | None, typer.Option(help="CSV file with a variable and its text in each row.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Read a file, say what it holds, sample the posterior, and write report, tables and result into a folder."""
    from mrfbayes.base.atomic_files import check_targets, replacing_folder
    from mrfbayes.base.errors import InputError, OutputError
    from mrfbayes.cli.field import data_field, read_data
    from mrfbayes.fitting.fit import run_fit
    from mrfbayes.fitting.result import FIT_FILES
    from mrfbayes.report.codebook import read_codebook

    def save_first(posterior: Posterior) -> None:
        kept = keep(posterior, folder / "posterior.nc", True)
        if kept.status:
            raise OutputError(kept.text)

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a folder.")
    targets = {f"--out {name}": out / name for name in FIT_FILES} if out.is_dir() else {"--out": out}
    check_targets(targets, inputs={"data": files.data}, overwrite=overwrite, permission="--overwrite")
    data = read_data(files, search.group)
    with show.quiet_warnings():  # warnings are in the result, printed with it
        model = data_field(files, data)
        run.check(model)
        texts = read_codebook(codebook, model)
        show.data(data, common.json)
        show.model(model, common.json)
        with replacing_folder(out, FIT_FILES, "--out") as folder:
            with InterruptFlag() as interrupt, interrupt.allowed():
                slabs = (search.slab, search.group_slab)
                part = partial(run_fit, data, model, run.call, select=search.select, slabs=slabs)
                found = replace(part(scale=scale, on_posterior=save_first), codebook=texts)
            paths = found._write(folder, title, True)
            paths["settings"] = keep_settings(folder / "settings.toml", True)
        paths = {name: out / path.name for name, path in paths.items()}
        show.findings(found.findings, found.sentences, data.warnings, paths, common.json)
    if found.posterior.facts.stopped_by == "Ctrl-C":
        raise typer.Exit(130)


@grouped
def info(data: DataOptions, common: Common) -> None:
    """Say what a file holds, what its model costs by each method, and what is recommended; nothing is computed."""
    from mrfbayes.base.checks import describe_bytes
    from mrfbayes.cli.field import data_field, read_data
    from mrfbayes.engines.settings import choose_method
    from mrfbayes.exact.choice import describe_seconds
    from mrfbayes.structure.running import describe_searches

    observed = read_data(data)
    model = data_field(data, observed)
    cost = mb.cost(model)
    method, why = choose_method(model)
    why = why.partition(": ")[2] or why
    seconds = cost.methods[method]
    is_feasible = math.isfinite(seconds)
    searches = describe_searches(model)
    if common.json:
        facts = {
            "about": repr(observed),
            "variables": observed.variables.reset_index().to_dict(orient="records"),
            "model": repr(model),
            "warnings": list(observed.warnings),
            "notes": list(observed.notes),
            "treewidth": cost.treewidth,
            "exact_is_feasible": cost.feasible,
            "seconds_of_1000_steps": dict(cost.methods),
            "seconds_of_preparation": dict(cost.preparation),
            "seconds_of_searches": searches,
            "bytes": {name: work.n_bytes for name, work in cost.work.items()},
            "recommended": method if is_feasible else None,
            "because": why if is_feasible else INFEASIBLE,
        }
        show.as_json(facts)
        return
    size = describe_bytes(cost.work["log_partition"].n_bytes)
    feasible = f"feasible: treewidth {cost.treewidth}, {size}" if cost.feasible else "out of reach"
    all_before = cost.preparation[method] == seconds
    part = "draws are at no cost" if all_before else "preparation and 1,000 steps"
    recommended = f"Recommended: --method {method}, about {describe_seconds(seconds)} ({part}): {why}."
    show.data(observed)
    show.model(model)
    show.lines([f"The exact likelihood is {feasible}.", "", str(cost), "", recommended if is_feasible else INFEASIBLE])
    show.lines([f"{name}: about {describe_seconds(value)} more." for name, value in searches.items()])


@grouped
def sample(
    data: DataOptions,
    run: SamplingOptions,
    common: Common,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Result file (netCDF).")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Draw from the posterior of every parameter and print a summary."""
    inputs = {"the data": data.data, "--graph": data.graph, "--mask": data.mask}
    with writing({"--out": out}, inputs, overwrite, continued={"--checkpoint": run.checkpoint}), show.quiet_warnings():
        statistics = _count(data, common.json, run)
        with InterruptFlag() as interrupt:  # once there are draws, Ctrl-C waits until they are saved
            with interrupt.allowed():
                posterior = mb.sample(statistics.model, statistics, **run.call)
            kept = keep(posterior, out, overwrite)
        if common.json:
            facts = {"method": posterior.method, "target": posterior.target, "partial": posterior.partial}
            frame = posterior.summary().to_dict(orient="index")
            show.as_json({**facts, "warnings": list(posterior.warnings), "out": out and str(out), "parameters": frame})
        else:
            show.posterior(posterior)
        if kept.text:
            typer.echo(kept.text, err=bool(kept.status) or common.json)
        if kept.status:
            raise typer.Exit(kept.status)
    if posterior.facts.stopped_by == "Ctrl-C":
        raise typer.Exit(130)


@grouped
def estimate(
    data: DataOptions,
    common: Common,
    algorithm: Annotated[str, typer.Option(help="auto, exact, cd, pcd, fpcd, mcmc-mle, pseudo, ...")] = "auto",
    csv: TableFile = None,
    overwrite: Overwrite = False,
    rng: SeedChoice = None,
) -> None:
    """Maximum likelihood estimates of all parameters."""
    import pandas as pd

    with writing({"--csv": csv}, {"data": data.data}, overwrite):
        with show.quiet_warnings():
            statistics = _count(data, common.json)
            found = mb.estimate(statistics.model, statistics, algorithm=algorithm, rng=rng)
        frame = pd.DataFrame(
            {"theta": found.theta, "log_odds": found.log_odds},
            index=pd.Index(statistics.model.parameters, name="parameter"),
        )
        write_csv(frame, csv, overwrite)
    warnings = list(dict.fromkeys((*statistics.warnings, *found.warnings)))
    if common.json:
        facts = {"method": found.method, "converged": found.converged, "penalised": found.penalised}
        theta = {"warnings": warnings, "theta": frame["theta"].to_dict()}
        show.as_json({**facts, "boundary": list(found.boundary), **theta})
        return
    show.lines([repr(found)])
    rows = [[str(name), f"{theta:.4f}", f"{log_odds:+.4f}"] for name, theta, log_odds in frame.itertuples()]
    show.table(["parameter", "theta", "log-odds"], rows)
    show.messages(warnings, statistics.notes)


@grouped
def compare(
    data: DataOptions,
    priors: options.PriorOptions,
    common: Common,
    method: Annotated[
        options.Many, typer.Option(help="Method; repeatable. Default: exact, mle, pseudo, laplace.")
    ] = None,
    draws: Annotated[int | None, typer.Option(help="Draws kept per chain, after warm-up.")] = None,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
    csv: TableFile = None,
    overwrite: Overwrite = False,
    rng: SeedChoice = None,
) -> None:
    """Run several methods on the same data and set them side by side."""
    with writing({"--csv": csv}, {"data": data.data}, overwrite), show.quiet_warnings():
        statistics = _count(data, common.json)
        methods = tuple(method or ("exact", "mle", "pseudo", "laplace"))
        prior, model = priors.chosen_prior, statistics.model
        frame = mb.compare(model, statistics, methods=methods, prior=prior, draws=draws, workers=workers, rng=rng).table
        write_csv(frame, csv, overwrite)
    if common.json:
        typer.echo(frame.to_json(orient="index", indent=1))
    else:
        shown = [column for column in SHOWN if column in frame.columns]
        rows = [
            [str(name), *(value if isinstance(value, str) else f"{value:.4g}" for value in row)]
            for name, *row in frame[shown].itertuples()
        ]
        show.table(["method", *(column.replace("_", " ") for column in shown)], rows, texts=2)
    show.messages(statistics.warnings, statistics.notes, to_stderr=common.json)


@grouped
def evidence(data: DataOptions, priors: options.PriorOptions, common: Common, rng: SeedChoice = None) -> None:
    """Log evidence of the model, with its standard error: compare models by its differences."""
    prior = priors.chosen_prior
    with show.quiet_warnings():
        statistics = _count(data, common.json)
        found = mb.evidence(statistics.model, statistics, prior=prior, rng=rng)
    if common.json:
        facts = {"log_evidence": found.log_evidence, "standard_error": found.standard_error, "prior": prior}
        show.as_json({**facts, "pareto_k": found.pareto_k, "warnings": list(statistics.warnings)})
        return
    show.lines([f"log evidence {found.log_evidence:.3f} (standard error {found.standard_error:.3f})"])
    show.messages(statistics.warnings, statistics.notes)
