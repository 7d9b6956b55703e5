"""Stored results that tests of the study share."""

import pytest

from mrfbayes.paper.claims import (
    Results,
)
from mrfbayes.paper.journal import Store
from paper.outcome_cases import PAPER, add


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("results")) as store:
        for n in (100, 1000):
            for replication in range(3):
                add(store, n, replication)
    return store


@pytest.fixture(scope="session")
def results(store):
    return Results(store)


@pytest.fixture(scope="session")
def committed():
    return Store(PAPER / "results")
