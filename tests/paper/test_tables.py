"""Tables of the study from results that are known in advance."""

import csv
import io

import numpy as np
import pytest

from mrfbayes.paper import tables
from mrfbayes.paper.claims import (
    Results,
)
from mrfbayes.paper.journal import Store
from mrfbayes.paper.tables import TABLES, Table
from mrfbayes.paper.tasks import REFUSED, Cell, CellOutcome
from paper.outcome_cases import add, larger_fields


def rows(table):
    return {row[0]: row[1:] for row in csv.reader(io.StringIO(table.csv()))}


def test_table_1_has_the_papers_rows_and_its_numbers_beside_ours(results):
    table = TABLES["table1"](results)
    assert list(table.header) == ["", *(f"n={n} {who}" for n in ("100", "500", "1,000") for who in ("paper", "ours"))]
    found = rows(table)
    assert list(found)[1:11] == [
        *("Exact-L", "Pseudo-L", "Laplace-L", "MLE-L (rho=0)", "MLE-L (rho=0.05)", "MLE-L (rho=0.1)"),
        *("IS-Geometric*", "AuxVar*", "Exch*", "PersistMC"),
    ]
    assert found["Exact-L"] == ["1.19E+08", "~2.00E+03", "1.24E+08", "-", "1.34E+08", "~2.00E+03"]
    assert found["PersistMC"] == ["2.83E+06", "~2.00E+04", "3.33E+06", "-", "4.00E+06", "~2.00E+04"]
    assert found["AuxVar*"][1] == "-"  # nothing is made up


def test_table_2_has_the_papers_layout(results):
    found = [row[0] for row in TABLES["table2"](results).rows]
    six = ["PersistMC", "Pseudo-L", "Laplace-L", "MLE-L (rho=0)", "MLE-L (rho=0.05)", "MLE-L (rho=0.1)", "Exact-L"]
    assert found == ["6x6 grid", *six, "8x8 grid", *six]
    assert TABLES["table2"](results).rows[10][1] == "2.25E+06"


def test_effective_draws_are_per_processor_second(results):
    assert rows(TABLES["efficiency"](results))["Pseudo-L"][:4] == ["25 %", "5,000", "1,250", "-"]


def test_errors_are_those_that_were_put_in(results):
    found = rows(TABLES["errors"](results))
    assert found["Pseudo-L"][:3] == ["25.0 ± 0.0", "20.0 ± 0.0", "0.800 ± 0.000"]
    assert found["4x4 grid (3, 0, 3 replications)"] == []
    assert results.errors("mean_error", "4x4", 100, "pseudo").value == pytest.approx(0.25 * 4000e-6)
    assert results.errors("mean_shift_sds", "4x4", 100, "pseudo").value == pytest.approx(0.0)
    truth = results.errors("mean_error", "4x4", 100, "exact", base="truth")
    assert truth.value == pytest.approx(4000e-6)
    assert truth.count == 3


def test_tables_in_three_formats():
    table = Table("About 50 %", ["", "n_1"], [["4x4 grid"], ["MLE-L (rho=0)", "1 ± 2"]])
    assert table.markdown().splitlines() == [
        *("About 50 %", "", "|  | n_1 |", "| --- | ---: |", "| **4x4 grid** |  |", "| MLE-L (rho=0) | 1 ± 2 |"),
    ]
    assert r"MLE-L ($\rho$=0) & 1 $\pm$ 2 \\" in table.latex()
    assert r"\caption{About 50 \%}" in table.latex()
    assert table.csv() == ",n_1\n4x4 grid\nMLE-L (rho=0),1 ± 2\n"


def test_data_without_an_answer_are_counted_and_left_out_of_averages(tmp_path):
    with Store(tmp_path) as store:
        for replication in range(3):
            add(store, 500, replication)
            stored = store.outcomes[Cell("4x4", 500, "adapted", "laplace", replication)]
            answer = stored if replication else CellOutcome({REFUSED: 1.0}, {})
            store.add(Cell("4x4", 500, "laplace-centre", "laplace", replication), answer)
    results = Results(store)
    assert results.refusals("4x4", 500, "laplace", "laplace-centre") == 1
    assert results.errors("sd_ratio", "4x4", 500, "laplace", setting="laplace-centre").count == 2
    [row] = [row for row in TABLES["replications"](results).rows if row[0] == "4x4 laplace-centre: Laplace-L"]
    assert row[5] == "3/10"


def test_larger_fields_are_pooled_and_corrected_for_noise(tmp_path):
    weak, _ = larger_fields(tmp_path)
    assert weak.measured["mle-0"]["mean_error"].value == pytest.approx(0.02)
    assert weak.measured["exact"]["mean_error"].value == 0.0  # noise alone
    ratio = weak.measured["mle-0"]["sd_ratio"]
    assert (ratio.value, ratio.count, ratio.error) == (pytest.approx(0.97), 224, pytest.approx(0.05 / np.sqrt(224)))


def test_page_states_where_mle_l_is_no_longer_satisfactory(tmp_path):
    assert tables.larger_answer(larger_fields(tmp_path)).count("holds everywhere") == 2
    answer = tables.larger_answer(larger_fields(tmp_path, sd_ratio=[0.7, 0.1, 480]))
    assert "With weak couplings it holds everywhere" in answer
    assert "With strong couplings it ends at 16x16 (480 parameters)" in answer
