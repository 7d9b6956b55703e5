"""Dask collections and folders of Parquet: the statistics are those of one table, wherever the parts were counted."""

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.data import collections

dd = pytest.importorskip("dask.dataframe")
NODES = ["a", "b", "c"]
MODEL = mb.graph([("a", "b"), ("b", "c")])
ORDERED = mb.graph([("a", "b"), ("b", "c")], states=3, fields=True, coupling="score")
X = np.random.default_rng(1).integers(0, 2, (1_000, 3))
TABLE = pd.DataFrame(X, columns=NODES)


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def frame(table, parts=7):
    return dd.from_pandas(table, npartitions=parts, sort=False)


def same(first, second):
    assert first.digest == second.digest
    assert np.array_equal(first.counts, second.counts)
    assert np.array_equal(first.rows, second.rows)
    assert (first.n, first.n_rows, first.labels, first.warnings) == (
        second.n,
        second.n_rows,
        second.labels,
        second.warnings,
    )
    for one, other in zip(first.patterns, second.patterns, strict=True):
        assert np.array_equal(one, other)
    return True


@pytest.mark.parametrize("collection", [frame(TABLE), frame(TABLE[["c", "a", "b"]]), da.from_array(X, chunks=(130, 2))])
def test_a_collection_is_counted_like_one_table(collection):
    assert same(mb.count(MODEL, collection), mb.count(MODEL, TABLE))


def test_weights_are_a_column():
    table = TABLE.assign(w=np.arange(1_000) % 4)
    assert same(mb.count(MODEL, frame(table), weights="w"), mb.count(MODEL, table, weights="w"))
    with pytest.raises(mb.InputError, match="weights: the weights of a Dask collection are one of its columns"):
        mb.count(MODEL, frame(table), weights=np.ones(1_000))


def test_past_memory_only_sums_travel(monkeypatch):
    whole = mb.count(MODEL, TABLE)
    monkeypatch.setattr(collections, "RETAINED_BYTES", 0)
    monkeypatch.setattr(collections, "kept_rows", lambda n_nodes: 200)
    found = mb.count(MODEL, frame(TABLE))
    assert np.array_equal(found.counts, whole.counts)
    assert (found.n, found.n_rows, found.warnings) == (whole.n, whole.n_rows, whole.warnings)
    assert found.chunks is None
    for one, other in zip(found.patterns, whole.patterns, strict=True):
        assert np.array_equal(one, other)
    assert len(found.rows) > 150
    assert np.allclose(found.rows.mean(axis=0), X.mean(axis=0), atol=0.2)
    assert found.digest == mb.count(MODEL, frame(TABLE)).digest != whole.digest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collections.DenseCells, "of_all", lambda model: None)
        with pytest.raises(mb.InputError, match="kept no rows of so many data"):
            _ = mb.count(MODEL, frame(TABLE)).patterns


def test_labels_are_those_of_all_partitions_together():
    """No partition has all three labels."""
    words = np.array(["never", "often", "always"])
    table = pd.DataFrame(np.sort(np.random.default_rng(2).integers(0, 3, (90, 3)), axis=0), columns=NODES)
    texts = table.apply(lambda column: words[column])
    order = "never<often<always"
    assert same(mb.count(ORDERED, frame(texts), levels=order), mb.count(ORDERED, texts, levels=order))
    typed = texts.astype(pd.CategoricalDtype(words, ordered=True))
    assert same(mb.count(ORDERED, frame(typed)), mb.count(ORDERED, typed))
    with pytest.raises(mb.InputError, match="levels"):
        mb.count(ORDERED, frame(texts))


@pytest.mark.parametrize("shift", ["spins", "from one"])
def test_other_numbers_get_one_coding(shift):
    table = 2 * TABLE - 1 if shift == "spins" else TABLE + 1
    table = table.sort_values("a", kind="stable")  # partitions in which a is constant
    with pytest.warns(mb.MRFWarning) as said:
        expected = mb.count(MODEL, table)
    with pytest.warns(mb.MRFWarning) as heard:
        assert same(mb.count(MODEL, frame(table)), expected)
    assert [str(w.message) for w in heard] == [str(w.message) for w in said]


def test_missing_cells_are_refused_or_dropped():
    table = TABLE.astype(float)
    table.iloc[500, 1] = np.nan
    with pytest.raises(mb.InputError, match=r"x, partition 3: x:\d+:b: missing value"):
        mb.count(MODEL, frame(table))
    with pytest.warns(mb.MRFWarning, match="1 of 143 rows have missing values and were dropped"):
        found = mb.count(MODEL, frame(table), missing="drop")
    assert found.n == 999
    with pytest.warns(mb.MRFWarning, match="were dropped"):
        assert np.array_equal(found.counts, mb.count(MODEL, table, missing="drop").counts)


@pytest.mark.parametrize(
    ("collection", "message"),
    [
        (frame(TABLE[["a", "b"]]), "no column for 1 of 3 nodes"),
        (frame(TABLE[:0], 1), "no rows"),
        (da.zeros(5), r"give a data frame, or an array \(n, d\)"),
        (dask.delayed(3), r"give a data frame, or an array \(n, d\)"),
        (da.zeros((5, 4), dtype=int), "x has 4 columns"),
        (frame(TABLE.assign(a=TABLE["a"] * 7)), "7"),
    ],
)
def test_collections_that_cannot_be_used_are_refused(collection, message):
    with pytest.raises(mb.InputError, match=message):
        mb.count(MODEL, collection)


def test_a_posterior_of_a_collection():
    settings = {"method": "mle", "steps": 50, "progress": False}
    assert np.array_equal(mb.sample(MODEL, frame(TABLE), **settings).draws, mb.sample(MODEL, TABLE, **settings).draws)


def test_a_folder_of_parquet_is_one_table(tmp_path):
    (tmp_path / "year=2026").mkdir()
    TABLE[:300].to_parquet(tmp_path / "part-0.parquet")
    TABLE[300:700].to_parquet(tmp_path / "part-1.parquet")
    TABLE[700:].to_parquet(tmp_path / "year=2026" / "part-2.parquet")
    (tmp_path / "_metadata.parquet").write_bytes(b"notes")
    (tmp_path / "README.txt").write_text("notes")
    assert same(mb.count(MODEL, tmp_path), mb.count(MODEL, TABLE))
    assert same(mb.count(MODEL, dd.read_parquet(tmp_path / "part-*.parquet")), mb.count(MODEL, TABLE[:700]))
    (tmp_path / "part-3.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(mb.InputError, match=r"part-3\.parquet: .*truncated"):
        mb.count(MODEL, tmp_path)
    TABLE[["b", "c"]].to_parquet(tmp_path / "part-3.parquet")
    with pytest.raises(mb.InputError, match=r"part-3\.parquet: its columns are not those of .*part-0\.parquet"):
        mb.count(MODEL, tmp_path)
