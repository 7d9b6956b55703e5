"""``mrfbayes fit``: from data files to a folder with a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mrfbayes.cli.grouped import grouped
from mrfbayes.cli.options import Common, DataOptions, Overwrite, SamplingOptions, ScaleChoice, SearchOptions
from mrfbayes.cli.settings_file import keep_settings


@grouped
def fit(
    files: DataOptions,
    run: SamplingOptions,
    asked: SearchOptions,
    common: Common,
    out: Annotated[Path, typer.Option("--out", help="Folder for report and tables.")] = Path("fit"),
    scale: ScaleChoice = None,
    title: Annotated[str, typer.Option(help="Title of the report.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Read a file, say what it holds, sample the posterior, and write report, tables and result into a folder."""
    from mrfbayes.base.atomic_folders import replacing_folder
    from mrfbayes.base.errors import OutputError
    from mrfbayes.base.interrupts import InterruptFlag
    from mrfbayes.cli.field import data_field, read_data
    from mrfbayes.cli.outputs import keep
    from mrfbayes.cli.results import print_findings
    from mrfbayes.cli.show import quiet_warnings, show_data, show_model
    from mrfbayes.fitting.fit import FIT_FILES, run_fit
    from mrfbayes.results.posterior import Posterior

    def save_first(posterior: Posterior) -> None:
        kept = keep(posterior, folder / "posterior.nc", True)
        if kept.status:
            raise OutputError(kept.text)

    _check_folder(out, files, overwrite)
    data = read_data(files, asked.group)
    with quiet_warnings():  # warnings are in the result, printed with it
        model = data_field(files, data)
        run.check(model)
        show_data(data, common.json)
        show_model(model, common.json)
        with replacing_folder(out, FIT_FILES, "--out") as folder:
            with InterruptFlag() as interrupt, interrupt.allowed():
                slabs = (asked.slab, asked.group_slab)
                found = run_fit(
                    data, model, run.call, select=asked.select, slabs=slabs, scale=scale, on_posterior=save_first
                )
            paths = found.save(folder, title=title, overwrite=True)
            paths["settings"] = keep_settings(folder / "settings.toml", True, is_own=True) or folder / "settings.toml"
        paths = {name: out / path.name for name, path in paths.items()}
        told = (*found.data.warnings, *found.omitted)
        print_findings(found.findings, found.sentences, told, paths, common.json)
    if found.posterior.facts.stopped_by == "Ctrl-C":
        raise typer.Exit(130)


def _check_folder(out: Path, files: DataOptions, overwrite: bool) -> None:
    from mrfbayes.base.atomic_files import check_targets
    from mrfbayes.base.errors import InputError
    from mrfbayes.fitting.fit import FIT_FILES

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file: name a folder.")
    targets = {f"--out {name}": out / name for name in FIT_FILES} if out.is_dir() else {"--out": out}
    check_targets(targets, inputs={"data": files.data}, overwrite=overwrite, permission="--overwrite")
