"""The exact posterior of the complete graph on four nodes."""

import pytest

from targets.four_node_cases import PAIRS, quadrature


@pytest.fixture(scope="session")
def full():
    return quadrature(PAIRS)
