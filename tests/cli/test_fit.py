"""``mrfbayes fit`` and the commands on its result, in one process; exit statuses of real processes: test_cli.py."""

import json
import tomllib

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import mrfbayes as mb
import mrfbayes.fitting.fit as fit_module
from command_line import run as command_line
from mrfbayes.base.atomic_files import replacing_folder
from mrfbayes.base.budget import Budget
from mrfbayes.cli.app import app
from mrfbayes.cli.files import settings_text
from mrfbayes.data.reading import choose_columns


def run(*arguments):
    """The outcome of a command; problems are raised, as `main` would catch them."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit")
    rng = np.random.default_rng(3)
    tired = rng.integers(0, 2, 200)
    worried = np.where(rng.random(200) < 0.85, tired, 1 - tired)
    table = pd.DataFrame({"id": np.arange(200), "tired": tired, "worried": worried, "sad": rng.integers(0, 2, 200)})
    table["never"] = (np.arange(200) == 7).astype(int)
    table.to_csv(path / "answers.csv", index=False)
    return path


@pytest.fixture(scope="module")
def fitted(folder):
    return run("fit", folder / "answers.csv", "--drop", "id", "--drop", "never", "--out", folder / "out")


def test_fit_prints_the_coding_and_writes_all_files(fitted, folder):
    said = " ".join(fitted.output.split())
    assert "200 rows of 3 variables (3 binary)" in said
    assert "3 edges, 6 parameters" in said
    assert said.index("3 variables") < said.index("The data support")
    assert "tired \u2013 worried" in said
    assert str(folder / "out" / "report.html").split("/")[-1] in said
    names = {path.name for path in (folder / "out").iterdir()}
    tables = {"summary.csv", "edges.csv", "nodes.csv", "weights.csv", "tables.xlsx", "tables.tex"}
    assert names == {"report.html", "posterior.nc", "settings.toml", "fit.json", *tables}
    weights = pd.read_csv(folder / "out" / "weights.csv", index_col=0)
    assert list(weights.columns) == list(weights.index) == ["tired", "worried", "sad"]
    np.testing.assert_array_equal(weights, weights.T)
    post = mb.load(folder / "out" / "posterior.nc")
    assert weights.loc["tired", "worried"] == pytest.approx(post.log_odds.mean(axis=(0, 1))[0])
    summary = pd.read_csv(folder / "out" / "summary.csv", index_col=0)
    np.testing.assert_allclose(summary["mean"], post.summary(scale="log-odds")["mean"])
    assert list(summary.index) == list(post.parameters)


def test_settings_repeat_the_run(fitted, folder):
    settings = folder / "out" / "settings.toml"
    assert tomllib.loads(settings.read_text())["fit"]["drop"] == ["id", "never"]
    again = run("fit", "--settings", settings, "--out", folder / "again", "--json")
    found = json.loads(again.stdout)
    assert found["verdicts"]["present"] >= 1
    assert len(found["sentences"]) == 6
    first, second = (mb.load(folder / name / "posterior.nc") for name in ("out", "again"))
    np.testing.assert_array_equal(first.draws, second.draws)
    bad = folder / "bad.toml"
    bad.write_text("[fit]\nsteppes = 3\n")
    with pytest.raises(mb.InputError, match=r"'steppes' .*`mrfbayes fit`"):
        run("fit", folder / "answers.csv", "--settings", bad)
    bad.write_text("[fit")
    with pytest.raises(mb.InputError, match="not a TOML file"):
        run("fit", folder / "answers.csv", "--settings", bad)
    text = settings_text("fit", {"a": 'x"\\\n', "b": True, "c": None, "d": ["p", "q"], "e": 0.5}, "why")
    assert tomllib.loads(text)["fit"] == {"a": 'x"\\\n', "b": True, "d": ["p", "q"], "e": 0.5}


def test_files_are_overwritten_only_with_the_option(fitted, folder):
    with pytest.raises(mb.InputError, match=r"exists: .*--overwrite"):
        run("fit", folder / "answers.csv", "--drop", "id", "--out", folder / "out")
    with pytest.raises(mb.InputError, match="is a file: name a folder"):
        run("fit", folder / "answers.csv", "--out", folder / "answers.csv")
    with pytest.raises(mb.InputError, match="no such file"):
        run("fit", folder / "nowhere.csv", "--out", folder / "new")
    with pytest.raises(mb.InputError, match="at most one of --grid"):
        run("fit", folder / "answers.csv", "--complete", "--grid", "2x2", "--out", folder / "new")
    assert not (folder / "new").exists()


def test_ctrl_c_after_the_sampling_keeps_the_draws_and_the_old_folder(fitted, folder, monkeypatch):
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}

    def stopped(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_module.Fit, "_write", stopped)
    done = command_line("fit", "answers.csv", "--drop", "id", "--out", "out", "--overwrite", cwd=folder)
    assert done.returncode == 130
    assert str(folder / "out-unfinished") in done.stderr
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before
    assert mb.load(folder / "out-unfinished" / "posterior.nc").model.n_nodes == 4
    assert not list(folder.glob(".out*"))


def test_two_fits_into_one_folder_are_refused(folder):
    with replacing_folder(folder / "shared", ()):
        done = command_line("fit", "answers.csv", "--drop", "id", "--out", "shared", cwd=folder)
    assert done.returncode == 2
    assert "--out shared is in use by another process" in done.stderr


def test_commands_on_the_result(fitted, folder):
    result = folder / "out" / "posterior.nc"
    shown = run("edges", result, "--csv", folder / "edges.csv").output
    assert "tired--worried" in shown
    assert "present" in shown
    table = json.loads(run("edges", result, "--json", "--scale", "ising").stdout)
    assert table["tired--worried"]["mean"] == pytest.approx(mb.load(result).edges(scale="ising")["mean"].iloc[0])
    assert len(pd.read_csv(folder / "edges.csv")) == 3
    summary = run("summary", result, "--scale", "log-odds", "--rows", "1").output
    assert "and 2 more" in summary
    assert "log odds ratio" in " ".join(summary.split())
    said = run("report", result, "--out", folder / "page.html").output
    assert "The data support" in said
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    picture = json.loads(run("plot", result, "forest", "--out", folder / "forest.svg", "--json").stdout)
    assert (folder / "forest.csv").exists()
    assert picture["picture"].endswith("forest.svg")
    with pytest.raises(mb.InputError, match="choose one of network, panels"):
        run("plot", result, "pie")
    predicted = folder / "predicted.csv"
    said = json.loads(
        run("predict", result, folder / "answers.csv", "--given", "ti*", "--out", predicted, "--json").stdout
    )
    assert said["rows"] == 200
    found = pd.read_csv(predicted, index_col=0)
    np.testing.assert_allclose(found["P(sad = 0)"] + found["P(sad = 1)"], 1)
    answers = pd.read_csv(folder / "answers.csv")
    high = found["P(worried = 1)"][answers["tired"] == 1].mean()
    assert high > found["P(worried = 1)"][answers["tired"] == 0].mean() + 0.3


def test_exports_are_the_same_field(fitted, folder):
    import itertools

    result = folder / "out" / "posterior.nc"
    for form in ("graphml", "uai", "dimod", "edges"):
        run("export", result, "--format", form, "--out", folder / f"field.{form}")
    post = mb.load(result)
    w = post.log_odds.mean(axis=(0, 1))
    graph = nx.read_graphml(folder / "field.graphml")
    assert graph["tired"]["worried"]["weight"] == pytest.approx(w[0])
    listed = pd.read_csv(folder / "field.edges")
    np.testing.assert_allclose(listed["weight"], w[:3])
    numbers = (folder / "field.uai").read_text().split()
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
    bqm = json.loads((folder / "field.dimod").read_text())
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
        run("export", result, "--format", "xml", "--out", folder / "x")


def test_info_prints_before_anything_runs(folder):
    said = " ".join(run("info", folder / "answers.csv", "--drop", "id").output.split())
    assert "never binary 0 (199), 1 (1) 0" in said
    assert "Recommended: --method exact" in said
    found = json.loads(run("info", folder / "answers.csv", "--columns", "tired:sad", "--json").stdout)
    assert found["exact_is_feasible"] is True
    assert found["recommended"] == "exact"


def test_estimate_evidence_and_compare(folder):
    options = ("--columns", "tired", "--columns", "worried", "--json")
    found = json.loads(run("estimate", folder / "answers.csv", *options).stdout)
    assert found["converged"]
    assert set(found["theta"]) == {"tired--worried", "tired", "worried"}
    assert json.loads(run("evidence", folder / "answers.csv", *options).stdout)["standard_error"] < 0.1
    table = json.loads(run("compare", folder / "answers.csv", *options, "--method", "exact", "--method", "mle").stdout)
    assert set(table) == {"exact", "mle"}
    assert "mle" in run("compare", folder / "answers.csv", *options[:4], "--method", "exact", "--method", "mle").output


@pytest.mark.parametrize("start", ["P", ""])
def test_a_column_of_names_of_rows_is_no_variable(tmp_path, start):
    rows = "".join(f"{start}{k},{k % 2},{k % 3 % 2}\n" for k in range(1, 41))
    (tmp_path / "x.csv").write_text("person,a,b\n" + rows)
    with pytest.raises(mb.InputError, match=r"person: 40 .*--drop person"):
        run("info", tmp_path / "x.csv")
    assert run("info", tmp_path / "x.csv", "--drop", "person").exit_code == 0


def test_very_many_columns_are_refused_for_their_cost_without_a_look_at_each(tmp_path):
    names = [f"c{k}" for k in range(200_000)]
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join("0" * len(names)) + "\n")
    with pytest.raises(mb.CostError, match=r"a complete graph of 200,000 variables"):
        run("sample", tmp_path / "wide.csv", "--complete")


def test_columns_by_name_range_and_pattern():
    names = ["id", "q1", "q2", "q10", "age"]
    assert choose_columns(names, ["q*"], ["q10"], "f.csv") == ["q1", "q2"]
    assert choose_columns(names, ["q1:age"], None, "f.csv") == ["q1", "q2", "q10", "age"]
    for wanted, without, words in (
        (["agee"], [], "f.csv has no such column (did you mean 'age'?); it has 'id', 'q1', 'q2', 'q10', 'age'."),
        (["age:id"], [], "'age' comes after 'id'; write id:age"),
        (None, ["*"], "leave no column of f.csv"),
    ):
        with pytest.raises(mb.InputError) as error:
            choose_columns(names, wanted, without, "f.csv")
        assert words in str(error.value)


@pytest.fixture(scope="module")
def grouped(folder):
    table = pd.read_csv(folder / "answers.csv").drop(columns=["id", "never"])
    table["who"] = np.where(np.arange(200) < 90, "old", "young")
    table.to_csv(folder / "grouped.csv", index=False)
    return folder / "grouped.csv"


def test_fit_searches_graphs_and_compares_groups(grouped, folder):
    done = run("fit", grouped, "--select", "--group", "who", "--out", folder / "structure")
    said = " ".join(done.output.split())
    assert "The data support 1 edge of 3" in said
    assert "Between old and young" in said
    selection, comparison = (mb.load(folder / "structure" / name) for name in ("graphs.nc", "groups.nc"))
    assert selection.model.nodes == comparison.model.nodes == ("tired", "worried", "sad")
    assert comparison.groups == ("old", "young")
    assert comparison.group_n == (90, 110)
    table = pd.read_csv(folder / "structure" / "edges.csv", index_col=0)
    np.testing.assert_allclose(table["inclusion"], selection.inclusion)
    assert len(pd.read_csv(folder / "structure" / "differences.csv")) == 6
    page = (folder / "structure" / "report.html").read_text(encoding="utf-8")
    assert "The search over graphs</h2>" in page
    assert "Differences between groups</h2>" in page
    settings = tomllib.loads((folder / "structure" / "settings.toml").read_text())["fit"]
    assert (settings["select"], settings["group"]) == (True, "who")


@pytest.mark.parametrize("name", ["posterior", "graphs", "groups"])
def test_all_commands_open_every_kind_of_result(grouped, folder, name):
    if not (folder / "structure").exists():
        run("fit", grouped, "--select", "--group", "who", "--out", folder / "structure")
    result = folder / "structure" / f"{name}.nc"
    assert "parameter" in run("summary", result).output
    shown = run("edges", result).output
    assert ("P(edge)" in shown, "P(differs)" in shown) == (name == "graphs", name == "groups")
    table = json.loads(run("edges", result, "--json").stdout)
    assert set(table) == {"tired--worried", "tired--sad", "worried--sad"}
    assert run("report", result, "--out", folder / f"{name}.html").exit_code == 0
    for kind in ("network", "evidence", "forest"):
        picture = folder / f"{name}-{kind}.svg"
        run("plot", result, kind, "--out", picture, "--width", "single")
        assert 'width="240.94' in picture.read_text()  # 85 mm in points
    run("export", result, "--format", "edges", "--out", folder / f"{name}.exported.csv")
    assert len(pd.read_csv(folder / f"{name}.exported.csv")) == 3
    rows = folder / "known.csv"
    rows.write_text("tired\n1\n0\n")
    run("predict", result, rows, "--given", "tired", "--out", folder / f"{name}.predicted.csv")
    assert pd.read_csv(folder / f"{name}.predicted.csv").shape == (2, 5)


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")  # the runs are short
def test_commands_open_results_without_one_posterior(folder):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, (60, 3))
    model = mb.complete(["a", "b", "c"], coupling="both-one")
    image = rng.normal(size=(8, 8)) + (np.arange(8) > 3)
    results = {
        "estimate": mb.estimate(model, x, progress=False),
        "fits": mb.sample_many(model, {"p1": x, "p2": x[::-1]}, draws=50, progress=False),
        "segment": mb.segment(image, draws=50, chains=2, progress=False),
    }
    for name, result in results.items():
        result.save(folder / f"{name}.nc")
        rows = json.loads(run("summary", folder / f"{name}.nc", "--json").stdout)["parameters"]
        assert len(rows) == len(result.summary())
        assert "parameter" in run("summary", folder / f"{name}.nc").output
    for name in ("estimate", "fits"):
        assert "a--b" in run("edges", folder / f"{name}.nc").output
    for name in ("estimate", "segment"):
        run("plot", folder / f"{name}.nc", "-o", folder / f"{name}.svg")
        assert (folder / f"{name}.svg").exists()
    run("export", folder / "estimate.nc", "--format", "edges", "-o", folder / "estimate.exported.csv")
    table = pd.read_csv(folder / "estimate.exported.csv")
    np.testing.assert_allclose(table.iloc[:, -1], results["estimate"].log_odds[:3], rtol=1e-6)
    for words in (["report", "estimate"], ["report", "fits"], ["export", "fits"], ["edges", "segment"]):
        options = [] if words[0] == "edges" else ["-o", folder / "refused.html"]
        with pytest.raises(mb.InputError):
            run(words[0], folder / f"{words[1]}.nc", *options)
    assert not (folder / "refused.html").exists()


def test_a_time_budget_covers_searches_and_report(grouped, folder, monkeypatch):
    """Each search has a checkpoint of its own; one for which there is no time is left out, and that is said."""
    kept = folder / "kept.ckpt"
    options = ("--select", "--prior", "normal(0, 2)", "--checkpoint", kept, "--seconds", 100_000, "--json")
    found = json.loads(run("fit", grouped, "--drop", "who", *options, "--out", folder / "timed").stdout)
    assert (found["partial"], found["warnings"]) == (False, [])
    assert kept.exists()
    assert (folder / "kept.ckpt.graphs").exists()
    selection = mb.load(folder / "timed" / "graphs.nc")
    assert selection.settings["slab"] == "normal(0, 2)"
    assert selection.settings["prior"] == {"nodes": "normal(0, 10)"}

    def too_late(*arguments, **settings):
        assert settings["seconds"] < 0.1
        raise mb.CostError("there was no time for a single sweep")

    monkeypatch.setattr(fit_module, "search_graphs", too_late)
    model, call = selection.model, {"prior": "uniform", "chains": 4}
    statistics = mb.Data(grouped, drop=["who"]).count(model)
    with Budget(1e-9).as_current():
        found, omitted = fit_module._search(model, statistics, {}, True, call, {"graphs": {}})
    assert not found
    assert len(omitted) == 1
    assert "time budget" in omitted[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--group", "age"], "group = 'age': .*grouped.csv has no such column"),
        (["--group", "nobody"], "nobody: the row has no group"),
        (["--group", "number"], "group = 'number': more than 64 different values"),
        (["--select", "--tied", "yes"], "ties several factors"),
    ],
)
def test_groups_and_searches_are_refused_before_the_sampling(grouped, folder, options, message):
    table = pd.read_csv(grouped)
    table["nobody"], table["number"] = "NA", np.arange(200)
    (folder / "more").mkdir(exist_ok=True)
    table.to_csv(folder / "more" / "grouped.csv", index=False)
    others = [name for name in ("nobody", "number", "who") if name not in options]
    without = [part for name in others for part in ("--drop", name)]
    with pytest.raises(mb.InputError, match=message):
        run("fit", folder / "more" / "grouped.csv", *without, *options, "--out", folder / "refused")
    assert not (folder / "refused").exists()


@pytest.mark.parametrize(
    "command", [("estimate",), ("evidence",), ("compare", "--method", "calibrated", "--draws", "50")]
)
def test_assumption_on_missing_cells_is_stated(tmp_path, command):
    x = np.random.default_rng(3).integers(2, size=(60, 3)).astype(float)
    x[::2, 0], x[1::2, 1] = np.nan, np.nan
    pd.DataFrame(x, columns=list("abc")).to_csv(tmp_path / "apart.csv", index=False)
    done = run(*command, tmp_path / "apart.csv", "--complete")
    said = " ".join(done.output.split())
    assert "60 rows have missing cells (33.3% of all cells)" in said
    assert "never observed together: 'a' and 'b'" in said


def test_fit_searches_graphs_and_compares_groups_with_missing_cells(grouped, folder):
    table = pd.read_csv(grouped)
    table.loc[table.index % 5 == 0, "sad"] = np.nan
    table.to_csv(folder / "missing.csv", index=False)
    options = ("--select", "--group", "who", "--chains", "1", "--method", "calibrated")
    done = run("fit", folder / "missing.csv", *options, "--out", folder / "missing")
    said = " ".join(done.output.split())
    assert said.count("assumed to be missing at random") == 1  # of all rows, not of every group
    assert mb.load(folder / "missing" / "groups.nc").group_n == (90, 110)
    page = (folder / "missing" / "report.html").read_text(encoding="utf-8")
    assert 'aria-labelledby="predictive-says"' in page
