"""How the verdicts on the edges depend on the width of the prior."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike, SampleSetting
from mrfbayes.data.border import counted
from mrfbayes.model.field import Model
from mrfbayes.sampling.sample import sample

if TYPE_CHECKING:
    import pandas as pd

PRIOR_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)


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

    widths = np.asarray(scales, dtype=float)
    if widths.ndim != 1 or not widths.size or not ((widths > 0) & np.isfinite(widths)).all():
        raise InputError(f"scales = {scales!r}: give standard deviations above 0.")
    statistics = counted(model, data)
    rows = []
    with Progress("prior sensitivity", len(widths), progress) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)  # of every single run; the table says what is fragile
        for done, width in enumerate(widths.tolist()):
            prior: Mapping[str, str] = {"edges": f"normal(0, {width!r})", "nodes": nodes}
            call = {**cast("dict[str, Any]", settings), "prior": prior, "rng": rng, "progress": False}
            table = sample(model, statistics, **call).edges()
            said = table["verdict"].value_counts()
            rows.append(
                {
                    **{name: int(said.get(name, 0)) for name in ("present", "absent", "undecided", "unknown")},
                    "fragile": int(table["fragile"].sum()),
                }
            )
            bar.update(done + 1)
    return pd.DataFrame(rows, index=pd.Index(widths, name="prior_scale"))
