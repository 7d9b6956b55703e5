"""Pictures, each a function with ``ax=``; matplotlib is loaded when one is drawn.

Colours survive colour blindness and print; `save` writes vectors and, beside them, the numbers as CSV; `data` gives
these numbers.
"""

# ruff: noqa: I001
from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.base.lazy import make_lazy

if TYPE_CHECKING:  # the public names: `make_lazy` and type checkers read them here
    from mrfbayes.plots.images import contact_map as contact_map, field as field, segmentation as segmentation
    from mrfbayes.plots.marginals import marginals as marginals
    from mrfbayes.plots.network import network as network, network_panels as network_panels
    from mrfbayes.plots.predictions import comparison as comparison, correlations as correlations
    from mrfbayes.plots.predictions import population_counts as population_counts, predictive as predictive
    from mrfbayes.plots.predictions import estimate_trace as estimate_trace, temperature_scan as temperature_scan
    from mrfbayes.plots.rows import centrality as centrality, edge_evidence as edge_evidence
    from mrfbayes.plots.rows import forest as forest, order as order, ranks as ranks
    from mrfbayes.plots.saving import data as data, save as save
    from mrfbayes.plots.searches import complexity as complexity, group_differences as group_differences
    from mrfbayes.plots.searches import group_networks as group_networks, sensitivity as sensitivity
    from mrfbayes.plots.searches import structures as structures

make_lazy(__name__)
