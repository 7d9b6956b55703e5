"""Statistics of parts, added, are those of the whole."""

from functools import reduce
from operator import add

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.data import tally

MODEL = mb.graph([("a", "b"), ("b", "c")], fields=True)
X = np.random.default_rng(3).integers(0, 2, size=(90, 3)).astype(float)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
@pytest.mark.parametrize("weighted", [False, True])
def test_sum_of_parts_equals_statistics_of_all_rows(weighted):
    weights = np.random.default_rng(4).random(90) if weighted else np.ones(90)
    with_missing = X.copy()
    with_missing[::7, 1] = np.nan
    for x in (X, with_missing):
        options = [{"weights": part} if weighted else {} for part in np.split(weights, 3)]
        parts = [mb.Data(part, **own).count(MODEL) for part, own in zip(np.split(x, 3), options, strict=True)]
        whole = mb.Data(x, **({"weights": weights} if weighted else {})).count(MODEL)
        for found in (sum(parts), reduce(add, parts)):
            np.testing.assert_allclose(found.counts, whole.counts)
            assert found.n_all == pytest.approx(whole.n_all)
            assert found.digest == whole.digest
            np.testing.assert_array_equal(found.rows, whole.rows)


def test_adding_statistics_without_rows_raises_input_error(monkeypatch):
    first, second = (mb.Data(part).count(MODEL) for part in np.split(X, 2))
    with pytest.raises(mb.InputError, match="rows"):
        first + mb.Statistics.from_counts(MODEL, second.counts, second.n)
    monkeypatch.setattr(tally, "RETAINED_BYTES", 0)
    with pytest.raises(mb.InputError, match="rows"):
        first + mb.Data(X).count(MODEL)


def test_adding_other_codings_or_models_raises_input_error():
    stats = mb.Data(X).count(MODEL)
    with pytest.raises(mb.InputError, match="'a' is coded"):
        stats + mb.Data(X + 1).count(MODEL)
    with pytest.raises(mb.InputError, match="models"):
        stats + mb.Data(X).count(mb.graph([("a", "b"), ("b", "c")]))
    with pytest.raises(TypeError):
        stats + 1
