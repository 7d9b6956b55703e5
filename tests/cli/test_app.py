"""The command line as a person meets it: exit statuses, one line per problem; some in a process of their own."""

import subprocess
import sys

import numpy as np
import pytest

import mrfbayes as mb
from command_line import run, run_process


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, size=(80, 4))
    x[:50, 1] = x[:50, 0]
    header = ",".join(f"{r}:{c}" for r in range(2) for c in range(2))
    np.savetxt(path / "grid.csv", x, fmt="%d", delimiter=",", header=header, comments="")
    header, *lines = (path / "grid.csv").read_text().split("\n")
    words = [header.replace(",", ";"), *(line.replace(",", ";").replace("0", "m").replace("1", "f") for line in lines)]
    (path / "words.csv").write_text("\n".join(words))
    lines[3], lines[5] = ",0,1,1", "1,NA,,0"
    (path / "missing.csv").write_text("\n".join([header, *lines]))
    (path / "twice.csv").write_text("0:0,0:1\n0:1,0:0\n0:1,1:1\n1:1,1:1\n")
    (path / "hostile.csv").write_text(
        '"=cmd|x","[red]b[/red]","\x1b[31mc"\n' + "\n".join("0,1,1\n1,1,0\n1,0,1\n0,0,0" for _ in range(5))
    )
    return path


@pytest.fixture(scope="module")
def sampled(folder):
    settings = ("--grid", "2x2", "--method", "exact", "--draws", 4000, "--chains", 2, "--out", "result.nc")
    return run("sample", "grid.csv", *settings, "--checkpoint", "run.checkpoint", cwd=folder)


def test_sample_prints_a_row_per_parameter_and_saves(sampled, folder):
    assert sampled.returncode == 0, sampled.stderr
    for name in ("0,0--0,1", "0,0--1,0", "0,1--1,1", "1,0--1,1"):
        assert name in sampled.stdout
    assert "exact target" in sampled.stdout
    assert (folder / "result.nc").exists()


def test_the_saved_result_is_summarised_and_exported(sampled, folder):
    again = run("summary", "result.nc", "--csv", "table.csv", cwd=folder)
    assert again.returncode == 0, again.stderr
    shown = [line for line in sampled.stdout.splitlines() if "--" in line]
    assert all(line in again.stdout for line in shown)
    rows = (folder / "table.csv").read_text().splitlines()
    assert rows[0].startswith("parameter,mean,sd")
    assert len(rows) == 5


def test_the_checkpoint_continues_the_run(sampled, folder):
    settings = (
        "--grid",
        "2x2",
        "--method",
        "exact",
        "--draws",
        6000,
        "--chains",
        2,
    )
    more = run("sample", "grid.csv", *settings, "--checkpoint", "run.checkpoint", cwd=folder)
    assert more.returncode == 0, more.stderr
    assert "2 chains of 6000 draws" in more.stdout


def test_missing_cells_are_modelled_or_dropped(folder):
    settings = ("sample", "missing.csv", "--complete", "--method", "calibrated", "--draws", 200)
    done = run(*settings, "--missing", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "2 rows have missing cells" in done.stdout
    assert "not on the missing value itself" in " ".join(done.stdout.split())
    rows = [line for line in done.stdout.splitlines() if "--" in line]
    assert rows
    assert all(line in run(*settings, cwd=folder).stdout for line in rows)  # the default
    done = run(*settings, "--missing", "drop", cwd=folder)
    assert "2 of 80 rows have missing cells and were dropped" in " ".join(done.stdout.split())
    refused = run("sample", "missing.csv", "--complete", "--method", "mle", cwd=folder)
    assert refused.returncode == 2
    assert "missing='drop'" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("sample", "grid.csv", "--grid", "3x3"), 2, "columns"),
        (("sample", "grid.csv", "--complete", "--grid", "2x2"), 2, "which field?"),
        (("sample", "grid.csv", "--grid", "2by2"), 2, "for example 8x8"),
        (("sample", "grid.csv", "--grid", "2x2", "--method", "magic"), 2, "choose one of"),
        (("sample", "grid.csv", "--grid", "2x2", "--prior", "gamma(1)"), 2, "expected one of"),
        (("sample", "grid.csv", "--grid", "2x2", "--draws", "1000000000000"), 3, "months"),
        (("sample", "grid.csv", "--grid", "2x2", "--out", "grid.csv"), 2, "exists"),
        (("sample", "grid.csv", "--grid", "2x2", "--drop", "0:0"), 2, "3 columns, the 2 x 2 grid has 4 nodes"),
        (("sample", "nowhere.csv", "--grid", "2x2"), 2, "nowhere.csv"),
        (("fit", "nowhere.csv", "--group", "sex"), 2, "nowhere.csv"),
        (("sample", "grid.csv", "--grid", "100000x100000"), 3, "9.1 TiB"),
        (("sample", "grid.csv", "--grid", "\N{SUPERSCRIPT TWO}x3"), 2, "for example 8x8"),
        (("sample", "grid.csv", "--complete", "--prior", "beta(1e308, 1e308)"), 2, "from 1e-06 to 1e+09"),
        (("sample", "grid.csv", "--complete", "--missing", "ignore"), 2, "choose 'model' or 'drop'"),
        (
            ("sample", "missing.csv", "--complete", "--method", "mle"),
            2,
            "has no likelihood for rows",
        ),
        (("sample", "grid.csv", "--complete", "--levels", "low,high"), 2, "--levels"),
        (("sample", "grid.csv", "--complete", "--delimiter", ";;"), 2, "delimiter = ';;'"),
        (("sample", "words.csv", "--complete", "--levels", "w<z"), 2, "none of 'w', 'z' occurs"),
        (("summary", "grid.csv"), 2, "not a result file"),
    ],
)
def test_a_problem_is_one_line_and_a_status(folder, arguments, status, message):
    done = run(*arguments, cwd=folder)
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status"), [(("sample", "grid.csv", "--grid", "3x3"), 2), (("summary", "result.nc"), 0)]
)
def test_process_has_output_and_exit_status_of_the_command(sampled, folder, arguments, status):
    done = run_process(*arguments, cwd=folder)
    assert done.returncode == status
    assert run(*arguments, cwd=folder) == (status, done.stdout, done.stderr)


