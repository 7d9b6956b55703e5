"""The driver: how far chains go; draws on their way to memory and checkpoint, past a full disk or a foreign segment."""

import errno
from dataclasses import dataclass

import numpy as np
import pytest

from mrfbayes.base.errors import InputError, SamplingError
from mrfbayes.run import driver
from mrfbayes.run.store import Checkpoint
from mrfbayes.run.workers import Chunk, WorkerTask

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


@dataclass
class Counting(WorkerTask):
    """A chain whose draw is the number of its step; it keeps every second one after a warm-up of 4."""

    fails_at: int = 10**9
    n_columns, n_warmup, n_thin = 1, 4, 2

    def advance(self, state, n_steps):
        first = int(state["counters"][0])
        steps = np.arange(first + 1, first + n_steps + 1)
        kept = steps[(steps > self.n_warmup) & ((steps - self.n_warmup) % self.n_thin == 0)]
        return Chunk({"counters": np.array([first + n_steps])}, kept[:, None].astype(float), np.zeros(len(kept)))

    def failure(self, state):
        return "stuck" if state["counters"][0] >= self.fails_at else ""


def run(task=None, states=2, **settings):
    starts = [{"counters": np.zeros(1, dtype=np.int64)} for _ in range(states)]
    return driver.run_chains(task or Counting(), starts, driver.RunSettings(progress=False, **settings))


def test_chains_go_to_their_number_of_steps_in_chunks_of_any_size(monkeypatch):
    for first in (1, 3, 64):
        monkeypatch.setattr(driver, "FIRST_CHUNK", first)
        found = run(n_steps=31)
        np.testing.assert_array_equal(found.draws[..., 0], [np.arange(6, 31, 2)] * 2)
        assert (found.n_steps, found.n_warmup, found.stopped_by) == (31, 4, "")
        assert found.gather("counters").tolist() == [[31], [31]]


def test_steps_after_warmup_double_until_they_are_enough():
    asked = []

    def is_enough(draws, states):
        asked.append(draws.shape[1])
        return draws.shape[1] >= 10

    assert run(n_steps=10, longest=100, is_enough=is_enough).n_steps == 4 + 24  # 6, 12 and 24 steps after warm-up
    assert asked == [3, 6, 12]
    short = run(n_steps=10, longest=20, is_enough=is_enough)
    assert (short.n_steps, short.is_enough) == (20, False)


def test_a_run_is_continued_from_its_checkpoint(tmp_path):
    for n_steps, resumed in ((11, 0), (31, 11)):
        with Checkpoint(tmp_path / "run", IDENTITY) as store:
            found = run(n_steps=n_steps, checkpoint=store)
        assert found.resumed_steps == resumed
    np.testing.assert_array_equal(found.draws, run(n_steps=31).draws)


def test_a_time_budget_leaves_chains_of_equal_length(monkeypatch):
    monkeypatch.setattr(driver, "ROUND_SECONDS", 1e-9)  # rounds of one step
    found = run(n_steps=10**9, seconds=0.05)
    assert found.stopped_by == "time budget"
    assert found.n_steps == 10**9
    done = found.gather("counters")[:, 0]
    assert 0 < done[0] == done[1] < 10**9


def test_a_chain_that_cannot_go_on_is_named():
    with pytest.raises(SamplingError, match=r"chain 0, step \d+: stuck\. It is 0\."):
        run(Counting(fails_at=20), n_steps=40, explain_failure=lambda number, state: f"It is {number}.")
