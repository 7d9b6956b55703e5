"""Several methods, or several priors, on the same data: errors against the exact posterior, costs, verdicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mrfbayes.base.checks import numbers, one_of
from mrfbayes.base.errors import CostError, InputError, MRFWarning, warn_user
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.base.types import DataLike, SampleSetting
from mrfbayes.data.border import counted
from mrfbayes.data.statistics import Statistics
from mrfbayes.estimation.estimate import estimate as make_estimate
from mrfbayes.methods.registry import REGISTRY
from mrfbayes.model.field import Model
from mrfbayes.results import diagnostics
from mrfbayes.results.posterior import Posterior
from mrfbayes.run.pools import Job, Workers, check_workers, connected, run_jobs
from mrfbayes.sampling.sample import check_call, sample

if TYPE_CHECKING:
    import pandas as pd

PRIOR_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
STUCK_BELOW = 100  # effective draws below which a chain's moments are not worth comparing
PAPER_METHODS: tuple[dict[str, SampleSetting], ...] = (
    {"method": "exact"},
    {"method": "pseudo"},
    {"method": "laplace"},
    {"method": "mle", "rho": 0.0},
    {"method": "mle", "rho": 0.05},
    {"method": "mle", "rho": 0.1},
    {"method": "importance"},
    {"method": "auxiliary"},
    {"method": "exchange"},
    {"method": "persistent"},
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Posteriors of several methods and a table that compares them.

    Attributes
    ----------
    posteriors : mapping of str to Posterior
        The posteriors by name, in the order of the call.
    reference : str or None
        Name of the posterior that errors are measured against; None if no exact one is feasible.
    table : DataFrame
        One row per method: error of the mean in posterior sds (average and largest over the parameters), ratio of sds,
        Monte-Carlo error of the mean error, acceptance, smallest effective sample size, effective draws per second,
        seconds of preparation and of sampling, and whether a chain did not move.

    See Also
    --------
    compare : Returns it.
    plots.comparison : The picture.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> result = mb.compare(model, data, methods=["exact", "mle"], rng=1, progress=False)
    >>> result.reference
    'exact'
    """

    posteriors: Mapping[str, Posterior]
    reference: str | None
    table: pd.DataFrame

    def _repr_html_(self) -> str:
        from mrfbayes.base.plain_text import grid

        def shown(value: object) -> str:
            return f"{value:.3g}" if isinstance(value, float) else str(value)

        rows = [[str(name), *map(shown, row)] for name, *row in self.table.itertuples()]
        against = f"against {self.reference}" if self.reference else "without an exact reference"
        return grid(["name", *(str(c).replace("_", " ") for c in self.table.columns)], rows, against)

    def __repr__(self) -> str:
        return str(self.table.to_string(float_format=lambda v: f"{v:.4g}"))


