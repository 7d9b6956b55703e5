"""Tables, figures and verdicts from results that are known in advance."""

import copy
import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from mrfbayes.paper import constants as settings
from mrfbayes.paper import tables
from mrfbayes.paper.claims import (
    IDLE_TIMINGS,
    NOT,
    PARTLY,
    REPRODUCED,
    UNDECIDED,
    Average,
    Results,
    all_claims,
    average,
    disagreements,
    judge_all,
)
from mrfbayes.paper.figures import DRAWN, FIGURES, largest_error
from mrfbayes.paper.journal import Store
from mrfbayes.paper.page import MAX_ROW, RERUN, row, write_all
from mrfbayes.paper.tables import TABLES, Table
from mrfbayes.paper.tasks import PRECISION, REFUSED, Cell, CellOutcome, cells_of

P = 24
# Known errors: (mean error in exact sds, sd ratio, seconds of 10^6 steps)
KNOWN = {
    "exact": (0.01, 1.0, 2.0),
    "pseudo": (0.25, 0.8, 4.0),
    "laplace": (0.05, 0.95, 1.0),
    "mle-0": (0.02, 0.97, 1.0),
    "mle-0.05": (0.02, 0.97, 1.2),
    "mle-0.1": (0.02, 0.97, 1.2),
    "persistent": (0.04, 1.1, 20.0),
    "calibrated": (0.001, 1.0, 0.0),
}


def add(store, n, replication):
    sd = 400_000 // n  # 4,000 and 400 millionths: errors in sds stay, those in theta shrink
    truth = np.linspace(500_000, 800_000, P).astype(int)
    exact = truth + sd
    store.add(
        Cell("4x4", n, "adapted", "reference", replication, settings.REFERENCE_PROPOSALS),
        CellOutcome(
            {"ess": 9000.0, "penalised": 0.0, "correlation": -0.01, "least_correlation": -0.2},
            {"mean": exact.tolist(), "sd": [sd] * P, "truth": truth.tolist(), "estimate": exact.tolist()},
        ),
    )
    signs = np.where(np.arange(P) % 2 == 0, 1, -1)
    for method, (error, ratio, seconds) in KNOWN.items():
        # Half the processor and a fifth more steps for the warm-up: what is reported is per 10^6 steps.
        clock = 2 * seconds * (1 + settings.WARMUP_SHARE)
        store.add(
            Cell("4x4", n, "adapted", method, replication),
            CellOutcome(
                {"ess": 5000.0, "acceptance": 0.25},
                {"mean": (exact + signs * round(error * sd)).tolist(), "sd": [round(ratio * sd)] * P},
                {"prepare": 0.1, "chain": clock, "share": 0.5},
            ),
        )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("results")) as store:
        for n in (100, 1000):
            for replication in range(3):
                add(store, n, replication)
    return store


@pytest.fixture(scope="module")
def results(store):
    return Results(store)


def test_methods_are_compared_on_the_replications_that_all_have(tmp_path):
    with Store(tmp_path) as store:
        for replication in range(2):
            add(store, 100, replication)
        sd, exact = 4_000, store.outcomes[Cell("4x4", 100, "adapted", "exact", 0)].vectors["mean"]
        reference = CellOutcome({}, {"mean": exact, "sd": [sd] * P, "truth": exact, "estimate": exact})
        store.add(Cell("4x4", 100, "adapted", "reference", 2, settings.REFERENCE_PROPOSALS), reference)
        odd = CellOutcome({}, {"mean": exact, "sd": [3 * sd] * P})  # a replication that only one of them has
        store.add(Cell("4x4", 100, "adapted", "mle-0", 2), odd)
    found = Results(store)
    assert found.errors("sd_ratio", "4x4", 100, "mle-0").value > 1.5
    together = found.errors("sd_ratio", "4x4", 100, "mle-0", beside=["mle-0.05", "mle-0.1"])
    assert (together.count, together.value) == (2, pytest.approx(0.97))


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


def test_seconds_are_those_of_undisturbed_runs_where_there_are_any(tmp_path):
    with Store(tmp_path) as store:
        for replication, (chain, share) in enumerate([(12.0, 0.5), (30.0, 0.3), (2.4, 1.0)]):
            cell = Cell("4x4", 100, "adapted", "exact", replication)
            store.add(cell, CellOutcome({}, {"mean": [], "sd": []}, {"prepare": 0.0, "chain": chain, "share": share}))
    assert Results(store).seconds("4x4", 100, "exact") == pytest.approx(2.0)
    assert not Results(store).is_disturbed("4x4", 100, "exact")


def test_other_lengths_do_not_count(store):
    assert Results(store, steps=1000).count("4x4", 100, "exact") == 0


