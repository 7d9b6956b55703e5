"""Pieces of a field."""

import numpy as np

import mrfbayes as mb
from mrfbayes.model.subfields import ball, sub_field

MODEL = mb.grid(4, 4)


def test_sub_fields_are_connected_pieces():
    nodes = ball(MODEL, 5, 7)
    assert len(nodes) == 7
    piece, blocks = sub_field(MODEL, nodes)
    assert piece.n_nodes == 7
    assert piece.n_edges == sum(u in nodes and v in nodes for u, v in MODEL.edges)
    assert blocks.tolist() == [b for b, edge in enumerate(MODEL.edges) if np.isin(edge, nodes).all()]
    assert sub_field(MODEL, np.array([0, 15])) is None
