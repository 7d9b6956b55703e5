"""Who advances the chains: this process, a pool of processes, or a Dask cluster.

A chunk is a pure function of the task and the state of a chain: it can run anywhere, in any order, and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.errors import InputError
from mrfbayes.base.types import View, with_own_workspace
from mrfbayes.kernels.priors import PriorView
from mrfbayes.kernels.run import chain
from mrfbayes.kernels.run.chain import ChainSettings, KeptDraws
from mrfbayes.kernels.run.hmc import HmcSettings
from mrfbayes.run.pools import Job, Workers, make_pool

State = dict[str, np.ndarray]


class Chunk(NamedTuple):
    """What a chunk gives back."""

    state: State
    draws: np.ndarray
    log_likelihood: np.ndarray


class WorkerTask(Protocol):
    """What advances a chain: everything about it that does not change, sent to each worker once.

    The first of a state's "counters" is the number of steps behind it, warm-up included. A task whose warm-up can be
    ended for want of time has ``with_warmup(n_warmup)``, the same task with a warm-up of another length; one with
    arrays whose shapes change names them in ``varying``.
    """

    @property
    def n_columns(self) -> int:
        """Numbers in a draw."""

    @property
    def n_warmup(self) -> int:
        """Steps of warm-up."""

    @property
    def n_thin(self) -> int:
        """Steps between two draws that are kept."""

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more steps from ``state``, which is left as it was."""

    def check_start(self, number: int, state: State) -> None:
        """An `InputError` where chain ``number`` cannot start."""
        return None

    def failure(self, state: State) -> str:
        """Why the chain cannot go on; empty where it can."""
        return ""

    def note(self, states: Sequence[State]) -> str:
        """A few words on how the chains are doing."""
        return ""


Own = TypeVar("Own", bound="Metropolis")


@dataclass(frozen=True)
class Metropolis(WorkerTask):
    """How a chain that accepts or rejects is doing, from its state; for the tasks of such chains."""

    prior: PriorView
    settings: ChainSettings | HmcSettings

    @property
    def n_columns(self) -> int:
        """Numbers in a draw."""
        return int(self.prior.offset[-1])

    @property
    def n_warmup(self) -> int:
        """Steps of warm-up."""
        return int(self.settings.n_warmup)

    @property
    def n_thin(self) -> int:
        """Steps between two draws that are kept."""
        return int(self.settings.n_thin)

    def with_warmup(self: Own, n_warmup: int) -> Own:
        """These chains with a warm-up of another length."""
        return replace(self, settings=self.settings._replace(n_warmup=n_warmup))

    def check_start(self, number: int, state: State) -> None:
        """An `InputError` where chain ``number`` cannot start."""
        value = float(state["numbers"][chain.LOG_TARGET])
        if not math.isfinite(value):
            raise InputError(
                f"chain {number}: the log of prior times likelihood is {value} at the start: choose another start=, "
                "or a prior that is positive there."
            )

    def failure(self, state: State) -> str:
        """Why the chain cannot go on; empty where it can."""
        return "" if state["counters"][chain.FAILED] == chain.FINE else "the acceptance ratio is not a finite number"

    def note(self, states: Sequence[State]) -> str:
        """How many proposals were accepted."""
        counters = np.stack([state["counters"] for state in states]).sum(axis=0)
        accepted = int(counters[chain.ACCEPTED] + counters[chain.WARM_ACCEPTED])
        return f"accepting {accepted / max(int(counters[chain.STEP]), 1):.0%}"

    def kept_draws(self, state: State, n_steps: int) -> KeptDraws:
        """Arrays for the draws of ``n_steps`` more steps."""
        rows = n_steps // self.n_thin + 1
        return chain.KeptDraws(np.empty((rows, self.n_columns)), np.empty(rows), int(state["counters"][chain.KEPT]))

    def chunk(self, state: State, kept: KeptDraws) -> Chunk:
        """What the chain came to, and the draws that it kept."""
        count = int(state["counters"][chain.KEPT]) - kept.first
        return Chunk(state, kept.draws[:count], kept.log_likelihood[:count])


@dataclass(frozen=True)
class ChainTask(Metropolis):
    """A chain of Metropolis-Hastings steps by any method.

    ``loop(view, prior, settings, state, kept_draws, n_steps)`` is the compiled chain, one of `mrfbayes.kernels.run`;
    ``carried`` names the arrays of ``view`` that change from step to step (particles); they travel with the state.
    """

    view: View
    loop: Callable[..., None]
    carried: tuple[str, ...]

    def advance(self, state: State, n_steps: int) -> Chunk:
        """``n_steps`` more steps from ``state``, which is left as it was."""
        state = {name: array.copy() for name, array in state.items()}
        view = with_own_workspace(self.view)._replace(**{name: state[f"view.{name}"] for name in self.carried})
        chain_state = chain.ChainState(**{name: state[name] for name in chain.ChainState._fields})
        kept = self.kept_draws(state, n_steps)
        with np.errstate(over="ignore"):  # unsigned arithmetic wraps; NumPy says so only when the JIT is off
            self.loop(view, self.prior, self.settings, chain_state, kept, n_steps)
        return self.chunk(state, kept)


@one_blas_thread()
def _advance(task: WorkerTask, state: State, n_steps: int) -> Chunk:
    return task.advance(state, n_steps)


class ChainWorkers:
    """Chains spread over ``workers``; one chain, or one worker, stays in this process."""

    def __init__(self, task: WorkerTask, workers: Workers, n_chains: int) -> None:
        n_workers = min(workers, n_chains) if isinstance(workers, int) else workers
        self.pool = make_pool(_advance, 1 if n_chains == 1 else n_workers, (task,))

    def advance(self, states: Sequence[State], n_steps: int) -> list[Chunk]:
        """One chunk of every chain; a process that died costs time, not results: the chunk is computed again."""
        jobs = [Job(str(number), (state, n_steps)) for number, state in enumerate(states)]
        chunks = {}
        for name, chunk in self.pool.outcomes(jobs):
            if not isinstance(chunk, Chunk):
                assert isinstance(chunk, Exception)
                raise chunk
            chunks[name] = chunk
        return [chunks[job.name] for job in jobs]

    def close(self) -> None:
        """Stop the processes."""
        self.pool.close()
