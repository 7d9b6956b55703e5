"""Tables of pairs with known contacts, and data from them."""

import numpy as np

from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.estimation.pair_tables import table_gibbs


def some_table(length, q, contacts, rng, strength=1.0):
    table = np.zeros((length * q, length * q), np.float32)
    for i, j in contacts:
        block = rng.normal(0, strength, (q, q))
        block -= block.mean(axis=0) + block.mean(axis=1, keepdims=True) - block.mean()
        table[i * q : (i + 1) * q, j * q : (j + 1) * q] = block
        table[j * q : (j + 1) * q, i * q : (i + 1) * q] = block.T
    np.fill_diagonal(table, rng.normal(0, 0.5, length * q))
    return table


def simulated(length=10, q=6, n=3000, seed=0):
    rng = np.random.default_rng(seed)
    contacts = [(0, 5), (1, 7), (2, 9), (3, 8)]
    offset = np.arange(length + 1) * q
    x = (rng.integers(0, q, (n, length)) + offset[:-1]).astype(np.int32)
    table = some_table(length, q, contacts, rng)
    table_gibbs(x, offset, table, 50, np.empty(q, np.float32), kernel_state(seed_sequence(seed), "x"))
    return (x - offset[:-1]).astype(np.uint8), contacts
