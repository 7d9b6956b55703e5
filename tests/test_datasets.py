"""The embedded data are what their description says."""

import numpy as np

from mrfbayes import datasets
from mrfbayes.data.data import Data
from mrfbayes.model.build import graph, grid


def test_adhd():
    data = datasets.load_adhd()
    assert data.x.shape == (355, 18)
    assert data.nodes[:2] == ("avoid", "closeatt")
    assert set(data.group) == {0, 1}
    assert "355 observations of 18 variables with 2 states" in repr(data)
    model = graph(zip(data.nodes[:-1], data.nodes[1:], strict=True), fields=True)
    np.testing.assert_array_equal(Data(data.x).count(model).counts[17:], data.x.sum(axis=0))


def test_boredom():
    data = datasets.load_boredom()
    assert data.x.shape == (986, 8)
    assert (data.states, data.x.min(), data.x.max()) == (7, 0, 6)
    assert set(data.group) == {"en", "fr"}


def test_digits():
    data = datasets.load_digits()
    assert data.x.shape == (1797, 64)
    assert data.nodes[:9] == ("r0c0", "r0c1", "r0c2", "r0c3", "r0c4", "r0c5", "r0c6", "r0c7", "r1c0")
    assert np.bincount(data.group).min() > 170
    assert "columns are constant" in Data(data.x).count(grid(8, 8)).notes[0]
    assert not data.x.flags.writeable
