"""`mrfbayes.sample_many`: one model, many data sets (subjects, windows, bootstrap samples), each a pure task.

What a data set gives depends on the model, the coding, its own rows, the settings, the seed and its name, and on
nothing else: not on the number of workers, or how often the run was killed on the way.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any, NamedTuple

import numpy as np

from mrfbayes import __version__
from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.budget import Budget
from mrfbayes.base.errors import InputError, MRFWarning, warn_user
from mrfbayes.base.interrupts import InterruptFlag
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed, child, seed_sequence
from mrfbayes.base.types import DataLike, Option, PriorLike
from mrfbayes.data.border import common_schema, counted
from mrfbayes.data.coding import stored_schema
from mrfbayes.data.data import Data
from mrfbayes.estimation.result import Estimate
from mrfbayes.model.field import Model, require_model
from mrfbayes.model.schema import Schema
from mrfbayes.results.files import packed
from mrfbayes.results.fits import FitFolder, Fits
from mrfbayes.results.posterior import Posterior
from mrfbayes.run.pools import Job, Workers, connected, run_jobs
from mrfbayes.sampling.sample import check_call, sample

TAKEN = {"checkpoint": "folder= keeps every finished data set", "workers": "it spreads the data sets"}


class Call(NamedTuple):
    """What all data sets have in common; see `mrfbayes.sample`."""

    method: str
    schema: Schema | None
    settings: Mapping[str, Any]


@one_blas_thread()
def sample_many(
    model: Model,
    data: Mapping[str, DataLike] | Sequence[DataLike] | Data,
    *,
    method: str = "auto",
    folder: str | os.PathLike[str] | None = None,
    rng: Seed | None = None,
    workers: Workers = 1,
    progress: bool = True,
    seconds: float | None = None,
    **settings: Option | PriorLike | Estimate,
) -> Fits:
    """Sample the posterior of every data set, with one model and the same settings.

    A data set that cannot be used has no effect on the others: ``failures`` of the result says why, and a warning says
    how many there are. It is an error only if all data sets fail.

    Parameters
    ----------
    model : Model
        The field of all data sets.
    data : mapping of str to DataLike, sequence of DataLike, or Data with groups
        The data sets. Those of a sequence are called "0", "1", ...; each group of a `Data` is a data set. All are coded
        by the schema of the model, or by one schema that is made from all of them.
    method : str, default "auto"
        Method, as in `sample`.
    folder : str or path, optional
        Folder in which each result is saved in one file as soon as it is ready. The same call continues from there.
        Files of other data or other settings are refused. By default results are kept in memory.
    rng : int, SeedSequence or Generator, optional
        Seed. The random stream of a data set depends on the seed and its name only.
    workers : int, str or Client, default 1
        Number of processes, Dask client, or address of a Dask scheduler that runs the data sets.
    progress : bool, default True
        Whether a progress bar is shown after two seconds.
    seconds : float, optional
        Time budget. After this time no other data set is started; those in progress are finished.
    **settings : float, str or array_like
        Other arguments of `sample`.

    Returns
    -------
    Fits
        Mapping from names to `Posterior`; ``partial`` is true if Ctrl-C or the time budget left some data sets out.

    Raises
    ------
    InputError
        If an argument is not valid, or if all data sets fail.

    See Also
    --------
    sample : One data set.
    compare_groups : Differences between groups in one model.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> data = {name: mb.simulate(model, 0.7, 100, rng=seed) for seed, name in enumerate("ab")}
    >>> list(mb.sample_many(model, data, method="mle", rng=1, progress=False))
    ['a', 'b']
    """
    require_model(model)
    given = _named(data)
    for name, reason in TAKEN.items():
        if name in settings:
            raise InputError(f"{name}= is not for the single data sets: {reason}.")
    common = {"method": method, "rng": rng, "workers": workers, "progress": progress, "seconds": seconds}
    checked = check_call(model, {**settings, **common})
    if rng is None and folder is not None:
        rng = FitFolder(folder).seed()
    seed, call = seed_sequence(rng), Call(method, common_schema(model, given.values()), settings)
    done: dict[str, Posterior | None] = {}
    failures: dict[str, str] = {}
    with ExitStack() as stack:
        store = None
        if folder is not None:
            store = stack.enter_context(FitFolder(folder).opened(_identity(model, seed, call)))
        place = stack.enter_context(connected(checked.workers))
        if isinstance(place, int):
            place = min(place, len(given))
        budget = Budget(checked.seconds)
        known = (None if store is None else store.digest(name) or "" for name in given)
        jobs = (
            Job(name, (model, part, call, stream_of(seed, name), digest))
            for (name, part), digest in zip(given.items(), known, strict=True)
        )
        bar = stack.enter_context(Progress("data sets", len(given), progress))
        outcomes = stack.enter_context(closing(run_jobs(fit_one, jobs, place, lambda: not budget.is_out)))
        interrupt = stack.enter_context(InterruptFlag())
        try:
            while True:
                with interrupt.allowed():  # what is finished is kept before Ctrl-C is heard
                    found = next(outcomes, None)
                if found is None:
                    break
                name, outcome = found
                if isinstance(outcome, Exception):
                    failures[name] = f"{type(outcome).__name__}: {outcome}"
                else:
                    if store is not None and isinstance(outcome, bytes):
                        store.keep(name, outcome)
                    done[name] = outcome if isinstance(outcome, Posterior) else None
                bar.update(len(done) + len(failures), f"{len(failures)} failed" if failures else "")
        except KeyboardInterrupt:
            if not done and not failures:
                raise
    unfinished = tuple(name for name in given if name not in done and name not in failures)
    _emit_warnings(given, failures, unfinished)
    kept = {name: posterior for name in given if (posterior := done.get(name)) is not None}
    failed = {name: failures[name] for name in given if name in failures}
    return Fits(tuple(given), kept if store is None else store, failed, unfinished)


def fit_one(
    model: Model, data: object, call: Call, seed: np.random.SeedSequence, known: str | None
) -> Posterior | bytes | None:
    """The posterior of one data set; as the contents of its file where ``known`` says that files are kept.

    ``known`` is None without a folder, else the digest of the data whose result is there, or empty: None is returned
    where these are the same data.
    """
    with warnings.catch_warnings(action="ignore", category=MRFWarning):  # they are in the result
        statistics = counted(model, data, call.schema)
        if known and known == statistics.digest:
            return None
        if known:
            raise InputError("its file in the folder is the result of other data: choose another folder or name.")
        posterior = sample(model, statistics, call.method, rng=seed, **{**call.settings, "progress": False})
    if posterior.facts.stopped_by == "Ctrl-C":
        raise KeyboardInterrupt
    return posterior if known is None else packed(posterior)


def _named(data: object) -> dict[str, object]:
    if isinstance(data, Data):
        if not data.has_group:
            raise InputError("data: no groups; make Data(..., group=...), or give a mapping from names to data.")
        given: dict[str, object] = dict(data.parts())
    elif isinstance(data, Mapping):
        given = {str(name): part for name, part in data.items()}
        if len(given) < len(data):
            raise InputError("data: two names are the same when written as text; give each its own.")
    elif isinstance(data, (str, bytes, os.PathLike)) or not isinstance(data, Iterable):
        raise InputError(f"data is a {type(data).__name__}: give a mapping from names to data, or a list of data.")
    elif hasattr(data, "columns"):
        raise InputError("data is one table: give a table per data set, as dict(tuple(table.groupby('subject'))).")
    else:
        given = {str(number): part for number, part in enumerate(data)}
    if not given:
        raise InputError("data is empty: give at least one.")
    return given


def _identity(model: Model, seed: np.random.SeedSequence, call: Call) -> dict[str, str]:
    """What all results of a folder have in common."""

    def plain(value: object) -> object:
        value = getattr(value, "theta", value)  # of an estimate
        return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)

    common = {"method": call.method, "schema": stored_schema(call.schema), **call.settings}
    text = json.dumps(common, sort_keys=True, default=plain)
    return {
        "format": "mrfbayes many 1",
        "model": model.fingerprint,
        "settings": hashlib.sha256(text.encode()).hexdigest(),
        "seed": f"{seed.entropy} {list(seed.spawn_key)}",
        "version": __version__,
    }


def stream_of(seed: np.random.SeedSequence, name: str) -> np.random.SeedSequence:
    """The random stream of the data set called ``name``."""
    words = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], dtype="<u4")
    return child(seed, "dataset", *(int(word) for word in words))


def _emit_warnings(given: Mapping[str, object], failures: Mapping[str, str], unfinished: tuple[str, ...]) -> None:
    if failures:
        name, text = next(iter(failures.items()))
        said = f"{len(failures)} of {len(given)} data sets failed; the first, {name!r}: {text}"
        if len(failures) == len(given):
            raise InputError(said)
        warn_user(said)
    if unfinished:
        warn_user(f"{len(unfinished)} of {len(given)} data sets are not done; with folder= the same call goes on.")
