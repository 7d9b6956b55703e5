"""Commands on data, in one process: fit with its files and settings, info, estimate, evidence and compare."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
import mrfbayes.fitting.fit as fit_module
from command_line import invoke as run
from command_line import run as command_line
from mrfbayes.base.atomic_files import replacing_folder
from mrfbayes.base.budget import Budget
from mrfbayes.cli.files import settings_text


def test_fit_prints_the_coding_and_writes_all_files(fitted, study):
    said = " ".join(fitted.output.split())
    assert "200 rows of 3 variables (3 binary)" in said
    assert "3 edges, 6 parameters" in said
    assert said.index("3 variables") < said.index("The data support")
    assert "tired \u2013 worried" in said
    assert str(study / "out" / "report.html").split("/")[-1] in said
    names = {path.name for path in (study / "out").iterdir()}
    tables = {"summary.csv", "edges.csv", "nodes.csv", "weights.csv", "tables.xlsx", "tables.tex"}
    assert names == {"report.html", "posterior.nc", "settings.toml", "fit.json", *tables}
    weights = pd.read_csv(study / "out" / "weights.csv", index_col=0)
    assert list(weights.columns) == list(weights.index) == ["tired", "worried", "sad"]
    np.testing.assert_array_equal(weights, weights.T)
    post = mb.load(study / "out" / "posterior.nc")
    assert weights.loc["tired", "worried"] == pytest.approx(post.log_odds.mean(axis=(0, 1))[0])
    summary = pd.read_csv(study / "out" / "summary.csv", index_col=0)
    np.testing.assert_allclose(summary["mean"], post.summary(scale="log-odds")["mean"])
    assert list(summary.index) == list(post.parameters)


def test_settings_repeat_the_run(fitted, study):
    settings = study / "out" / "settings.toml"
    assert tomllib.loads(settings.read_text())["fit"]["drop"] == ["id", "never"]
    again = run("fit", "--settings", settings, "--out", study / "again", "--json")
    found = json.loads(again.stdout)
    assert found["verdicts"]["present"] >= 1
    assert len(found["sentences"]) == 6
    first, second = (mb.load(study / name / "posterior.nc") for name in ("out", "again"))
    np.testing.assert_array_equal(first.draws, second.draws)
    bad = study / "bad.toml"
    bad.write_text("[fit]\nsteppes = 3\n")
    with pytest.raises(mb.InputError, match=r"'steppes' .*`mrfbayes fit`"):
        run("fit", study / "answers.csv", "--settings", bad)
    bad.write_text("[fit")
    with pytest.raises(mb.InputError, match="not a TOML file"):
        run("fit", study / "answers.csv", "--settings", bad)
    text = settings_text("fit", {"a": 'x"\\\n', "b": True, "c": None, "d": ["p", "q"], "e": 0.5}, "why")
    assert tomllib.loads(text)["fit"] == {"a": 'x"\\\n', "b": True, "d": ["p", "q"], "e": 0.5}


def test_files_are_overwritten_only_with_the_option(fitted, study):
    with pytest.raises(mb.InputError, match=r"exists: .*--overwrite"):
        run("fit", study / "answers.csv", "--drop", "id", "--out", study / "out")
    with pytest.raises(mb.InputError, match="is a file: name a folder"):
        run("fit", study / "answers.csv", "--out", study / "answers.csv")
    with pytest.raises(mb.InputError, match="no such file"):
        run("fit", study / "nowhere.csv", "--out", study / "new")
    with pytest.raises(mb.InputError, match="at most one of --grid"):
        run("fit", study / "answers.csv", "--complete", "--grid", "2x2", "--out", study / "new")
    assert not (study / "new").exists()


def test_ctrl_c_after_the_sampling_keeps_the_draws_and_the_old_folder(fitted, study, monkeypatch):
    before = {path.name: path.read_bytes() for path in (study / "out").iterdir()}

    def stopped(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_module.Fit, "_write", stopped)
    done = command_line("fit", "answers.csv", "--drop", "id", "--out", "out", "--overwrite", cwd=study)
    assert done.returncode == 130
    assert str(study / "out-unfinished") in done.stderr
    assert {path.name: path.read_bytes() for path in (study / "out").iterdir()} == before
    assert mb.load(study / "out-unfinished" / "posterior.nc").model.n_nodes == 4
    assert not list(study.glob(".out*"))


def test_two_fits_into_one_folder_are_refused(study):
    with replacing_folder(study / "shared", ()):
        done = command_line("fit", "answers.csv", "--drop", "id", "--out", "shared", cwd=study)
    assert done.returncode == 2
    assert "--out shared is in use by another process" in done.stderr


def test_info_prints_before_anything_runs(study):
    said = " ".join(run("info", study / "answers.csv", "--drop", "id").output.split())
    assert "never binary 0 (199), 1 (1) 0" in said
    assert "Recommended: --method exact" in said
    found = json.loads(run("info", study / "answers.csv", "--columns", "tired:sad", "--json").stdout)
    assert found["exact_is_feasible"] is True
    assert found["recommended"] == "exact"


def test_estimate_evidence_and_compare(study):
    options = ("--columns", "tired", "--columns", "worried", "--json")
    found = json.loads(run("estimate", study / "answers.csv", *options).stdout)
    assert found["converged"]
    assert set(found["theta"]) == {"tired--worried", "tired", "worried"}
    assert json.loads(run("evidence", study / "answers.csv", *options).stdout)["standard_error"] < 0.1
    table = json.loads(run("compare", study / "answers.csv", *options, "--method", "exact", "--method", "mle").stdout)
    assert set(table) == {"exact", "mle"}
    assert "mle" in run("compare", study / "answers.csv", *options[:4], "--method", "exact", "--method", "mle").output


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


def test_fit_searches_graphs_and_compares_groups(searched, study):
    said = " ".join(searched.output.split())
    assert "The data support 1 edge of 3" in said
    assert "Between old and young" in said
    selection, comparison = (mb.load(study / "structure" / name) for name in ("graphs.nc", "groups.nc"))
    assert selection.model.nodes == comparison.model.nodes == ("tired", "worried", "sad")
    assert comparison.groups == ("old", "young")
    assert comparison.group_n == (90, 110)
    table = pd.read_csv(study / "structure" / "edges.csv", index_col=0)
    np.testing.assert_allclose(table["inclusion"], selection.inclusion)
    assert len(pd.read_csv(study / "structure" / "differences.csv")) == 6
    page = (study / "structure" / "report.html").read_text(encoding="utf-8")
    assert "The search over graphs</h2>" in page
    assert "Differences between groups</h2>" in page
    settings = tomllib.loads((study / "structure" / "settings.toml").read_text())["fit"]
    assert (settings["select"], settings["group"]) == (True, "who")


def test_a_time_budget_covers_searches_and_report(grouped, study, monkeypatch):
    """Each search has a checkpoint of its own; one for which there is no time is left out, and that is said."""
    kept = study / "kept.ckpt"
    options = ("--select", "--prior", "normal(0, 2)", "--checkpoint", kept, "--seconds", 100_000, "--json")
    found = json.loads(run("fit", grouped, "--drop", "who", *options, "--out", study / "timed").stdout)
    assert (found["partial"], found["warnings"]) == (False, [])
    assert kept.exists()
    assert (study / "kept.ckpt.graphs").exists()
    selection = mb.load(study / "timed" / "graphs.nc")
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
def test_groups_and_searches_are_refused_before_the_sampling(grouped, study, options, message):
    table = pd.read_csv(grouped)
    table["nobody"], table["number"] = "NA", np.arange(200)
    (study / "more").mkdir(exist_ok=True)
    table.to_csv(study / "more" / "grouped.csv", index=False)
    others = [name for name in ("nobody", "number", "who") if name not in options]
    without = [part for name in others for part in ("--drop", name)]
    with pytest.raises(mb.InputError, match=message):
        run("fit", study / "more" / "grouped.csv", *without, *options, "--out", study / "refused")
    assert not (study / "refused").exists()


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


def test_fit_searches_graphs_and_compares_groups_with_missing_cells(grouped, study):
    table = pd.read_csv(grouped)
    table.loc[table.index % 5 == 0, "sad"] = np.nan
    table.to_csv(study / "missing.csv", index=False)
    options = ("--select", "--group", "who", "--chains", "1", "--method", "calibrated")
    done = run("fit", study / "missing.csv", *options, "--out", study / "missing")
    said = " ".join(done.output.split())
    assert said.count("assumed to be missing at random") == 1  # of all rows, not of every group
    assert mb.load(study / "missing" / "groups.nc").group_n == (90, 110)
    page = (study / "missing" / "report.html").read_text(encoding="utf-8")
    assert 'aria-labelledby="predictive-says"' in page