def test_an_average_knows_its_error():
    found = average([1.0, 2.0, 3.0, float("nan")])
    assert (found.value, found.count) == (2.0, 3)
    assert found.error == pytest.approx(1 / np.sqrt(3))
    assert found.text(100, 1) == "200.0 ± 57.7"
    assert average([]).text() == "-"
    assert average([0.5]).text() == "0.50"
    assert Average(1.25, 0.004, 9).text(1, 1) == "1.250 ± 0.004"  # no error is printed as zero


def test_tables_in_three_formats():
    table = Table("About 50 %", ["", "n_1"], [["4x4 grid"], ["MLE-L (rho=0)", "1 ± 2"]])
    assert table.markdown().splitlines() == [
        *("About 50 %", "", "|  | n_1 |", "| --- | ---: |", "| **4x4 grid** |  |", "| MLE-L (rho=0) | 1 ± 2 |"),
    ]
    assert r"MLE-L ($\rho$=0) & 1 $\pm$ 2 \\" in table.latex()
    assert r"\caption{About 50 \%}" in table.latex()
    assert table.csv() == ",n_1\n4x4 grid\nMLE-L (rho=0),1 ± 2\n"


def test_verdicts_follow_from_the_numbers(results):
    found = {claim.text: finding for claim, finding in judge_all(results)}
    assert len(found) >= 25
    largest = found["Pseudo-L has the largest error of the sd"]
    assert largest.verdict == REPRODUCED
    assert largest.number == "Pseudo-L's sd is off by 20.0 ± 0.0 %"
    assert found["The copula's rho does not matter"].verdict == REPRODUCED
    assert found["All posterior means are close, more so with n"].verdict == PARTLY
    assert found["Pseudo-L grows with n until it is unbearable"].verdict == NOT
    assert found["IS, AuxVar and Exch take thousands of hours"].verdict == UNDECIDED
    assert found["Laplace-L deteriorates quickly with size"].verdict == UNDECIDED


def test_verdicts_can_come_out_the_other_way(tmp_path):
    """The same judges on results in which pseudolikelihood is exact and MLE-L depends on rho."""
    with Store(tmp_path) as store:
        add(store, 100, 0)
        for method, ratio in (("pseudo", 1.0), ("mle-0.1", 0.5)):
            cell = Cell("4x4", 100, "adapted", method, 0)
            old = store.outcomes.pop(cell)
            store.add(cell, CellOutcome(old.numbers, {**old.vectors, "sd": [round(4000 * ratio)] * P}, old.seconds))
    found = {claim.text: finding.verdict for claim, finding in judge_all(Results(store))}
    assert found["Pseudo-L has the largest error of the sd"] == NOT
    assert found["The copula's rho does not matter"] == NOT


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


def test_page_has_every_claim_and_lists_missing_runs(store, tmp_path):
    written = write_all(store, tmp_path)
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    for number, (claim, finding) in enumerate(judge_all(Results(store)), 1):
        assert row(number, claim, finding) in page
        assert f"### {number}. {claim.text}\n" in page
    assert "- 4x4, adapted: IS-Geometric, AuxVar, Exch: 0 of 10\n" in page
    assert "nothing is missing" not in page
    for name in ("table1.md", "table1.tex", "table1.csv", "table2.md", "figure1.png", "figure1.svg", "times.svg"):
        assert any(path.name == name for path in written)
    assert all(path.stat().st_size < 1_000_000 for path in written)


def test_the_same_results_give_the_same_bytes(store, tmp_path):
    first = {path.name: path.read_bytes() for path in write_all(store, tmp_path / "a")}
    assert first == {path.name: path.read_bytes() for path in write_all(store, tmp_path / "b")}


def test_figures_show_every_method_that_was_run(results):
    figure = FIGURES["figure1"](results)
    assert len(figure.axes) == 2
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert labels == [
        *("Pseudo-L", "Laplace-L", "MLE-L (rho=0)", "PersistMC", "Calibrated", "Exact-L (Monte-Carlo error)"),
    ]
    assert FIGURES["figure2"](results) is None  # nothing was run on larger grids


def test_run_times_are_drawn_beside_those_that_the_paper_prints(results):
    left, *others = FIGURES["times"](results).axes
    marks = set(left.get_legend_handles_labels()[1])
    assert marks == {"ours", "printed in the paper"}
    printed_only = {text for ax in others for text in ax.get_legend_handles_labels()[1]}
    assert printed_only == {"printed in the paper"}
    drawn = sorted(float(line.get_xdata()[0]) for line in left.lines if line.get_label() == "printed in the paper")
    assert drawn[:2] == [8.08, 12.5]  # Laplace-L and MLE-L at n = 1,000, in seconds


def test_seconds_of_an_idle_core_replace_those_of_the_cells(store, tmp_path):
    path = tmp_path / "idle.csv"
    path.write_text(
        "grid,n,setting,method,replication,steps,chain,share,busy,machine\n"
        "4x4,100,adapted,exact,0,1000000,1.2,1.0,0.02,Some processor\n"
        "4x4,100,adapted,exact,1,1000000,3.6,1.0,0.02,Some processor\n"
    )
    results = Results(store, idle=path)
    assert results.seconds("4x4", 100, "exact") == pytest.approx(2.0)
    assert not results.is_disturbed("4x4", 100, "exact")
    assert results.machine == "Some processor"
    assert results.is_disturbed("4x4", 1000, "exact")  # which the file does not have


