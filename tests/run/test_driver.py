"""Draws on their way to memory and to the checkpoint: a failing disk costs none, a foreign segment is refused."""

import errno

import numpy as np
import pytest

from mrfbayes.base.errors import InputError
from mrfbayes.run import driver
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import Chunk

IDENTITY = {"run": "r"}


def states(value=0.0):
    return [{"theta": np.full(2, value), "counters": np.zeros(3, dtype=np.int64)} for _ in range(2)]


def chunks(value, length=4):
    return [Chunk(state, np.full((length, 2), value), np.full(length, value)) for state in states(value)]


def full(descriptor):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_no_draws(tmp_path, monkeypatch):
    with Checkpoint(tmp_path / "run", IDENTITY) as store:
        collector = driver._Collector(states(), 2, store)
        collector.add(chunks(0.1))
        collector.write()
        with monkeypatch.context() as patched:
            patched.setattr("mrfbayes.run.store.os.fsync", full)
            collector.add(chunks(0.2))
            collector.write()
        assert "No space left on device" in collector.problem
        assert collector.result()[0].shape == (2, 8, 2)
        collector.add(chunks(0.3))
        collector.write()  # there is space again: nothing is missing
        assert collector.problem == ""
    with Checkpoint(tmp_path / "run", IDENTITY) as store:
        again = driver._Collector(states(), 2, store)
        np.testing.assert_array_equal(again.result()[0], collector.result()[0])
        assert again.states[0]["theta"].tolist() == [0.3, 0.3]


@pytest.mark.parametrize(
    "change",
    [
        {"draws": None},
        {"draws": np.zeros((2, 4, 3))},
        {"draws": np.zeros((1, 4, 2))},
        {"draws": np.zeros(7)},
        {"log_likelihood": np.zeros((2, 5))},
        {"0/theta": np.zeros(3)},
        {"0/theta": None},
        {"1/counters": np.zeros(3)},
        {"1/strange": np.zeros(3)},
    ],
)
def test_a_segment_of_another_kind_of_run_is_refused(tmp_path, change):
    arrays = {f"{c}/{name}": array for c, state in enumerate(states()) for name, array in state.items()}
    arrays |= {"draws": np.zeros((2, 4, 2)), "log_likelihood": np.zeros((2, 4))}
    arrays = {name: array for name, array in (arrays | change).items() if array is not None}
    with Checkpoint(tmp_path / "run", IDENTITY) as store:
        store.append({}, arrays)
    with (
        Checkpoint(tmp_path / "run", IDENTITY) as store,
        pytest.raises(InputError, match=r"run: .*draws or states"),
    ):
        driver._Collector(states(), 2, store)
