"""A warning names the line of the person who can do something about it."""

import numpy as np
import pytest

import mrfbayes as mb


def test_a_warning_is_of_the_line_that_called_the_package():
    """`sample` counts three levels down; the place that Python shows was a line of the package."""
    model, x = mb.grid(2, 2), np.zeros((5, 4), dtype=int)
    with pytest.warns(mb.MRFWarning) as said:
        mb.sample(model, x, "calibrated", draws=20, progress=False)
    with pytest.warns(mb.MRFWarning) as counted:
        mb.Data(x).count(model)
    assert {warning.filename for warning in (*said, *counted)} == {__file__}
