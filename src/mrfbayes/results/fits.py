"""Posteriors of many data sets under one roof: in memory, or one sealed file each in a folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from mrfbayes.base.atomic_files import write_bytes, write_text
from mrfbayes.base.errors import InputError
from mrfbayes.base.locks import locked
from mrfbayes.base.sealed_files import is_sealed
from mrfbayes.base.types import Scale
from mrfbayes.model.scales import scaled
from mrfbayes.results.hdf5_groups import root_attribute
from mrfbayes.results.posterior import Posterior, load

if TYPE_CHECKING:
    import pandas as pd

IDENTITY_FILE = "sample_many.json"
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
                raise InputError(
                    f"folder {self.path} holds result files of something else: choose an empty or a new folder."
                )
            write_text(path, json.dumps(dict(identity), indent=1) + "\n")
            return
        try:
            found = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise InputError(f"{path} cannot be read: choose another folder.") from None
        other = [part for part in identity if found.get(part) != identity[part]]
        if other:
            raise InputError(
                f"folder {self.path} is of another run (other {', '.join(other)}): choose another folder, or ask for "
                "the same as before."
            )

    def digest(self, name: str) -> str | None:
        """Which data the finished result of ``name`` is of; None where there is none, or only a damaged one."""
        path = self.file(name)
        try:
            return str(root_attribute(path, "data_digest")) if path.is_file() and is_sealed(path) else None
        except (InputError, OSError):
            return None

    def keep(self, name: str, content: bytes) -> None:
        """Write a result, whole or not at all."""
        write_bytes(self.file(name), content, overwrite=True)


class Fits(Mapping[str, Posterior]):
    """Posteriors by the name of their data set, in the order of the data sets.

    With a folder each is read from its file when it is asked for, so that thousands need no memory.

    Attributes
    ----------
    failures : name -> what went wrong with that data set
    unfinished : names that a time budget or Ctrl-C left
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

    @property
    def partial(self) -> bool:
        """Whether some data sets are still to be done."""
        return bool(self.unfinished)

    def __getitem__(self, name: str) -> Posterior:
        if name in self._names:
            return load(self._found.file(name)) if isinstance(self._found, FitFolder) else self._found[name]
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
        """A row per data set and parameter: posterior mean and sd in ``scale``, as in `Posterior.summary`."""
        import pandas as pd

        parts = {}
        for name, posterior in self.items():
            rows = scaled(posterior.model, scale)
            spread = posterior.spread(rows, ci_prob)
            parts[name] = pd.DataFrame(spread, index=pd.Index(rows.names, name="parameter"))
        return pd.concat(parts, names=["dataset"]) if parts else pd.DataFrame()

    def status(self) -> pd.DataFrame:
        """A row per data set: whether it is "done", "failed" or "unfinished", and how its result came about."""
        import pandas as pd

        rows: list[dict[str, object]] = []
        for name, posterior in self.items():
            rows.append(
                {
                    "dataset": name,
                    "status": "done",
                    "n": posterior.n,
                    "method": posterior.method,
                    "ess_min": float(np.min(posterior.ess)) if posterior.ess.size else np.nan,
                    "seconds": sum(posterior.seconds.values()),
                    "said": "; ".join(posterior.warnings),
                }
            )
        rows += [{"dataset": name, "status": "failed", "said": text} for name, text in self.failures.items()]
        rows += [{"dataset": name, "status": "unfinished"} for name in self.unfinished]
        return pd.DataFrame(rows).set_index("dataset")
