"""``mrfbayes fit``: from a data file to a folder with a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.option_groups import DataOptions, ReadingOptions, SamplingOptions, grouped
from mrfbayes.cli.options import Json, Overwrite, ScaleChoice
from mrfbayes.cli.settings_file import Settings
from mrfbayes.cli.structure import StructureOptions

FILES = (
    *("report.html", "summary.csv", "edges.csv", "weights.csv", "posterior.nc", "settings.toml"),
    *("graphs.nc", "structure.csv", "groups.nc", "differences.csv"),
)


@grouped
def fit(
    given: DataOptions,
    sampling: SamplingOptions,
    read: ReadingOptions,
    asked: StructureOptions,
    out: Annotated[Path, typer.Option("--out", help="Folder for report and tables.")] = Path("fit"),
    scale: ScaleChoice = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    settings: Settings = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Read a file, say what it holds, sample the posterior, and write report, tables and result into a folder."""
    from mrfbayes.base.errors import OutputError
    from mrfbayes.cli.results import print_findings, write_results
    from mrfbayes.cli.show import console, quiet_warnings, show_states
    from mrfbayes.cli.text import safe
    from mrfbayes.report.findings import Findings

    _check_folder(out, given.data, overwrite)
    repeat = {**vars(given), **vars(sampling), **vars(read), **vars(asked), "out": out, "scale": scale, "title": title}
    reading = read.reading
    model, x, lines = asked.without_group(given, reading).understood(reading)
    screen = console(to_stderr=json)
    for line in lines:
        screen.print(safe(line), markup=False)
    with quiet_warnings():  # they are in the result, and printed with it
        statistics = reading.count(model, x)
        show_states(statistics.levels, json)
        groups = asked.groups(given.data, statistics, reading)
        posterior, kept = sampling.sample(statistics, out / "posterior.nc", True)
        if kept.status:
            raise OutputError(kept.text)
        structure = asked.search(statistics, groups, sampling)
        findings = Findings(posterior, scale or "")
        paths = write_results(findings, out, title or given.data.stem, given.data.name, repeat, structure)
    print_findings(findings, paths, json, structure)
    if posterior.facts.stopped_by == "Ctrl-C":
        raise typer.Exit(130)


def _check_folder(out: Path, data: Path, overwrite: bool) -> None:
    from mrfbayes.base.atomic_files import check_targets
    from mrfbayes.base.errors import InputError

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a folder.")
    if out.is_dir():
        targets: dict[str, Path | None] = {f"--out {name}": out / name for name in FILES}
        check_targets(targets, inputs={"data": data}, overwrite=overwrite, permission="--overwrite")
    elif not out.parent.is_dir():
        raise InputError(f"--out {out}: there is no folder {out.parent}: make it first.")
