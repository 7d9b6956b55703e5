"""What tests of chains share."""

import pytest

from kernels.run.chain_cases import Coins


@pytest.fixture(scope="module")
def coins():
    return Coins()
