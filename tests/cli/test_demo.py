"""The two parts of ``mrfbayes demo``, on fewer draws."""

import pandas as pd
import pytest

from mrfbayes.cli import demo
from mrfbayes.sampling.compare import PAPER_METHODS


@pytest.fixture(scope="module")
def questionnaire():
    return demo.questionnaire()


def test_the_questionnaire_is_continued_from_its_checkpoint(questionnaire):
    assert questionnaire.model.n_nodes == demo.ITEMS
    assert questionnaire.model.n_edges == demo.ITEMS * (demo.ITEMS - 1) // 2
    assert questionnaire.facts.resumed_steps == demo.BEGUN_DRAWS * questionnaire.thin
    assert questionnaire.n == 355


def test_the_steps_that_came_from_the_checkpoint_are_called_so(questionnaire, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    demo.show_questionnaire(questionnaire, to_stderr=False)
    said = " ".join(capsys.readouterr().out.split())
    assert f"stopped after {questionnaire.facts.resumed_steps} steps" in said
    assert f"largest R-hat {questionnaire.r_hat.max():.3f}" in said
    best = questionnaire.edges()["log_bf10"].idxmax()
    assert best in said


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")  # twenty draws are few
def test_the_comparison_has_the_ten_methods_of_the_paper_in_its_order():
    table = demo.paper_comparison(draws=20, progress=False).table
    assert [name.split()[0] for name in table.index] == [method["method"] for method in PAPER_METHODS]
    assert len(table) == 10
    rows = demo.comparison_rows(table)
    assert [row[0] for row in rows] == list(table.index)
    assert {len(row) for row in rows} == {len(demo.COMPARISON_COLUMNS)}


def test_numbers_of_the_comparison_stand_under_their_headings():
    numbers = {"mean_error_sd": 0.1234, "mean_error_mcse": 0.02, "sd_ratio": 0.98, "sd_ratio_mcse": 0.011}
    numbers |= {"acceptance": 0.256, "ess_min": 812.4, "ess_per_second": 12345.6, "chain_s": 1.234}
    frame = pd.DataFrame({"mle": {"target": "approximate", **numbers}}).T
    (row,) = demo.comparison_rows(frame)
    told = dict(zip(demo.COMPARISON_COLUMNS, row, strict=True))
    assert told == {
        "method": "mle",
        "target": "approx.",
        "mean error": "0.123 ± 0.020",
        "sd ratio": "0.980 ± 0.011",
        "acc.": "26%",
        "ESS": "812",
        "ESS/s": "12,346",
        "s": "1.23",
    }