def compare(
    model: Model,
    data: DataLike,
    *,
    methods: Sequence[str | Mapping[str, SampleSetting]] = ("exact", "mle", "pseudo", "laplace"),
    reference: str | None = "exact",
    rng: Seed | None = None,
    workers: Workers = 1,
    progress: bool = True,
    **settings: SampleSetting,
) -> Comparison:
    """Run several methods with the same settings and compare their posteriors.

    Parameters
    ----------
    model : Model
        The field.
    data : DataLike
        `Data`, anything that `Data` reads, or `Statistics`.
    methods : sequence of str or mapping, default ("exact", "mle", "pseudo", "laplace")
        Names of methods, or mappings with "method" and settings of this method, which replace those in ``settings``.
    reference : str or None, default "exact"
        Method that errors are measured against; left out if it is not feasible.
    rng : int, SeedSequence or Generator, optional
        Seed.
    workers : int, str or Client, default 1
        Number of processes, Dask client, or address of a Dask scheduler that runs the methods.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    **settings : float, str or array_like
        Other arguments of `sample`.

    Returns
    -------
    Comparison
        The posteriors and a table with one row per method.

    Raises
    ------
    InputError
        If `methods` is not a list of methods with different names.

    See Also
    --------
    sample : One method.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> result = mb.compare(model, data, methods=["exact", "mle"], rng=1, progress=False)
    >>> result.table.index.tolist()
    ['exact', 'mle']
    """
    workers = check_workers(workers)
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise InputError(f"methods = {methods!r}: give a list of methods, as ['exact', 'mle'].")
    if bad := [m for m in methods if not isinstance(m, (str, Mapping))]:
        raise InputError(f"methods: {bad[0]!r} is neither the name of a method nor a mapping with 'method'.")
    requests = [{"method": m} if isinstance(m, str) else dict(m) for m in methods]
    if not requests:
        raise InputError("methods is empty: give at least one method, as ['exact', 'mle'].")
    for request in requests:
        if "method" not in request:
            raise InputError(f"methods: {request!r} does not say which; add 'method'.")
    if reference is not None:
        one_of("reference", reference, REGISTRY)
    estimate = settings.pop("estimate", None)
    for request in requests:
        with suppress(CostError):  # a refusal for its cost comes when the method runs
            check_call(model, {**settings, **request, "estimate": estimate})
    seed = seed_sequence(rng)
    statistics = counted(model, data)
    if estimate is None:
        estimate = make_estimate(model, statistics, rng=child(seed, "estimate"), progress=progress)
    jobs: dict[str, dict[str, Any]] = {}
    for number, request in enumerate(requests):
        options = {**settings, **request, "estimate": estimate, "rng": child(seed, "method", number)}
        name = str(options.pop("name", None) or _name(request))
        if name in jobs:
            raise InputError(f"methods: {name!r} stands there twice; give each a 'name' of its own.")
        jobs[name] = options
    found = _run_all(model, statistics, jobs, workers, progress)
    _emit_warnings(found, (*statistics.warnings, *getattr(estimate, "warnings", ())))
    posteriors: dict[str, Posterior] = {}
    for name, result in found.items():
        if isinstance(result, Posterior):
            posteriors[name] = result
        elif jobs[name]["method"] != reference:
            raise result
    known = next((name for name, post in posteriors.items() if post.method == reference), None)
    return Comparison(posteriors, known, comparison_table(posteriors, known))


def _run(model: Model, statistics: Statistics, job: Mapping[str, Any]) -> Posterior | CostError:
    """One method's posterior, or its refusal; its warnings are in it, and are said when all methods have run."""
    try:
        with warnings.catch_warnings(action="ignore", category=MRFWarning):
            return sample(model, statistics, **job)
    except CostError as refusal:
        return refusal


def _emit_warnings(found: Mapping[str, Posterior | CostError], said: Sequence[str]) -> None:
    """Emit the warnings of all results, each once and with the name of the first that has it."""
    known = set(said)
    for name, result in found.items():
        for text in result.warnings if isinstance(result, Posterior) else ():
            if text not in known:
                known.add(text)
                warn_user(f"{name}: {text}")


def _run_all(
    model: Model, statistics: Statistics, jobs: Mapping[str, dict[str, object]], workers: Workers, progress: bool
) -> dict[str, Posterior | CostError]:
    """`_run` of every job, in other processes where ``workers`` asks for them."""
    names, is_here = list(jobs), workers == 1
    if not is_here:
        names = names[-1:] + names[:-1]  # lists go from cheap to expensive: the last must not run alone at the end
    tasks = [Job(name, (model, statistics, {**jobs[name], "progress": progress and is_here})) for name in names]
    found: dict[str, Posterior | CostError] = {}
    with (
        connected(workers) as place,
        closing(run_jobs(_run, tasks, min(place, len(jobs)) if isinstance(place, int) else place)) as outcomes,
        Progress("comparing", len(jobs), progress and not is_here) as bar,
    ):
        for name, outcome in outcomes:
            if not isinstance(outcome, (Posterior, CostError)):
                assert isinstance(outcome, Exception)
                raise outcome
            found[name] = outcome
            bar.update(len(found), name)
    return {name: found[name] for name in jobs}


def _name(request: Mapping[str, object]) -> str:
    own = [f"{key}={value}" for key, value in request.items() if key != "method"]
    return " ".join([str(request["method"]), *own])


