"""Places of nodes and of their names."""

import numpy as np

from mrfbayes.plots.layouts import SIDES, label_sides


def test_names_stand_where_they_cover_neither_nodes_nor_names():
    rng = np.random.default_rng(2)
    places, wide, tall, gap = rng.uniform(-1, 1, (17, 2)), np.full(17, 0.3), 0.06, 0.05
    half = np.array([0.15, 0.03])

    def covered(side):
        centres = places + SIDES[side] * (half + gap)
        pairs = np.abs(centres[:, None] - centres) < 2 * half
        nodes = np.abs(centres[:, None] - places) < half
        return (pairs.all(axis=2).sum() - 17) // 2 + nodes.all(axis=2).sum()

    side = label_sides(places, wide, tall, gap)
    outwards = np.where(places[:, 0] > 0, 0, 1)
    assert covered(side) == 0 < covered(outwards)
