"""Pictures, each a function with ``ax=``; matplotlib is loaded when one is drawn.

Colours survive colour blindness and print; `save` writes vectors and, beside them, the numbers as CSV; `data` gives
these numbers.
"""

# ruff: noqa: I001
from __future__ import annotations

from typing import TYPE_CHECKING

from mrfbayes.base.lazy import make_lazy

if TYPE_CHECKING:  # the public names: `make_lazy` and type checkers read them here
    from mrfbayes.plots.centrality import centrality as centrality, order as order
    from mrfbayes.plots.chains import chains as chains, estimate_trace as estimate_trace, ranks as ranks
    from mrfbayes.plots.comparison import comparison as comparison
    from mrfbayes.plots.complexity import complexity as complexity
    from mrfbayes.plots.contact_map import contact_map as contact_map
    from mrfbayes.plots.edge_evidence import edge_evidence as edge_evidence
    from mrfbayes.plots.field import field as field
    from mrfbayes.plots.forest import forest as forest
    from mrfbayes.plots.group_differences import (
        group_differences as group_differences,
        group_networks as group_networks,
    )
    from mrfbayes.plots.marginals import marginals as marginals
    from mrfbayes.plots.network import network as network, network_panels as network_panels
    from mrfbayes.plots.pairs import pairs as pairs
    from mrfbayes.plots.physics import (
        correlations as correlations,
        population_counts as population_counts,
        temperature_scan as temperature_scan,
    )
    from mrfbayes.plots.predictive import predictive as predictive
    from mrfbayes.plots.prior_posterior import prior_posterior as prior_posterior
    from mrfbayes.plots.saving import data as data, save as save
    from mrfbayes.plots.segmentation import segmentation as segmentation
    from mrfbayes.plots.sensitivity import sensitivity as sensitivity
    from mrfbayes.plots.structures import structures as structures

make_lazy(__name__)
