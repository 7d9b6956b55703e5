"""The kernels' generator against NumPy's, and its normals against the normal distribution."""

import numpy as np
import pytest
from scipy import stats

from mrfbayes.base import random_streams as streams
from mrfbayes.base.errors import InputError
from mrfbayes.kernels.base import random


def test_raw_stream_is_that_of_numpy():
    seed = streams.seed_sequence(7)
    state = streams.kernel_state(seed, "x")
    expected = np.random.SFC64(streams.child(seed, "x")).random_raw(1000)
    assert [int(random.next_word(state)) for _ in range(1000)] == expected.tolist()


def test_filling_gives_the_stream_of_single_normals():
    one, other = (streams.kernel_state(streams.seed_sequence(7), "x") for _ in range(2))
    filled = np.empty(5000)
    random.fill_normal(one, filled)
    assert filled.tolist() == [random.normal(other) for _ in range(5000)]
    assert one.tolist() == other.tolist()


def chi_square_of_normals(x):
    """p-value over 200 equally likely cells, so that a wrong layer of the ziggurat shows."""
    cells = np.floor(stats.norm.cdf(x) * 200).astype(int)
    return stats.chisquare(np.bincount(cells, minlength=200)).pvalue


def test_normals_are_normal():
    x = np.empty(2_000_000)
    random.fill_normal(streams.kernel_state(streams.seed_sequence(8), "x"), x)
    assert chi_square_of_normals(x) > 1e-6
    tail = 3.6541528853610088  # where the ziggurat changes its method
    expected = 2 * stats.norm.sf(tail)
    assert stats.binomtest(int((np.abs(x) > tail).sum()), x.size, expected).pvalue > 1e-6
    assert stats.kstest(x[np.abs(x) > 3] ** 2, tail_cdf).pvalue > 1e-6


def tail_cdf(square):
    return 1 - stats.norm.sf(np.sqrt(square)) / stats.norm.sf(3.0)


def test_normality_test_fails_for_other_distributions():
    x = np.empty(2_000_000)
    random.fill_normal(streams.kernel_state(streams.seed_sequence(8), "x"), x)
    assert chi_square_of_normals(1.01 * x) < 1e-6


def test_streams_depend_on_the_key_and_on_nothing_else():
    seed = streams.seed_sequence(3)
    a = streams.kernel_state(seed, "chain", 0)
    streams.kernel_state(seed, "something else")
    assert streams.kernel_state(seed, "chain", 0).tolist() == a.tolist()
    assert streams.kernel_state(seed, "chain", 1).tolist() != a.tolist()


def test_a_generator_moves_on_with_each_use():
    generator = np.random.default_rng(0)
    assert streams.seed_sequence(generator).entropy != streams.seed_sequence(generator).entropy


@pytest.mark.parametrize("bad", [-1, 1.5, "7", True])
def test_bad_seeds_are_refused(bad):
    with pytest.raises(InputError, match="rng = "):
        streams.seed_sequence(bad)
