"""Trials of calls: bad settings, settings that play no part, budgets, estimates, workers.

Each trial is a name and a function that raises AssertionError where the program does not keep its word: a bad setting
is refused by name before anything is computed, a setting that plays no part is spoken of, a budget covers the call.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import mrfbayes as mb
from mrfbayes.engines.registry import engine_names
from mrfbayes.methods.registry import REGISTRY
from run import refusal

MODEL = mb.grid(2, 3)
DATA = (np.random.default_rng(3).random((60, 6)) < 0.5).astype(np.uint8)
DATA[:35, 1] = DATA[:35, 0]
DATA[10:40, 4] = DATA[10:40, 3]
QUICK: dict[str, Any] = {"steps": 60, "warmup": 20, "chains": 2, "thin": 2, "progress": False}
REFUSED_WITHIN = 1.0  # seconds: a refusal comes before anything is computed
BAD: dict[str, tuple[Any, ...]] = {
    "steps": (0, -1, 1.5, "many", True, np.nan, [100]),
    "warmup": (-1, 0.5, "some", False, np.inf),
    "chains": (0, -2, 2.5, "four", None),
    "thin": (0, -3, 1.2, "x", 10**9),
    "workers": (0, -1, 1.5, "two", None, True),
    "seconds": (0, -1, "5", np.nan, True, [1]),
    "engine": ("warp", 3, "MH", ""),
    "proposal": ("wild", None, 3, ""),
    "start": ("truth", 0.0, np.full(7, np.nan), np.full(7, 1.0), np.full(3, 0.5), "", {}),
    "prior": ("gamma(1, 1)", "beta(0, 1)", "normal(0, -1)", "normal(0", 3, None, {"nowhere": "uniform"}),
    "rng": (-1, 1.5, "seed", True),
    "estimate": ("best", np.full(3, 0.5), [0.5] * 6 + [2.0], ["a"] * 7, {"theta": 1}, object(), len, b"theta"),
    "method": ("magic", None, 3, "Exact", ["exact"]),
    "checkpoint": (3, "/nowhere/at/all/run.checkpoint", "/", ""),
}
OPTIONS: dict[str, dict[str, tuple[Any, ...]]] = {
    "mle": {"rho": (7, -1, "x", None, np.eye(2), np.full((7, 7), 2.0)), "marginal": ("wide", None, 3)},
    "laplace": {"fisher": ("guess", None), "coordinate": ("w",), "centre": ("mode",), "particles": (1, 0, 2.5, "x")},
    "calibrated": {"variance": ("loops", None), "moments": ("some",), "particles": (0, -1, 9, 10, 2.5, "many", True)},
    "pseudo": {"plain": (3, "yes", None)},
    "importance": {"alpha": ("beta",), "particles": (0, 1, 1.5), "source": ("sky",), "sweeps": (0, -1)},
    "auxiliary": {"particles": (0, 1, "x"), "source": (None,), "sweeps": (0,)},
    "exchange": {"particles": (0, 1), "source": ("moon",), "sweeps": (0.5,)},
    "persistent": {"particles": (0,), "k": (0, 1.5), "restore": (3, "yes"), "sweeps": (0,)},
    "mavm": {"levels": (-1, 1.5), "k": (0, "x")},
    "langevin": {"step": (0, 1, "x"), "replicas": (0, 2.5), "particles": (0, "x", True), "sweeps": (0, None)},
}
UNUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "mle and workers": ("mle", {"workers": 2}),
    "mle and warm-up": ("mle", {"warmup": 50}),
    "calibrated and a checkpoint": ("calibrated", {"checkpoint": "run.checkpoint"}),
    "calibrated and particles": ("calibrated", {"particles": 4_096}),
    "laplace and particles": ("laplace", {"particles": 100}),
    "exchange and sweeps": ("exchange", {"sweeps": 7, "particles": 64}),
    "mavm and k": ("mavm", {"k": 5, "levels": 0}),
    "pseudo and workers": ("pseudo", {"workers": 3, "chains": 1}),
}
SCRIPT = """
import warnings
import numpy as np, mrfbayes as mb
warnings.simplefilter("ignore")
x = np.random.default_rng(0).integers(0, 2, (40, 4))
mb.sample(mb.grid(2, 2), x, "pseudo", steps=50, workers=2, progress=False)
"""


def sample(method: Any = "mle", **settings: Any) -> mb.Posterior:
    """A quick call whose warnings are in the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)
        return mb.sample(MODEL, DATA, method, **{**QUICK, **settings})


@cache
def load_methods() -> None:
    """Import what a call needs: a second of the first call of a process, in which nothing is computed."""
    for method in REGISTRY:
        refusal(lambda method=method: sample(method, steps=0), mb.InputError)


def refused(name: str, **call: Any) -> None:
    """The call ends at once in an `InputError` that speaks of ``name``."""
    load_methods()
    started = time.process_time()
    text = ""
    try:
        sample(**call)
    except mb.InputError as error:
        text = str(error)
    except Exception as error:
        raise AssertionError(f"a raw {type(error).__name__}: {error}") from error
    assert text, "it was taken"
    assert name in text, f"the message does not name {name}: {text}"
    assert time.process_time() - started < REFUSED_WITHIN, "something was computed first"


def said(method: str, settings: dict[str, Any]) -> None:
    """Settings that play no part are in the warnings, and not in the record."""
    if "checkpoint" in settings:
        settings = {**settings, "checkpoint": Path(tempfile.mkdtemp()) / "run.checkpoint"}
    posterior = sample(method, **{**settings, "warmup": settings.get("warmup")})
    texts = [text for text in posterior.warnings if "is not used" in text]
    assert texts, posterior.warnings
    name = texts[0].partition("=")[0]
    assert name not in posterior.settings["options"], posterior.settings
    assert name not in posterior.settings, posterior.settings


