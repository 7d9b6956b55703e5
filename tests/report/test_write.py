"""The page: self-contained, in the order promised, hostile names inert, small and large models alike."""

import re
from dataclasses import replace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.report.tables import script_safe
from report.page_cases import HOSTILE, Page, tables


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
    with pytest.raises(mb.InputError, match="selection and groups are shown beside a posterior"):
        mb.report(selection, tmp_path / "b.html", groups=groups)
    unchecked = mb.report(selection, tmp_path / "c.html", check=False).read_text(encoding="utf-8")
    assert "<td>it was not asked for</td>" in unchecked
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
    for part, kind in (("selection", "Selection"), ("groups", "GroupComparison"), ("comparison", "Comparison")):
        with pytest.raises(mb.InputError, match=f"{part}: got Posterior, expected a {kind}"):
            mb.report(posterior, tmp_path / "b.html", **{part: posterior})
    with pytest.raises(mb.InputError, match="there is no folder"):
        mb.report(posterior, tmp_path / "nowhere" / "b.html", check=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.html"]
