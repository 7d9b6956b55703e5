"""Kills at moments that nobody chose, and more workers than cores."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paper.scripted_run import ONE_THREAD, files

SCRIPT = Path(__file__).parents[2] / "paper" / "scripted_run.py"


def start(folder, workers):
    folder.mkdir(exist_ok=True)
    command = [sys.executable, str(SCRIPT), str(folder), str(workers)]
    return subprocess.Popen(command, env=ONE_THREAD, stdout=subprocess.DEVNULL, start_new_session=True)


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


CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def test_any_dask_cluster_by_its_address(tmp_path):
    """The same bytes from a cluster that somebody else started as from this process."""
    (tmp_path / "cluster.py").write_text(CLUSTER)
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "cluster.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as cluster:
        address = cluster.stdout.readline().strip()
        command = [sys.executable, "-c", "from mrfbayes.cli import main; main()", "reproduce", "--no-render"]
        for name, more in (("there", ["--cluster", address]), ("here", [])):
            done = subprocess.run([*command, "--out", str(tmp_path / name), *more], env=ONE_THREAD, timeout=300)
            assert done.returncode == 0
        cluster.stdin.close()
    assert files(tmp_path / "there") == files(tmp_path / "here")
