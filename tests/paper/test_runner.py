"""Runs that are killed, workers that die, workers that are many: the files at the end are the same, byte for byte."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mrfbayes as mb
from mrfbayes.paper.journal import JOURNAL, Store, run_cells
from mrfbayes.paper.tasks import Cell, CellOutcome
from paper.scripted_run import ONE_THREAD, files

SCRIPT = Path(__file__).with_name("scripted_run.py")


def scripted(folder, workers, kill_at=None):
    command = [sys.executable, str(SCRIPT), str(folder), str(workers), *([] if kill_at is None else [str(kill_at)])]
    folder.mkdir(exist_ok=True)
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=ONE_THREAD)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    done = scripted(folder, 1)
    assert done.stdout.split() == ["0", "8"], done.stderr
    return files(folder)


def test_a_run_killed_inside_a_cell_goes_on(undisturbed, tmp_path):
    killed = scripted(tmp_path, 1, kill_at=5)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "killed").exists()
    assert (tmp_path / "results" / JOURNAL).read_text().count("\n") == 5
    again = scripted(tmp_path, 1, kill_at=5)
    assert again.stdout.split() == ["5", "3"], again.stderr  # nothing that was finished is done again
    assert files(tmp_path) == undisturbed


def test_three_workers_of_which_one_is_killed_inside_a_cell_give_the_same_files(undisturbed, tmp_path):
    done = scripted(tmp_path, 3, kill_at=2)
    assert done.stdout.split() == ["0", "8"], done.stderr
    assert (tmp_path / "killed").exists()
    assert files(tmp_path) == undisturbed


def test_ctrl_c_keeps_what_is_done(tmp_path):
    command = [sys.executable, "-c", "from mrfbayes.cli import main; main()", "reproduce", "--profile", "standard"]
    command += ["--only", "figure1", "--method", "mle-0", "--out", str(tmp_path)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ONE_THREAD)
    journal = tmp_path / "results" / JOURNAL
    limit = time.monotonic() + 120
    while not (journal.exists() and journal.read_text().count("\n") >= 2) and run.poll() is None:
        assert time.monotonic() < limit
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert "stopped by Ctrl-C" in out
    assert "Traceback" not in err
    assert len(Store(tmp_path / "results").outcomes) >= 2
    assert journal.read_text() == ""


def cells(count):
    return [Cell("4x4", 100, "adapted", "exact", r) for r in range(count)]


def test_ctrl_c_while_a_finished_cell_is_kept_waits_for_it(tmp_path, monkeypatch):
    real = os.fsync
    computed = []

    def pressed(descriptor):
        os.kill(os.getpid(), signal.SIGINT)
        real(descriptor)
        monkeypatch.undo()

    def task(cell):
        computed.append(cell)
        if len(computed) == 2:
            monkeypatch.setattr("mrfbayes.paper.journal.os.fsync", pressed)
        return CellOutcome({}, {})

    with Store(tmp_path) as store:
        run = run_cells(cells(4), store, task=task)
    assert (run.finished, run.stopped_by) == (2, "Ctrl-C")
    assert set(Store(tmp_path).outcomes) == set(computed) == set(cells(2))


def test_ctrl_c_inside_a_cell_gives_it_up(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have told its children to ignore it

    def task(cell):
        if cell.replication == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        return CellOutcome({}, {})

    with Store(tmp_path) as store:
        run = run_cells(cells(4), store, task=task)
    assert (run.finished, run.stopped_by) == (1, "Ctrl-C")
    assert set(Store(tmp_path).outcomes) == set(cells(1))
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def test_a_cell_that_fails_is_named_and_the_others_are_kept(tmp_path):
    def task(cell):
        if cell.replication == 1:
            raise mb.InputError("no")
        return CellOutcome({}, {})

    notes = []
    with Store(tmp_path) as store:
        run = run_cells(cells(3), store, task=task, report=lambda done, note: notes.append((done, note)))
    assert run.finished == 2
    assert run.failures == {cells(3)[1]: "InputError: no"}
    assert [note for _, note in notes] == ["1 of 3 cells", "1 of 3 cells", "2 of 3 cells"]
    assert len(Store(tmp_path).outcomes) == 2


def test_a_time_budget_begins_no_other_cell(tmp_path):
    with Store(tmp_path) as store:
        run = run_cells(cells(3), store, task=lambda cell: CellOutcome({}, {}), seconds=0.0)
    assert (run.finished, run.stopped_by) == (1, "time budget")


def test_a_failing_cell_becomes_a_message(tmp_path):
    empty = Cell("4x4", 0, "adapted", "exact", 0, 10)
    with Store(tmp_path) as store:
        run = run_cells([empty], store)
    assert run.failures[empty].startswith("InputError: ")
