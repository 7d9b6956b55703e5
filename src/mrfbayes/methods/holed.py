r"""The likelihood of data of which cells are missing, for kernels: the one of the rest, and sums over missing cells.

.. math:: \log L(\theta) = \sum_j w_j s_j - n A(w) + \sum_c m_c A_c(w),

s of everything that is seen, c over the distinct clumps of missing nodes (`mrfbayes.exact.clumps`), m_c how often each
occurs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrfbayes.base.views import View, Workspace
from mrfbayes.exact.clamped import Observed
from mrfbayes.kernels.base.contracts import implements, log_likelihood, log_likelihood_w
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.base.linear import copy_into
from mrfbayes.kernels.exact.clamped import Clumps, clamped_log_z
from mrfbayes.kernels.exact.graph_binary import binary_tables
from mrfbayes.methods.lowered import Lowered, lower_log_odds, lower_theta, lowered_data, node_and_edge
from mrfbayes.model.field import Model


class HoledView(NamedTuple):
    """A view of the likelihood of what is seen, and the clumps of what is not."""

    seen: View
    lowered: Lowered
    clumps: Clumps
    table: Workspace
    scratch: Workspace
    is_binary: bool


@implements(log_likelihood, HoledView)
@kernel
def holed_log_likelihood(view, theta):
    total = log_likelihood(view.seen, theta)
    lower_theta(view.lowered, theta)
    return total + _missing_terms(view)


@implements(log_likelihood_w, HoledView)
@kernel
def holed_log_likelihood_w(view, log_odds, theta):
    total = log_likelihood_w(view.seen, log_odds, theta)
    lower_log_odds(view.lowered, log_odds)
    return total + _missing_terms(view)


@kernel
def _missing_terms(view):
    """Sums over the missing cells, at the potentials of ``view.lowered``."""
    if view.is_binary:
        field, coupling = node_and_edge(view.lowered, view.lowered.potentials)
        binary_tables(field, coupling, view.table)
    else:
        copy_into(view.table, view.lowered.potentials)
    return clamped_log_z(view.clumps, view.table, view.scratch)


def holed_view(seen: View, model: Model, data: Observed) -> HoledView | None:
    """The view with the missing cells of ``data``; None where some clump of them is too large to be enumerated."""
    clamped = data.clamped
    assert clamped is not None
    if clamped.large:
        return None
    table, scratch = np.zeros(clamped.n_cells), np.zeros(2 * clamped.most)
    return HoledView(seen, lowered_data(model, data), clamped.clumps, table, scratch, model.lowering.binary)
