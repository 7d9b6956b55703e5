"""Labelled tables in every call: files as Excel writes them, labels that differ by column, missing cells."""

import gzip

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.cli.options import DataOptions
from mrfbayes.sklearn import MarkovField


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    z = rng.normal(size=120)

    def item(k):
        return np.digitize(z + rng.normal(size=120), np.linspace(-1, 1, k - 1))

    return pd.DataFrame(
        {
            "mood": np.array(["never", "rarely", "often"])[item(3)],
            "ill": np.array(["ja", "nee"])[item(2)],
            "sleep": item(4) + 1,
        }
    )


def test_gzipped_files_and_files_of_excel_are_read_by_the_command_line(table, tmp_path):
    text = "sep=;\n" + table.to_csv(index=False, sep=";")
    (tmp_path / "x.csv").write_text(text)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text.encode()))
    expected = mb.Data(table)
    for name in ("x.csv", "x.csv.gz"):
        read = DataOptions(data=[str(tmp_path / name)]).read()
        assert read.schema == expected.schema, name
        np.testing.assert_array_equal(read.rows(), expected.rows(), err_msg=name)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_prior_sensitivity_takes_labels_and_missing_cells(table):
    table.loc[3, "mood"], table.loc[8, "ill"] = None, None
    data = mb.Data(table)
    model = mb.Model.from_data(data)
    call = {"scales": [0.5, 2.0], "method": "calibrated", "draws": 300, "chains": 2, "progress": False}
    found = mb.prior_sensitivity(model, data, **call)
    assert found.index.tolist() == [0.5, 2.0]
    assert (found[["present", "absent", "undecided", "unknown"]].sum(axis=1) == model.n_edges).all()
    pd.testing.assert_frame_equal(found, mb.prior_sensitivity(model, table, **call))


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_an_estimator_keeps_the_labels_of_each_column(table):
    field = MarkovField(draws=100, chains=2).fit(table[["mood", "ill"]])
    assert field.model_.states.tolist() == [3, 2]
    assert field.labels_ == [["never", "rarely", "often"], ["nee", "ja"]]
    assert field.model_.n_parameters == 1 + 2 + 1  # a score coupling, and thresholds
    drawn = field.sample(40)
    assert set(drawn[:, 1]) <= {"ja", "nee"}


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_groups_are_compared_from_a_semicolon_file_with_decimal_commas(tmp_path):
    rng = np.random.default_rng(2)
    x, group = rng.integers(0, 2, (80, 2)), np.array(["a", "b"])[rng.integers(0, 2, 80)]
    path = tmp_path / "semicolons.csv"
    lines = [f"{one[0]},0;{'' if k == 5 else one[1]};{g}" for k, (one, g) in enumerate(zip(x, group, strict=True))]
    path.write_text("\n".join(["u;v;g", *lines]) + "\n")
    model = mb.graph([("u", "v")], fields=True)
    call = {"draws": 50, "chains": 2, "progress": False}
    found = mb.compare_groups(model, mb.Data(path, group="g"), **call)
    with_missing = x.astype(float)
    with_missing[5, 1] = np.nan
    parts = {name: with_missing[group == name] for name in "ab"}
    assert found.groups == ("a", "b")
    np.testing.assert_array_equal(found.inclusion, mb.compare_groups(model, parts, **call).inclusion)


def test_simulated_rows_are_read_back_by_their_labels(table, tmp_path):
    model = mb.Model.from_data(mb.Data(table))
    states = mb.simulate(model, 0.2, 200, rng=3)
    rows = mb.simulate(model, 0.2, 200, rng=3, labels=True)
    assert set(rows["sleep"]) == {1, 2, 3, 4}
    np.testing.assert_array_equal(mb.Data(rows).count(model).rows, mb.Data(rows, schema=model.schema).rows())
    np.testing.assert_array_equal(mb.Data(rows).rows(model), states)
    rows.to_csv(tmp_path / "new.csv", index=False)
    np.testing.assert_array_equal(mb.Data(tmp_path / "new.csv").rows(model), states)
    with pytest.raises(mb.InputError) as refused:
        mb.Data(states).count(model)
    assert "labels=True" in str(refused.value)
    assert "'mood'" in str(refused.value)
    with pytest.raises(mb.InputError, match="full_output"):
        mb.simulate(model, 0.2, 5, labels=True, full_output=True)
    plain = mb.graph([("a", "b")])
    np.testing.assert_array_equal(mb.simulate(plain, 0.7, 9, labels=True), mb.simulate(plain, 0.7, 9))


def test_rows_of_a_query_are_coded_as_data_are(table, tmp_path):
    model = mb.Model.from_data(mb.Data(table))
    some = table.iloc[:12].set_index(np.arange(12) + 100)
    found = mb.log_probability(model, 0.2, some).table
    assert found.index.tolist() == some.index.tolist()
    some.to_csv(tmp_path / "some.csv", index=False)
    for rows in (mb.Data(some), tmp_path / "some.csv", some.to_numpy(), some.to_numpy().tolist()):
        again = mb.log_probability(model, 0.2, rows).table["log_probability"]
        np.testing.assert_allclose(again, found["log_probability"], rtol=1e-12)
    one = some.iloc[0].to_dict()
    assert mb.log_probability(model, 0.2, one).table["log_probability"][0] == found["log_probability"].iloc[0]
    part = mb.log_probability(model, 0.2, {**one, "mood": "NA"}).table["log_probability"][0]
    every = [
        mb.log_probability(model, 0.2, {**one, "mood": m}).table["log_probability"][0]
        for m in model.schema["mood"].values
    ]
    assert part == pytest.approx(np.logaddexp.reduce(every), abs=1e-12)
    with pytest.raises(mb.InputError, match=r"rows.*'mostly'"):
        mb.log_probability(model, 0.2, {**one, "mood": "mostly"})
