"""Pictures, each a function with ``ax=``; matplotlib is loaded when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.base.lazy import make_lazy

if TYPE_CHECKING:
    from mrfbayes.plots.chains import chains, estimate_trace
    from mrfbayes.plots.comparison import comparison
    from mrfbayes.plots.copula import copula
    from mrfbayes.plots.field import field
    from mrfbayes.plots.marginals import forms, marginals

_PLACES = {
    "chains": "chains",
    "comparison": "comparison",
    "copula": "copula",
    "estimate_trace": "chains",
    "field": "field",
    "forms": "marginals",
    "marginals": "marginals",
}
__all__ = ["chains", "comparison", "copula", "estimate_trace", "field", "forms", "marginals"]

make_lazy(__name__, _PLACES)
