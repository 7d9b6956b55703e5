"""`Fit`, what `mrfbayes.fit` returns, and `mrfbayes.load`, which opens any result from its file or folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.data.data import Data
from mrfbayes.estimation.result import Estimate
from mrfbayes.hidden.result import Segmentation
from mrfbayes.model.field import Model
from mrfbayes.model.formats import edge_table
from mrfbayes.model.result import Result, StoredResult
from mrfbayes.model.scales import edge_strengths, has_tables
from mrfbayes.report.findings import Findings
from mrfbayes.results.files import read
from mrfbayes.results.fits import IDENTITY_FILE, CompositeResult, Fits
from mrfbayes.results.posterior import Posterior
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.select_effects import EffectSelection
from mrfbayes.structure.selection import Selection

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

MATRIX_NODES = 5_000  # nodes up to which the matrix of couplings is written
# Files that `Fit.save` may write.
FIT_FILE = "fit.json"  # says what the other files of a folder belong to
FIT_FILES = (
    FIT_FILE,
    *("report.html", "summary.csv", "edges.csv", "nodes.csv", "weights.csv", "tables.xlsx", "tables.tex"),
    *("posterior.nc", "settings.toml", "graphs.nc", "saturated.csv", "sensitivity.csv", "groups.nc", "differences.csv"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Fit(CompositeResult):
    """Result of `mrfbayes.fit`.

    The attributes of every `Result` are those of the posterior; timings are sums over all parts.

    Attributes
    ----------
    data : Data or None
        The data with their coding; None after `mrfbayes.load`.
    model : Model
        The field.
    posterior : Posterior
        The posterior of all parameters.
    selection : Selection or None
        The posterior over graphs, if it was asked for.
    groups : GroupComparison or None
        The comparison of the groups of the data, if there are any.
    omitted : tuple of str
        Parts for which the time budget was too short.
    scale : {"theta", "log-odds", "ising"} or None
        Scale of the tables.
    source : str
        Origin of the data.
    codebook : mapping of str to str
        Texts of the items by name.

    See Also
    --------
    fit : Returns it.
    load : Reads a saved one.

    Examples
    --------
    >>> import numpy as np
    >>> import mrfbayes as mb
    >>> rows = np.random.default_rng(1).integers(0, 2, (100, 3))
    >>> result = mb.fit(rows, rng=1, progress=False)
    >>> result.posterior.model.n_parameters
    6
    """

    data: Data | None
    model: Model
    posterior: Posterior
    selection: Selection | None = None
    groups: GroupComparison | None = None
    omitted: tuple[str, ...] = ()
    scale: Scale | None = None
    source: str = ""
    codebook: Mapping[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> dict[str, StoredResult]:
        """The results by name."""
        named = {"posterior": self.posterior, "selection": self.selection, "groups": self.groups}
        return {name: part for name, part in named.items() if part is not None}

    @property
    def partial(self) -> bool:
        """Whether a part was stopped before its end, or left out."""
        return bool(self.omitted) or any(part.partial for part in self.parts.values())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the data, the run and the searches."""
        parts = [() if self.data is None else self.data.warnings, *(part.warnings for part in self.parts.values())]
        return tuple(dict.fromkeys(text for part in (*parts, self.omitted) for text in part))

    @property
    def notes(self) -> tuple[str, ...]:
        """What is good to know of the run and the searches."""
        return tuple(dict.fromkeys(text for part in self.parts.values() for text in part.notes))

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per parameter: the average over graphs after a search, else the posterior.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            Scale; by default that of the fit.
        ci_prob : float, default 0.9
            Probability of the equal-tailed interval.

        Returns
        -------
        DataFrame
            As in `Selection.summary` or `Posterior.summary`.
        """
        return self.findings.posterior.summary(scale=scale or self.scale, ci_prob=ci_prob)

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per edge: those of the search over graphs if there was one, else those of the posterior.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            Scale; by default that of the fit.
        ci_prob : float, default 0.9
            Probability of the equal-tailed interval.

        Returns
        -------
        DataFrame
            As in `Selection.edges` or `Posterior.edges`.
        """
        has_norms = self.selection is not None and has_tables(self.model)  # which are in log-odds alone
        own = None if has_norms else self.scale
        return (self.selection or self.posterior).edges(scale=scale or own, ci_prob=ci_prob)

    def to_arviz(self) -> xr.DataTree:
        """Return the posterior as an xarray DataTree.

        Returns
        -------
        xarray.DataTree
            As in `Result.to_arviz`.
        """
        return self.posterior.to_arviz()

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Fit:
        """Read the fit that `save` wrote.

        Parameters
        ----------
        folder : str or path
            The folder.

        Returns
        -------
        Fit
            The fit, without its data.

        Raises
        ------
        InputError
            If the folder holds no readable fit.
        """
        place = Path(folder)
        try:
            about = json.loads((place / FIT_FILE).read_text(encoding="utf-8"))
            rest = tuple(about["omitted"]), about["scale"], str(about["source"]), dict(about["codebook"])
        except (OSError, ValueError, TypeError, KeyError):
            raise InputError(f"{place / FIT_FILE} cannot be read: run the fit again.") from None
        posterior = read(place / "posterior.nc", {"Posterior": Posterior})
        graphs, groups = place / "graphs.nc", place / "groups.nc"
        selection = read(graphs, {"Selection": Selection}) if graphs.is_file() else None
        comparison = read(groups, {"GroupComparison": GroupComparison}) if groups.is_file() else None
        return cls(None, posterior.model, posterior, selection, comparison, *rest)

    @cached_property
    def findings(self) -> Findings:
        """The tables behind the report; with a search over graphs all of them are averages over graphs."""
        return Findings(
            self.posterior,
            cast("Scale", self.scale),
            selection=self.selection,
            groups=self.groups,
            codebook=self.codebook,
            rows_read=None if self.data is None else self.data.n_rows,
            omitted=self.omitted,
        )

    @property
    def sentences(self) -> list[str]:
        """The results in a few sentences."""
        from mrfbayes.report.sentences import brief

        return brief(self.findings)

    def save(self, path: str | PathLike[str], *, title: str = "", overwrite: bool = False) -> None:
        """Write report, tables and results into a folder, which `mrfbayes.load` opens.

        Parameters
        ----------
        path : str or path
            Folder to write to; made where it does not exist.
        title : str
            Title of the report.
        overwrite : bool
            Whether files that exist are replaced.

        Raises
        ------
        InputError
            If `path` is no path.
        """
        if not isinstance(path, (str, PathLike)):
            raise InputError(f"path = {path!r}: give the path of a folder.")
        self._write(Path(path), title, overwrite)

    def _write(self, place: Path, title: str, overwrite: bool) -> dict[str, Path]:
        """The path of each file by its name."""
        from mrfbayes.base.atomic_files import check_targets, write_text
        from mrfbayes.plots.saving import write_table
        from mrfbayes.report.exported import write_latex, write_workbook
        from mrfbayes.report.write import all_tables

        if place.exists() and not place.is_dir():
            raise InputError(f"path = {str(place)!r} is a file: name a folder.")
        findings = self.findings
        summary = findings.posterior.summary(scale=findings.scale)
        frames: dict[str, pd.DataFrame] = {"summary": summary, "edges": findings.edges, "nodes": findings.nodes}
        if self.model.n_nodes <= MATRIX_NODES:
            frames["weights"] = self.weights()
        if findings.saturated is not None:
            frames["saturated"] = findings.saturated.edges
        if findings.selection is not None and findings.sensitivity is not None:
            frames["sensitivity"] = findings.sensitivity
        if self.groups is not None:
            frames["differences"] = self.groups.summary()
        results = {"posterior": self.posterior, "graphs": self.selection, "groups": self.groups}
        paths = {name: place / f"{name}.nc" for name, result in results.items() if result is not None}
        paths |= {name: place / f"{name}.csv" for name in frames}
        paths |= {name: place / name for name in ("tables.xlsx", "tables.tex")} | {"report": place / "report.html"}
        place.mkdir(parents=True, exist_ok=True)
        check_targets({str(path): path for path in paths.values()}, overwrite=overwrite)
        for name, frame in frames.items():
            write_table(frame, paths[name], overwrite)
        tables = all_tables(findings)
        write_workbook(tables, paths["tables.xlsx"], overwrite)
        write_latex(tables, paths["tables.tex"], overwrite)
        self.report(paths["report"], title=title, overwrite=overwrite)
        for name, result in results.items():  # last: they keep what was computed for the tables
            if result is not None:
                result.save(paths[name], overwrite=overwrite)
        about = {name: getattr(self, name) for name in ("scale", "omitted", "source", "codebook")}
        write_text(place / FIT_FILE, json.dumps(about, indent=1) + "\n", overwrite=True)
        return paths

    def weights(self) -> pd.DataFrame:
        """Return the posterior means of the couplings in log-odds as a symmetric matrix.

        Returns
        -------
        DataFrame
            One row and one column per node; averages over graphs after a search.
        """
        couplings = edge_strengths(self.model, self.findings.posterior.log_odds.mean(axis=(0, 1)))
        return edge_table(self.model, couplings).rename_axis("node")

    def __repr__(self) -> str:
        about = f"data {self.source or 'not kept'}" if self.data is None else repr(self.data)
        extra = [name for name in self.parts if name != "posterior"]
        return f"<Fit: {', '.join([about, repr(self.posterior), *extra])}>"

    def _repr_html_(self) -> str:
        return ("" if self.data is None else self.data._repr_html_()) + self.posterior._repr_html_()


