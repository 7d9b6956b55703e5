"""The estimate as users call it: the choice of an algorithm, data on the boundary, and arguments that are refused."""

import importlib

import numpy as np
import pytest

from estimation.fields import Enumerated
from mrfbayes.base.errors import InputError, MRFWarning
from mrfbayes.datasets import load_digits
from mrfbayes.estimation.estimate import ALGORITHMS, algorithm_function, algorithm_options, check_values, estimate
from mrfbayes.estimation.stochastic_ascent import ascend
from mrfbayes.model.build import graph, grid


def test_boundary_is_named_and_penalised_or_refused():
    model = grid(2, 2)
    x = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 1, 0, 1]])  # nodes 0 and 1 always agree
    with pytest.warns(MRFWarning, match=r"no finite maximum likelihood estimate: .*0,0--0,1"):
        found = estimate(model, x)
    assert found.penalised
    assert found.converged
    assert "0,0--0,1" in found.boundary
    assert np.isfinite(found.log_odds).all()
    assert any("0,0--0,1" in text for text in found.warnings)
    with pytest.raises(InputError, match=r"0,0--0,1.*on_boundary='penalise'"):
        estimate(model, x, on_boundary="refuse")
    given = estimate(model, x, prior="uniform")  # asked for: no warning
    np.testing.assert_allclose(given.log_odds, found.log_odds, atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"algorithm": "newton"}, InputError, "algorithm = 'newton': choose one of 'auto', 'exact'"),
        ({"on_boundary": "ignore"}, InputError, "on_boundary = 'ignore': choose 'penalise' or 'refuse'"),
        ({"particles": 3}, InputError, "algorithm 'exact' has no option 'particles'; its options: start, optimiser"),
        ({"threads": 0}, InputError, "threads = 0: give a whole number, at least 1"),
        ({"start": 1.5}, InputError, r"start\[0\] = 1.5 .* outside \(0, 1\)"),
        ({"optimiser": "adam"}, InputError, "optimiser = 'adam': choose 'lbfgs' or 'newton'"),
        ({"rng": -1}, InputError, "rng = -1 is negative"),
    ],
)
def test_errors_say_what_to_do(arguments, error, text):
    x = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 0, 1], [0, 1, 0, 0]])
    with pytest.raises(error, match=text):
        estimate(grid(2, 2), x, **arguments)


def test_auto_states_its_choice_and_the_reason(monkeypatch):
    x = Enumerated.of(grid(2, 3)).draw(np.full(7, 0.4), 100, 1)
    found = estimate(grid(2, 3), x)
    assert found.method == "exact"
    assert found.reason.startswith("log Z is feasible on this graph")
    assert estimate(grid(2, 3), x, algorithm="pseudo").reason == "asked for"
    module = importlib.import_module("mrfbayes.estimation.newton")
    for seconds, reason in ((50.0, "it would take about 50 s"), (float("inf"), "log Z is not feasible")):
        monkeypatch.setattr(module, "predicted_seconds", lambda model, seconds=seconds: seconds)
        found = estimate(grid(2, 3), x, tolerance=0.03)
        assert found.method == "pcd"
        assert reason in found.reason


def test_every_algorithm_documents_its_options():
    for key in ALGORITHMS:
        for name in algorithm_options(key):
            text = algorithm_function(key).__doc__
            if "`ascend`" in text:  # which all these algorithms hand their limits to
                text += ascend.__doc__
            assert f"    {name}" in text.replace(", ", "\n    "), (key, name)
            with pytest.raises(InputError, match=name):  # before the data
                check_values(grid(2, 2), {name: object()})


def test_digits_get_a_usable_estimate():
    model, x = grid(8, 8), load_digits().x
    with pytest.warns(MRFWarning):
        found = estimate(model, x)
    assert any("and 2 more on the boundary" in text for text in found.warnings)
    assert found.converged
    assert found.penalised
    assert len(found.boundary) == 7  # pairs of pixels that always agree
    assert found.theta.min() > 0.2
    assert found.theta.max() < 1


def test_a_field_without_parameters():
    model = graph([], nodes=["a", "b"])
    x = np.array([[0, 1], [1, 1], [1, 0]])
    with pytest.warns(MRFWarning, match="no edges"):
        found = estimate(model, x)
    assert found.converged
    assert found.theta.shape == (0,)
