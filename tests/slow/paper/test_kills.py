"""Kills at moments that nobody chose, and more workers than cores."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mrfbayes.paper.store import JOURNAL, TIMINGS

SCRIPT = Path(__file__).parents[2] / "paper" / "scripted_run.py"
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def start(folder, workers):
    folder.mkdir(exist_ok=True)
    command = [sys.executable, str(SCRIPT), str(folder), str(workers)]
    return subprocess.Popen(command, env=ONE_THREAD, stdout=subprocess.PIPE, text=True, start_new_session=True)


def files(folder):
    results = folder / "results"
    return {p.name: p.read_bytes() for p in results.iterdir() if p.name not in (TIMINGS, JOURNAL)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert start(folder, 1).wait(300) == 0
    return files(folder)


@pytest.mark.parametrize("workers", [2, 4])
def test_the_number_of_workers_does_not_matter(undisturbed, tmp_path, workers):
    assert start(tmp_path, workers).wait(300) == 0
    assert files(tmp_path) == undisturbed


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_again_and_again(undisturbed, tmp_path, workers):
    rng = random.Random(7)
    kills = 0
    for _ in range(40):
        run = start(tmp_path, workers)
        try:
            assert run.wait(rng.uniform(1.0, 9.0)) == 0
            break
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)  # the run and its workers
            run.wait()
            kills += 1
    assert kills >= 1
    while start(tmp_path, workers).wait(300) != 0:
        time.sleep(0.1)
    assert files(tmp_path) == undisturbed