def printed_is_printed_or_refused() -> None:
    """What is recorded as the printed proposal is one."""
    for method, row in REGISTRY.items():
        if "mh" in engine_names(row):
            posterior = sample(method, proposal="printed", warmup=None)
            assert (posterior.engine, posterior.settings["proposal"]) == ("mh", "printed"), method
        else:
            refused("proposal", method=method, proposal="printed")


def theta_is_an_estimate() -> None:
    """An array, a list and an estimate give the same draws."""
    found = mb.estimate(MODEL, DATA, progress=False)
    first = sample("mle", estimate=found).draws
    for given in (found.theta, found.theta.tolist(), tuple(found.theta)):
        assert np.allclose(sample("mle", estimate=given).draws, first, rtol=1e-12)


def laplace_knows_the_penalty() -> None:
    """With the estimate's own prior as the prior, Laplace-L peaks at the estimate, whatever the prior."""
    for prior in ("normal(0, 0.2)", "beta(9, 2)", "uniform", "cauchy(0, 1)"):
        found = mb.estimate(MODEL, DATA, prior=prior, progress=False)
        lik = mb.likelihood("laplace", MODEL, DATA, estimate=found, fisher="exact")
        own = mb.priors.Prior(MODEL, prior)
        for j in range(7):
            step = 1e-4 * (np.arange(7) == j)
            w = found.log_odds
            values = [
                lik.log_likelihood(MODEL.chart.theta(at)) + own.log_density_w(at) for at in (w + step, w, w - step)
            ]
            assert values[1] >= max(values[0], values[2]) - 1e-6, (prior, j)


def one_tied_image_is_fine() -> None:
    """n = 1, 40x40, one coupling: no warning, and a right answer."""
    model = mb.grid(40, 40, tied=True)
    x = mb.simulate(model, 0.6, 1, sampler="gibbs", sweeps=200, rng=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = mb.sample(model, x, progress=False)
    assert not posterior.warnings, posterior.warnings
    assert abs(posterior.mean[0] - 0.6) < 5 * posterior.sd[0]


def budget_is_kept(columns: int, seconds: float) -> None:
    """A complete graph of many columns: the call ends near its budget, with a result or a clear refusal."""
    rng = np.random.default_rng(0)
    x = (rng.random((300, columns)) < 0.3 + 0.4 * rng.random((300, 1))).astype(np.uint8)
    model = mb.graph([(i, j) for i in range(columns) for j in range(i)], fields=True, coupling="both-one")
    for attempt in range(2):  # the first call compiles
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mb.MRFWarning)
            text = "the time budget sufficed"
            try:
                posterior = mb.sample(model, x, seconds=seconds, progress=False)
                assert posterior.partial or not any("budget" in text for text in posterior.warnings)
            except mb.CostError as refusal:
                text = str(refusal)
            assert "time budget" in text, text
        if attempt:
            spent = time.process_time() - started
            assert spent < 2 * seconds + 3, f"{spent:.1f} s of processor time for a budget of {seconds} s"


def both_numbers_of_workers_warn_alike() -> None:
    """`compare` says the same with one process and with two."""
    heard = []
    for workers in (1, 2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mb.compare(mb.grid(2, 3, tied=True), DATA, ["mle", "pseudo"], reference=None, workers=workers, steps=60,
                       progress=False)  # fmt: skip
        heard.append(sorted({str(w.message) for w in caught if issubclass(w.category, mb.MRFWarning)}))
    assert heard[0] == heard[1], heard
    assert heard[0], "nothing was said"


def a_script_without_a_guard_is_told() -> None:
    """No BrokenProcessPool, but what to write."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(SCRIPT)
        run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=os.environ)
    assert run.returncode == 1
    assert "__main__" in run.stderr.splitlines()[-1], run.stderr[-500:]


def a_corrected_posterior_has_smooth_marginals() -> None:
    """Quantiles of all levels grow strictly, as those of repeated draws do not."""
    posterior = sample("exact", steps=2_000, thin=1, warmup=None)
    levels = np.linspace(0.01, 0.99, 197)
    table = np.stack([posterior.quantile(level) for level in levels])
    assert (np.diff(table, axis=0) > 0).all()


def _named(key: str, value: Any) -> str:
    return f"{key} = {value!r}"[:70]


def _bad(key: str, value: Any) -> Callable[[], None]:
    name = "" if key == "prior" else key  # a distribution names its own arguments
    return lambda: refused(name, **{key: value})


def _bad_option(method: str, key: str, value: Any) -> Callable[[], None]:
    return lambda: refused(key, method=method, **{key: value})  # the estimate is not made first


TRIALS: list[tuple[str, Callable[[], None]]] = [
    *((_named(key, value), _bad(key, value)) for key, values in BAD.items() for value in values),
    *(
        (f"{method}: {_named(key, value)}", _bad_option(method, key, value))
        for method, options in OPTIONS.items()
        for key, values in options.items()
        for value in values
    ),
    *((name, lambda call=call: said(*call)) for name, call in UNUSED.items()),
    ("printed is printed, or refused", printed_is_printed_or_refused),
    ("theta is an estimate", theta_is_an_estimate),
    ("laplace knows the penalty", laplace_knows_the_penalty),
    ("one tied image is fine", one_tied_image_is_fine),
    ("a budget of 5 s, 26 columns", lambda: budget_is_kept(26, 5.0)),
    ("a budget of 2 s, 12 columns", lambda: budget_is_kept(12, 2.0)),
    ("compare warns alike", both_numbers_of_workers_warn_alike),
    ("a script without a main guard", a_script_without_a_guard_is_told),
    ("smooth marginals", a_corrected_posterior_has_smooth_marginals),
]
