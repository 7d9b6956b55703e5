"""Files of commands: looked at before the work, never destroyed, saved elsewhere where their place fails."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mrfbayes as mb
from command_line import COMMAND, run
from mrfbayes.cli import files as outputs

SAMPLE = ("sample", "grid.csv", "--grid", "2x2", "--method", "exact", "--draws", 500, "--chains", 1)


@pytest.fixture
def folder(tmp_path):
    x = np.random.default_rng(3).integers(0, 2, size=(80, 4))
    header = ",".join(f"{r}:{c}" for r in range(2) for c in range(2))
    np.savetxt(tmp_path / "grid.csv", x, fmt="%d", delimiter=",", header=header, comments="")
    return tmp_path


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SAMPLE, "--out", "no/r.nc"), "--out no/r.nc: there is no folder no: make it first"),
        ((*SAMPLE, "--checkpoint", "no/run"), "--checkpoint no/run: there is no folder no"),
        ((*SAMPLE, "--out", "grid.csv", "--overwrite"), "--out and the data are the same file"),
        ((*SAMPLE, "--checkpoint", "grid.csv"), "--checkpoint and the data are the same file"),
        ((*SAMPLE, "--out", "same", "--checkpoint", "same"), "--out and --checkpoint are the same file"),
        ((*SAMPLE, "--out", "grid.csv"), "--out grid.csv exists: choose another name, or pass --overwrite"),
        ((*SAMPLE, "--out", "."), "not the path of a file"),
        (("simulate", "0.7", "5", "--grid", "2x2", "--out", "grid.csv"), "exists: choose another name"),
        (("simulate", "0.7", "5", "--grid", "2x2", "--out", "no/x.csv"), "there is no folder no"),
        (("simulate", "0.7", "5", "--graph", "grid.csv", "--out", "grid.csv", "--overwrite"), "are the same file"),
        (("summary", "grid.csv", "--csv", "grid.csv", "--overwrite"), "--csv and the result are the same file"),
        (("summary", "grid.csv", "--csv", "no/t.csv"), "there is no folder no"),
        (("sample",), "mrfbayes sample --help)"),
        (("sample", "grid.csv", "--draws", "many"), "mrfbayes sample --help)"),
        (("nonsense",), "mrfbayes --help)"),
    ],
)
def test_a_bad_target_is_one_line_before_any_work(folder, arguments, message):
    before = files(folder)
    started = time.monotonic()
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert files(folder) == before
    assert time.monotonic() - started < 60  # nothing was compiled or sampled; the machine may be busy


@pytest.fixture(scope="module")
def posterior():
    x = np.random.default_rng(3).integers(0, 2, size=(80, 4))
    return mb.sample(mb.grid(2, 2), x, "calibrated", draws=500, progress=False)


def test_a_table_is_not_overwritten(posterior, folder):
    posterior.save(folder / "r.nc")
    (folder / "table.csv").write_text("mine")
    refused = run("summary", "r.nc", "--csv", "table.csv", cwd=folder)
    assert (refused.returncode, (folder / "table.csv").read_text()) == (2, "mine")
    assert "exists: choose another name, or pass --overwrite" in refused.stderr
    done = run("summary", "r.nc", "--csv", "table.csv", "--overwrite", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "table.csv").read_text().startswith("parameter,mean,sd")


def test_a_result_that_does_not_fit_is_saved_elsewhere(posterior, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(outputs.tempfile, "gettempdir", lambda: str(tmp_path / "other"))
    real = os.replace

    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mrfbayes.base.atomic_files.os.replace", full)
    kept = outputs.keep(posterior, tmp_path / "r.nc", overwrite=True)
    monkeypatch.setattr("mrfbayes.base.atomic_files.os.replace", real)
    assert kept.status == 1
    assert "No space left on device" in kept.text
    (other,) = (tmp_path / "other").iterdir()
    assert f"saved to {other} instead" in kept.text
    np.testing.assert_array_equal(mb.load(other).draws, posterior.draws)
    assert not (tmp_path / "r.nc").exists()


def test_no_writable_place_is_reported(posterior, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mrfbayes.base.atomic_files.os.fsync", full)
    kept = outputs.keep(posterior, tmp_path / "r.nc", overwrite=False)
    assert kept.status == 1
    assert "only this output remains" in kept.text
    assert list(tmp_path.iterdir()) == []


def test_rows_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    def rows():
        yield [0, 1]
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(mb.OutputError, match="No space left"):
        outputs.write_rows(["a", "b"], rows(), tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []
    outputs.write_rows(["=a", "b"], [[0, 1], [1, 1]], tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().splitlines() == ["'=a,b", "0,1", "1,1"]


def test_ctrl_c_keeps_a_partial_result_and_exits_with_130(folder):
    command = ("sample", "grid.csv", "--grid", "2x2", "--method", "exchange-exact", "--draws", 10**7, "--warmup", 1_000)
    settings = ("--chains", 1, "--out", "r.nc", "--checkpoint", "run")
    process = subprocess.Popen(
        [*COMMAND, *map(str, (*command, *settings))],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + 240
    while not (Path(folder / "run").exists() and (folder / "run").stat().st_size > 4_000) and process.poll() is None:
        if time.monotonic() > limit:
            process.kill()  # or it would go on for hours
            pytest.fail("no draws after four minutes")
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "saved to r.nc" in out
    assert "Traceback" not in err
    assert mb.load(folder / "r.nc").partial
    summary = run("summary", "r.nc", cwd=folder)
    assert summary.returncode == 0, summary.stderr
    assert "stopped by Ctrl-C" in summary.stdout


def test_ctrl_c_without_draws_reports_that_nothing_is_kept(folder, monkeypatch, capsys):
    from mrfbayes import cli

    def stopped(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("mrfbayes.data.data.Data.count", stopped)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["mrfbayes", *map(str, SAMPLE)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    text = capsys.readouterr().err
    assert text.startswith("mrfbayes: stopped by Ctrl-C")
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (mb.InputError("i"), 2),
        (mb.CostError("c"), 3),
        (MemoryError("m"), 3),
        (mb.SamplingError("s"), 1),
        (mb.OutputError("o"), 1),
        (PermissionError(13, "Permission denied", "x"), 1),
        (FileNotFoundError(2, "No such file or directory", "x"), 2),
        (KeyboardInterrupt("k"), 130),
    ],
)
def test_every_end_has_its_status_and_one_line(monkeypatch, capsys, error, status):
    from mrfbayes import cli

    def fail(*arguments, **settings):
        raise error

    monkeypatch.setattr("mrfbayes.cli.show.table", fail)
    monkeypatch.setattr(sys, "argv", ["mrfbayes", "methods"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == status
    said = capsys.readouterr().err
    assert said.startswith("mrfbayes: ")
    assert said.count("\n") == 1


def test_the_status_is_130_wherever_ctrl_c_comes(tmp_path):
    """`python -m` would end by the signal where it came while Python ran a text, as it does in imports."""
    (tmp_path / "pressed.py").write_text(
        "import os, signal, sys\n"
        "from mrfbayes import cli\n"
        "from mrfbayes.cli import app\n"
        "def press(**how):\n"
        "    exec('os.kill(os.getpid(), signal.SIGINT)\\nwhile True: pass')\n"
        "app.app = press\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-m", "pressed"], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 130
    assert done.stderr.startswith("mrfbayes: stopped by Ctrl-C")
    assert done.stderr.count("\n") == 1
