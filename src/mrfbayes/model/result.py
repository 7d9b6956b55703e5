"""`Result`: what every result of the package is and can do."""

from __future__ import annotations

import ast
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias, cast

import numpy as np

from mrfbayes.base.errors import InputError
from mrfbayes.model.field import Model
from mrfbayes.model.schema import Schema, plain_schema

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    import xarray as xr

    from mrfbayes.base.random_streams import Seed
    from mrfbayes.base.types import Drawing, PlotOption, Scale, Stored, ThetaLike
    from mrfbayes.model.field import Model
    from mrfbayes.priors import Prior
    from mrfbayes.results.stored import Group


StoredFields: TypeAlias = dict[str, Any]  # fields of a result by name, of any type
TIMING_KEYS = ("prepare", "compile", "run")  # keys of the timings of every result


class Result:
    """The base of all results: `Posterior`, `Selection`, `GroupComparison`, `Fit`, `Fits`, `Estimate`, `Segmentation`.

    Attributes
    ----------
    model : Model
        The field.
    schema : Schema
        Which value of the data is which state.
    n : float
        Number of observations.
    method : str
        What made the result.
    target : str
        "exact", or "approximate".
    settings : mapping
        Every setting of the run.
    seed : int or SeedSequence
        ``rng=result.seed`` repeats the run.
    warnings : tuple of str
        What asks for something to be done.
    notes : tuple of str
        What is good to know.
    partial : bool
        Whether the run was stopped before its end.
    timings : mapping
        Seconds of "prepare", "compile" and "run".
    versions : mapping
        Versions of the packages that made it.

    See Also
    --------
    Posterior : From `sample`.
    Selection : From `select`.
    load : Reads a saved result.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.graph([("a", "b"), ("b", "c")])
    >>> posterior = mb.sample(model, mb.simulate(model, 0.8, 200, rng=1), "mle", rng=1, progress=False)
    >>> isinstance(posterior, mb.Result), posterior.n
    (True, 200.0)
    """

    if TYPE_CHECKING:  # fields or properties of the kinds

        @property
        def model(self) -> Model: ...
        @property
        def n(self) -> float: ...
        @property
        def method(self) -> str: ...
        @property
        def target(self) -> str: ...
        @property
        def settings(self) -> Mapping[str, Stored]: ...
        @property
        def warnings(self) -> tuple[str, ...]: ...
        @property
        def notes(self) -> tuple[str, ...]: ...
        @property
        def partial(self) -> bool: ...
        @property
        def timings(self) -> Mapping[str, float]: ...
        @property
        def versions(self) -> Mapping[str, str]: ...

    @property
    def schema(self) -> Schema:
        """Which value of the data is which state."""
        stored = self.settings.get("schema")
        if isinstance(stored, list):
            return Schema.from_dict(stored)
        return self.model.schema or plain_schema(self.model)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.model.parameters

    @property
    def seed(self) -> Seed | None:
        """The seed of the run; ``rng=result.seed`` repeats it."""
        stored = self.settings.get("seed")
        if not isinstance(stored, (list, tuple)):
            return None
        seed = read_seed(stored)
        return seed.entropy if isinstance(seed.entropy, int) and not seed.spawn_key else seed

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """A row per parameter.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            By default the natural scale of the model: "theta" for agreement couplings alone, else "log-odds".
        ci_prob : float, default 0.9
            Probability of the equal-tailed interval.
        """
        self._refuse("summary", "look at its attributes")

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per edge.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            Scale; by default the usual one for the model.
        ci_prob : float, default 0.9
            Probability of the equal-tailed interval.

        Returns
        -------
        DataFrame
            One row per edge.
        """
        self._refuse("edges", "use summary()")

    def plot(self, kind: str | None = None, **options: PlotOption) -> Drawing:
        """Draw the result.

        Parameters
        ----------
        kind : str, optional
            Which picture; by default the first that the kind of result has. An unknown one is refused with a list.
        **options
            Arguments of the function of `mrfbayes.plots` that draws it.

        Returns
        -------
        matplotlib.axes.Axes, array of Axes, or matplotlib.figure.Figure
            What the function returns.
        """
        from mrfbayes.plots.of_result import draw

        return draw(self, kind, options)

    def report(self, path: str | PathLike[str], *, title: str = "", overwrite: bool = False) -> Path:
        """Write a report: one HTML file that needs no other.

        Parameters
        ----------
        path : str or path
            File to write.
        title : str
            Title of the page.
        overwrite : bool
            Whether a file that exists is replaced.

        Returns
        -------
        Path
            The file.
        """
        from mrfbayes.report.write import report_result

        return report_result(self, path, title, overwrite)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write everything to one netCDF file, which `mrfbayes.load` opens.

        Parameters
        ----------
        path : str or path
            File to write.
        overwrite : bool
            Whether a file that exists is replaced.
        """
        from mrfbayes.results.files import save

        save(self, path, overwrite)

    def to_arviz(self) -> xr.DataTree:
        """Return the draws as an xarray DataTree that ArviZ opens.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior``; ``sample_stats`` with ``lp`` (log posterior density of the log-odds, up to a constant)
            and ``acceptance_rate``; ``observed_data``; ``log_likelihood``. A group is present if its numbers are known.
        """
        from mrfbayes.results.files import to_arviz

        return to_arviz(self)

    def _refuse(self, name: str, instead: str) -> NoReturn:
        raise InputError(f"{name}() has no meaning for a result of the kind {type(self).__name__}: {instead}.")

    def _flags(self) -> str:
        """The end of the line that a result prints: whether it is partial, and how many warnings it has."""
        count = len(self.warnings)
        return ", partial" * self.partial + (f", {count} warning{'s' * (count > 1)}" if count else "")

    def _about(self) -> list[tuple[str, str]]:
        """Rows of the head of the page that notebooks show."""
        return [("method", f"{self.method} ({self.target} target)"), ("data", f"n = {self.n:g}")]

    def _repr_html_(self) -> str:
        from mrfbayes.base.plain_text import facts, frame

        table = self.edges() if self.model.n_edges else self.summary()
        return facts(type(self).__name__, self._about(), self.warnings) + frame(table)


