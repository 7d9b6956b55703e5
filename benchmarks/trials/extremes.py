"""Trials of what the data and the numbers are like: boundaries, starts, strong couplings, large and late calls.

Each trial is a name and a function that raises AssertionError where the program does not keep its word.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mrfbayes as mb
from mrfbayes.model.build import complete
from run import refusal

SQUARE = mb.grid(2, 2)
PATH = mb.graph([("a", "b"), ("b", "c")])
TRIANGLE = mb.graph([("a", "b"), ("b", "c"), ("a", "c")])
X = np.random.default_rng(1).integers(0, 2, (60, 3))
QUICK: dict[str, Any] = {"steps": 200, "chains": 2, "progress": False}


def heard(call: Callable[[], Any]) -> tuple[Any, str]:
    """The answer of a call, and all that it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = call()
    return answer, "\n".join(str(one.message) for one in caught)


def refused(kind: type[Exception], words: tuple[str, ...], call: Callable[[], Any], within: float = 60.0) -> None:
    """The call ends in this error, with these words, in so many processor seconds."""
    started = time.process_time()
    text = refusal(call, kind)
    for word in words:
        assert word in text, text
    assert time.process_time() - started < within, "it took too long"


def an_edge_that_always_agrees_is_named() -> None:
    """The estimate is penalised, says so, and names the edge."""
    x = X.copy()
    x[:, 1] = x[:, 0]
    found, text = heard(lambda: mb.estimate(PATH, x, progress=False))
    assert "a--b" in text, text
    assert "penalised" in text, text
    assert found.penalised
    assert np.isfinite(found.log_odds).all()


def a_cycle_facet_is_named() -> None:
    """Of three edges, two always agree or none: no outcome is missing, and still there is no maximum."""
    x = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1]] * 5)
    found, text = heard(lambda: mb.estimate(TRIANGLE, x, progress=False))
    assert all(edge in text for edge in TRIANGLE.blocks), text
    assert found.penalised


def a_chain_that_hardly_moves_says_so() -> None:
    """The printed proposal with a huge data set is accepted hardly ever."""
    stats = mb.Statistics.from_counts(SQUARE, [6e7, 7e7, 6.5e7, 7.2e7], 1e8)
    _, text = heard(lambda: mb.sample(SQUARE, stats, "mle", engine="mh", proposal="printed", start="mle", **QUICK))
    assert "of the proposals were accepted" in text, text


def frustration_is_refused_by_coupling() -> None:
    """Monotone coupling is not valid there."""
    theta = [0.3, 0.7, 0.7]
    refused(mb.InputError, ("frustration",), lambda: mb.simulate(TRIANGLE, theta, 5, sampler="cftp"))


def coupling_stops_at_its_cap() -> None:
    """An ordered field does not coalesce."""
    model = mb.grid(12, 12)
    call = lambda: mb.simulate(model, 0.95, 64, sampler="cftp", sweeps=64, progress=False)  # noqa: E731
    refused(mb.SamplingError, ("has not coalesced within sweeps = 64",), call)


def a_prior_that_is_zero_at_the_start_is_refused() -> None:
    """A custom prior of zero density at the start: the chain cannot begin."""
    import numba

    @numba.cfunc("float64(CPointer(float64), int64)")
    def nowhere(theta: Any, size: Any) -> float:
        return -np.inf

    call = lambda: mb.sample(SQUARE, X[:, [0, 1, 2, 0]], "pseudo", prior=nowhere, **QUICK)  # noqa: E731
    refused((mb.InputError, mb.SamplingError), ("start",), call)  # type: ignore[arg-type]


def a_checkpoint_of_other_data_is_refused() -> None:
    """By its hash, and left as it was."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        run = {"method": "pseudo", "checkpoint": path, **QUICK}
        heard(lambda: mb.sample(PATH, X, **run))
        before = path.read_bytes()
        refused(mb.InputError, ("data",), lambda: mb.sample(PATH, 1 - X[:50], **run))
        refused(mb.InputError, ("settings",), lambda: mb.sample(PATH, X, **{**run, "rng": 5}))
        assert path.read_bytes() == before


def paths_that_lead_out_are_refused() -> None:
    """By '..' and by links."""
    posterior, _ = heard(lambda: mb.sample(PATH, X, "mle", **QUICK))
    refused(mb.InputError, ("'..'", "the whole path"), lambda: posterior.save("../elsewhere.nc"))
    refused(mb.InputError, ("'..'",), lambda: mb.sample(PATH, X, "pseudo", checkpoint="../run", **QUICK))
    assert not Path("../elsewhere.nc").exists()


def rows_beyond_memory_are_streamed() -> None:
    """A file of 3 million rows is counted in parts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.csv"
        part = "\n".join(",".join(map(str, row)) for row in X.tolist()) + "\n"
        with path.open("w") as file:
            file.write("a,b,c\n")
            for _ in range(500):
                file.write(part * 100)
        stats, _ = heard(lambda: mb.Data(path).count(PATH))
        assert stats.n == 500 * 100 * 60
        refused(
            mb.CostError,
            ("counting, after", "mrfbayes.Data(...).count(model)"),
            lambda: mb.sample(PATH, path, seconds=1e-3),
        )


def a_budget_is_kept(levels: int, columns: int, seconds: float) -> None:
    """Items with ordered answers: the call ends near its budget, with a result."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(300, 1))
    x = np.clip(np.round(levels / 2 + latent + rng.normal(size=(300, columns))), 0, levels - 1).astype(np.uint8)
    model = complete(range(columns), states=levels, fields=True, coupling="score")
    started = time.process_time()
    posterior, text = heard(lambda: mb.sample(model, x, seconds=seconds, progress=False))
    spent = time.process_time() - started
    assert spent < 1.25 * seconds + 3 or "more than its time budget" in text, f"{spent:.1f} s for {seconds} s"
    assert posterior.draws.shape[1] > 0


def what_is_late_is_said() -> None:
    """A budget that no method can keep ends in a refusal, or in a result that says what it lacks."""
    model = complete(range(14), fields=True, coupling="both-one")
    x = np.random.default_rng(2).integers(0, 2, (200, 14))
    for method in ("exact", "langevin", "calibrated", "pseudo", "mle"):
        text = "the time budget sufficed"
        try:
            posterior, heard_of = heard(lambda m=method: mb.sample(model, x, m, seconds=0.05, progress=False))
            assert posterior.draws.shape[1] > 0, heard_of
        except mb.CostError as refusal:
            text = str(refusal)
        assert "time budget" in text, text


TRIALS: list[tuple[str, Callable[[], None]]] = [
    ("an edge that always agrees", an_edge_that_always_agrees_is_named),
    ("a cycle facet", a_cycle_facet_is_named),
    ("a chain that hardly moves", a_chain_that_hardly_moves_says_so),
    ("frustrated couplings", frustration_is_refused_by_coupling),
    ("coupling that does not coalesce", coupling_stops_at_its_cap),
    ("a prior of zero at the start", a_prior_that_is_zero_at_the_start_is_refused),
    ("a checkpoint of other data", a_checkpoint_of_other_data_is_refused),
    ("paths that lead out", paths_that_lead_out_are_refused),
    ("rows beyond memory", rows_beyond_memory_are_streamed),
    ("a budget of 20 s, 12 ordered items", lambda: a_budget_is_kept(5, 12, 20.0)),
    ("a budget of 20 s, 17 ordered items", lambda: a_budget_is_kept(5, 17, 20.0)),
    ("a budget of 4 s, 17 ordered items", lambda: a_budget_is_kept(5, 17, 4.0)),
    ("a budget of 50 ms", what_is_late_is_said),
]
