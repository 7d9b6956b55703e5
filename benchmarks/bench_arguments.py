"""What it costs to hand arrays from kernel to kernel: as bare arguments, and packed into a view at every call.

    python benchmarks/bench_arguments.py

A kernel of some hundred nanoseconds is called in a loop with four or eight arrays. "bare" passes the arrays; "kept
view" passes a NamedTuple that was made once, outside the loop; "view made at each call" packs the arrays into a
NamedTuple at every call, as a kernel that works on other slices of its scratch each time would have to. Processor
seconds, the best of 25, in nanoseconds per call of the inner kernel; kept in benchmarks/results/arguments.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

CALLS = 20_000
RESULT = Path(__file__).parent / "results" / "arguments.md"


class Four(NamedTuple):
    """Four arrays."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray


class Eight(NamedTuple):
    """Eight arrays."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    d: np.ndarray
    e: np.ndarray
    f: np.ndarray
    g: np.ndarray
    h: np.ndarray


compiled = numba.njit(nogil=True, error_model="numpy")


def _body(names: str, prefix: str) -> str:
    """Enough loops that the compiler does not inline them: then a view has to be taken apart at every call."""
    lines = []
    for turn in range(3):
        for first, second in zip(names, names[1:] + names[0], strict=True):
            x, y = prefix + first, prefix + second
            lines += [
                f"    for i in range({x}.size):",
                f"        {x}[i] = 0.5 * {x}[i] + {0.1 + 0.01 * turn} * {y}[(i + k) % {y}.size]",
            ]
    return "\n".join(lines)


def _kernel(signature: str, names: str, prefix: str) -> Callable[..., None]:
    space: dict[str, Callable[..., None]] = {}
    exec(f"def step({signature}, k):\n{_body(names, prefix)}\n", space)
    made: Callable[..., None] = compiled(space["step"])
    return made


bare_four = _kernel("a, b, c, d", "abcd", "")
bare_eight = _kernel("a, b, c, d, e, f, g, h", "abcdefgh", "")
view_four = _kernel("v", "abcd", "v.")
view_eight = _kernel("v", "abcdefgh", "v.")


@compiled
def run_bare_four(room, calls):
    a, b, c, d = room[0], room[1], room[2], room[3]
    for k in range(calls):
        bare_four(a, b, c, d, k)


@compiled
def run_bare_eight(room, calls):
    a, b, c, d, e, f, g, h = room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7]
    for k in range(calls):
        bare_eight(a, b, c, d, e, f, g, h, k)


@compiled
def run_kept_four(room, calls):
    v = Four(room[0], room[1], room[2], room[3])
    for k in range(calls):
        view_four(v, k)


@compiled
def run_kept_eight(room, calls):
    v = Eight(room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7])
    for k in range(calls):
        view_eight(v, k)


@compiled
def run_made_four(room, calls):
    for k in range(calls):
        view_four(Four(room[0], room[1], room[2], room[3]), k)


@compiled
def run_made_eight(room, calls):
    for k in range(calls):
        view_eight(Eight(room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7]), k)


def nanoseconds(run: Callable[[np.ndarray, int], None]) -> float:
    """Per call of the inner kernel: the best of 25, after one that compiles."""
    room = np.random.default_rng(1).random((8, 3))
    run(room.copy(), 10)
    found = []
    for _ in range(25):
        started = time.process_time()
        run(room.copy(), CALLS)
        found.append((time.process_time() - started) / CALLS * 1e9)
    return min(found)


def counted(run: Callable[[np.ndarray, int], None]) -> int:
    """Places in the compiled loop and in what it calls where references to an array are counted, one atomic each."""
    return sum(
        text.count("call void @NRT_incref") + text.count("call void @NRT_decref")
        for text in run.inspect_llvm().values()
    )


def main() -> None:
    """Measure all six, and write the table."""
    rows = {
        4: (run_bare_four, run_kept_four, run_made_four),
        8: (run_bare_eight, run_kept_eight, run_made_eight),
    }
    lines = [
        "# Arrays handed from kernel to kernel",
        "",
        f"`python benchmarks/bench_arguments.py` (numba {numba.__version__}): nanoseconds per call, processor time.",
        "",
        "In brackets the places in the compiled code where references to an array are counted, an atomic update each.",
        "",
        "| arrays | bare arguments | kept view | view made at each call |",
        "|---|---|---|---|",
    ]
    for count, kernels in rows.items():
        cells = [f"{nanoseconds(kernel):.0f} ({counted(kernel)})" for kernel in kernels]
        lines.append(f"| {count} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
