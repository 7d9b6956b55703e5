"""A report with a search over graphs and groups says one thing in all its places, and its files say the same."""

import json
import re
import zipfile
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.fitting import fit
from mrfbayes.report.sentences import brief, methods_paragraph
from mrfbayes.report.write import all_tables

pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
NAMES = ["sleep", "worry", "mood", "energy", "focus"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    rng = np.random.default_rng(5)
    n = 260
    shared = rng.normal(size=(n, 1))
    x = np.digitize(shared * [1.2, 1.0, 0.9, 0.0, 0.0] + rng.normal(size=(n, 5)), [-0.5, 0.6]).astype(float)
    x[rng.random(x.shape) < 0.02] = np.nan
    table = pd.DataFrame(x, columns=NAMES)
    table["clinic"] = np.where(np.arange(n) % 2, "in", "out")
    table["again"] = table["clinic"]
    path = tmp_path_factory.mktemp("answer") / "answers.csv"
    table.to_csv(path, index=False)
    data = mb.Data(path, group="clinic", drop=["again"])
    found = mb.fit(data, select=True, rng=1, progress=False, codebook={"sleep": "Trouble sleeping"})
    found.save(path.parent / "out")
    files = {file.name: file for file in (path.parent / "out").iterdir()}
    return found, files | {file.stem: file for file in files.values() if file.suffix != ".xlsx"}


@pytest.fixture(scope="module")
def page(fitted):
    text = fitted[1]["report"].read_text(encoding="utf-8")
    data = [json.loads(part) for part in re.findall(r'<script type="application/json">(.*?)</script>', text, re.S)]
    return text, data


def verdicts(table, column):
    """The verdict of each edge in a table of the page."""
    place = [heading["title"] for heading in table["columns"]].index(column)
    return {row[0].replace(" \u2013 ", "--"): row[place].split(",")[0] for row in table["rows"]}


def test_verdicts_are_the_same_in_all_places(fitted, page):
    found, paths = fitted
    said = found.selection.edges()["verdict"]
    text, data = page
    edges = next(t for t in data if "columns" in t and t["columns"][2]["title"] == "P(edge)")
    assert verdicts(edges, "Verdict") == said.to_dict()
    assert pd.read_csv(paths["edges"], index_col=0)["verdict"].to_dict() == said.to_dict()
    live = next(t for t in data if "networks" in t)
    shown = [live["verdicts"][edge[4]] for edge in live["networks"][0]["edges"]]
    assert shown == said.tolist()
    count = said.value_counts()
    for sentences in (brief(found.findings), [methods_paragraph(found.findings)]):
        told = " ".join(sentences)
        assert f"support {count['present']} edge" in told or f"{count['present']} of 10" in told
    tally = re.findall(r"<dt>(supported|undecided|ruled out)</dt><dd>(\d+)</dd>", text)
    names = {"supported": "present", "ruled out": "absent"}
    assert {names.get(name, name): int(number) for name, number in tally} == {
        name: int(count.get(name, 0)) for name in ("present", "undecided", "absent")
    }


def test_all_numbers_come_from_the_average_over_graphs(fitted):
    found, paths = fitted
    averaged = found.selection.log_odds.mean(axis=(0, 1))
    weights = pd.read_csv(paths["weights"], index_col=0)
    assert weights.loc["sleep", "worry"] == pytest.approx(averaged[0])
    assert weights.loc["sleep", "worry"] != pytest.approx(found.posterior.log_odds.mean(axis=(0, 1))[0])
    nodes = pd.read_csv(paths["nodes"], index_col=0)
    central = found.selection.averaged().centrality()
    np.testing.assert_allclose(nodes["strength"], central["strength"])
    saturated = pd.read_csv(paths["saturated"], index_col=0)
    np.testing.assert_allclose(saturated["mean"], found.posterior.edges(scale="log-odds")["mean"])


def test_the_methods_paragraph_states_everything(fitted):
    found, _ = fitted
    text = methods_paragraph(found.findings)
    for fact in (
        str(found.selection.settings["slab"]),
        str(found.selection.settings["edges"]),
        str(found.groups.settings["differences"]),
        str(found.groups.settings["prior"]),
        f"{found.findings.statistics.incomplete.n_rows} rows had missing cells",
        f"mrfbayes {mb.__version__}",
        np.__version__,
        "Liu & Zheng",
        "n = 260",
        "in (n = 130) and out (n = 130)",
    ):
        assert fact in text, fact


def test_the_page_states_rows_sensitivity_and_groups(fitted, page):
    text, data = page
    facts = dict(re.findall(r'<th scope="row">(rows [a-z ]+)</th><td>([\d,]+)</td>', text))
    assert facts["rows read"] == facts["rows used"] == "260"
    assert "Liu, J., &amp; Zheng, H." in text
    table = next(t for t in data if "columns" in t and t["columns"][0]["title"] == "Prior of an edge")
    assert len(table["rows"]) == 6
    assert len({row[0] for row in table["rows"]}) == 4
    live = next(t for t in data if "networks" in t)
    assert [network["name"] for network in live["networks"]] == [
        *("Average over graphs", "All edges in the model", "Group in", "Group out", "out less in"),
    ]
    assert live["nodes"][0]["text"] == "Trouble sleeping"
    assert set(live["layouts"]) == {"springs", "circle"}
    assert "the prior alone expects 5.0" in text
    evidence = fitted[0].findings.no_difference["log_bf_uniform"]
    assert "Bayes factor of no difference" in text
    assert ("the data favour a difference somewhere" in text) == (evidence < 0)
    assert "edge_probabilities" not in text  # settings are those that a reader can use
    assert not any("missing at random" in text for text in fitted[0].findings.doubts)  # said once, of all rows


def test_files_hold_the_tables_of_the_page(fitted):
    found, paths = fitted
    tables = all_tables(found.findings)
    names = {table.name for table in tables}
    assert {"edges", "nodes", "centrality", "sum-scores", "missing-information", "global-strength"} <= names
    assert {"node-differences", "edge-differences"} <= names
    main = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(paths["tables.xlsx"]) as book:
        sheets = [e.get("name") for e in ElementTree.fromstring(book.read("xl/workbook.xml")).iter(f"{main}sheet")]
        assert sheets == [table.name for table in tables]
        place = sheets.index("edges") + 1
        rows = list(ElementTree.fromstring(book.read(f"xl/worksheets/sheet{place}.xml")).iter(f"{main}row"))
    assert len(rows) == 11
    inclusion = float(rows[1][2].find(f"{main}v").text)
    assert inclusion == pytest.approx(found.selection.inclusion.max(), rel=1e-4)
    text = paths["tables.tex"].read_text()
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == len(tables)
    assert "P(edge)" in text


def test_order_tables_hold_the_probabilities_of_the_draws(fitted):
    found, _ = fitted
    table = next(table for table in all_tables(found.findings) if table.name == "node-differences")
    strength = np.abs(found.selection.log_odds.reshape(-1, found.model.n_parameters)[:, :10])
    ends = found.model.edges
    nodes = {name: strength[:, (ends == k).any(axis=1)].sum(axis=1) for k, name in enumerate(found.model.nodes)}
    first, last = table.rows[0][0][0], table.columns[-1].title
    assert first == max(nodes, key=lambda name: nodes[name].mean())
    above = (nodes[first] > nodes[last]).mean() + (nodes[first] == nodes[last]).mean() / 2
    assert table.rows[0][-1][1] == pytest.approx(above, abs=1e-4)


def test_every_kind_of_result_has_a_report(fitted, tmp_path):
    _, paths = fitted
    for name in ("posterior", "graphs", "groups"):
        result = mb.load(paths[name])
        text = mb.report(result, tmp_path / f"{name}.html", check=False).read_text(encoding="utf-8")
        assert "<h2" in text
        assert ("Sensitivity to the priors" in text) == (name != "groups")
        assert ("Differences between groups" in text) == (name == "groups")


def test_a_time_budget_is_shared_and_what_it_cuts_is_named(fitted, monkeypatch):
    found, _ = fitted
    given = {}

    def spied(name, real):
        def run(*arguments, **options):
            given[name] = options["seconds"]
            if name == "compare_groups":
                raise mb.CostError("too short")
            return real(*arguments, **options)

        return run

    for name in ("sample", "search_graphs", "compare_groups"):
        monkeypatch.setattr(fit, name, spied(name, getattr(fit, name)))
    monkeypatch.setitem(fit.RERUN_COST, "graphs", 10**9)
    quick = mb.fit(found.data, select=True, rng=1, seconds=900.0, progress=False)
    assert 0.39 * 900 < given["sample"] <= 0.4 * 900
    assert given["search_graphs"] <= 900 / 3
    assert given["search_graphs"] < given["compare_groups"] <= 900 / 2  # what the first leaves goes to the next
    told = " ".join(quick.warnings)
    assert "The panel of priors was left out" in told
    assert "The comparison of groups was left out" in told
    assert quick.partial
    assert quick.groups is None
    assert any("panel of priors" in text for text in quick.findings.doubts)
