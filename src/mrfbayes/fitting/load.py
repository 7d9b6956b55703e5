"""`mrfbayes.load`: any result from its file or folder."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from mrfbayes.estimation.result import Estimate
from mrfbayes.fitting.result import FIT_FILE, Fit
from mrfbayes.hidden.result import Segmentation
from mrfbayes.model.result import Result, StoredResult
from mrfbayes.results.files import read
from mrfbayes.results.fits import IDENTITY_FILE, Fits
from mrfbayes.results.posterior import Posterior
from mrfbayes.structure.groups import GroupComparison
from mrfbayes.structure.select_effects import EffectSelection
from mrfbayes.structure.selection import Selection

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
