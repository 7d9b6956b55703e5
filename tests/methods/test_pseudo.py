"""Pseudolikelihood: every kind of field against the product of full conditionals, row by row."""

import numpy as np
import pytest

import mrfbayes as mb
import small_fields
from mrfbayes.base.errors import InputError
from mrfbayes.data.statistics import Statistics
from mrfbayes.kernels.base.contracts import log_likelihood
from mrfbayes.methods.problem import Problem
from mrfbayes.methods.registry import method_row
from mrfbayes.priors import Prior
from small_fields import FIELDS


def problem(model, x):
    return Problem(model, small_fields.count(model, x), Prior(model, "uniform"), np.random.SeedSequence(1))


def by_hand(model, theta, x):
    """Sum over rows and nodes of log P(x_i | the rest)."""
    total = 0.0
    for i in range(model.n_nodes):
        every = []
        for state in range(model.states[i]):
            changed = x.copy()
            changed[:, i] = state
            every.append(small_fields.log_weights(model, theta, changed))
        total += (small_fields.log_weights(model, theta, x) - np.logaddexp.reduce(every, axis=0)).sum()
    return total


@pytest.mark.parametrize("name", FIELDS)
def test_product_of_full_conditionals(name):
    model = FIELDS[name]()
    theta = small_fields.random_theta(model, 3)
    x = small_fields.draw(model, theta, 40, 5)
    view = method_row("pseudo").prepare(problem(model, x)).view
    shift = None
    for seed in range(6, 10):
        theta = small_fields.random_theta(model, seed, 0.05, 0.95)
        difference = log_likelihood(view, theta) - by_hand(model, theta, x)
        shift = difference if shift is None else shift
        assert difference == pytest.approx(shift, abs=1e-10)


def test_large_degree_counts_only_patterns_that_occur():
    model = mb.graph([(0, k) for k in range(1, 20)], fields=True)
    x = np.random.default_rng(2).integers(0, 2, (30, 20))
    view = method_row("pseudo").prepare(problem(model, x)).view
    assert np.diff(view.patterns.pattern_offset).tolist() == [30, *(2,) * 19]
    one, two = (small_fields.random_theta(model, seed) for seed in (1, 2))
    expected = by_hand(model, one, x) - by_hand(model, two, x)
    assert log_likelihood(view, one) - log_likelihood(view, two) == pytest.approx(expected, abs=1e-10)


def test_extreme_weights_neither_overflow_nor_lose_the_value():
    """theta so near to 0 and 1 that odds of the patterns overflow: the logarithmic path takes over."""
    model = mb.grid(3, 3)
    x = np.random.default_rng(3).integers(0, 2, (25, 9))
    view = method_row("pseudo").prepare(problem(model, x)).view
    theta = np.where(np.arange(12) % 3 == 0, 1e-300, 0.6)
    gentle = small_fields.random_theta(model, 1)
    expected = by_hand(model, theta, x) - by_hand(model, gentle, x)
    assert log_likelihood(view, theta) - log_likelihood(view, gentle) == pytest.approx(expected, rel=1e-13)


def test_cost_does_not_depend_on_n():
    model = mb.grid(3, 3)
    rng = np.random.default_rng(4)
    sizes = [
        method_row("pseudo").prepare(problem(model, rng.integers(0, 2, (n, 9)))).view.patterns.weight.size
        for n in (1_000, 20_000)
    ]
    assert sizes[0] == sizes[1] == 4 * 4 + 4 * 8 + 16  # 2^degree each


def test_weights_count():
    model = mb.grid(2, 2)
    x = np.random.default_rng(5).integers(0, 2, (20, 4))
    theta = small_fields.random_theta(model, 6)
    values = []
    for data in (
        mb.Data(x, weights=np.repeat([1.0, 3.0], 10)).count(model),
        mb.Data(np.repeat(x, [1] * 10 + [3] * 10, axis=0)).count(model),
    ):
        given = Problem(model, data, Prior(model, "uniform"), np.random.SeedSequence(1))
        values.append(log_likelihood(method_row("pseudo").prepare(given).view, theta))
    np.testing.assert_allclose(values, values[0], rtol=1e-13)


def test_refusals():
    model = mb.grid(2, 2)
    counts = Statistics.from_counts(model, [3, 4, 5, 6], 10)
    with pytest.raises(InputError, match="pass the observations"):
        method_row("pseudo").prepare(Problem(model, counts, Prior(model, "uniform"), np.random.SeedSequence(1)))


@pytest.mark.filterwarnings("ignore::mrfbayes.MRFWarning")
def test_no_ratio_of_sds_is_stated_where_there_is_none():
    x = np.zeros((20, 2), dtype=int)
    found = mb.sample(mb.grid(1, 2), x, "pseudo", prior="cauchy(0, 2.5)", rng=1, draws=200, chains=2, progress=False)
    assert "sd_ratio" not in found.details
    assert "nan" not in " ".join(found.notes)
