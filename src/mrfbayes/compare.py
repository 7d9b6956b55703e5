"""Several methods on the same data: errors against the exact posterior where it can be had, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mrfbayes import diagnostics
from mrfbayes.data.counts import count
from mrfbayes.errors import CostError, InputError
from mrfbayes.estimate import estimate as make_estimate
from mrfbayes.model.field import Model
from mrfbayes.posterior import Posterior
from mrfbayes.sampling import sample
from mrfbayes.streams import Seed, child, seed_sequence

if TYPE_CHECKING:
    import pandas as pd

STUCK_BELOW = 100  # effective draws below which a chain's moments are not worth comparing
PAPER_METHODS: tuple[dict[str, Any], ...] = (
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
    """Posteriors by name, and the table of how they compare.

    Attributes
    ----------
    posteriors : name -> `Posterior`, in the order given
    reference : name of the posterior that errors are measured against, or None where no exact one is feasible
    table : a row per method: mean error in posterior sds (average and largest over the parameters), ratio of sds,
        the Monte-Carlo error of the mean error, acceptance, smallest effective sample size, effective draws per second,
        seconds of preparation and of sampling, and whether the chain was stuck
    """

    posteriors: Mapping[str, Posterior]
    reference: str | None
    table: pd.DataFrame

    def __repr__(self) -> str:
        return str(self.table.to_string(float_format=lambda v: f"{v:.4g}"))


def compare(
    model: Model,
    x: Any,
    methods: Sequence[str | Mapping[str, Any]] = ("exact", "mle", "pseudo", "laplace"),
    *,
    reference: str | None = "exact",
    rng: Seed | None = 0,
    progress: bool = True,
    **settings: Any,
) -> Comparison:
    """Run several methods with the same settings and set them side by side.

    Parameters
    ----------
    methods : keys of the registry, or mappings with "method" and settings of its own (which win over ``settings``)
    reference : method that errors are measured against; left out where it is not feasible
    settings : passed on to `mrfbayes.sample`
    """
    statistics = count(model, x)
    seed = seed_sequence(rng)
    requests = [{"method": m} if isinstance(m, str) else dict(m) for m in methods]
    for request in requests:
        if "method" not in request:
            raise InputError(f"methods: {request!r} does not say which; add 'method'.")
    estimate = settings.pop("estimate", None)
    if estimate is None:
        estimate = make_estimate(model, statistics, rng=child(seed, "estimate"), progress=progress)
    posteriors: dict[str, Posterior] = {}
    for number, request in enumerate(requests):
        options = {**settings, **request}
        name = options.pop("name", None) or _name(request)
        try:
            posteriors[name] = sample(
                model, statistics, rng=child(seed, "method", number), progress=progress, estimate=estimate, **options
            )
        except CostError:
            if request["method"] != reference:
                raise
    known = next((name for name, post in posteriors.items() if post.method == reference), None)
    return Comparison(posteriors, known, comparison_table(posteriors, known))


def _name(request: Mapping[str, Any]) -> str:
    own = [f"{key}={value}" for key, value in request.items() if key != "method"]
    return " ".join([str(request["method"]), *own])


def comparison_table(posteriors: Mapping[str, Posterior], reference: str | None) -> pd.DataFrame:
    """The table of `Comparison`."""
    import pandas as pd

    base = posteriors[reference] if reference else None
    rows = []
    for name, post in posteriors.items():
        seconds = post.seconds["chain"]
        smallest = float(np.min(post.ess)) if post.ess.size else math.nan
        row: dict[str, Any] = {"name": name, "method": post.label, "target": post.target}
        if base is not None:
            error = np.abs(post.mean - base.mean) / base.sd
            noise = np.sqrt(post.mcse**2 + base.mcse**2) / base.sd
            ratio = post.sd / base.sd
            ratio_noise = np.hypot(
                diagnostics.mcse_sd(post.draws) / base.sd, diagnostics.mcse_sd(base.draws) * post.sd / base.sd**2
            )
            row |= {
                "mean_error_sd": error.mean() if post is not base else 0.0,
                "mean_error_max": error.max() if post is not base else 0.0,
                "mean_error_mcse": noise.mean() if post is not base else 0.0,
                "sd_ratio": ratio.mean(),
                "sd_ratio_mcse": ratio_noise.mean() if post is not base else 0.0,
            }
        row |= {
            "acceptance": math.nan if post.acceptance is None else float(post.acceptance.mean()),
            "ess_min": smallest,
            "ess_per_second": smallest / seconds if seconds > 0 else math.nan,
            "prepare_s": post.seconds["prepare"],
            "chain_s": seconds,
            "verdict": "stuck" if not smallest >= STUCK_BELOW else "",
        }
        rows.append(row)
    return pd.DataFrame(rows).set_index("name")
