"""A table of 200 rows, the models that count it, and its forms: for tests of the readers of data."""

import numpy as np

from mrfbayes.data.data import Data
from mrfbayes.model.build import graph

NAMED = graph([("a", "b"), ("b", "c")], fields=True)
NUMBERED = graph([(0, 1), (1, 2)], fields=True)
X = np.random.default_rng(3).integers(0, 2, size=(200, 3))
LINES = "\n".join(",".join(map(str, row)) for row in X.tolist()) + "\n"


def write(folder, content, name="data.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def same(stats, expected=None):
    """Check that ``stats`` are those of ``X``, or the ``expected`` ones."""
    expected = expected or Data(X).count(NAMED)
    np.testing.assert_array_equal(stats.counts, expected.counts)
    assert (stats.n, stats.n_rows, stats.digest) == (expected.n, expected.n_rows, expected.digest)
    np.testing.assert_array_equal(stats.rows, expected.rows)
    return stats


def frame():
    return {"c": X[:, 2], "note": ["any"] * len(X), "a": X[:, 0], "b": X[:, 1]}


def coded(x, note, model=NAMED, **options):
    """Count ``x``, and check that a note on its coding holds ``note``."""
    stats = Data(x, **options).count(model)
    assert any(note in text for text in stats.notes)
    return stats


def values(stats):
    return tuple(variable.values for variable in stats.schema)
