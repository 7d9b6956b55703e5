"""Small fields whose maximum is known, for the tests of algorithms that sample."""

import numpy as np
import pytest

from estimation.fields import FIELDS, Enumerated, weak
from estimation.sampling_cases import TRIED, N


@pytest.fixture(scope="session")
def solved():
    """Per field: its data, the maximum, and posterior sds, all by enumeration."""
    found = {}
    for name in TRIED:
        field = Enumerated.of(FIELDS[name])
        x = field.draw(weak(field.model, 5), N, 6)
        best = field.maximum(x)
        sd = np.sqrt(np.diag(np.linalg.inv(N * field.moments(best)[1])))
        found[name] = (field.model, x, best, sd)
    return found