def test_a_column_is_left_out(folder):
    rows = "\n".join(f"{k},{k % 2},{k // 2 % 2}" for k in range(40))
    (folder / "people.csv").write_text(f"person,tired,worried\n{rows}\n")
    command = ("sample", "people.csv", "--complete", "--method", "exact", "--draws", 500, "--chains", 1)
    refused = run(*command, cwd=folder)
    assert refused.returncode == 2
    assert "--drop person" in refused.stderr
    done = run(*command, "--drop", "person", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "tired--worried" in done.stdout
    assert "person" not in done.stdout
    unknown = run(*command, "--drop", "persons", cwd=folder)
    assert unknown.returncode == 2
    assert "no such column" in unknown.stderr


def test_hostile_names_are_shown_and_not_obeyed(folder):
    done = run("sample", "hostile.csv", "--complete", "--method", "exact", "--draws", 500, "--chains", 1, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "\x1b[31mc" not in done.stdout
    assert "[red]b[/red]" in done.stdout


def test_labels_have_the_given_order_and_the_mapping_is_shown(sampled, folder):
    settings = ("--grid", "2x2", "--method", "exact", "--draws", 4000, "--chains", 2)
    done = run("sample", "words.csv", *settings, "--levels", "m<f", "--out", "words.nc", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "m (38), f (42)" in done.stdout
    table = [line for line in sampled.stdout.splitlines() if "--" in line]
    assert table
    assert all(line in done.stdout for line in table)
    again = run("summary", "words.nc", cwd=folder)
    assert "states: all columns: m = 0, f = 1" in again.stdout


def test_all_problems_of_a_graph_file_are_shown_and_edges_merged(folder):
    done = run("cost", "--graph", "twice.csv", cwd=folder)
    assert done.returncode == 2
    assert [line.split(":")[2] for line in done.stderr.splitlines()] == ["2", "4"]
    assert "--merge-edges" in done.stderr
    (folder / "twice.csv").write_text("0:0,0:1\n0:1,0:0\n")
    assert run("cost", "--graph", "twice.csv", "--merge-edges", cwd=folder).returncode == 0


def test_help_lists_every_command_and_loads_nothing_that_it_does_not_need(folder):
    """Its processor time is that of its imports: neither NumPy, Numba nor what draws boxes is among them."""
    code = (
        "import sys; from mrfbayes.cli.app import SECTIONS, app; sys.argv = ['mrfbayes', '--help'];"
        "app(standalone_mode=False);"
        "listed = {name for names in SECTIONS.values() for name in names};"
        "assert listed == {command.callback.__name__ for command in app.registered_commands};"
        "print(sorted({'numpy', 'numba', 'scipy', 'pandas', 'rich', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
    for text in ("On data:", "  fit ", "On a saved result:", "  export ", "Without data:", "  reproduce "):
        assert text in done.stdout


def test_settings_that_messages_name_can_be_given(folder):
    """`raise thin=`, `use engine='mh'`: advice that a command line can follow."""
    asked = ("--option", "thin=5", "--option", "engine=mh")
    done = run(
        "sample", "grid.csv", "--grid", "2x2", "--method", "mle", "--draws", 20, *asked, "--out", "thin.nc", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    result = mb.load(folder / "thin.nc")
    assert (result.thin, result.engine, result.draws.shape[1]) == (5, "mh", 20)
    assert "start: dispersed" in done.stdout


def test_a_call_is_checked_before_its_data_are_read(folder, monkeypatch):
    def read(*arguments, **settings):
        raise AssertionError("the data were read")

    monkeypatch.setattr("mrfbayes.data.data.Data.count", read)
    for command in (("sample", "grid.csv", "--grid", "2x2"), ("fit", "grid.csv", "--out", "nowhere")):
        for wrong, said in (
            (("--draws", "0"), "draws = 0"),
            (("--workers", "0"), "workers = 0"),
            (("--option", "engine=warp"), "engine = 'warp'"),
            (("--option", "draws=7"), "or as --draws"),
            (("--option", "thin"), "write NAME=VALUE"),
        ):
            done = run(*command, *wrong, cwd=folder)
            assert done.returncode == 2
            assert said in done.stderr


def test_info_recommends_no_method_if_none_is_feasible(folder):
    names = ",".join(f"c{k}" for k in range(400))
    (folder / "wide.csv").write_text(f"{names}\n" + "\n".join(",".join("01" * 200) for _ in range(3)) + "\n")
    done = run("info", "wide.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "No method is within reach" in done.stdout
    assert "inf" not in done.stdout.split("No method")[1]
