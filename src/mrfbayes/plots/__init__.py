"""Pictures, each a function with ``ax=``; matplotlib is loaded when one is drawn."""

from __future__ import annotations

from mrfbayes.lazy import make_lazy

_PLACES = {
    "marginals": "marginals",
    "copula": "copula",
    "field": "field",
    "chains": "chains",
    "comparison": "comparison",
    "estimate_trace": "chains",
}
__all__ = [*_PLACES]

make_lazy(__name__, _PLACES)
