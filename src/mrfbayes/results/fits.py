"""Posteriors of many data sets: in memory, or one sealed file each in a folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from mrfbayes.base.atomic_files import locked, write_bytes, write_text
from mrfbayes.base.digests import is_sealed
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import Scale
from mrfbayes.model.result import TIMING_KEYS, Result, StoredResult
from mrfbayes.model.scales import scaled
from mrfbayes.results.files import packed, read, root_attribute
from mrfbayes.results.posterior import Posterior

if TYPE_CHECKING:
    import pandas as pd

    from mrfbayes.model.field import Model

IDENTITY_FILE, CONTENTS_FILE = "sample_many.json", "datasets.json"
LONGEST_NAME = 120  # bytes of a file's name that come from the data set's; file systems allow 255


class FitFolder:
    """A folder with one result file per data set, and one that says of which run they are.

    It belongs to one process at a time. Files are written whole or not at all, so that a killed run leaves only those
    that are finished, and the next one goes on from there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def file(self, name: str) -> Path:
        """Where the result of a data set is, whatever characters its name has."""
        shown = quote(name, safe=" ")
        if len(shown) > LONGEST_NAME or shown.strip(" .") != shown:
            shown = shown[:LONGEST_NAME].strip(" .") + "-" + hashlib.sha256(name.encode()).hexdigest()[:16]
        return self.path / f"{shown}.nc"

    @contextmanager
    def opened(self, identity: Mapping[str, str]) -> Iterator[FitFolder]:
        """Hold the folder, made where it is not there, for the run of this ``identity``; refuse that of another one."""
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"folder {self.path}: cannot be made ({error.strerror}): choose another place.") from None
        with locked(self.path / ".sample_many.lock", f"folder {self.path}"):
            self._check(identity)
            yield self

    def seed(self) -> int | None:
        """The seed of the run that the folder is of; None where there is none, or no number says it all."""
        try:
            entropy, key = json.loads((self.path / IDENTITY_FILE).read_text(encoding="utf-8"))["seed"].split(" ", 1)
            return int(entropy) if key == "[]" else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _check(self, identity: Mapping[str, str]) -> None:
        path = self.path / IDENTITY_FILE
        if not path.exists():
            if any(self.path.glob("*.nc")):
                raise InputError(f"folder {self.path} holds result files of something else: choose a new folder.")
            write_text(path, json.dumps(dict(identity), indent=1) + "\n")
            return
        try:
            found = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise InputError(f"{path} cannot be read: choose another folder.") from None
        if other := [part for part in identity if found.get(part) != identity[part]]:
            names = ", ".join(other)
            raise InputError(f"folder {self.path} is of another run (other {names}): choose another folder.")

    def digest(self, name: str) -> str | None:
        """Which data the finished result of ``name`` is of; None where there is none, or only a damaged one."""
        path = self.file(name)
        try:
            return str(root_attribute(path, "data_digest")) if path.is_file() and is_sealed(path) else None
        except (InputError, OSError):
            return None

    def open(self, name: str) -> Posterior:
        """The result of a data set."""
        return read(self.file(name), {"Posterior": Posterior})

    def describe(self, names: Sequence[str], failures: Mapping[str, str], unfinished: Sequence[str]) -> None:
        """Write which data sets there are, what failed, and what is left."""
        about = {"names": list(names), "failures": dict(failures), "unfinished": list(unfinished)}
        write_text(self.path / CONTENTS_FILE, json.dumps(about, indent=1) + "\n", overwrite=True)

    def keep(self, name: str, content: bytes) -> None:
        """Write a result, whole or not at all."""
        write_bytes(self.file(name), content, overwrite=True)


class CompositeResult(Result):
    """A result that consists of others, its ``parts``; what they have in common is taken from the first one."""

    if TYPE_CHECKING:

        @property
        def parts(self) -> Mapping[str, StoredResult]: ...
    else:

        def __getattr__(self, name: str) -> object:
            if name in ("n", "method", "target", "settings", "versions"):
                return getattr(self._first, name)
            raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")

    @property
    def _first(self) -> StoredResult:
        for part in self.parts.values():
            return part
        raise InputError("no data set is done yet, so nothing is known of their model and settings.")

    @property
    def timings(self) -> Mapping[str, float]:
        """Seconds of all parts together."""
        return {name: sum(part.timings[name] for part in self.parts.values()) for name in TIMING_KEYS}


