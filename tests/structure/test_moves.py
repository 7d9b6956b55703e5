"""Moves of a search: centred statistics, and slabs."""

import numpy as np

from mrfbayes.kernels.structure import line as kernel_line
from mrfbayes.structure import moves
from structure.graph_cases import complete
from structure.move_cases import search_parts


def test_statistics_are_centred_as_the_moves_centre_them():
    model = complete(4, states=(3, 2, 3, 4), fields=True, coupling="score")
    parts = search_parts(model, np.random.default_rng(4).integers(model.states, size=(60, 4)))
    counts = parts.problem.data[0].counts
    np.testing.assert_allclose(counts[None] @ moves.centring(parts.moves), parts.moves.total)
    assert np.abs(counts - parts.moves.total)[0, : model.n_edges].min() > 1


def test_the_absent_kind_is_the_kernels():
    assert moves.NO_SLAB == kernel_line.ABSENT
