"""Evaluation is re-entrant: methods, engines and likelihoods give the same numbers from several threads as from one."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import mrfbayes as mb
from mrfbayes.base.blas import one_blas_thread
from mrfbayes.base.types import with_own_workspace
from mrfbayes.engines.registry import ENGINE_ROWS
from mrfbayes.estimation.estimate import Problem
from mrfbayes.kernels.run.chain import log_likelihoods
from mrfbayes.methods.registry import REGISTRY
from mrfbayes.priors import Prior
from small_fields import FIELDS, count

THREADS = 4
LIKELIHOODS = ("exact", "mle", "pseudo", "laplace")
KINDS = ("grid", "grid, fields", "graph, fields", "ordinal", "table")
# Every engine with every method that offers what it needs: rows of both registries, so that a new one is tested, too.
ENGINES = [(key, engine) for key, row in REGISTRY.items() for engine in ENGINE_ROWS if engine.needs in row.offers]
NAMES = [f"{key} by {type(engine).__name__}" for key, engine in ENGINES]
SETTINGS = {"draws": 60, "warmup": 40, "chains": 1, "progress": False}
pytestmark = pytest.mark.filterwarnings("ignore::mrfbayes.base.errors.MRFWarning")  # short chains say that they are


def data_of(model, n=80):
    rng = np.random.default_rng(5)
    return count(model, np.stack([rng.integers(0, r, n) for r in model.states], axis=1))


def in_threads(function, arguments):
    """What ``function`` gives for each of the arguments, THREADS at a time."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(function, arguments))


def arrays_of(view, name=""):
    """All arrays of a view by name, nested ones included."""
    for field, part in zip(view._fields, view, strict=True):
        if isinstance(part, np.ndarray):
            yield f"{name}{field}", part
        elif hasattr(part, "_fields"):
            yield from arrays_of(part, f"{name}{field}.")


@pytest.fixture(scope="module")
def client():
    """One worker with four threads."""
    from distributed import Client, LocalCluster

    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=1, threads_per_worker=THREADS, **local) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", LIKELIHOODS)
def test_likelihood_from_threads_equals_serial(method, kind):
    model = FIELDS[kind]()
    likelihood = mb.likelihood(model, data_of(model), method)
    rng = np.random.default_rng(1)
    points = [
        np.stack([model.chart.theta(rng.normal(0, 1, model.n_parameters)) for _ in range(200)]) for _ in range(24)
    ]
    serial = [likelihood.log_likelihood(theta) for theta in points]
    for _ in range(3):
        assert all(map(np.array_equal, in_threads(likelihood.log_likelihood, points), serial))


def test_shared_workspace_is_detected():
    """Without copies of the workspace the same check fails: four threads overwrite one another's numbers."""
    model = FIELDS["ordinal"]()
    statistics = data_of(model)
    problem = Problem(model, statistics, Prior(model, "uniform"), np.random.SeedSequence(0))
    view = REGISTRY["exact"].prepare(problem).view
    rng = np.random.default_rng(1)
    theta = np.stack([model.chart.theta(rng.normal(0, 1, model.n_parameters)) for _ in range(2)])
    mine, out = with_own_workspace(view), np.empty(2)
    before = {name: array.copy() for name, array in arrays_of(view)}
    log_likelihoods(mine, theta, out)
    assert all(np.array_equal(array, before[name]) for name, array in arrays_of(view))
    log_likelihoods(view, theta, out)
    assert not all(np.array_equal(array, before[name]) for name, array in arrays_of(view))


@pytest.mark.parametrize("kind", ["grid", "graph, fields", "star", "ordinal"])
@pytest.mark.parametrize("method", [key for key, row in REGISTRY.items() if row.module.startswith("ratio.")])
def test_ratio_chain_writes_only_to_its_own_workspace(method, kind, monkeypatch):
    """Every array that a chain writes to is annotated as a workspace: the shared view is left as it was."""
    from mrfbayes.run import workers

    views, before = [], []

    def remembered(view):
        views.append(view)
        before.append({name: array.copy() for name, array in arrays_of(view)})
        return with_own_workspace(view)

    monkeypatch.setattr(workers, "with_own_workspace", remembered)
    model = FIELDS[kind]()
    mb.sample(model, data_of(model, 30), method, **SETTINGS)
    assert len(views) > 1
    for view, arrays in zip(views, before, strict=True):
        assert all(array.tobytes() == arrays[name].tobytes() for name, array in arrays_of(view))


def settings_of(method, engine):
    """A field that the engine draws from, and the settings of a short run."""
    needs_dense = engine.needs == "noisy gradient"
    model = mb.complete(range(5), fields=True) if needs_dense else mb.grid(2, 3)
    settings = (
        {**SETTINGS, "method": method, "proposal": "printed"} if engine.is_printed else {**SETTINGS, "method": method}
    )
    if engine.is_printed:
        del settings["warmup"]
    else:
        settings["engine"] = engine.name
    return model, settings


@pytest.mark.parametrize(("method", "engine"), ENGINES, ids=NAMES)
def test_sampling_from_threads_equals_serial(method, engine):
    model, settings = settings_of(method, engine)
    data = data_of(model)

    def draw(seed):
        return mb.sample(model, data, rng=seed, **settings).draws

    serial = [draw(seed) for seed in range(THREADS)]
    assert all(map(np.array_equal, in_threads(draw, range(THREADS)), serial))


@pytest.mark.parametrize(("method", "engine"), ENGINES, ids=NAMES)
def test_chains_on_a_worker_with_threads_equal_serial(method, engine, client):
    model, settings = settings_of(method, engine)
    settings["chains"] = 4
    data = data_of(model)
    serial = mb.sample(model, data, **settings)
    there = mb.sample(model, data, workers=client, **settings)
    assert np.array_equal(there.draws, serial.draws)


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_is_limited_inside_and_restored():
    with threadpool_limits(2, "blas"):
        with one_blas_thread():
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_draws_do_not_depend_on_blas_threads():
    model = mb.complete(range(12), fields=True)
    data, found = data_of(model, 200), []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(mb.sample(model, data, "langevin", draws=6, thin=2, warmup=30, progress=False).draws)
    assert np.array_equal(*found)


class _Look:
    """A task whose chunk says how many BLAS threads the worker has."""

    def advance(self, state, n_steps):
        return sorted(blas_threads())


def test_worker_processes_have_one_blas_thread():
    from mrfbayes.run import pools, workers

    with pools.process_pool(1, pools._receive, _Look()) as pool:
        assert pool.submit(pools._call, workers._advance, {}, 1).result() == [1]