@cache
def package_versions() -> Mapping[str, str]:
    """Versions of everything that a result depends on."""
    packages = {name: version(name) for name in ("mrfbayes", "numpy", "numba", "scipy")}
    return {"python": platform.python_version(), **packages}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StoredResult(Result):
    """A result of one run; its fields are those of its file.

    ``_arrays`` has the group and the variable of the file, and the axes, of each field that is an array.

    Attributes
    ----------
    data_digest : str
        SHA-256 of the data.
    details : mapping
        Everything found during the run.
    """

    _arrays: ClassVar[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {}

    model: Model
    n: float
    method: str
    target: str
    settings: Mapping[str, Stored]
    timings: Mapping[str, float]
    versions: Mapping[str, str] = field(default_factory=package_versions)
    data_digest: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    partial: bool = False
    details: Mapping[str, Stored] = field(default_factory=dict)

    def _stored(self, name: str) -> np.ndarray | None:
        """The array of a field as files and ArviZ have it."""
        array: np.ndarray | None = getattr(self, name)
        return array

    def _labels(self) -> dict[str, Sequence[str]]:
        """Labels of the axes that have some."""
        model = self.model
        return {"parameter": model.parameters, "edge": model.blocks[: model.n_edges], "node": model.nodes}

    def _arviz_groups(self) -> dict[str, xr.Dataset]:
        """What ArviZ shows beside the stored arrays."""
        return {}

    def _more_groups(self) -> dict[str, xr.Dataset]:
        """What the file holds beside the fields."""
        return {}

    @classmethod
    def _restore(cls, values: StoredFields, groups: Mapping[str, Group]) -> dict[str, object]:
        """Change ``values`` of fields as they are in a file to what they are in a result; return what was computed."""
        return {}


def read_seed(stored: Sequence[Stored]) -> np.random.SeedSequence:
    """The seed that `stored_seed` wrote."""
    entropy, key = stored
    assert isinstance(key, Sequence)
    return np.random.SeedSequence(ast.literal_eval(str(entropy)), spawn_key=tuple(int(str(word)) for word in key))


def stored_seed(seed: np.random.SeedSequence) -> list[Stored]:
    """A seed as the settings of a result keep it."""
    return [str(seed.entropy), list(seed.spawn_key)]


@dataclass(frozen=True)
class PointEstimate:
    """A maximum likelihood estimate, or a posterior mode in log-odds, as methods need it.

    Attributes
    ----------
    theta : (p,) ndarray
        Parameters.
    log_odds : (p,) ndarray
        The same as log-odds.
    prior : Prior or None
        The prior under which it is the mode; None for a maximum likelihood estimate.
    boundary : tuple of str
        Names of the factors that have no finite, unique maximum likelihood estimate.
    warnings : tuple of str
        Warnings for the reader of the result.
    """

    theta: np.ndarray
    log_odds: np.ndarray
    prior: Prior | None
    boundary: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def penalised(self) -> bool:
        """Whether a prior was included, as asked for, or because the maximum likelihood estimate is not finite."""
        return self.prior is not None


def as_estimate(model: Model, given: object) -> PointEstimate:
    """An estimate as a user gives it: from `mrfbayes.estimate`, theta (p,) itself, or an object with ``theta``.

    Theta by itself is taken for a maximum likelihood estimate.
    """
    if isinstance(given, PointEstimate):
        if given.theta.shape != (model.n_parameters,):
            raise InputError(
                f"estimate: it has {given.theta.size} parameters and the model {model.n_parameters}: estimate again "
                "with this model."
            )
        return given
    if isinstance(given, (str, bytes, Mapping)) or callable(given):
        raise InputError(
            f"estimate = {given!r}: give what mrfbayes.estimate returns, or theta, an array of {model.n_parameters} "
            "weights."
        )
    theta = model.theta(cast("ThetaLike", getattr(given, "theta", given)), "estimate")
    prior = getattr(given, "prior", None)
    if prior is None and getattr(given, "penalised", False):
        raise InputError("estimate: it is penalised, but has no prior: methods need to know by which one.")
    log_odds = np.asarray(getattr(given, "log_odds", model.chart.log_odds(theta)), dtype=float)
    boundary, warnings = (tuple(getattr(given, name, ())) for name in ("boundary", "warnings"))
    return PointEstimate(theta, log_odds, prior, boundary, warnings)
