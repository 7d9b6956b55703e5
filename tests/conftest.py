"""What every test may rely on."""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path

import pytest

WHOLE = Path(__file__).parent  # files right here are on the whole: pages, their commands, the site
gc.disable()  # while modules are imported, which stay


def pytest_collection_finish():
    """What was imported is never garbage: looking through it again and again took a fifth of the collection's time."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items):
    """The longest tests first: at the end one process would wait for the other, or both would make what tests share."""
    items.sort(key=lambda item: item.path.parent != WHOLE)


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_is_heard():
    """A script that leaves tests in the background tells them, and all they start, to ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Or the 21st that is left open, by whatever test, ends the one that it happens to be in with a warning."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def trust(monkeypatch):
    """The modules of benchmarks/trust, which are no package, can be imported; they are forgotten afterwards."""
    folder = WHOLE.parent / "benchmarks" / "trust"
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for path in folder.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture(autouse=True, scope="session")
def fixed_seed():
    """Where a test names no seed, the fresh one is 0, so that every run of the tests does the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mrfbayes.base.random_streams.fresh_seed", lambda: 0)
        yield


@pytest.fixture
def fewer_draws(monkeypatch):
    """Runs of pages that leave the number of draws open are short."""
    from mrfbayes.engines import independent, settings
    from mrfbayes.methods.langevin import langevin
    from mrfbayes.structure import running

    monkeypatch.setattr(independent, "INDEPENDENT_STEPS", 500)
    monkeypatch.setattr(settings, "LENGTHENED", 1)
    monkeypatch.setattr(langevin, "default_steps", lambda n_parameters: 150)
    monkeypatch.setattr(running, "MOST_SEARCH_SWEEPS", 1_024)
