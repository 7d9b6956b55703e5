"""Who advances the chains: a chunk is a function of the state, in order, and errors come back."""

from dataclasses import dataclass

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.engines.base import Setup
from mrfbayes.engines.metropolis import RandomWalk
from mrfbayes.engines.settings import Plan
from mrfbayes.kernels.run import chain
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from mrfbayes.run.workers import ChainWorkers, Chunk, WorkerTask


@pytest.fixture
def setup():
    """Two chains of the adaptive walk on a 2x3 grid, with a warm-up of 20 steps and every third step kept."""
    model = mb.grid(2, 3)
    statistics = mb.Statistics.from_counts(model, [30, 40, 25, 35, 45, 28, 33], 60)
    problem = Problem(model, statistics, Prior(model, "uniform"), np.random.SeedSequence(2))
    prepared = method_row("exact").prepare(problem)
    plan = Plan(steps=100, warmup=20, chains=2, thin=3, start="dispersed", longest=100)
    return RandomWalk().set_up(Setup(RandomWalk(), problem, None, prepared, plan), None)


def test_chunks_of_any_size_are_one_chain(setup):
    task, state = setup.task, setup.states[0]
    before = {name: array.copy() for name, array in state.items()}
    whole = task.advance(state, 80)
    assert all(np.array_equal(array, before[name], equal_nan=True) for name, array in state.items())
    draws, rest = [], state
    for size in (1, 24, 7, 48):
        rest, drawn, _ = task.advance(rest, size)
        draws.append(drawn)
    np.testing.assert_array_equal(np.concatenate(draws), whole.draws)
    assert len(whole.draws) == 60 // 3
    assert all(np.array_equal(array, whole.state[name]) for name, array in rest.items())


def test_a_start_without_a_density_is_refused(setup):
    task, state = setup.task, setup.task.advance(setup.states[1], 0).state
    task.check_start(1, state)
    state["numbers"][chain.LOG_TARGET] = -np.inf
    with pytest.raises(mb.InputError, match=r"chain 1: .*-inf.*start="):
        task.check_start(1, state)


def test_the_note_counts_acceptances_of_all_chains(setup):
    states = [{"counters": np.zeros(chain.N_COUNTERS, dtype=np.int64)} for _ in range(2)]
    for state, (steps, warm, accepted) in zip(states, ((100, 10, 20), (100, 20, 50)), strict=True):
        state["counters"][[chain.STEP, chain.WARM_ACCEPTED, chain.ACCEPTED]] = steps, warm, accepted
    assert setup.task.note(states) == "accepting 50%"


def test_warmup_can_be_cut(setup):
    short = setup.task.with_warmup(5)
    assert (short.n_warmup, short.n_thin, setup.task.n_warmup) == (5, 3, 20)
    assert len(short.advance(setup.states[0], 20).draws) == 15 // 3


@dataclass
class Counting(WorkerTask):
    """Adds the number of steps to a state, and cannot go past 100."""

    def advance(self, state, n_steps):
        if state["x"] + n_steps > 100:
            raise ArithmeticError("past 100")
        return Chunk({"x": state["x"] + n_steps}, np.zeros((n_steps, 1)), np.zeros(n_steps))


def test_chunks_come_back_in_the_order_of_the_chains():
    workers = ChainWorkers(Counting(), 1, 3)
    chunks = workers.advance([{"x": np.array(x)} for x in (30, 10, 20)], 5)
    assert [int(chunk.state["x"]) for chunk in chunks] == [35, 15, 25]
    with pytest.raises(ArithmeticError, match="past 100"):
        workers.advance([{"x": np.array(x)} for x in (30, 99, 20)], 5)
    workers.close()
