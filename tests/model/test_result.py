"""What every result has: its seed, its coding, and estimates as methods take them."""

from types import SimpleNamespace

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.model.result import StoredResult, as_estimate, read_seed, stored_seed
from mrfbayes.model.schema import Schema, Variable

MODEL = mb.graph([("a", "b")], fields=True)


def result(model=MODEL, **changes):
    fields = {"n": 5.0, "method": "none", "target": "exact", "settings": {}, "timings": {}}
    return StoredResult(model=model, **{**fields, **changes})


@pytest.mark.parametrize(
    "seed", [np.random.SeedSequence(7), np.random.SeedSequence([3, 2**80]), np.random.SeedSequence(7).spawn(3)[2]]
)
def test_a_stored_seed_gives_the_same_numbers(seed):
    again = read_seed(stored_seed(seed))
    np.testing.assert_array_equal(again.generate_state(4), seed.generate_state(4))
    kept = result(settings={"seed": stored_seed(seed)}).seed
    repeated = kept if isinstance(kept, np.random.SeedSequence) else np.random.SeedSequence(kept)
    np.testing.assert_array_equal(repeated.generate_state(4), seed.generate_state(4))
    assert result().seed is None


def test_the_coding_is_that_of_the_run_then_of_the_model_then_of_states():
    coding = Schema((Variable("a", "binary", ("no", "yes")), Variable("b", "ordinal", ("x", "y", "z"))))
    other = Schema((Variable("a", "binary", ("f", "m")), coding["b"]))
    coded = mb.Model.from_data(coding)
    assert result(coded).schema == coding
    assert result(coded, settings={"schema": other.to_dict()}).schema == other
    assert [variable.values for variable in result().schema] == [(0.0, 1.0), (0.0, 1.0)]


def test_flags_say_partial_and_count_warnings():
    assert result()._flags() == ""
    assert result(partial=True, warnings=("one", "two"))._flags() == ", partial, 2 warnings"
    with pytest.raises(mb.InputError, match=r"edges\(\).*StoredResult"):
        result().edges()


def test_estimates_are_taken_from_theta_and_from_objects_that_have_it():
    theta = np.array([0.8, 0.3, 0.6])
    plain = as_estimate(MODEL, theta)
    np.testing.assert_allclose(plain.log_odds, np.log(theta / (1 - theta)))
    assert not plain.penalised
    # Log-odds that theta cannot hold are taken as they are.
    extreme = SimpleNamespace(theta=theta, log_odds=np.array([40.0, 0.0, -1.0]), boundary=["a--b"], warnings=["far"])
    found = as_estimate(MODEL, extreme)
    np.testing.assert_array_equal(found.log_odds, extreme.log_odds)
    assert (found.boundary, found.warnings) == (("a--b",), ("far",))
    assert as_estimate(MODEL, found) is found
    for given, message in (
        (SimpleNamespace(theta=theta, penalised=True), "no prior"),
        ("mle", "estimate = 'mle'"),
        (np.array([0.8, 1.3, 0.6]), r"estimate\[1\] = 1.3"),
    ):
        with pytest.raises(mb.InputError, match=message):
            as_estimate(MODEL, given)
    with pytest.raises(mb.InputError, match="3 parameters and the model 1"):
        as_estimate(mb.graph([("a", "b")]), found)
