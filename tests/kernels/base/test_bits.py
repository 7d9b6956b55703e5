"""Bit tricks against arithmetic on Python's own integers."""

import numpy as np

from mrfbayes.kernels.base.bits import popcount, spread_digits


def test_popcount_is_the_number_of_ones():
    words = np.random.default_rng(1).integers(0, 2**64, size=266, dtype=np.uint64)
    words[:64] = np.uint64(1) << np.arange(64, dtype=np.uint64)
    words[64], words[65] = 0, 2**64 - 1
    assert [int(popcount(word)) for word in words] == [int(word).bit_count() for word in words]


def test_digit_k_is_spread_to_bit_4k():
    numbers = [*np.random.default_rng(2).integers(0, 2**16, size=200), *(1 << np.arange(16)), 2**16 - 1]
    for number in map(int, numbers):
        expected = sum(((number >> k) & 1) << (4 * k) for k in range(16))
        assert int(spread_digits(np.uint64(number))) == expected
