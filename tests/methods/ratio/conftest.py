"""A small grid with data, for the tests of all ratios."""

import pytest

from methods.ratio.ratio_cases import Case


@pytest.fixture(scope="session")
def grid():
    return Case("grid")