RESULT_KINDS: dict[str, type[StoredResult]] = {
    kind.__name__: kind for kind in (Posterior, Selection, GroupComparison, EffectSelection, Estimate, Segmentation)
}


def load(path: str | PathLike[str]) -> Result:
    """Open a result that was saved.

    Parameters
    ----------
    path : str or path
        File that ``save`` wrote, or the folder of a `Fit` or of `Fits`.

    Returns
    -------
    Result
        Of the kind that was saved: `Posterior`, `Selection`, `GroupComparison`, `Estimate`, `Segmentation`, `Fit` or
        `Fits`.

    Raises
    ------
    InputError
        Where the path is not that of a result, or the file is damaged.

    See Also
    --------
    Posterior.save : Writes a result.
    fit : Writes a folder of results.

    Examples
    --------
    >>> import mrfbayes as mb, tempfile
    >>> post = mb.sample(mb.grid(1, 2), [[0, 0], [1, 1], [0, 1]], rng=1, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     post.save(folder + "/result.nc")
    ...     again = mb.load(folder + "/result.nc")
    >>> again.seed
    1
    """
    if isinstance(path, (str, PathLike)) and Path(path).is_dir():
        if (Path(path) / FIT_FILE).is_file():
            return Fit.read(path)
        if (Path(path) / IDENTITY_FILE).is_file():
            return Fits.read(path)
    return read(path, RESULT_KINDS)