def comparison_table(posteriors: Mapping[str, Posterior], reference: str | None) -> pd.DataFrame:
    """The table of `Comparison`."""
    import pandas as pd

    base = posteriors[reference] if reference else None
    rows = []
    for name, post in posteriors.items():
        seconds = post.timings["run"]
        smallest = float(np.min(post.ess)) if post.ess.size else math.nan
        row: dict[str, object] = {"name": name, "method": post.label, "target": post.target}
        if base is not None:
            error = np.abs(post.mean - base.mean) / base.sd
            ratio, is_other = post.sd / base.sd, float(post is not base)
            sd_mcse, base_sd_mcse = diagnostics.mcse_sd(post.draws), diagnostics.mcse_sd(base.draws)
            row |= {
                "mean_error_sd": error.mean(),
                "mean_error_max": error.max(),
                "mean_error_mcse": is_other * (np.sqrt(post.mcse**2 + base.mcse**2) / base.sd).mean(),
                "sd_ratio": ratio.mean(),
                "sd_ratio_mcse": is_other * np.hypot(sd_mcse / base.sd, base_sd_mcse * ratio / base.sd).mean(),
            }
        row |= {
            "acceptance": math.nan if post.acceptance is None else float(post.acceptance.mean()),
            "ess_min": smallest,
            "ess_per_second": smallest / seconds if seconds > 0 else math.nan,
            "prepare_s": post.timings["prepare"],
            "chain_s": seconds,
            "verdict": "stuck" if not smallest >= STUCK_BELOW else "",
        }
        rows.append(row)
    return pd.DataFrame(rows).set_index("name")


def prior_sensitivity(
    model: Model,
    data: DataLike,
    *,
    scales: Sequence[float] = PRIOR_SCALES,
    nodes: str = "default",
    rng: Seed | None = None,
    progress: bool = True,
    **settings: SampleSetting,
) -> pd.DataFrame:
    """Count present, absent and undecided edges under normal(0, s) priors of the couplings.

    Parameters
    ----------
    model : Model
        The field.
    data : DataLike
        `Data`, anything that `Data` reads, or `Statistics`.
    scales : sequence of float, optional
        Standard deviations s of the prior of the log-odds of edges.
    nodes : str, default "default"
        Prior of the node factors, the same for all scales.
    rng : int, SeedSequence or Generator, optional
        Seed.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    **settings : float, str or array_like
        Other arguments of `sample`.

    Returns
    -------
    DataFrame
        One row per scale: numbers of edges that are present, absent, undecided, unknown, and fragile (a change of two
        Monte-Carlo errors could change the verdict).

    Raises
    ------
    InputError
        If a scale is not above zero.

    See Also
    --------
    Selection.sensitivity : Inclusion probabilities under other priors.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = mb.simulate(model, 0.7, 200, rng=1)
    >>> table = mb.prior_sensitivity(model, data, scales=[0.5, 2], method="mle", rng=1, progress=False)
    >>> table.columns.tolist()
    ['present', 'absent', 'undecided', 'unknown', 'fragile']
    """
    import pandas as pd

    widths = numbers("scales", scales)
    if widths.ndim != 1 or not widths.size or not ((widths > 0) & np.isfinite(widths)).all():
        raise InputError(f"scales = {scales!r}: give standard deviations above 0.")
    statistics = counted(model, data)
    rows = []
    with Progress("prior sensitivity", len(widths), progress) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)  # of every single run; the table says what is fragile
        for done, width in enumerate(widths.tolist()):
            prior = {"edges": f"normal(0, {width!r})", "nodes": nodes}
            call = {**cast("dict[str, Any]", settings), "prior": prior, "rng": rng, "progress": False}
            table = sample(model, statistics, **call).edges()
            said = table["verdict"].value_counts()
            counts = {name: int(said.get(name, 0)) for name in ("present", "absent", "undecided", "unknown")}
            rows.append({**counts, "fragile": int(table["fragile"].sum())})
            bar.update(done + 1)
    return pd.DataFrame(rows, index=pd.Index(widths, name="prior_scale"))
