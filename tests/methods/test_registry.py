"""What every row of the registry promises: registering a method is having it tested."""

import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.base.errors import InputError
from mrfbayes.methods.registry import REGISTRY, check_options, method_row
from mrfbayes.priors import Prior
from mrfbayes.run import driver
from mrfbayes.run.pools import begin_worker, process_pool

MODEL = mb.grid(2, 3)
DATA = np.random.default_rng(3).integers(0, 2, size=(30, 6)).astype(np.uint8)
DATA[:18, 1] = DATA[:18, 0]
DATA[5:20, 4] = 1 - DATA[5:20, 1]
SETTINGS: dict = {"engine": "mh", "draws": 200, "warmup": 60, "chains": 2, "thin": 2, "rng": 7, "progress": False}
# Kernels on a grid's recursion have relaxed float flags: with the JIT off they agree to rounding, not bit for bit.
RELAXED = {"exact", "calibrated", "exchange-exact", "moller", "mavm"}
AT = np.array([0.83, 0.45, 0.60, 0.34, 0.40, 0.59, 0.46])  # near the maximum likelihood estimate
ESTIMATE = SimpleNamespace(theta=AT, log_odds=MODEL.chart.log_odds(AT), penalised=False, boundary=(), warnings=())
DIRECT = {"calibrated"}  # independent draws, no chain
WALKS = {"langevin"}  # replicas without proposals; in single precision, so that rounding alone changes its draws
ENGINES = {**dict.fromkeys(DIRECT, "direct"), **dict.fromkeys(WALKS, "langevin")}
TINY = {"draws": 4, "warmup": 2, "chains": 1, "thin": 1}


def options_of(key):
    """Fewer particles than usual where the method has them; sweeps instead of the recursion, which is tested apart."""
    small = {"particles": 70, "source": "gibbs", "sweeps": 3} if key != "laplace" else {}
    return {name: value for name, value in small.items() if name in method_row(key).options}


def draw(key, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mb.MRFWarning)  # short runs have few effective draws, and say so
        engine = {"engine": ENGINES[key]} if key in ENGINES else {"estimate": ESTIMATE}
        return mb.sample(MODEL, DATA, key, **{**SETTINGS, **engine, **options_of(key), **changes})


@pytest.fixture(scope="module")
def references():
    return {key: draw(key) for key in REGISTRY}


def same(a, b):
    names = ("draws", "mean", "sd", "log_likelihood")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names) and a.details == b.details


@pytest.mark.parametrize("key", REGISTRY)
def test_same_seed_same_draws_for_any_chunk(references, monkeypatch, key):
    assert len(np.unique(references[key].draws[0, :, 0])) > 3  # it moves
    for first in (1, 7):
        monkeypatch.setattr(driver, "FIRST_CHUNK", first)
        monkeypatch.setattr(driver, "ROUND_SECONDS", 1e-9)  # chunks stay as small as that
        assert same(draw(key), references[key])
    assert not np.array_equal(draw(key, rng=8).draws, references[key].draws)


class _Pool:
    """Workers that share one pool, so that processes start once for all methods."""

    def __init__(self, pool, task):
        self._pool, self._task = pool, task

    def advance(self, states, n_steps):
        return [f.result() for f in [self._pool.submit(self._task.advance, state, n_steps) for state in states]]

    def close(self):
        pass


def test_same_draws_in_other_processes(references, monkeypatch):
    """A chunk computed anywhere, from a pickled task and state, is the same chunk: so is any number of workers."""
    with process_pool(2, begin_worker) as pool:
        serial = driver.ChainWorkers  # replicas of one walk stay in their process

        def shared(task, n_workers, n_chains):
            return _Pool(pool, task) if n_chains > 1 else serial(task, n_workers, n_chains)

        monkeypatch.setattr(driver, "ChainWorkers", shared)
        for key in REGISTRY:
            assert same(draw(key), references[key]), key


def test_same_draws_without_the_compiler():
    code = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1]); import methods.test_registry as t; "
        "print(json.dumps({key: t.draw(key, **t.TINY).draws.tolist() for key in t.REGISTRY if key not in t.WALKS}))"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    paths = json.dumps([str(Path(__file__).parents[1]), *sys.path])
    run = subprocess.run([sys.executable, "-c", code, paths], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    plain = json.loads(run.stdout)
    for key in plain:
        compiled = draw(key, **TINY).draws
        if key in RELAXED:
            np.testing.assert_allclose(plain[key], compiled, rtol=1e-9, err_msg=key)
        else:
            assert np.array_equal(plain[key], compiled), key


@pytest.mark.parametrize("key", REGISTRY)
def test_result_has_method_target_and_options(references, key):
    posterior, row = references[key], REGISTRY[key]
    assert (posterior.method, posterior.label, posterior.target) == (key, row.label, row.target)
    assert row.target in ("exact", "approximate")
    used = {**row.options, **options_of(key)}
    for name in {"calibrated": ("particles",), "laplace": ("particles",)}.get(key, ()):  # they play no part here
        assert used.pop(name, None) is None or name not in posterior.settings["options"]
    assert posterior.settings["options"] == used
    if key not in ENGINES:
        assert ((posterior.acceptance > 0) & (posterior.acceptance < 1)).all()
    assert ((posterior.draws > 0) & (posterior.draws < 1)).all()
    assert all(isinstance(text, str) for text in posterior.warnings)
    json.dumps(dict(posterior.details))  # facts, not objects: they are stored with the result
    noisy = key in ("importance", "auxiliary", "exchange", "persistent")
    assert ("noise" in posterior.details) == noisy


@pytest.mark.parametrize("key", REGISTRY)
def test_options_are_named_and_others_refused(key):
    row = REGISTRY[key]
    with pytest.raises(InputError, match=f"method '{key}' .*option 'colour'"):
        check_options(row, MODEL, Prior(MODEL, "uniform"), {"colour": 1})
    module = inspect.getmodule(row.function)
    documented = (row.function.__doc__ or "") + (module.__doc__ or "")
    assert "Differs from the paper" in documented
    for name in re.findall(r"see `(\w+)`", documented):
        documented += inspect.getdoc(getattr(module, name)) or ""
    for name in row.options:
        assert name in documented, name


def test_every_method_has_its_own_module_key_and_label():
    rows = list(REGISTRY.values())
    for names in ([row.key for row in rows], [row.label for row in rows], [row.module for row in rows]):
        assert len(set(names)) == len(rows)
    assert [row.key for row in rows] == list(REGISTRY)
    with pytest.raises(InputError, match="method = 'guess': choose one of 'exact'"):
        method_row("guess")


@pytest.mark.parametrize("key", ["persistent", "mavm"])
def test_what_a_chain_carries_is_in_its_checkpoint(references, tmp_path, key):
    """Stopped half-way and continued, with particles or auxiliary data as they were."""
    path = tmp_path / "run.checkpoint"
    draw(key, draws=85, checkpoint=path)
    continued = draw(key, checkpoint=path)
    assert np.array_equal(continued.draws, references[key].draws)
    assert hashlib.sha256(path.read_bytes()).hexdigest()