PAPER = Path(__file__).parents[2] / "paper"


@pytest.fixture(scope="module")
def committed():
    return Store(PAPER / "results")


def test_nothing_is_missing_and_every_point_is_as_precise_as_the_page_says(committed):
    assert [cell for cell in cells_of("standard") if cell not in committed] == []
    assert "nothing is missing" in (PAPER / "README.md").read_text(encoding="utf-8")
    for name in DRAWN:
        share, point = largest_error(Results(committed), name)
        assert share < PRECISION, point


def test_rows_of_the_table_of_verdicts_are_short_and_have_an_error(committed):
    for number, (claim, finding) in enumerate(judge_all(Results(committed)), 1):
        text = row(number, claim, finding)
        assert len(text) <= MAX_ROW, text
        assert finding.number.count("±") == 1, text


def test_every_reason_was_written_for_the_numbers_of_the_records(committed):
    assert disagreements(Results(committed, idle=PAPER / IDLE_TIMINGS)) == []


def test_a_doctored_record_is_noticed(committed):
    """Pseudo-L as good as exact on 4x4: its row changes, and its reason is one of other numbers."""
    doctored = copy.copy(committed)
    doctored.outcomes = dict(committed.outcomes)
    for cell, outcome in committed.outcomes.items():
        if (cell.grid, cell.setting, cell.method) == ("4x4", "adapted", "pseudo"):
            exact = Cell("4x4", cell.n, "adapted", "reference", cell.replication, settings.REFERENCE_PROPOSALS)
            vectors = {name: committed.outcomes[exact].vectors[name] for name in ("mean", "sd")}
            doctored.outcomes[cell] = CellOutcome(outcome.numbers, vectors, outcome.seconds)
    found = {text.split(":")[0] for text in disagreements(Results(doctored))}
    assert "Pseudo-L has the largest error of the sd" in found
    assert "MLE-L is more accurate than Pseudo-L, Laplace-L" in found
    assert "Laplace-L and MLE-L are insensitive to n" not in found
    assert len(found) < len(all_claims())


def test_the_committed_page_and_tables_are_those_of_the_committed_results(committed, tmp_path):
    for name in (tables.LARGER_RECORDS, IDLE_TIMINGS, RERUN):
        if (PAPER / name).exists():
            shutil.copy(PAPER / name, tmp_path)
    for path in write_all(committed, tmp_path):
        if path.parent.name != "figures":  # fonts differ between machines
            assert path.read_bytes() == (PAPER / path.relative_to(tmp_path)).read_bytes(), f"{path.name}: make paper"


def test_committed_results_are_read_and_small():
    folder = PAPER / "results"
    found = Store(folder)
    assert found.outcomes
    files = list(folder.glob("*.jsonl"))
    assert sum(file.stat().st_size for file in files) < 20_000_000
    assert all(file.stat().st_size < 1_000_000 for file in files)


LARGER = {
    "family": "grid",
    "name": "8x8",
    "strength": "weak",
    "parameters": 112,
    "n": 1000,
    "methods": {
        "exact": {"squared_error": [-0.0001, 0.001, 112], "sd_ratio": [1.0, 0.0, 112], "coverage": [0.9, 0.3, 112]},
        "mle-0": {"squared_error": [0.0004, 0.001, 112], "sd_ratio": [0.97, 0.05, 112], "coverage": [0.89, 0.3, 112]},
    },
}


def larger_fields(folder, **changes):
    """Records of an 8x8 field with two data sets, and of a strong one with these changes of MLE-L's numbers."""
    methods = {**LARGER["methods"], "mle-0": {**LARGER["methods"]["mle-0"], **changes}}
    strong = {**LARGER, "strength": "strong", "name": "16x16", "parameters": 480, "methods": methods}
    path = folder / tables.LARGER_RECORDS
    path.write_text("".join(json.dumps(record) + "\n" for record in (LARGER, LARGER, strong)))
    return tables.read_fields(path)


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


def test_the_page_has_figure_and_table_of_larger_fields(store, tmp_path):
    larger_fields(tmp_path)
    (tmp_path / RERUN).write_text(
        '{"printed": 9, "equal": 9, "others": 5, "means": 300, "commit": "abc", "rms_z": 1.01, "largest_z": 3.2}'
    )
    names = {path.name for path in write_all(store, tmp_path)}
    assert {"larger.svg", "larger.png", "larger.md", "larger.csv"} <= names
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "(figures/larger.svg)" in page
    assert "| grid 8x8, weak | 112 | 0.0 ± " in page
    assert "9 of 9 agree byte for byte" in page
