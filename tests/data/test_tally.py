"""Rows as sums and samples; rows with missing cells: what is kept of them, what is said, and what is refused."""

import warnings

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes import Data, InputError, MRFWarning
from mrfbayes.data import tally as tally_module
from mrfbayes.model.build import grid

CHAIN = mb.graph([("a", "b"), ("b", "c")], fields=True)
NAN = float("nan")
X = np.array([[0, 1, 1], [NAN, 1, 0], [NAN, 1, 0], [0, NAN, 1], [1, 0, 0], [NAN, NAN, NAN], [NAN, NAN, 1]])


def modelled(x, *texts, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MRFWarning)
        statistics = Data(x, **options).count(CHAIN)
    for text in texts:
        assert any(text in one for one in (*statistics.warnings, *statistics.notes)), text
    return statistics


def test_incomplete_rows_are_kept_once_with_their_weight():
    found = modelled(X, "4 rows have missing cells", "1 rows without a single observed cell")
    with pytest.warns(MRFWarning, match=r"5 of 7 rows .*dropped"):
        dropped = Data(X, missing="drop").count(CHAIN)
    assert found.counts.tolist() == dropped.counts.tolist()
    assert (found.n, found.n_rows, found.n_all) == (2, 2, 6)
    kept = dict(zip(map(tuple, found.incomplete.rows.tolist()), found.incomplete.weight.tolist(), strict=True))
    assert kept == {(255, 1, 0): 2, (0, 255, 1): 1, (255, 255, 1): 1}
    assert (found.incomplete.n_rows, found.incomplete.n_empty) == (4, 1)
    assert found.incomplete.share == pytest.approx(5 / 12)


def test_incomplete_rows_keep_weights_and_labels():
    words = [["no", "yes", "yes"], [None, "yes", "no"], ["NA", "yes", "no"], ["no", "", "yes"], ["yes", "no", "no"]]
    weight = np.array([1.0, 2.0, 0.5, 0.0, 1.0])
    found = modelled(np.array(words, dtype=object), "3 rows have missing cells", weights=weight)
    assert found.incomplete.rows.tolist() == [[255, 1, 0]]
    assert found.incomplete.weight.tolist() == [2.5]
    assert found.schema.variables[0].labels == ("no", "yes")


def test_digest_differs_for_incomplete_data():
    first = modelled(X)
    other = X.copy()
    other[3, 0] = 1
    assert len({first.digest, modelled(other).digest, modelled(X[:5]).digest, Data(X[[0, 4]]).count(CHAIN).digest}) == 4
    assert first.digest == modelled(X[::-1][[6, 5, 4, 3, 2, 1, 0]]).digest


def test_complete_data_have_no_incomplete_rows():
    found = Data(X[[0, 4]]).count(CHAIN)
    assert found.incomplete is None
    assert found.digest == Data(X[[0, 4]]).count(CHAIN).digest


def test_data_without_complete_rows_are_counted():
    found = modelled(X[[1, 3, 6]], "3 rows have missing cells")
    assert (found.n, found.n_all) == (0, 3)
    assert not found.counts.any()


def test_assumptions_and_limits_are_stated():
    modelled(X, "may depend on the observed cells, not on the missing value itself", "the data cannot tell")


def test_pairs_never_observed_together_emit_a_warning():
    apart = np.array([[0, NAN, 1], [NAN, 1, 1], [1, NAN, 0], [NAN, 0, 0]])
    modelled(apart, "never observed together: 'a' and 'b'")
    assert not any("together" in text for text in modelled(X).warnings)


def test_column_without_observed_cells_raises_input_error():
    with pytest.raises(InputError, match=r"1 variable has no observed cell .*: 'b'"):
        Data(np.array([[0, NAN, 1], [1, NAN, 0]])).count(CHAIN)


def test_hidden_variables_are_allowed_where_observed_ones_share_their_parameters():
    row = np.array([[0, NAN, 1, 1, NAN, 0, 1, 1, 0]])
    tied = mb.grid(3, 3, tied=True)
    with pytest.warns(MRFWarning):
        assert Data(row).count(tied).incomplete.rows.tolist() == [[0, 255, 1, 1, 255, 0, 1, 1, 0]]
    with pytest.raises(InputError, match=r"2 variables have no observed cell .*permuted"):
        Data(row).count(mb.grid(3, 3))
    chessboard = np.array([[0, NAN, 1, NAN, 1, NAN, 0, NAN, 1]])  # every edge has a hidden end
    with pytest.raises(InputError, match=r"4 variables have no observed cell"):
        Data(chessboard).count(tied)


def test_errors_about_missing_cells_name_a_remedy():
    with pytest.raises(InputError, match=r"every row has a missing cell.* missing='model'"):
        Data(X[[1, 3]], missing="drop").count(CHAIN)
    with pytest.raises(InputError, match="missing = 'guess': choose 'model' or 'drop'"):
        Data(X, missing="guess").count(CHAIN)
    with pytest.raises(InputError, match="no row has an observed cell"):
        Data(X[[5]]).count(CHAIN)


def test_constant_columns_are_judged_by_all_that_is_seen():
    rows = np.array([[0, 1, 1], [0, 0, 0], [1, NAN, 1]])
    assert not any("constant" in text for text in modelled(rows).notes)
    assert any("constant" in text for text in modelled(np.array([[0, 1, 1], [0, 0, 0], [0, NAN, 1]])).notes)


def test_kept_rows_are_a_fair_sample_in_proportion_to_weight(monkeypatch):
    """Row k spells k; the first half weighs three times the second, and a thousand rows weigh nothing."""
    monkeypatch.setattr(tally_module, "KEPT_ROWS", 400)
    monkeypatch.setattr(tally_module, "CHUNK_ROWS", 640)
    model = grid(1, 13)
    x = (np.arange(8000)[:, None] >> np.arange(13)) & 1
    weight = np.where(np.arange(8000) < 4000, 3.0, 1.0)
    weight[1000:2000] = 0.0
    shares = []
    for seed in range(20):
        monkeypatch.setattr(tally_module, "_ROW_SEED", seed)
        index = Data(x, weights=weight).count(model).rows.astype(int) @ (1 << np.arange(13))
        assert index.size == 400
        assert (np.diff(index) > 0).all()  # distinct, in the order of the data
        assert not ((index >= 1000) & (index < 2000)).any()
        shares.append((index < 4000).mean())
    np.testing.assert_array_equal(index, Data(x, weights=weight).count(model).rows.astype(int) @ (1 << np.arange(13)))
    # Kept up to the time t at which 3000 (1 - exp(-3t)) + 4000 (1 - exp(-t)) = 400: 274.2 of the first half.
    error = np.sqrt(0.68 * 0.32 / 400 / 20)
    assert abs(np.mean(shares) - 0.6855) < 4.9 * error
    assert abs(np.mean(shares) - 3 / 7) > 20 * error  # the negative control: what blindness to the weights would give
