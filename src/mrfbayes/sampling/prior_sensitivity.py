"""How the verdicts on the edges depend on the width of the prior."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.base.progress import Progress
from mrfbayes.base.random_streams import Seed
from mrfbayes.base.types import DataLike
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
    **settings: Any,
) -> pd.DataFrame:
    """Numbers of edges that are present, absent and undecided under normal(0, s) priors on the couplings.

    Parameters
    ----------
    data : `Data`, anything that `Data` reads, or `Statistics`
    scales : standard deviations s of the prior on the edges' log-odds
    nodes : prior of the node factors, the same throughout
    settings : passed on to `mrfbayes.sample`

    Returns
    -------
    a row per scale: present, absent, undecided, and fragile (two Monte-Carlo errors could change the verdict)
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
            table = sample(model, statistics, prior=prior, rng=rng, progress=False, **settings).edges()
            said = table["verdict"].value_counts()
            rows.append(
                {
                    **{name: int(said.get(name, 0)) for name in ("present", "absent", "undecided", "unknown")},
                    "fragile": int(table["fragile"].sum()),
                }
            )
            bar.update(done + 1)
    return pd.DataFrame(rows, index=pd.Index(widths, name="prior_scale"))
