"""A segmentation by hand: labels, entropy, tables, warnings, and the same from its file."""

import numpy as np
import pytest

import mrfbayes as mb
from mrfbayes.hidden.result import Segmentation, _warnings
from mrfbayes.model.result import stored_seed

PROBABILITIES = np.array([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], [[0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3]]])


@pytest.fixture
def draws():
    return np.random.default_rng(1).normal(0.6, 0.1, size=(4, 500, 1))


@pytest.fixture
def result(draws):
    return Segmentation(
        model=mb.grid(2, 2, states=3, tied=True),
        n=1.0,
        method="segment",
        target="exact",
        settings={"states": 3, "emission": "none", "seed": stored_seed(np.random.SeedSequence(3))},
        timings={"prepare": 0.0, "compile": 0.0, "run": 1.0},
        image=np.array([[0.0, 1.0], [np.nan, 2.0]]),
        probabilities=PROBABILITIES,
        draws=draws,
        names=("coupling",),
        agreements=np.arange(2000).reshape(4, 500) % 5,
        log_z_error=0.0,
    )


def test_labels_and_entropy_are_those_of_the_probabilities(result):
    np.testing.assert_array_equal(result.labels, [[0, 0], [2, 0]])
    some = -(0.2 * np.log(0.2) + 0.3 * np.log(0.3) + 0.5 * np.log(0.5))
    np.testing.assert_allclose(result.entropy, [[0.0, np.log(2)], [some, np.log(3)]], atol=1e-12)


def test_the_summary_has_the_moments_of_the_draws(result, draws):
    row = result.summary(ci_prob=0.5).loc["coupling"]
    assert row["mean"] == pytest.approx(draws.mean())
    assert row["sd"] == pytest.approx(draws.std(ddof=1), rel=1e-3)
    assert (row["q25"], row["q75"]) == pytest.approx(tuple(np.quantile(draws, [0.25, 0.75])), rel=1e-3)
    assert dict(result._about())["image"] == "2 x 2 pixels, 1 missing"
    with pytest.raises(mb.InputError, match="scale = 'theta'"):
        result.summary(scale="theta")
    with pytest.raises(mb.InputError, match=r"edges\(\).*Segmentation"):
        result.edges()


def test_a_saved_segmentation_is_read_back(result, tmp_path):
    result.save(tmp_path / "labels.nc")
    again = mb.load(tmp_path / "labels.nc")
    for name in ("image", "probabilities", "draws", "agreements"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert again.agreements.dtype.kind == "i"
    assert (again.names, again.seed) == (("coupling",), 3)


def test_each_warning_has_its_cause(draws):
    assert _warnings(draws, 0.0, 1.5) == []
    apart = draws + np.array([0.0, 0.0, 0.0, 0.5])[:, None, None]
    assert "R-hat" in _warnings(apart, 0.0, 1.5)[0]
    halves = np.random.default_rng(2).permuted(np.tile(np.linspace(0.4, 0.8, 40), (8, 1)), axis=1)
    assert "effective sample size" in _warnings(halves.reshape(4, 80, 1), 0.0, 1.5)[0]  # few, but all halves agree
    assert "0.30 sd" in _warnings(draws, 0.3, 1.5)[0]
    assert "0 to 0.7" in _warnings(draws, 0.0, 0.7)[0]
