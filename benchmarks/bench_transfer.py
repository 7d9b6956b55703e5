"""Timings of the grid kernels: ``python benchmarks/bench_transfer.py``. CPU time of one core, best of many calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mrfbayes.base.random_streams import kernel_state, seed_sequence
from mrfbayes.kernels.base.jit import kernel
from mrfbayes.kernels.exact.grid import grid_layout, transfer_scratch
from mrfbayes.kernels.exact.grid_moments import transfer_moments
from mrfbayes.kernels.exact.grid_sample import transfer_sample_words

GRIDS = [(4, 4), (6, 6), (8, 8), (12, 12), (16, 16), (8, 500), (10, 500)]
PARTICLE_WORDS = 16  # 1,024 particles


# The loops are inside kernels: a call from Python costs more than a small grid.
@kernel
def repeat_words(count, layout, field, coupling, scratch, state, words):
    for _ in range(count):
        transfer_sample_words(layout, field, coupling, scratch, state, words)


def once(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda count, *arguments: [function(*arguments) for _ in range(count)]


def microseconds(function: Callable[..., Any], *arguments: Any, seconds: float = 0.5) -> float:
    """Best time of one evaluation; the first call compiles and is not counted."""
    function(1, *arguments)
    count, taken = 1, 0.0
    while taken < 2e-3:  # long enough for the call from Python, some 40 microseconds, not to matter
        count *= 2
        start = time.process_time()
        function(count, *arguments)
        taken = time.process_time() - start
    best = np.inf
    end = time.process_time() + seconds
    while time.process_time() < end:
        start = time.process_time()
        function(count, *arguments)
        best = min(best, (time.process_time() - start) / count)
    return 1e6 * best


def main() -> None:
    columns = ("moments", "1,024 samples")
    print("microseconds".ljust(14) + "".join(name.rjust(15) for name in columns))
    rng = np.random.default_rng(0)
    state = kernel_state(seed_sequence(0))
    for rows, cols in GRIDS:
        layout = grid_layout(rows, cols)
        d = rows * cols
        m = 2 * d - rows - cols
        theta = rng.uniform(0.5, 0.8, size=m)
        coupling, field = np.log(theta / (1.0 - theta)), rng.normal(size=d)
        scratch = {
            work: np.zeros(transfer_scratch(layout, work, 64 * PARTICLE_WORDS)) for work in ("moments", "sample")
        }
        means = np.zeros(d), np.zeros(m)
        words = np.zeros((d, PARTICLE_WORDS), dtype=np.uint64)
        times = [
            microseconds(once(transfer_moments), layout, field, coupling, scratch["moments"], *means),
            microseconds(repeat_words, layout, np.zeros(d), coupling, scratch["sample"], state, words),
        ]
        print(f"{rows} x {cols}".ljust(14) + "".join(f"{t:,.2f}".rjust(15) for t in times), flush=True)


if __name__ == "__main__":
    main()
