"""``mrfbayes fit``: from data files to a folder with a report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.answers import say
from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, DataOptions, Overwrite, SamplingOptions, ScaleChoice
from mrfbayes.cli.settings_file import keep_settings
from mrfbayes.cli.structure import StructureOptions

FILES = (
    *("report.html", "summary.csv", "edges.csv", "weights.csv", "posterior.nc", "settings.toml"),
    *("graphs.nc", "structure.csv", "groups.nc", "differences.csv"),
)


@grouped
def fit(
    data: DataOptions,
    run: SamplingOptions,
    asked: StructureOptions,
    common: Common,
    out: Annotated[Path, typer.Option("--out", help="Folder for report and tables.")] = Path("fit"),
    scale: ScaleChoice = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Read a file, say what it holds, sample the posterior, and write report, tables and result into a folder."""
    from mrfbayes.base.atomic_folders import replacing_folder
    from mrfbayes.base.budget import Budget
    from mrfbayes.base.errors import OutputError
    from mrfbayes.cli.defaults import suggested_field
    from mrfbayes.cli.results import print_findings, write_results
    from mrfbayes.cli.show import quiet_warnings, show_states
    from mrfbayes.report.findings import Findings

    _check_folder(out, data, overwrite)
    given = suggested_field(asked.without_group(data))
    run.check(given.model)
    say(given.lines, common.json)
    with (
        replacing_folder(out, FILES, "--out") as folder,
        quiet_warnings(),  # they are in the result, printed with it
        Budget(run.seconds).as_current() as limit,
    ):
        statistics = given.count()
        show_states(statistics.levels, common.json)
        groups = asked.groups(data, statistics)
        sampling = run if run.seconds is None else replace(run, seconds=asked.sampling_share * limit.left)
        posterior, kept = sampling.sample(statistics, folder / "posterior.nc", True)
        if kept.status:
            raise OutputError(kept.text)
        structure = asked.search(statistics, groups, run)
        findings = Findings(posterior, scale or "")
        source = Path(data.data[0])
        paths = write_results(findings, folder, title or source.stem, source.name, structure)
        paths["settings"] = keep_settings(folder / "settings.toml", True, is_own=True) or folder / "settings.toml"
    paths = {name: out / path.name for name, path in paths.items()}
    print_findings(findings, paths, common.json, structure)
    if posterior.facts.stopped_by == "Ctrl-C":
        raise typer.Exit(130)


def _check_folder(out: Path, data: DataOptions, overwrite: bool) -> None:
    from mrfbayes.base.atomic_files import check_targets
    from mrfbayes.base.errors import InputError

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a folder.")
    targets = {f"--out {name}": out / name for name in FILES} if out.is_dir() else {"--out": out}
    check_targets(targets, inputs={"data": data.data}, overwrite=overwrite, permission="--overwrite")
