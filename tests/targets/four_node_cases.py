"""Fifteen rows of four variables, and the exact posterior of any graph on them by quadrature."""

import itertools

import numpy as np

import mrfbayes as mb
from oracles import evidence_on_four_nodes

PAIRS = list(itertools.combinations(range(4), 2))
MODEL = mb.graph(PAIRS)
rng = np.random.default_rng(3)
DATA = rng.integers(0, 2, size=(15, 4)).astype(np.uint8)
DATA[:11, 1] = DATA[:11, 0]  # unequal couplings of both signs
DATA[:9, 3] = 1 - DATA[:9, 2]
DATA[5:14, 2] = DATA[5:14, 0]


def quadrature(edges):
    """Log evidence, mean and sd of theta."""
    return evidence_on_four_nodes(DATA, edges)
