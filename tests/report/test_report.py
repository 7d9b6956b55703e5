"""The page: self-contained, in the order promised, hostile names inert, small and large models alike."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.report.findings import Findings
from mrfbayes.report.sentences import brief
from mrfbayes.report.tables import edge_table, script_safe, variable_table
from mrfbayes.report.wording import bayes_factor, decimals, grid_of, listed, number, without_folder

mpl.use("Agg")
HOSTILE = ("</script><script>window.bad=1</script>", "<img src=x onerror=window.bad=1>", "=cmd|x", "{{ 7*7 }}", "a & b")


def tables(page):
    """The first table of a page with each heading of its first column."""
    found = {}
    for table in page.data:
        if "columns" in table:
            found.setdefault(table["columns"][0]["title"], table)
    return found


class Page(HTMLParser):
    """Headings, scripts, ids and outside references of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.headings, self.ids, self.outside, self.data = [], [], [], [], []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append(tag)
        self._inside = tag if tag != "script" else found.get("type", "script")
        if "id" in found:
            self.ids.append(found["id"])
        for name in ("src", "href", "xlink:href"):
            value = found.get(name, "#")
            if not value.startswith(("#", "data:")):
                self.outside.append(value)

    def handle_data(self, data):
        if self._inside == "h2":
            self.headings.append(data)
        if self._inside == "application/json":
            self.data.append(json.loads(data))

    def handle_endtag(self, tag):
        self._inside = ""


@pytest.fixture(scope="module")
def posterior():
    pairs = [(u, v) for i, u in enumerate(HOSTILE) for v in HOSTILE[i + 1 :]]
    model = mb.graph(pairs, nodes=HOSTILE, fields=True, coupling="both-one")
    w = np.concatenate([[1.8, -1.5], np.zeros(8), np.full(5, -0.3)])
    x = mb.simulate(model, model.chart.theta(w), 300, sampler="exact", rng=1)
    return mb.sample(model, x, prior="normal(0, 1)", draws=1_000, progress=False)


