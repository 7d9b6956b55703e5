"""Commands on a saved result: summary, edges, report, plot, predict and export, for every kind of result."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from command_line import invoke as run
from mrfbayes.plots.of_result import PICTURES


def test_commands_on_the_result(fitted, study):
    result = study / "out" / "posterior.nc"
    shown = run("edges", result, "--csv", study / "edges.csv").output
    assert "tired--worried" in shown
    assert "present" in shown
    table = json.loads(run("edges", result, "--json", "--scale", "ising").stdout)
    assert table["tired--worried"]["mean"] == pytest.approx(mb.load(result).edges(scale="ising")["mean"].iloc[0])
    assert len(pd.read_csv(study / "edges.csv")) == 3
    summary = run("summary", result, "--scale", "log-odds", "--rows", "1").output
    assert "and 2 more" in summary
    assert "log odds ratio" in " ".join(summary.split())
    said = run("report", result, "--out", study / "page.html").output
    assert "The data support" in said
    assert (study / "page.html").read_text().startswith("<!doctype html>")
    picture = json.loads(run("plot", result, "forest", "--out", study / "forest.svg", "--json").stdout)
    assert (study / "forest.csv").exists()
    assert picture["picture"].endswith("forest.svg")
    with pytest.raises(mb.InputError, match="kind = 'pie': choose one of 'network', 'panels'"):
        run("plot", result, "pie")
    with pytest.raises(mb.InputError, match="picture 'forest' has no option 'layout'"):
        run("plot", result, "forest", "--layout", "circle", "--out", study / "refused.svg")
    predicted = study / "predicted.csv"
    said = json.loads(
        run("predict", result, study / "answers.csv", "--given", "ti*", "--out", predicted, "--json").stdout
    )
    assert said["rows"] == 200
    found = pd.read_csv(predicted, index_col=0)
    np.testing.assert_allclose(found["P(sad = 0)"] + found["P(sad = 1)"], 1)
    answers = pd.read_csv(study / "answers.csv")
    high = found["P(worried = 1)"][answers["tired"] == 1].mean()
    assert high > found["P(worried = 1)"][answers["tired"] == 0].mean() + 0.3


def test_exports_are_the_same_field(fitted, study):
    import itertools

    result = study / "out" / "posterior.nc"
    for form in ("graphml", "uai", "dimod", "edges"):
        run("export", result, "--format", form, "--out", study / f"field.{form}")
    post = mb.load(result)
    w = post.log_odds.mean(axis=(0, 1))
    graph = nx.read_graphml(study / "field.graphml")
    assert graph["tired"]["worried"]["weight"] == pytest.approx(w[0])
    listed = pd.read_csv(study / "field.edges")
    np.testing.assert_allclose(listed["weight"], w[:3])
    numbers = (study / "field.uai").read_text().split()
    assert numbers[:6] == ["MARKOV", "3", "2", "2", "2", "6"]
    at, scopes, tables = 6, [], []
    for _ in range(6):
        size = int(numbers[at])
        scopes.append([int(v) for v in numbers[at + 1 : at + 1 + size]])
        at += 1 + size
    for scope in scopes:
        size = int(numbers[at])
        tables.append(np.array(numbers[at + 1 : at + 1 + size], dtype=float).reshape([2] * len(scope)))
        at += 1 + size
    bqm = json.loads((study / "field.dimod").read_text())
    expected, uai, energy = [], [], []
    for x in itertools.product((0, 1), repeat=3):
        pairs = [(0, 1), (0, 2), (1, 2)]
        expected.append(sum(c * x[u] * x[v] for c, (u, v) in zip(w[:3], pairs, strict=True)) + w[3:] @ np.array(x))
        uai.append(sum(np.log(t[tuple(x[i] for i in s)]) for s, t in zip(scopes, tables, strict=True)))
        spins = 2 * np.array(x) - 1
        quadratic = zip(bqm["quadratic_biases"], bqm["quadratic_head"], bqm["quadratic_tail"], strict=True)
        energy.append(np.array(bqm["linear_biases"]) @ spins + sum(b * spins[u] * spins[v] for b, u, v in quadratic))
    for other in (uai, -np.array(energy)):
        np.testing.assert_allclose(np.array(other) - other[0], np.array(expected) - expected[0], atol=1e-9)
    with pytest.raises(mb.InputError, match="format = 'xml': choose one of 'graphml'"):
        run("export", result, "--format", "xml", "--out", study / "x")


@pytest.mark.parametrize("name", ["posterior", "graphs", "groups"])
def test_all_commands_open_every_kind_of_result(searched, study, name):
    result = study / "structure" / f"{name}.nc"
    assert "parameter" in run("summary", result).output
    shown = run("edges", result).output
    assert ("P(edge)" in shown, "P(differs)" in shown) == (name == "graphs", name == "groups")
    table = json.loads(run("edges", result, "--json").stdout)
    assert set(table) == {"tired--worried", "tired--sad", "worried--sad"}
    assert run("report", result, "--out", study / f"{name}.html").exit_code == 0
    for kind in PICTURES[type(mb.load(result)).__name__]:
        run("plot", result, kind, "--out", study / f"{name}-any-{kind}.pdf")
    for kind in ("network", "evidence", "forest"):
        picture = study / f"{name}-{kind}.svg"
        run("plot", result, kind, "--out", picture, "--width", "single")
        assert 'width="240.94' in picture.read_text()  # 85 mm in points
    run("export", result, "--format", "edges", "--out", study / f"{name}.exported.csv")
    assert len(pd.read_csv(study / f"{name}.exported.csv")) == 3
    rows = study / "known.csv"
    rows.write_text("tired\n1\n0\n")
    run("predict", result, rows, "--given", "tired", "--out", study / f"{name}.predicted.csv")
    assert pd.read_csv(study / f"{name}.predicted.csv").shape == (2, 5)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")  # the runs are short
def test_commands_open_results_without_one_posterior(study):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (60, 3))
    model = mb.complete(["a", "b", "c"], coupling="both-one")
    image = rng.normal(size=(8, 8)) + (np.arange(8) > 3)
    ages = mb.Data({"a": x[:, 0], "b": x[:, 1], "age": rng.integers(18, 70, 60)}, covariates=["age"])
    moderated = mb.Model.from_data(ages, covariates="couplings")
    results = {
        "estimate": mb.estimate(model, x, progress=False),
        "fits": mb.sample_many(model, {"p1": x, "p2": x[::-1]}, draws=50, progress=False),
        "segment": mb.segment(image, draws=50, chains=2, progress=False),
        "effects": mb.select_effects(moderated, ages, draws=100, warmup=50, chains=2, rng=1, progress=False),
    }
    for name, result in results.items():
        result.save(study / f"{name}.nc")
        rows = json.loads(run("summary", study / f"{name}.nc", "--json").stdout)["parameters"]
        assert len(rows) == len(result.summary())
        assert name == "effects" or "parameter" in run("summary", study / f"{name}.nc").output
    for name in ("estimate", "fits"):
        assert "a--b" in run("edges", study / f"{name}.nc").output
    for name in ("estimate", "segment"):
        run("plot", study / f"{name}.nc", "-o", study / f"{name}.svg")
        assert (study / f"{name}.svg").exists()
    run("export", study / "estimate.nc", "--format", "edges", "-o", study / "estimate.exported.csv")
    table = pd.read_csv(study / "estimate.exported.csv")
    np.testing.assert_allclose(table.iloc[:, -1], results["estimate"].log_odds[:3], rtol=1e-6)
    with pytest.raises(mb.InputError, match="predict: Estimate has no one posterior"):
        run("predict", study / "estimate.nc", study / "known.csv", "--given", "a", "-o", study / "refused.csv")
    with pytest.raises(mb.InputError, match="picture 'trace' has no option 'layout'"):
        run("plot", study / "estimate.nc", "trace", "--layout", "circle", "-o", study / "refused.svg")
    for words in (["report", "estimate"], ["report", "fits"], ["export", "fits"], ["edges", "segment"]):
        options = [] if words[0] == "edges" else ["-o", study / "refused.html"]
        with pytest.raises(mb.InputError):
            run(words[0], study / f"{words[1]}.nc", *options)
    assert not (study / "refused.html").exists()
