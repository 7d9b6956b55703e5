"""A Dask cluster as ``workers=``: the same draws as in this process, also where its workers are killed."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mrfbayes as mb
from mrfbayes.run.pools import Job, run_jobs

MODEL = mb.grid(2, 3)
X = np.random.default_rng(3).integers(0, 2, (60, 6))
SETTINGS = {"engine": "mh", "draws": 2_000, "warmup": 100, "chains": 2, "progress": False}
pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")  # short chains say that they are


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def kill_one(client):
    """Kill the process of a worker, as the system does when memory runs out."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def test_chains_on_a_cluster_are_the_same(client, monkeypatch):
    here = mb.sample(MODEL, X, "mle", **SETTINGS)
    address = client.scheduler.address
    assert address.startswith("tcp://127.0.0.1")
    from mrfbayes.run import workers

    advance, rounds = workers.ChainWorkers.advance, []

    def advance_and_kill(self, states, n_steps):
        rounds.append(n_steps)
        if len(rounds) == 3:
            kill_one(client)
        return advance(self, states, n_steps)

    monkeypatch.setattr(workers.ChainWorkers, "advance", advance_and_kill)
    there = mb.sample(MODEL, X, "mle", workers=address, **SETTINGS)
    assert len(rounds) > 3
    assert np.array_equal(there.draws, here.draws)


def square(number, folder):
    if number == 2 and not (mark := Path(folder) / "killed").exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 3:
        raise ValueError("unlucky")
    return number**2


def test_a_worker_killed_inside_a_job_is_replaced(client, tmp_path):
    found = dict(run_jobs(square, [Job(str(n), (n, str(tmp_path))) for n in range(6)], client))
    assert (tmp_path / "killed").exists()
    assert isinstance(found.pop("3"), ValueError)
    assert found == {str(n): n**2 for n in (0, 1, 2, 4, 5)}


def test_methods_and_data_sets_on_a_cluster_are_the_same(client, tmp_path):
    methods = ("mle", {"method": "mle", "rho": 0.05})
    here = mb.compare(MODEL, X, methods=methods, reference=None, **SETTINGS)
    there = mb.compare(MODEL, X, methods=methods, reference=None, workers=client, **SETTINGS)
    for name, posterior in here.posteriors.items():
        assert np.array_equal(there.posteriors[name].draws, posterior.draws)
    data, settings = {"one": X[:30], "two": X[30:], "bad": X[:, :2]}, {"draws": 100, "progress": False}
    here = mb.sample_many(MODEL, data, method="mle", **settings)
    there = mb.sample_many(MODEL, data, method="mle", workers=client, folder=tmp_path, **settings)
    assert list(here) == list(there) == ["one", "two"]
    assert here.failures == there.failures
    for name in here:
        assert np.array_equal(here[name].draws, there[name].draws)


def test_a_collection_is_counted_by_the_workers(client):
    dd = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X, columns=list(MODEL.nodes))
    with client.as_current():
        found = mb.Data(dd.from_pandas(table, npartitions=4)).count(MODEL)
    assert found.digest == mb.Data(table).count(MODEL).digest


def test_an_address_where_nobody_answers_is_refused(monkeypatch):
    from mrfbayes.run import pools

    monkeypatch.setattr(pools, "ANSWER_SECONDS", 1)
    started = time.monotonic()
    with pytest.raises(mb.InputError, match=r"workers = 'tcp://127\.0\.0\.1:9': .*scheduler"):
        mb.sample(MODEL, X, "mle", workers="tcp://127.0.0.1:9", **{**SETTINGS, "engine": None, "warmup": None})
    assert time.monotonic() - started < 60