@pytest.fixture(scope="module")
def text(posterior, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    assert mb.report(posterior, path, title="A <b>title</b>", source="answers.csv") == path
    return path.read_text(encoding="utf-8")


def test_sections_stand_in_the_promised_order(text):
    page = Page(text)
    assert page.headings == [
        *("In brief", "Data", "How far to trust it", "The network", "Edges", "Sensitivity to the priors", "Nodes"),
        *("Further tables", "Methods, to paste"),
    ]
    assert len(page.ids) == len(set(page.ids))
    assert page.outside == []
    assert re.findall(r"url\((?!#)", text) == []
    assert "A &lt;b&gt;title&lt;/b&gt;" in text


def test_hostile_names_are_inert(text):
    page = Page(text)
    assert "img" not in page.tags
    assert page.tags.count("script") == 1 + len(page.data)  # the page's own, and data
    assert "window.bad=1</script>" not in text
    assert "49" not in {cell for table in tables(page).values() for row in table["rows"] for cell in row[:1]}
    for table in (tables(page)["Variable"], tables(page)["Node"]):
        assert {row[0] for row in table["rows"]} == set(HOSTILE)  # as they are, once decoded
    assert script_safe({"a": "</script><!--\u2028"}) == '{"a":"\\u003c/script\\u003e\\u003c!--\\u2028"}'


def test_all_edges_are_there_with_their_verdicts(text, posterior):
    table = tables(Page(text))["Edge"]
    edges = posterior.edges(scale="log-odds")
    assert len(table["rows"]) == len(edges) == 10
    shown = {row[0]: row for row in table["rows"]}
    for name, row in edges.iterrows():
        mine = shown[name.replace("--", " \u2013 ")]
        assert mine[2][1] == pytest.approx(row["mean"], rel=1e-4)
        assert mine[1].startswith(row["verdict"])
        assert ("fragile" in mine[1]) == row["fragile"]


def test_sentences_say_what_the_tables_say(posterior):
    findings = Findings(posterior, check=False)
    sentences = brief(findings)
    assert len(sentences) == 6
    said = posterior.edges(scale="log-odds")["verdict"].value_counts()
    assert f"support {said['present']} edge" in sentences[1]
    assert "300 observations of 5 yes/no variables" in sentences[0]
    assert "15 parameters in all" in sentences[0]
    top = posterior.edges(scale="log-odds")["mean"].abs().idxmax()
    assert sentences[2].startswith(f"The strongest supported edge is {listed([top])}: ")
    assert "exact posterior" in sentences[-1]
    assert all(sentence.endswith(".") for sentence in sentences)


def test_large_fields_are_pages_too(tmp_path):
    model = mb.grid(71, 72)
    rng, n = np.random.default_rng(2), 20_000  # smooth coins, whose tables are made in no time
    counts = rng.binomial(n, 0.6, model.n_parameters).astype(float)
    statistics = mb.Statistics.from_counts(model, counts, n)
    post = mb.sample(model, statistics, "mle", estimate=counts / n, draws=60, thin=1, chains=2, progress=False)
    path = mb.report(post, tmp_path / "large.html", check=False)
    page = Page(path.read_text(encoding="utf-8"))
    assert len(tables(page)["Edge"]["rows"]) == model.n_edges == 10_081
    assert path.stat().st_size < 3_000_000
    assert "MLE-L" in path.read_text(encoding="utf-8")


def test_extra_sections_appear_when_given(posterior, tmp_path):
    from mrfbayes.sampling.compare import Comparison, comparison_table

    pair = {"exact": posterior, "again": posterior}
    comparison = Comparison(pair, "exact", comparison_table(pair, "exact"))

    model = posterior.model
    rows = np.random.default_rng(3).integers(0, 2, (120, model.n_nodes))
    rows[:60, 1] = rows[:60, 0]
    run = {"draws": 200, "chains": 2, "progress": False}
    selection = replace(mb.select(model, rows, **run), warnings=("look twice",))
    groups = mb.compare_groups(model, {"one <b>": rows[:60], "two": rows[60:]}, **run)
    path = mb.report(
        posterior, tmp_path / "a.html", comparison=comparison, groups=groups, selection=selection, check=False
    )
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.headings[3:] == [
        *("The network", "Edges", "Sensitivity to the priors", "Nodes", "The search over graphs"),
        *("The model with all edges", "Differences between groups", "Further tables", "Comparison of methods"),
        "Methods, to paste",
    ]
    names = [table["columns"][1]["title"] for table in page.data if "columns" in table]
    assert "P(edge)" not in names  # a verdict comes first
    graphs = tables(page)["Rank"]["rows"]
    first = selection.graphs().iloc[0]
    assert graphs[0][1][1] == pytest.approx(first["probability"], rel=1e-3)
    for name in ("structure-size", "sensitivity", "differences-0", "group-networks", "node-order"):
        assert f'<figure id="{name}">' in text
    assert '<li class="warn">look twice</li>' in text  # in a list, not in the text
    assert "one &lt;b&gt; (n = 60)" in text
    assert "one <b>" not in text


def test_wrong_arguments_raise_input_error(posterior, tmp_path):
    (tmp_path / "there.html").write_text("mine")
    with pytest.raises(mb.InputError, match="exists: choose another name"):
        mb.report(posterior, tmp_path / "there.html")
    assert (tmp_path / "there.html").read_text() == "mine"
    with pytest.raises(mb.InputError, match="got int"):
        mb.report(3, tmp_path / "b.html")
    with pytest.raises(mb.InputError, match="there is no folder"):
        mb.report(posterior, tmp_path / "nowhere" / "b.html", check=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.html"]


def test_numbers_have_as_many_digits_as_their_spread_allows():
    assert [decimals(sd) for sd in (2.0, 0.4, 0.1, 0.02, 0.006, 0.0005, 0.0, float("nan"))] == [2, 2, 2, 3, 3, 4, 2, 2]
    assert number(-0.001) == "0.00"
    assert without_folder("/home/me/a b/x.csv: odd: 1/2") == "x.csv: odd: 1/2"
    assert without_folder("values 1/2 are odd") == "values 1/2 are odd"


def test_numbers_are_written_as_people_write_them():
    assert [bayes_factor(np.log(v)) for v in (3, 140, 1 / 23, 6.3e5)] == ["3", "140", "1/23", "6.3 \u00d7 10\u2075"]
    assert bayes_factor(float("nan")) == "\u2013"
    assert number(-1.5) == "\u22121.50"
    assert [grid_of((n, 8)) for n in (4, 8, 11, 80)] == [
        f"{a} {n} x 8 grid" for a, n in (("a", 4), ("an", 8), ("an", 11), ("an", 80))
    ]
    assert listed(["a--b"]) == "a \u2013 b"
    assert listed(list("abcdefg"), 3) == "a, b, c and 4 more"


def test_probabilities_of_signs_and_shares_of_ones_are_not_inverted(posterior):
    findings = Findings(posterior, check=False)
    table = edge_table(findings)
    place = [heading.title for heading in table.columns].index("P(sign)")
    positive = (posterior.log_odds[..., :10] > 0).mean(axis=(0, 1))
    expected = dict(zip(findings.edges.index, np.maximum(positive, 1 - positive), strict=True))
    for row in table.rows:
        assert row[place][1] == pytest.approx(expected[row[0][0].replace(" \u2013 ", "--")], abs=1e-4)
    ones = posterior._observed.shares.reshape(-1, 2)[:, 1]
    shares = [row[1] for row in variable_table(findings).rows]
    assert [text for text, _ in shares] == [f"{share:.0%}" for share in ones]
    np.testing.assert_allclose([parts[1] for _, parts in shares], ones, atol=1e-4)


def test_estimates_have_the_digits_of_their_own_intervals(posterior):
    from mrfbayes.report.tables import node_tables

    table = node_tables(Findings(posterior, check=False))[1]
    titles = [heading.title for heading in table.columns]
    for title, measure in (("Strength", "strength"), ("Closeness", "closeness")):
        nodes = posterior.centrality(scale="log-odds")
        width = (nodes[f"{measure}_q95"] - nodes[f"{measure}_q5"]).median() / 3.29
        text = table.rows[0][titles.index(title)][0]
        assert len(text.split(" ")[0].partition(".")[2]) == decimals(float(width))
