"""Pictures, each a function with ``ax=``; matplotlib is loaded when one is drawn.

Colours survive colour blindness and print; `save` writes vectors and, beside them, the numbers as CSV; `data` gives
these numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.base.lazy import make_lazy

if TYPE_CHECKING:
    from mrfbayes.plots.centrality import centrality
    from mrfbayes.plots.chains import chains, estimate_trace, ranks
    from mrfbayes.plots.comparison import comparison
    from mrfbayes.plots.complexity import complexity
    from mrfbayes.plots.copula import copula
    from mrfbayes.plots.edge_evidence import edge_evidence
    from mrfbayes.plots.field import field
    from mrfbayes.plots.forest import forest
    from mrfbayes.plots.group_differences import group_differences
    from mrfbayes.plots.marginals import forms, marginals
    from mrfbayes.plots.network import network, network_panels
    from mrfbayes.plots.pairs import pairs
    from mrfbayes.plots.physics import correlations, population_counts, temperature_scan
    from mrfbayes.plots.predictive import predictive
    from mrfbayes.plots.prior_posterior import prior_posterior
    from mrfbayes.plots.saving import data, save
    from mrfbayes.plots.segmentation import segmentation
    from mrfbayes.plots.sensitivity import sensitivity
    from mrfbayes.plots.structures import structures

_PLACES = {
    "centrality": "centrality",
    "chains": "chains",
    "comparison": "comparison",
    "complexity": "complexity",
    "copula": "copula",
    "correlations": "physics",
    "data": "saving",
    "edge_evidence": "edge_evidence",
    "estimate_trace": "chains",
    "field": "field",
    "forest": "forest",
    "forms": "marginals",
    "group_differences": "group_differences",
    "marginals": "marginals",
    "network": "network",
    "network_panels": "network",
    "pairs": "pairs",
    "population_counts": "physics",
    "predictive": "predictive",
    "prior_posterior": "prior_posterior",
    "ranks": "chains",
    "save": "saving",
    "segmentation": "segmentation",
    "sensitivity": "sensitivity",
    "structures": "structures",
    "temperature_scan": "physics",
}
__all__ = [
    "centrality",
    "chains",
    "comparison",
    "complexity",
    "copula",
    "correlations",
    "data",
    "edge_evidence",
    "estimate_trace",
    "field",
    "forest",
    "forms",
    "group_differences",
    "marginals",
    "network",
    "network_panels",
    "pairs",
    "population_counts",
    "predictive",
    "prior_posterior",
    "ranks",
    "save",
    "segmentation",
    "sensitivity",
    "structures",
    "temperature_scan",
]

make_lazy(__name__, _PLACES)