class Fits(Mapping[str, Posterior], CompositeResult):
    """Posteriors by the name of their data set, in the order of the data sets.

    With a folder each posterior is read from its file when it is used. The attributes of every `Result` are those of
    all data sets together: ``n`` and ``timings`` are sums.

    Parameters
    ----------
    names : tuple of str
        Names of the finished data sets.
    found : mapping of str to Posterior, or FitFolder
        The posteriors, or the folder with their files.
    failures : mapping of str to str
        Messages of data sets that failed, by name.
    unfinished : tuple of str
        Names that a time budget or Ctrl-C left out.

    See Also
    --------
    sample_many : Returns it.
    Posterior : One of them.

    Examples
    --------
    >>> import mrfbayes as mb
    >>> model = mb.grid(2, 2)
    >>> people = {f"p{k}": mb.simulate(model, 0.7, 100, rng=k) for k in range(2)}
    >>> fits = mb.sample_many(model, people, method="mle", rng=1, progress=False)
    >>> list(fits), dict(fits.failures)
    (['p0', 'p1'], {})
    """

    def __init__(
        self,
        names: tuple[str, ...],
        found: Mapping[str, Posterior] | FitFolder,
        failures: Mapping[str, str],
        unfinished: tuple[str, ...],
    ) -> None:
        self.failures, self.unfinished = dict(failures), unfinished
        absent = {*self.failures, *unfinished}
        self._names, self._found = tuple(name for name in names if name not in absent), found
        if isinstance(found, FitFolder):
            found.describe(names, self.failures, unfinished)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Fits:
        """Read the fits in a folder.

        Parameters
        ----------
        path : str or path
            The folder.

        Returns
        -------
        Fits
            The fits.

        Raises
        ------
        InputError
            If the list of data sets in the folder cannot be read.
        """
        folder = FitFolder(path)
        try:
            about = json.loads((folder.path / CONTENTS_FILE).read_text(encoding="utf-8"))
            names, failures, unfinished = tuple(about["names"]), dict(about["failures"]), tuple(about["unfinished"])
        except (OSError, ValueError, TypeError, KeyError):
            raise InputError(f"{folder.path}: its list of data sets cannot be read: run sample_many again.") from None
        return cls(names, folder, failures, unfinished)

    @property
    def partial(self) -> bool:
        """Whether some data sets are still to be done."""
        return bool(self.unfinished)

    @property
    def parts(self) -> Mapping[str, StoredResult]:
        """The posteriors by the name of their data set."""
        return self

    @property
    def model(self) -> Model:
        """The field of all data sets."""
        return self._first.model

    @property
    def n(self) -> float:
        """Number of observations in all data sets that are done."""
        return sum(posterior.n for posterior in self.values())

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of all data sets, each with its name, and failures."""
        found = [f"{name}: {text}" for name, posterior in self.items() for text in posterior.warnings]
        return (*found, *(f"{name} failed: {text}" for name, text in self.failures.items()))

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of all data sets, each with its name."""
        return tuple(f"{name}: {text}" for name, posterior in self.items() for text in posterior.notes)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder with a file for each data set, which `mrfbayes.load` opens.

        Parameters
        ----------
        path : str or path
            Folder to write to; made where it does not exist.
        overwrite : bool
            Whether a folder that has results already is written to.

        Raises
        ------
        InputError
            If the folder is not empty and `overwrite` is False.
        """
        place = FitFolder(path)
        if isinstance(self._found, FitFolder) and self._found.path.resolve() == place.path.resolve():
            return
        if place.path.exists() and any(place.path.iterdir()) and not overwrite:
            raise InputError(f"path = {str(path)!r} is not empty: name another folder, or pass overwrite=True.")
        place.path.mkdir(parents=True, exist_ok=True)
        write_text(place.path / IDENTITY_FILE, json.dumps({"format": "mrfbayes many 1"}) + "\n", overwrite=True)
        for name, posterior in self.items():
            place.keep(name, packed(posterior))
        place.describe((*self._names, *self.failures, *self.unfinished), self.failures, self.unfinished)

    def edges(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per data set and edge.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            Scale; by default the usual one for the model.
        ci_prob : float, default 0.9
            Probability of the equal-tailed interval.

        Returns
        -------
        DataFrame
            As in `Posterior.edges`.
        """
        return self._stacked(lambda posterior: posterior.edges(scale=scale, ci_prob=ci_prob))

    def __getitem__(self, name: str) -> Posterior:
        if name in self._names:
            return self._found.open(name) if isinstance(self._found, FitFolder) else self._found[name]
        reason = self.failures.get(name) or ("it was not begun" if name in self.unfinished else "no such data set")
        raise KeyError(f"{name!r}: {reason}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        rest = [f"{len(self.failures)} failed"] * bool(self.failures)
        rest += [f"{len(self.unfinished)} unfinished"] * bool(self.unfinished)
        return f"<Fits: {', '.join([f'{len(self)} posteriors', *rest])}>"

    def summary(self, *, scale: Scale | None = None, ci_prob: float = 0.9) -> pd.DataFrame:
        """Return one row per data set and parameter.

        Parameters
        ----------
        scale : {"theta", "log-odds", "ising"}, optional
            Scale; by default the usual one for the model.
        ci_prob : float, default 0.9
            Probability of the equal-tailed interval.

        Returns
        -------
        DataFrame
            As in `Posterior.summary`.
        """
        return self._stacked(lambda posterior: posterior._moments(scaled(posterior.model, scale), ci_prob))

    def _stacked(self, table: Callable[[Posterior], pd.DataFrame]) -> pd.DataFrame:
        """The tables of all data sets, one above the other."""
        import pandas as pd

        parts = {name: table(posterior) for name, posterior in self.items()}
        return pd.concat(parts, names=["dataset"]) if parts else pd.DataFrame()

    def _repr_html_(self) -> str:
        from mrfbayes.base.plain_text import facts, frame

        return facts("Fits", [("data sets", repr(self)[1:-1])]) + frame(self.status())

    def status(self) -> pd.DataFrame:
        """Return one row per data set with its state: "done", "failed" or "unfinished".

        Returns
        -------
        DataFrame
            State and figures of the run by name.
        """
        import pandas as pd

        rows: list[tuple[object, ...]] = []
        for name, posterior in self.items():
            seconds, ess = sum(posterior.timings.values()), posterior.ess.min(initial=np.inf)
            text = "; ".join(posterior.warnings)
            rows.append((name, "done", posterior.n, posterior.method, ess if np.isfinite(ess) else None, seconds, text))
        rows += [(name, "failed", None, None, None, None, text) for name, text in self.failures.items()]
        rows += [(name, "unfinished", None, None, None, None, None) for name in self.unfinished]
        columns = ["dataset", "status", "n", "method", "ess_min", "seconds", "warnings"]
        return pd.DataFrame(rows, columns=columns).set_index("dataset")
